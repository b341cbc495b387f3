//! The controllers behind Deployments and the other kinds that become ready: one status write `ready_delay` after each
//! change of a spec, and one whenever the pods of a Deployment fail or are ready again.
//!
//! Guarantees: the writes are the server's own; no user's request counts contain them.
//! Leaves to others: what the status says ([`crate::readiness`], [`crate::defaults::becoming`]).

use std::sync::Arc;

use serde_json::{Value, json};

use crate::api::update::write_as;
use crate::defaults::becoming::merge_into;
use crate::model::built_in::Ready;
use crate::model::json::{generation, is_deleting, meta_mut, meta_str};
use crate::readiness::Observed;
use crate::state::Inner;
use crate::state::options::Readiness;

/// Who writes status, in managedFields.
const MANAGER: &str = "kube-controller-manager";

/// Writes one status that is due; false if none is.
pub(crate) fn step(inner: &Arc<Inner>) -> bool {
    let Some(at) = inner.schedule.take_due() else {
        return false;
    };
    let is_failing = inner.schedule.is_failing(&at);
    let (table, key) = at;
    if let Some(served) = inner.served_by_id(table) {
        let (namespace, name) = key.split_once('/').unwrap_or(("", &key));
        let ready = match &inner.options.ready {
            _ if is_failing => false,
            Readiness::All => true,
            Readiness::Never => false,
            Readiness::When(decide) => decide(namespace, name),
        };
        let now = inner.clock.now();
        let rule = served
            .kind
            .built_in
            .as_ref()
            .and_then(|kind| kind.ready.as_ref());
        write_as(
            inner,
            &served,
            &key,
            MANAGER,
            Some("status"),
            |object| match rule {
                _ if is_deleting(object) => {}
                None => {}
                Some(Ready::Deployment) => observe(object, ready, &now),
                Some(Ready::Rule { ready: rule, .. }) if ready => merge_into(object, rule, &now),
                Some(Ready::Rule { waiting, .. }) if waiting.is_null() => {}
                Some(Ready::Rule { waiting, .. }) => merge_into(object, waiting, &now),
            },
        );
    }
    true
}

/// Sets the status that belongs to the spec of a Deployment.
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
