//! Storing an object, and the work that follows for the controllers.

use serde_json::{Value, json};
use std::sync::Arc;

use crate::defaults::becoming;
use crate::model::json::{is_deleting, owner_references};
use crate::model::record::{Draft, Record, Uid};
use crate::state::{Inner, Served};
use crate::store::{CommitError, Expect};

/// Stores an object and tells the controllers.
pub(crate) fn commit(
    inner: &Arc<Inner>,
    served: &Served,
    key: &str,
    expect: Expect,
    object: &Value,
) -> Result<Arc<Record>, CommitError> {
    let record = inner
        .store
        .put(served.table, expect, Draft::new(key, object))?;
    written(inner, served, &record, object);
    Ok(record)
}

/// Queues the work of the controllers that follows from a write.
pub(crate) fn written(inner: &Arc<Inner>, served: &Served, record: &Record, object: &Value) {
    let at = || (served.table, record.key.clone());
    let mut work = false;
    if !owner_references(object).is_empty() && has_unknown_owner(inner, record) {
        inner.garbage.check(at());
        work = true;
    }
    if is_deleting(object) {
        inner.garbage.deleting(at());
        work = true;
    }
    if !is_deleting(object)
        && let Some(built_in) = &served.kind.built_in
        && becoming::is_due(built_in, object)
    {
        inner.schedule.add(inner.options.ready_delay, at());
        work = true;
    }
    if work {
        inner.work.notify_one();
    }
}

fn has_unknown_owner(inner: &Inner, record: &Record) -> bool {
    let state = inner.store.lock();
    record.owners.iter().any(|owner| {
        state.locate(*owner).is_none_or(|(_, key)| {
            key.split_once('/')
                .is_some_and(|(namespace, _)| namespace != record.namespace())
        })
    })
}

/// Creates a namespace that every server has.
pub(crate) fn seed_namespace(inner: &Arc<Inner>, name: &str) {
    let Some(served) = inner.served("", "namespaces") else {
        return;
    };
    let uid = Uid::random_text(inner.random(), inner.random());
    let object = json!({
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {
            "name": name,
            "uid": uid,
            "creationTimestamp": inner.clock.now(),
            "labels": {"kubernetes.io/metadata.name": name},
        },
        "spec": {"finalizers": ["kubernetes"]},
        "status": {"phase": "Active"},
    });
    let _ = commit(inner, &served, name, Expect::Absent, &object);
}
