//! When a Deployment becomes ready: one status write `ready_delay` after each change of its spec.
//!
//! Guarantees: one ordered agenda for all Deployments; writes are the server's own and in no
//! user's ledger. Leaves to others: what the status says (`crate::readiness`).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use crate::object::{generation, is_deleting, meta_mut, meta_str};
use crate::readiness::Observed;
use crate::server::{Inner, Readiness};
use crate::store::TableId;
use crate::verbs::write_as;

/// Who writes status, in managedFields.
const MANAGER: &str = "kube-controller-manager";

/// Status writes that are due at some time.
#[derive(Default)]
pub(crate) struct Agenda {
    due: Mutex<Due>,
}

#[derive(Default)]
struct Due {
    next: u64,
    /// The number keeps what is due at one time in order.
    entries: BTreeMap<(Instant, u64), (TableId, Arc<str>)>,
}

impl Agenda {
    pub(crate) fn add(&self, delay: Duration, at: (TableId, Arc<str>)) {
        let mut due = self.due.lock().unwrap_or_else(PoisonError::into_inner);
        due.next += 1;
        let number = due.next;
        due.entries.insert((Instant::now() + delay, number), at);
    }

    pub(crate) fn next_due(&self) -> Option<Instant> {
        let due = self.due.lock().unwrap_or_else(PoisonError::into_inner);
        due.entries.first_key_value().map(|((at, _), _)| *at)
    }

    /// Writes one status that is due; false if none is.
    pub(crate) fn step(&self, inner: &Arc<Inner>) -> bool {
        let (table, key) = {
            let mut due = self.due.lock().unwrap_or_else(PoisonError::into_inner);
            match due.entries.first_entry() {
                Some(entry) if entry.key().0 <= Instant::now() => entry.remove(),
                _ => return false,
            }
        };
        if let Some(served) = inner.served_by_id(table) {
            let (namespace, name) = key.split_once('/').unwrap_or(("", &key));
            let ready = match &inner.options.ready {
                Readiness::All => true,
                Readiness::Never => false,
                Readiness::When(decide) => decide(namespace, name),
            };
            let now = inner.clock.now();
            write_as(inner, &served, &key, MANAGER, Some("status"), |object| {
                if !is_deleting(object) {
                    observe(object, ready, &now);
                }
            });
        }
        true
    }
}

/// Sets the status that belongs to the spec.
fn observe(object: &mut Value, ready: bool, now: &str) {
    let replicas = object.pointer("/spec/replicas").and_then(Value::as_i64);
    let observed = Observed {
        name: meta_str(object, "name").to_owned(),
        generation: generation(object),
        replicas: replicas.unwrap_or(1),
        status: object.get("status").cloned().unwrap_or(Value::Null),
    };
    let annotations = meta_mut(object).entry("annotations").or_insert(json!({}));
    if let Value::Object(map) = annotations {
        map.entry("deployment.kubernetes.io/revision")
            .or_insert(json!("1"));
    }
    object["status"] = observed.wanted(ready, now);
}
