//! Garbage collection by ownerReferences, and the emptying of namespaces.
//!
//! Guarantees: owners are told by uid, never by name alone; an object goes when none of its
//! owners is left; `foregroundDeletion` holds an owner until its blocking dependents are gone;
//! `orphan` removes the references first. Follows kube-controller-manager's garbage collector.

use std::ops::Bound;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::api::delete::{Deletion, Propagation, remove};
use crate::api::update::write_as;
use crate::model::json::{finalizers, is_deleting, meta_mut, meta_str, owner_references};
use crate::model::kind::Rules;
use crate::model::record::{Record, Uid};
use crate::state::garbage::Task;
use crate::state::{Inner, Served};
use crate::store::Location;

const MANAGER: &str = "kube-controller-manager";

/// Does one task; false if there is none.
pub(crate) fn step(inner: &Arc<Inner>) -> bool {
    let Some(task) = inner.garbage.next() else {
        return false;
    };
    let (Task::Check(at) | Task::Deleting(at)) = &task;
    let Some(served) = inner.served_by_id(at.0) else {
        return true;
    };
    let Some(record) = inner.store.get(at.0, &at.1) else {
        return true;
    };
    match task {
        Task::Check(_) => check(inner, &served, &record),
        Task::Deleting(_) => deleting(inner, &served, &record),
    }
    true
}

/// How an owner stands to its dependent.
#[derive(Clone, Copy, PartialEq)]
enum Owner {
    Solid,
    /// Waits, in foreground deletion, for this dependent.
    Waiting,
    Absent,
}

fn owner_state(inner: &Inner, record: &Record, reference: &Value) -> Owner {
    let uid = Uid::parse(reference.get("uid").and_then(Value::as_str).unwrap_or(""));
    let found = inner.store.lock().locate(uid).cloned();
    let Some((table, key)) = found else {
        return Owner::Absent;
    };
    let elsewhere = key
        .split_once('/')
        .is_some_and(|(namespace, _)| namespace != record.namespace());
    let Some(owner) = inner.store.get(table, &key).filter(|_| !elsewhere) else {
        return Owner::Absent;
    };
    let owner = owner.object();
    if is_deleting(&owner) && finalizers(&owner).contains(&"foregroundDeletion") {
        Owner::Waiting
    } else {
        Owner::Solid
    }
}

/// Deletes a dependent whose owners are gone, or drops the references that dangle.
fn check(inner: &Arc<Inner>, served: &Served, record: &Record) {
    let object = record.object();
    if is_deleting(&object) {
        return;
    }
    let references = owner_references(&object);
    let states: Vec<Owner> = references
        .iter()
        .map(|r| owner_state(inner, record, r))
        .collect();
    if references.is_empty() || states.iter().all(|s| *s == Owner::Solid) {
        return;
    }
    if states.contains(&Owner::Solid) {
        let keep: Vec<Value> = references
            .iter()
            .zip(&states)
            .filter(|(_, state)| **state == Owner::Solid)
            .map(|(reference, _)| reference.clone())
            .collect();
        write_as(inner, served, &record.key, MANAGER, None, |object| {
            meta_mut(object).insert("ownerReferences".to_owned(), json!(keep));
        });
        return;
    }
    let has_dependents = !inner.store.lock().children(record.uid).is_empty();
    let held = finalizers(&object);
    let propagation = if held.contains(&"orphan") {
        Propagation::Orphan
    } else if held.contains(&"foregroundDeletion")
        || (states.contains(&Owner::Waiting) && has_dependents)
    {
        Propagation::Foreground
    } else {
        Propagation::Background
    };
    let deletion = Deletion {
        uid: Some(meta_str(&object, "uid").to_owned()),
        propagation: Some(propagation),
        ..Deletion::default()
    };
    // Refused only if it has gone or was re-created meanwhile: nothing is left to do then.
    let _ = remove(inner, served, &record.key, &deletion);
}

fn deleting(inner: &Arc<Inner>, served: &Served, record: &Record) {
    let object = record.object();
    if !is_deleting(&object) {
        return;
    }
    if matches!(served.kind.rules, Rules::Namespace) {
        empty_namespace(inner, served, record);
        return;
    }
    let held = finalizers(&object);
    let own = served
        .kind
        .built_in
        .as_ref()
        .and_then(|kind| kind.own_finalizer);
    if let Some(own) = own.filter(|own| held.contains(own)) {
        drop_finalizer(inner, served, &record.key, own);
    } else if held.contains(&"orphan") {
        orphan_dependents(inner, record);
        drop_finalizer(inner, served, &record.key, "orphan");
    } else if held.contains(&"foregroundDeletion") {
        let children = inner.store.lock().children(record.uid);
        let mut blocked = false;
        for (table, key) in children {
            let Some(child) = inner.store.get(table, &key) else {
                continue;
            };
            blocked |= blocks(&child.object(), record.uid);
            inner.garbage.check((table, key));
        }
        if !blocked {
            drop_finalizer(inner, served, &record.key, "foregroundDeletion");
        }
    }
}

fn refers_to(reference: &Value, owner: Uid) -> bool {
    reference.get("uid").and_then(Value::as_str).map(Uid::parse) == Some(owner)
}

fn blocks(child: &Value, owner: Uid) -> bool {
    owner_references(child).iter().any(|reference| {
        refers_to(reference, owner)
            && reference.get("blockOwnerDeletion").and_then(Value::as_bool) == Some(true)
    })
}

fn orphan_dependents(inner: &Arc<Inner>, owner: &Record) {
    let children = inner.store.lock().children(owner.uid);
    for (table, key) in children {
        if let Some(served) = inner.served_by_id(table) {
            write_as(inner, &served, &key, MANAGER, None, |object| {
                let keep: Vec<Value> = owner_references(object)
                    .iter()
                    .filter(|reference| !refers_to(reference, owner.uid))
                    .cloned()
                    .collect();
                if keep.is_empty() {
                    meta_mut(object).remove("ownerReferences");
                } else {
                    meta_mut(object).insert("ownerReferences".to_owned(), json!(keep));
                }
            });
        }
    }
}

fn drop_finalizer(inner: &Arc<Inner>, served: &Served, key: &str, finalizer: &str) {
    write_as(inner, served, key, MANAGER, None, |object| {
        let keep: Vec<Value> = finalizers(object)
            .into_iter()
            .filter(|f| *f != finalizer)
            .map(|f| json!(f))
            .collect();
        if keep.is_empty() {
            meta_mut(object).remove("finalizers");
        } else {
            meta_mut(object).insert("finalizers".to_owned(), json!(keep));
        }
    });
}

/// Deletes everything in a terminating namespace; without content the namespace itself goes.
fn empty_namespace(inner: &Arc<Inner>, served: &Served, namespace: &Record) {
    let content: Vec<Location> = {
        let state = inner.store.lock();
        let first = format!("{}/", namespace.key);
        let last = format!("{}0", namespace.key);
        state
            .tables()
            .filter(|(_, table)| table.kind.namespaced)
            .flat_map(|(id, table)| {
                table
                    .objects
                    .range::<str, _>((
                        Bound::Included(first.as_str()),
                        Bound::Excluded(last.as_str()),
                    ))
                    .map(move |(key, _)| (id, key.clone()))
            })
            .collect()
    };
    let mut left = false;
    for (table, key) in content {
        if let Some(content_kind) = inner.served_by_id(table) {
            let deletion = Deletion {
                propagation: Some(Propagation::Background),
                ..Deletion::default()
            };
            let _ = remove(inner, &content_kind, &key, &deletion);
            left |= inner.store.get(table, &key).is_some();
        }
    }
    if !left {
        write_as(inner, served, &namespace.key, MANAGER, None, |object| {
            if let Some(Value::Object(spec)) = object.get_mut("spec") {
                spec.remove("finalizers");
            }
        });
    }
}
