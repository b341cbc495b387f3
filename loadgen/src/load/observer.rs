//! The watch of the harness, one for each kind that is offered: when each object was observed, ready and gone.
//!
//! Guarantees: only name, version and status of an event are decoded; the watch recovers from
//! its end, from 410 and from errors, by a list where it must, and says how often. Leaves to
//! others: what the times mean (`timeline`).

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use futures::TryStreamExt;
use kube::core::WatchEvent;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::task::JoinSet;

use crate::load::journal::Journal;
use crate::load::object::Observation;
use crate::spec::subject::Convergence;
use crate::spec::workload::condition::Reading;
use crate::spec::workload::{Resource, Scenario};
use crate::target::cluster::{Cluster, Error};

/// An object as far as it is decoded.
trait Decoded: DeserializeOwned + Clone + Send + Sync + 'static {
    fn meta(&self) -> &LeanMeta;
    fn observation(&self, observer: &Observer) -> Observation;
}

/// What pointers into the status need; everything else is skipped by the parser.
#[derive(Debug, Clone, Deserialize)]
struct PartialObject {
    metadata: LeanMeta,
    #[serde(default)]
    status: Value,
}

impl Decoded for PartialObject {
    fn meta(&self) -> &LeanMeta {
        &self.metadata
    }

    fn observation(&self, observer: &Observer) -> Observation {
        seen(&observer.convergence, &self.status)
    }
}

/// All of an object: conditions may ask for any field.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "Value")]
struct WholeObject {
    metadata: LeanMeta,
    object: Value,
}

impl TryFrom<Value> for WholeObject {
    type Error = serde_json::Error;

    fn try_from(object: Value) -> Result<Self, Self::Error> {
        let metadata = LeanMeta::deserialize(&object["metadata"])?;
        Ok(Self { metadata, object })
    }
}

impl Decoded for WholeObject {
    fn meta(&self) -> &LeanMeta {
        &self.metadata
    }

    fn observation(&self, observer: &Observer) -> Observation {
        let by_status = seen(&observer.convergence, &self.object["status"]);
        let Reading { observed, ready } = &observer.reading;
        // A condition speaks of the object as it is: of its present generation. Kinds without
        // generations count as the first.
        let generation = self.object["metadata"]["generation"]
            .as_i64()
            .unwrap_or(0)
            .max(1);
        let observed = observed
            .as_ref()
            .map(|observed| match observed.holds(&self.object) {
                true => generation,
                false => 0,
            });
        Observation {
            observed_generation: observed.unwrap_or(by_status.observed_generation),
            ready: ready
                .as_ref()
                .map_or(by_status.ready, |ready| ready.holds(&self.object)),
        }
    }
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct LeanMeta {
    name: String,
    resource_version: String,
}

/// Watches the objects of one kind for as long as it is polled.
pub struct Observer {
    cluster: Cluster,
    scenario: Arc<Scenario>,
    /// The place of its kind among the parts of the scenario.
    part: usize,
    resource: Resource,
    convergence: Convergence,
    /// The conditions of `convergence`.
    reading: Reading,
    journal: Arc<Journal>,
}

/// The status where a version is too old to watch from.
const EXPIRED: u16 = 410;

impl Observer {
    /// One for each kind of a scenario, at work until the set is dropped; `convergence` is that of the first kind.
    ///
    /// # Errors
    /// A condition is no CEL.
    pub fn all(
        cluster: &Cluster,
        scenario: &Arc<Scenario>,
        convergence: &Convergence,
        journal: &Arc<Journal>,
    ) -> Result<JoinSet<()>, String> {
        let mut observing = JoinSet::new();
        for (part, of) in scenario.parts().enumerate() {
            let convergence = of.converged_by(convergence);
            let observer = Self {
                cluster: cluster.clone(),
                scenario: scenario.clone(),
                part,
                resource: of.resource.clone(),
                convergence: convergence.clone(),
                reading: Reading::of(convergence)?,
                journal: journal.clone(),
            };
            observing.spawn(observer.run());
        }
        Ok(observing)
    }

    /// Never returns; every interruption is counted and waited out.
    async fn run(self) {
        match self.reading.needs_whole_objects() {
            true => self.follow::<WholeObject>().await,
            false => self.follow::<PartialObject>().await,
        }
    }

    async fn follow<O: Decoded>(self) {
        let mut version = None;
        let mut opened = false;
        loop {
            let watched = version.is_some();
            let ended = match version.take() {
                Some(version) => self.watch::<O>(version).await,
                None => self.list::<O>().await,
            };
            if ended.is_ok() && !opened {
                opened = true;
                self.journal.timeline().listed += 1;
            }
            match ended {
                Ok(at) => version = Some(at),
                Err(error) if watched && error.code() == Some(EXPIRED) => {
                    self.journal.timeline().watch_restarts += 1;
                }
                Err(error) => {
                    tracing::warn!("the harness's watch: {error}; listing again");
                    self.note_interrupted(&error);
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            }
        }
    }

    /// Reads everything, in pages; the version to watch from.
    async fn list<O: Decoded>(&self) -> Result<String, Error> {
        let asked_ns = self.journal.now_ns();
        let mut present = HashSet::new();
        let (collection, selector) = self.collection();
        let note = |page: Vec<O>| {
            for object in page {
                self.note(&object);
                present.extend(self.index(object.meta()));
            }
            true
        };
        let version = self.cluster.pages(&collection, &selector, note).await?;
        self.note_absent(&present, asked_ns);
        Ok(version)
    }

    /// The version to go on from, once the server has ended the watch.
    async fn watch<O: Decoded>(&self, mut version: String) -> Result<String, Error> {
        let (collection, selector) = self.collection();
        let path = format!(
            "{collection}?{selector}watch=true&allowWatchBookmarks=true&timeoutSeconds=290&resourceVersion={version}"
        );
        let mut events = self.cluster.events::<O>(&path).await?;
        while let Some(event) = events.try_next().await? {
            version = match event {
                WatchEvent::Added(object) | WatchEvent::Modified(object) => {
                    self.note(&object);
                    object.meta().resource_version.clone()
                }
                WatchEvent::Deleted(object) => {
                    self.note_gone(object.meta());
                    object.meta().resource_version.clone()
                }
                WatchEvent::Bookmark(bookmark) => bookmark.metadata.resource_version,
                // `events` says it as an error.
                WatchEvent::Error(_) => break,
            };
        }
        Ok(version)
    }

    /// What is listed and watched: a path and a selector.
    fn collection(&self) -> (String, String) {
        match &self.convergence.child {
            // In a namespace of ours all of them are.
            Some(child) => (child.path(&self.resource.namespace), String::new()),
            None => (self.resource.path(), self.resource.selector()),
        }
    }

    /// The name of the object that `seen`, it or its child, tells about.
    fn name<'a>(&self, seen: &'a LeanMeta) -> Option<&'a str> {
        match &self.convergence.child {
            Some(child) => seen.name.strip_suffix(child.suffix.as_str()),
            None => Some(&seen.name),
        }
    }

    /// The index of that object, where it is one of this kind.
    fn index(&self, seen: &LeanMeta) -> Option<usize> {
        let index = self.resource.object_index(self.name(seen)?)?;
        (self.scenario.part_index(index) == self.part).then_some(index)
    }

    fn note_interrupted(&self, error: &Error) {
        let mut timeline = self.journal.timeline();
        timeline.watch_restarts += 1;
        timeline.last_watch_error = Some(error.words());
    }

    fn note<O: Decoded>(&self, object: &O) {
        let seen = object.observation(self);
        let now_ns = self.journal.now_ns();
        let mut timeline = self.journal.timeline();
        timeline.count_event(now_ns);
        // The canary is of the first kind.
        let name = self.name(object.meta());
        if self.part == 0 && name.is_some_and(|name| timeline.is_canary(name)) {
            timeline.record_canary(now_ns, seen);
        } else if let Some(index) = self.index(object.meta()) {
            timeline.change(index, |object| object.record(now_ns, seen));
        }
    }

    fn note_gone(&self, object: &LeanMeta) {
        let now_ns = self.journal.now_ns();
        let mut timeline = self.journal.timeline();
        timeline.count_event(now_ns);
        if let Some(index) = self.index(object) {
            timeline.change(index, |object| {
                object.gone_ns.get_or_insert(now_ns);
            });
        }
    }

    /// What was acknowledged before the list and is not on it was deleted while nobody watched.
    fn note_absent(&self, present: &HashSet<usize>, asked_ns: u64) {
        let mut timeline = self.journal.timeline();
        let objects = timeline.objects().len();
        let own = |index: &usize| self.scenario.part_index(*index) == self.part;
        for index in (0..objects).filter(own) {
            let acked_ns = timeline.objects()[index].acked_ns;
            if acked_ns.is_some_and(|at| at < asked_ns) && !present.contains(&index) {
                timeline.change(index, |object| {
                    object.gone_ns.get_or_insert(asked_ns);
                });
            }
        }
    }
}

/// What a status says about convergence.
fn seen(convergence: &Convergence, status: &Value) -> Observation {
    // `Subject::check` has seen that both pointers start with /status.
    let at = |pointer: &str| status.pointer(pointer.strip_prefix("/status").unwrap_or(pointer));
    let conditions = at(&convergence.conditions).and_then(Value::as_array);
    let ready = conditions.into_iter().flatten().any(|condition| {
        condition["type"] == convergence.ready_condition.as_str() && condition["status"] == "True"
    });
    let observed_generation = at(&convergence.observed_generation)
        .and_then(Value::as_i64)
        .unwrap_or(0);
    Observation {
        observed_generation,
        ready,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_status_is_read_as_the_subject_says() {
        let ready =
            json!([{"type": "Progressing", "status": "True"}, {"type": "Ready", "status": "True"}]);
        let cases = [
            ("no status", Value::Null, (0, false)),
            ("observed", json!({"observedGeneration": 3}), (3, false)),
            (
                "ready",
                json!({"observedGeneration": 3, "conditions": ready}),
                (3, true),
            ),
            (
                "not ready",
                json!({"observedGeneration": 3, "conditions": [{"type": "Ready", "status": "False"}]}),
                (3, false),
            ),
            (
                "nonsense",
                json!({"observedGeneration": "x", "conditions": 7}),
                (0, false),
            ),
        ];
        for (name, status, (observed_generation, ready)) in cases {
            let want = Observation {
                observed_generation,
                ready,
            };
            assert_eq!(seen(&Convergence::default(), &status), want, "{name}");
        }
    }
}
