//! The children that the objects of a load own: deleted, and counted until the operator has made them anew.
//!
//! Guarantees: only what has an owner reference to an object of this run is deleted, and only if it is the very
//! one that was listed. Leaves to others: whether the objects are Ready meanwhile.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use futures::StreamExt;

use crate::engine::load::Load;
use crate::engine::session::Reason;
use crate::spec::workload::Scenario;
use crate::target::cluster::{CONNECTIONS, Cluster, Error, Meta};

/// Between two lists of the children, which are as many as the objects.
const POLL: Duration = Duration::from_secs(1);

struct Child {
    path: String,
    uid: String,
    /// The number of its kind in `[[children]]`, and the name of its object.
    family: (usize, String),
}

/// How many children of each kind each object has.
type Families = HashMap<(usize, String), usize>;

/// Deletes them, and waits until each object has its own again.
///
/// An object may own more of a kind than the workload says that each has, such as the ReplicaSets of earlier
/// revisions: these do not come back.
///
/// # Errors
/// One line: there is none, one cannot be deleted, or they do not come back in time.
pub async fn replace(load: &Load) -> Result<(), Reason> {
    let (cluster, scenario) = (&load.cluster, load.scenario.as_ref());
    let within = load.patience();
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
    let per_object: Vec<usize> = scenario
        .children
        .iter()
        .map(|kind| kind.per_object)
        .collect();
    let wanted = capped(families(before.iter()), |family| {
        per_object.get(family.0).copied().unwrap_or(0)
    });
    let total: usize = wanted.values().sum();
    loop {
        let now = owned(cluster, scenario).await.map_err(|e| e.words())?;
        let new = now.iter().filter(|child| !old.contains(child.uid.as_str()));
        let (all_new, new) = (new.clone().count() == now.len(), families(new));
        let new = capped(new, |family| wanted.get(family).copied().unwrap_or(0));
        let new: usize = new.values().sum();
        let what = format!("{}children made anew", load.who);
        load.progress.count(&what, new as u64, total as u64);
        if new >= total && all_new {
            return Ok(());
        }
        if started.elapsed() > within {
            return Err(format!(
                "{new} of {total} children were made anew within {} s (--deadline-s)",
                within.as_secs()
            ));
        }
        tokio::time::sleep(POLL).await;
    }
}

fn families<'a>(children: impl Iterator<Item = &'a Child>) -> Families {
    let mut families = Families::new();
    for child in children {
        *families.entry(child.family.clone()).or_default() += 1;
    }
    families
}

/// The same, with no family above its limit.
fn capped(families: Families, limit: impl Fn(&(usize, String)) -> usize) -> Families {
    let capped = families.into_iter().map(|(family, children)| {
        let most = limit(&family);
        (family, children.min(most))
    });
    capped.collect()
}

/// Those of every kind of `[[children]]`.
async fn owned(cluster: &Cluster, scenario: &Scenario) -> Result<Vec<Child>, Error> {
    let mut children = Vec::new();
    for (number, kind) in scenario.children.iter().enumerate() {
        let collection = kind.path(&scenario.resource.namespace);
        let found = cluster.those(&collection, |meta| owner(meta, scenario).is_some());
        children.extend(found.await?.into_iter().map(|meta| Child {
            path: format!("{collection}/{}", meta.name),
            family: (
                number,
                owner(&meta, scenario).unwrap_or_default().to_owned(),
            ),
            uid: meta.uid,
        }));
    }
    Ok(children)
}

/// The object of this run that owns it.
fn owner<'a>(meta: &'a Meta, scenario: &Scenario) -> Option<&'a str> {
    let ours = meta.owner_references.iter().find(|owner| {
        scenario.parts().any(|part| {
            let resource = &part.resource;
            owner.kind == resource.kind && resource.object_index(&owner.name).is_some()
        })
    });
    ours.map(|owner| owner.name.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::workload;
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
            assert_eq!(owner(&meta, &scenario).is_some(), want, "{name}");
        }
    }

    #[test]
    fn children_of_earlier_revisions_are_not_waited_for() {
        let child = |of: &str, uid: &str| Child {
            path: String::new(),
            uid: uid.into(),
            family: (0, of.into()),
        };
        let before = [child("a", "1"), child("a", "2"), child("b", "3")];
        let wanted = capped(families(before.iter()), |_| 1);
        assert_eq!(wanted.values().sum::<usize>(), 2);
        let later = [child("a", "4"), child("a", "5"), child("c", "6")];
        let new = capped(families(later.iter()), |family| {
            wanted.get(family).copied().unwrap_or(0)
        });
        assert_eq!(new.values().sum::<usize>(), 1, "b has none yet");
    }
}
