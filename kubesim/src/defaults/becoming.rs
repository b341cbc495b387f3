//! How a declared kind becomes ready: what its controller, a scheduler and nodes would make of it.
//!
//! Guarantees: a pure function of the object; times that are there stay, and a condition's transition moves with its
//! status only. Leaves to others: Deployments ([`crate::readiness`]), and when it is written.

use serde_json::{Value, json};

use crate::defaults::declared;
use crate::defaults::fill::fill;
use crate::model::built_in::{BuiltIn, Ready};
use crate::model::json::generation;
use crate::patch::merge;

/// Whether the object waits for its controller: the status is that of an older generation or, in kinds that do not say
/// which, the one that it was created with. A suspended object does not wait.
pub(crate) fn is_due(kind: &BuiltIn, object: &Value) -> bool {
    let suspended = object.pointer("/spec/suspend") == Some(&json!(true));
    match &kind.ready {
        None => false,
        Some(Ready::Rule { ready, .. })
            if ready.pointer("/status/observedGeneration").is_none() =>
        {
            !suspended && object.get("status") == first_status(kind, object).as_ref()
        }
        Some(_) => {
            let observed = object.pointer("/status/observedGeneration");
            observed.and_then(Value::as_i64) != Some(generation(object))
        }
    }
}

/// The status of an object that was just created.
fn first_status(kind: &BuiltIn, object: &Value) -> Option<Value> {
    let mut new = object.clone();
    new["status"] = json!({});
    if let Some(typed) = kind.typed {
        new = typed(&new).ok()?;
    }
    declared::set_defaults(kind, &mut new);
    new.get("status").cloned()
}

/// Makes the object ready, or what it is until then.
pub(crate) fn merge_into(object: &mut Value, rule: &Value, now: &str) {
    let mut change = fill(rule, object, now);
    if let (Some(new), Some(old)) = (change.get_mut("status"), object.get("status")) {
        keep_times(new, old, now);
    }
    merge::merge(object, &change);
}

/// Times of the new status that the old one has already.
fn keep_times(new: &mut Value, old: &Value, now: &str) {
    let Value::Object(new) = new else {
        return;
    };
    for (field, value) in new.iter_mut() {
        let before = &old[field.as_str()];
        if *value == json!(now) && before.is_string() {
            *value = before.clone();
        }
        for condition in value.as_array_mut().into_iter().flatten() {
            let is_same = |it: &&Value| {
                it["type"] == condition["type"] && it["status"] == condition["status"]
            };
            if let Some(before) = before.as_array().into_iter().flatten().find(is_same)
                && condition.get("lastTransitionTime").is_some()
            {
                condition["lastTransitionTime"] = before["lastTransitionTime"].clone();
            }
        }
    }
}
