//! What is sent: a new object, or the merge patch that makes one object of another.
//!
//! Guarantees: pure. A patch has the members that differ; a list in it is whole. A new object has no nulls.
//! Leaves to others: what an object should be (`merge`), sending it (`child_requests`).

use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

/// `body` without nulls.
pub(crate) fn without_nulls(body: &Value) -> Value {
    // Our own values can always be serialised.
    serde_json::to_value(WithoutNulls(body)).unwrap_or_default()
}

/// The merge patch (RFC 7396) that makes `wanted` of `actual`. Empty where they are the same.
pub(super) fn merge_patch(
    actual: &Map<String, Value>,
    wanted: &Map<String, Value>,
) -> Map<String, Value> {
    let mut patch = Map::new();
    for (key, value) in wanted {
        match (actual.get(key), value) {
            (Some(found), value) if found == value => {}
            (Some(Value::Object(found)), Value::Object(value)) => {
                patch.insert(key.clone(), merge_patch(found, value).into());
            }
            (_, value) => drop(patch.insert(key.clone(), value.clone())),
        }
    }
    let gone = actual.keys().filter(|key| !wanted.contains_key(*key));
    patch.extend(gone.map(|key| (key.clone(), Value::Null)));
    patch
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_patch_has_what_differs_and_nulls_for_what_goes() {
        let of = |value: Value| value.as_object().cloned().unwrap_or_default();
        let actual = of(json!({"a": 1, "b": {"c": 1, "d": 2}, "l": [1], "gone": {"x": 1}}));
        let wanted = of(json!({"a": 1, "b": {"c": 3}, "l": [1, 2], "new": {}}));
        assert_eq!(
            Value::from(merge_patch(&actual, &wanted)),
            json!({"b": {"c": 3, "d": null}, "l": [1, 2], "new": {}, "gone": null})
        );
        assert!(merge_patch(&actual, &actual).is_empty());
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
