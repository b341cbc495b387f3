//! Who stands in for what a control plane without nodes lacks: says that a child is finished or ready.
//!
//! Guarantees: each object of a kind gets the workload's status once for each of its generations, after the delay, and never
//! again where it has that status; the watch recovers from its end and from errors. Leaves to others: Deployments, of
//! which the control plane's own agent takes care.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures::TryStreamExt;
use kube::core::WatchEvent;
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::spec::workload::{Scenario, StandIn};
use crate::target::cluster::{Cluster, Error};

/// Patches in flight at once; those that wait for their delay are not among them.
const CONNECTIONS: usize = 8;
/// After an error, before the next list.
const PAUSE: Duration = Duration::from_millis(200);

/// Stands in for one kind, for as long as it is polled.
pub struct Agent {
    cluster: Cluster,
    stand_in: StandIn,
    namespace: String,
    permits: Arc<Semaphore>,
}

#[derive(Debug, Clone, Deserialize)]
struct Child {
    metadata: Meta,
    #[serde(default)]
    status: Value,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Meta {
    name: String,
    uid: String,
    /// 0 where its kind has none.
    #[serde(default)]
    generation: i64,
}

/// For which generation each child was told its status, by uid.
type Told = HashMap<String, i64>;

impl Agent {
    /// One for each kind of children that a scenario has somebody stand in for, at work until the set is dropped.
    pub fn all(cluster: &Cluster, scenario: &Scenario) -> JoinSet<()> {
        let mut standing_in = JoinSet::new();
        for stand_in in &scenario.stand_in {
            let agent = Self {
                cluster: cluster.clone(),
                stand_in: stand_in.clone(),
                namespace: scenario.resource.namespace.clone(),
                permits: Arc::new(Semaphore::new(CONNECTIONS)),
            };
            standing_in.spawn(agent.run());
        }
        standing_in
    }

    /// Never returns.
    async fn run(self) {
        let mut told = Told::new();
        loop {
            if let Err(error) = self.follow(&mut told).await {
                tracing::warn!(
                    "standing in for {}: {error}; listing again",
                    self.stand_in.plural
                );
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// One list and the watch after it.
    async fn follow(&self, told: &mut Told) -> Result<(), Error> {
        let collection = self.stand_in.path(&self.namespace);
        let mut patches = JoinSet::new();
        let listed = self.cluster.pages(&collection, "", |page| {
            for child in page {
                self.tell(child, told, &mut patches);
            }
            true
        });
        let version = listed.await?;
        let path = format!("{collection}?watch=true&timeoutSeconds=290&resourceVersion={version}");
        let mut events = self.cluster.events::<Child>(&path).await?;
        while let Some(event) = events.try_next().await? {
            match event {
                WatchEvent::Added(child) | WatchEvent::Modified(child) => {
                    self.tell(child, told, &mut patches);
                }
                WatchEvent::Deleted(child) => drop(told.remove(&child.metadata.uid)),
                WatchEvent::Bookmark(_) | WatchEvent::Error(_) => {}
            }
        }
        while patches.join_next().await.is_some() {}
        Ok(())
    }

    /// Says it of one child, after the delay.
    fn tell(&self, child: Child, told: &mut Told, patches: &mut JoinSet<()>) {
        let Meta {
            name,
            uid,
            generation,
        } = child.metadata;
        let wanted = of_generation(&self.stand_in.status, generation);
        if holds(&child.status, &wanted) || told.insert(uid, generation) == Some(generation) {
            return;
        }
        let path = format!("{}/{}/status", self.stand_in.path(&self.namespace), name);
        let status = serde_json::json!({ "status": wanted });
        let (cluster, delay) = (
            self.cluster.clone(),
            Duration::from_millis(self.stand_in.delay_ms),
        );
        let permits = self.permits.clone();
        patches.spawn(async move {
            tokio::time::sleep(delay).await;
            // Nobody closes it.
            let _permit = permits.acquire_owned().await;
            let patched = cluster
                .merge_at(&path, status.to_string().into_bytes())
                .await;
            match patched {
                // Deleted in the meantime.
                Err(error) if error.code() == Some(404) => {}
                Err(error) => tracing::warn!("standing in: {}", error.words()),
                Ok(_) => {}
            }
        });
    }
}

/// What stands in a workload's status for the generation of the child.
const GENERATION: &str = "{generation}";

/// The status of a child that has seen its `generation`.
fn of_generation(status: &Value, generation: i64) -> Value {
    match status {
        Value::String(text) if text == GENERATION => generation.into(),
        Value::Array(items) => {
            let items = items.iter().map(|item| of_generation(item, generation));
            items.collect()
        }
        Value::Object(members) => {
            let of =
                |(name, value): (&String, &Value)| (name.clone(), of_generation(value, generation));
            members.iter().map(of).collect()
        }
        other => other.clone(),
    }
}

/// Whether a status has every field of another.
fn holds(status: &Value, wanted: &Value) -> bool {
    match (status, wanted) {
        (Value::Object(status), Value::Object(wanted)) => wanted.iter().all(|(key, value)| {
            let found = status.get(key);
            found.is_some_and(|found| holds(found, value))
        }),
        (Value::Array(status), Value::Array(wanted)) => wanted
            .iter()
            .all(|value| status.iter().any(|found| holds(found, value))),
        (status, wanted) => status == wanted,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_status_may_speak_of_the_generation_of_the_child() {
        let status = json!({"observedGeneration": "{generation}", "text": "of {generation}", "all": [["{generation}"]]});
        assert_eq!(
            of_generation(&status, 3),
            json!({"observedGeneration": 3, "text": "of {generation}", "all": [[3]]})
        );
    }

    #[test]
    fn a_status_that_says_it_already_is_not_written_again() {
        let wanted =
            json!({"succeeded": 1, "conditions": [{"type": "Complete", "status": "True"}]});
        let told = json!({"succeeded": 1, "startTime": "x", "conditions": [
            {"type": "SuccessCriteriaMet", "status": "True"},
            {"type": "Complete", "status": "True", "reason": "x"},
        ]});
        for (status, want) in [
            (told, true),
            (json!({}), false),
            (Value::Null, false),
            (json!({"succeeded": 0, "conditions": []}), false),
            (json!({"succeeded": 1, "conditions": []}), false),
        ] {
            assert_eq!(holds(&status, &wanted), want, "{status}");
        }
    }
}
