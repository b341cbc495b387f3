//! The children that the objects of a run own: deleted, and counted until the operator has made as many anew.
//!
//! Guarantees: only what has an owner reference to an object of this run is deleted, and only if it is the very
//! one that was listed. Leaves to others: whether the objects are Ready meanwhile.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use futures::StreamExt;

use crate::load::timeout::Timeout;
use crate::model::workload::Scenario;
use crate::target::cluster::{Cluster, Error, Meta};
use crate::terminal::progress::Progress;

/// Between two lists of the children, which are as many as the objects.
const POLL: Duration = Duration::from_secs(1);
/// As many as the generator of load has.
const CONNECTIONS: usize = 24;

struct Child {
    path: String,
    uid: String,
}

/// Deletes them and waits; how long it took until as many were there again, within a second.
///
/// # Errors
/// One line: there is none, one cannot be deleted, or they do not come back in time.
pub async fn replace(
    cluster: &Cluster,
    scenario: &Scenario,
    timeout: Timeout,
    progress: &Progress,
) -> Result<f64, String> {
    let before = owned(cluster, scenario).await.map_err(|e| e.words())?;
    if before.is_empty() {
        return Err("no object owns a child; is its operator running?".into());
    }
    let started = Instant::now();
    let deletions = before
        .iter()
        .map(|child| cluster.delete_this(&child.path, &child.uid));
    let mut deletions = futures::stream::iter(deletions).buffer_unordered(CONNECTIONS);
    while let Some(deleted) = deletions.next().await {
        deleted.map_err(|e| e.words())?;
    }
    let old: HashSet<&str> = before.iter().map(|child| child.uid.as_str()).collect();
    loop {
        let now = owned(cluster, scenario).await.map_err(|e| e.words())?;
        let new = now
            .iter()
            .filter(|child| !old.contains(child.uid.as_str()))
            .count();
        progress.count("children made anew", new as u64, before.len() as u64);
        if new >= before.len() && new == now.len() {
            return Ok(started.elapsed().as_secs_f64());
        }
        if started.elapsed() > timeout.deadline {
            return Err(format!(
                "{new} of {} children were made anew within {} s (--deadline-s)",
                before.len(),
                timeout.deadline.as_secs()
            ));
        }
        tokio::time::sleep(POLL).await;
    }
}

/// Those of every kind of `[[children]]`.
async fn owned(cluster: &Cluster, scenario: &Scenario) -> Result<Vec<Child>, Error> {
    let mut children = Vec::new();
    for kind in &scenario.children {
        let collection = kind.path(&scenario.resource.namespace);
        let found = cluster.those(&collection, |meta| is_ours(meta, scenario));
        children.extend(found.await?.into_iter().map(|meta| Child {
            path: format!("{collection}/{}", meta.name),
            uid: meta.uid,
        }));
    }
    Ok(children)
}

/// Whether an object of this run owns it.
fn is_ours(meta: &Meta, scenario: &Scenario) -> bool {
    meta.owner_references.iter().any(|owner| {
        scenario.parts().any(|part| {
            let resource = &part.resource;
            owner.kind == resource.kind && resource.object_index(&owner.name).is_some()
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::workload;
    use serde_json::json;

    #[test]
    fn only_what_an_object_of_this_run_owns_is_its_child() {
        let scenario = workload::default().expect("shipped").scenario;
        let scenario = scenario.of_run("0a1b2c", "default");
        let (kind, own) = (
            scenario.resource.kind.clone(),
            scenario.resource.object_name(3),
        );
        for (name, owners, want) in [
            ("owned", json!([{"kind": kind, "name": own}]), true),
            (
                "of another kind",
                json!([{"kind": "Other", "name": own}]),
                false,
            ),
            (
                "of another run",
                json!([{"kind": kind, "name": "ea-ffffff-3"}]),
                false,
            ),
            ("nobody's", json!([]), false),
        ] {
            let meta = json!({"name": "child", "uid": "u", "ownerReferences": owners});
            let meta: Meta = serde_json::from_value(meta).expect("valid");
            assert_eq!(is_ours(&meta, &scenario), want, "{name}");
        }
    }
}
