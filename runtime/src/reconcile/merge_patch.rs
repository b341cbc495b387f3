//! A planned body as what is sent: a new object, or a merge patch of one that exists.
//!
//! Guarantees: pure. A list is sent as a whole. A patch removes what the plan names as `null`, and the foreign
//! keys of maps that have one writer. Leaves to others: what differs (`drift`), sending it (`child_requests`).

use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use crate::reconcile::api_fields::is_atomic_map;

/// `body` without nulls. Lists lose theirs always: a merge patch replaces a list as it stands.
pub(crate) fn without_nulls(body: &Value) -> Value {
    match body {
        Value::Object(map) => Value::Object(
            map.iter()
                .filter(|(_, v)| !v.is_null())
                .map(|(k, v)| (k.clone(), without_nulls(v)))
                .collect(),
        ),
        Value::Array(list) => list.iter().map(without_nulls).collect(),
        other => other.clone(),
    }
}

/// An object as it is created, written without a copy of it: the members of `head`, and those of `body` that `head`
/// does not have, without nulls.
pub(crate) struct Created<'a> {
    pub head: &'a Map<String, Value>,
    pub body: &'a Value,
}

impl Serialize for Created<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let body = self.body.as_object().into_iter().flatten();
        let body = body.filter(|(key, _)| !self.head.contains_key(*key));
        members(self.head.iter().chain(body), serializer)
    }
}

/// A value without nulls in its maps.
struct WithoutNulls<'a>(&'a Value);

impl Serialize for WithoutNulls<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Object(map) => members(map.iter(), serializer),
            Value::Array(list) => serializer.collect_seq(list.iter().map(WithoutNulls)),
            other => other.serialize(serializer),
        }
    }
}

fn members<'a, S: Serializer>(
    all: impl Iterator<Item = (&'a String, &'a Value)>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let present = all.filter(|(_, value)| !value.is_null());
    serializer.collect_map(present.map(|(key, value)| (key, WithoutNulls(value))))
}

/// `body` as a merge patch of `actual`, as far as that is known: nulls in maps stay, because they remove what
/// is there.
pub(crate) fn as_merge_patch(body: &Value, actual: &Value) -> Value {
    patch_of("", body, actual)
}

fn patch_of(field: &str, body: &Value, actual: &Value) -> Value {
    match body {
        Value::Object(map) => {
            let mut patch: Map<String, Value> = map
                .iter()
                .map(|(key, planned)| {
                    let found = actual.get(key).unwrap_or(&Value::Null);
                    (key.clone(), patch_of(key, planned, found))
                })
                .collect();
            if is_atomic_map(field)
                && let Value::Object(found) = actual
            {
                let foreign = found.keys().filter(|key| !map.contains_key(*key));
                patch.extend(foreign.map(|key| (key.clone(), Value::Null)));
            }
            Value::Object(patch)
        }
        Value::Array(list) => list.iter().map(without_nulls).collect(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn nulls_stay_in_maps_and_leave_lists() {
        let plan = json!({"a": null, "b": {"c": null, "d": 1}, "l": [{"name": "x", "env": null}]});
        assert_eq!(
            as_merge_patch(&plan, &Value::Null),
            json!({"a": null, "b": {"c": null, "d": 1}, "l": [{"name": "x"}]})
        );
        assert_eq!(
            without_nulls(&plan),
            json!({"b": {"d": 1}, "l": [{"name": "x"}]})
        );
    }

    #[test]
    fn a_foreign_key_of_a_selector_is_removed_and_one_of_labels_is_not() {
        let plan =
            json!({"metadata": {"labels": {"a": "b"}}, "spec": {"selector": {"app": "web"}}});
        let actual = json!({
            "metadata": {"labels": {"a": "b", "theirs": "x"}},
            "spec": {"selector": {"app": "api", "track": "canary"}, "type": "ClusterIP"},
        });
        assert_eq!(
            as_merge_patch(&plan, &actual),
            json!({
                "metadata": {"labels": {"a": "b"}},
                "spec": {"selector": {"app": "web", "track": null}},
            })
        );
    }

    #[test]
    fn an_object_is_created_from_its_head_and_a_body_without_nulls() {
        let body = json!({
            "metadata": {"labels": {"a": "b"}},
            "spec": {"gone": null, "list": [{"kept": 1, "gone": null}, null], "map": {"gone": null}},
            "data": null,
        });
        let head =
            json!({"kind": "X", "metadata": {"name": "x", "labels": {"a": "b"}, "gone": null}});
        let head = head.as_object().cloned().unwrap_or_default();
        let object = Created {
            head: &head,
            body: &body,
        };
        assert_eq!(
            serde_json::to_value(&object).ok(),
            Some(json!({
                "kind": "X",
                "metadata": {"name": "x", "labels": {"a": "b"}},
                "spec": {"list": [{"kept": 1}, null], "map": {}},
            }))
        );
        assert_eq!(
            without_nulls(&body)["spec"],
            json!({"list": [{"kept": 1}, null], "map": {}})
        );
    }
}
