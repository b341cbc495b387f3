//! The comparison and the patch, for plans, objects and managedFields that nobody thought of.

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};

use crate::reconcile::fields::{Found, Mark, Others, Planned, correct, is_as_listed, merged};

const KEYS: [&str; 3] = ["name", "port", "protocol"];
const FIELDS: [&str; 9] = [
    "spec", "metadata", "labels", "selector", "env", "name", "port", "protocol", "a~b/c",
];

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-1..3i32).prop_map(Value::from),
        select(&["", "TCP", "0.5", "500m", "web"][..]).prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 4, |inner| {
        prop_oneof![
            1 => vec(inner.clone().prop_map(item), 0..4).prop_map(Value::from),
            3 => btree_map(select(&FIELDS[..]), inner, 0..5).prop_map(|map| {
                map.into_iter().map(|(key, value)| (key.to_owned(), of_key(key, value))).collect()
            }),
        ]
    })
}

/// What tells the items of a list apart is a text or a number.
fn of_key(key: &str, value: Value) -> Value {
    match value {
        Value::Object(_) | Value::Array(_) if KEYS.contains(&key) => json!(1),
        value => value,
    }
}

/// What tells the items of a list apart is there: no server takes an item whose key is `null`.
fn item(mut item: Value) -> Value {
    if let Value::Object(members) = &mut item {
        members.retain(|key, value| !KEYS.contains(&key.as_str()) || !value.is_null());
    }
    item
}

fn object() -> impl Strategy<Value = Value> {
    value().prop_map(|value| match value {
        object @ Value::Object(_) => object,
        other => json!({ "spec": other }),
    })
}

/// The set of all paths in `value`, whose lists are told apart by name where all items have one. `take` decides for each.
fn fields(value: &Value, take: &mut dyn FnMut() -> bool) -> Value {
    let mut set = Map::new();
    match value {
        Value::Object(members) => {
            for (key, value) in members {
                if take() {
                    set.insert(format!("f:{key}"), fields(value, take));
                }
            }
        }
        Value::Array(items) if items.iter().all(|item| item["name"].is_string()) => {
            for item in items {
                if take() {
                    let mut node = fields(item, take);
                    node["."] = json!({});
                    set.insert(format!("k:{}", json!({"name": item["name"]})), node);
                }
            }
        }
        _ => {}
    }
    if !set.is_empty() && take() {
        set.insert(".".to_owned(), json!({}));
    }
    set.into()
}

/// What stays of a manager's `set` when somebody else's write makes `after` of `before`: as in kube-apiserver, a field
/// that changed or went is its owner's no more.
fn left_of(set: &Value, before: &Value, after: &Value) -> Value {
    let child = |value: &Value, step: &str| match step.split_once(':') {
        Some(("f", key)) => value.get(key).cloned(),
        Some(("k", key)) => {
            let key: Value = serde_json::from_str(key).unwrap_or_default();
            value
                .as_array()?
                .iter()
                .find(|item| item["name"] == key["name"])
                .cloned()
        }
        _ => None,
    };
    let mut left = Map::new();
    for (step, below) in set.as_object().into_iter().flatten() {
        if step == "." {
            left.insert(step.clone(), below.clone());
        } else if let (Some(before), Some(after)) = (child(before, step), child(after, step)) {
            let is_leaf = below.as_object().is_none_or(Map::is_empty);
            if !is_leaf || before == after {
                let below_left = left_of(below, &before, &after);
                // A branch of which nothing is left names nothing: kept, it would say that all of the field is theirs.
                if is_leaf || below_left != json!({}) {
                    left.insert(step.clone(), below_left);
                }
            }
        }
    }
    left.into()
}

/// What a write that makes `after` of `before` gives to its manager; `None`: nothing.
fn written(before: &Value, after: &Value) -> Option<Value> {
    let null = Value::Null;
    let mut set = Map::new();
    match after {
        _ if before == after => return None,
        Value::Object(members) => {
            for (key, value) in members {
                if let Some(below) = written(before.get(key).unwrap_or(&null), value) {
                    set.insert(format!("f:{key}"), below);
                }
            }
        }
        Value::Array(items) if items.iter().all(|item| item["name"].is_string()) => {
            let old = |item: &Value| {
                let mut old = before.as_array()?.iter();
                old.find(|old| old["name"] == item["name"])
            };
            for item in items {
                if let Some(below) = written(old(item).unwrap_or(&null), item) {
                    set.insert(format!("k:{}", json!({"name": item["name"]})), below);
                }
            }
        }
        _ => {}
    }
    Some(set.into())
}

fn mark(digest: u64) -> Option<Mark> {
    Some(Mark {
        digest,
        generation: 1,
        immutable: 0,
    })
}

fn planned(body: &Value) -> Planned<'_> {
    Planned {
        body,
        mark: Mark {
            digest: 1,
            generation: 1,
            immutable: 0,
        },
        immutable: &["/spec", "/metadata/labels"],
        manager: "tare",
        is_new: false,
    }
}

fn found<'a>(value: &'a Value, mark: Option<Mark>, managed: Option<&'a str>) -> Found<'a> {
    Found {
        value,
        generation: 1,
        mark,
        copy: None,
        managed,
    }
}

proptest! {
    /// One patch is enough: what it makes of any object is as planned, whoever owns what in it.
    #[test]
    fn a_patched_object_is_as_planned(
        plan in object(), actual in object(), ours in vec(any::<bool>(), 1..40), others in vec(any::<bool>(), 1..40),
        stay in any::<bool>(), of in select(&[None, Some(1), Some(2)][..]),
    ) {
        let mut take = ours.iter().cycle();
        let ours = fields(&actual, &mut || *take.next().unwrap_or(&true));
        let mut take = others.iter().cycle();
        let theirs = fields(&actual, &mut || *take.next().unwrap_or(&true));
        let entry = |manager: &str, fields: Value| json!({"manager": manager, "operation": "Update", "fieldsV1": fields});
        let managed = json!([entry("tare", ours.clone()), entry("other", theirs.clone())]).to_string();
        let others = if stay { Others::Stay } else { Others::Yield };
        let before = found(&actual, of.and_then(mark), Some(&managed));
        let Some(correction) = correct(&planned(&plan), &before, others) else { return Ok(()) };
        let patched = merged(&actual, &correction.patch.into());
        let [ours, theirs] = [ours, theirs].map(|set| left_of(&set, &actual, &patched));
        let written = written(&actual, &patched).unwrap_or_default();
        let managed = json!([
            entry("tare", ours), entry("tare", written), entry("tare", json!({"f:mark": {}})), entry("other", theirs),
        ]).to_string();
        let after = found(&patched, mark(1), Some(&managed));
        let again = correct(&planned(&plan), &after, others);
        let again = again.map(|again| again.path);
        prop_assert_eq!(again, None, "{} under {}", patched, managed);
    }

    /// The same where nobody knows who owns what.
    #[test]
    fn an_object_that_was_patched_blindly_is_as_planned(plan in object(), actual in object()) {
        let before = found(&actual, mark(2), None);
        let correction = correct(&planned(&plan), &before, Others::Stay);
        let patch = correction.map(|correction| correction.patch).unwrap_or_default();
        let patched = merged(&actual, &patch.into());
        let after = found(&patched, mark(1), None);
        let again = correct(&planned(&plan), &after, Others::Stay).map(|again| again.path);
        prop_assert_eq!(again, None, "{}", patched);
    }

    #[test]
    fn a_comparison_of_anything_with_anything_ends(
        plan in value(), actual in value(), managed in value(), text: String,
    ) {
        let managed = json!([{"manager": "tare", "operation": "Apply", "fieldsV1": managed}]).to_string();
        for managed in [&managed, &text] {
            for of in [None, mark(1), mark(2)] {
                let found = found(&actual, of, Some(managed));
                let _ = correct(&planned(&plan), &found, Others::Yield);
                let _ = is_as_listed(&planned(&plan), &found);
            }
        }
    }
}
