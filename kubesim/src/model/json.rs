//! Reading and writing metadata on a JSON object, without panics on odd shapes.

use serde_json::{Map, Value};

/// Fails softly: a missing or odd field reads as empty.
pub(crate) fn meta(object: &Value) -> Option<&Map<String, Value>> {
    object.get("metadata")?.as_object()
}

/// The metadata map, made if it was not there.
pub(crate) fn meta_mut(object: &mut Value) -> &mut Map<String, Value> {
    map_at(object, "metadata")
}

/// The map at `field`, made if it was not there or was something else.
pub(crate) fn map_at<'a>(object: &'a mut Value, field: &str) -> &'a mut Map<String, Value> {
    if !object.is_object() {
        *object = Value::Object(Map::new());
    }
    match object {
        Value::Object(map) => as_map(map.entry(field).or_insert(Value::Null)),
        _ => unreachable!("made an object above"),
    }
}

/// The value as a map, made one if it was something else.
pub(crate) fn as_map(value: &mut Value) -> &mut Map<String, Value> {
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    match value {
        Value::Object(map) => map,
        _ => unreachable!("made an object above"),
    }
}

pub(crate) fn meta_str<'a>(object: &'a Value, field: &str) -> &'a str {
    meta(object)
        .and_then(|m| m.get(field))
        .and_then(Value::as_str)
        .unwrap_or("")
}

pub(crate) fn generation(object: &Value) -> i64 {
    meta(object)
        .and_then(|m| m.get("generation"))
        .and_then(Value::as_i64)
        .unwrap_or(0)
}

pub(crate) fn is_deleting(object: &Value) -> bool {
    meta(object).is_some_and(|m| m.get("deletionTimestamp").is_some_and(|t| !t.is_null()))
}

pub(crate) fn finalizers(object: &Value) -> Vec<&str> {
    meta(object)
        .and_then(|m| m.get("finalizers"))
        .and_then(Value::as_array)
        .map(|list| list.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default()
}

pub(crate) fn owner_references(object: &Value) -> &[Value] {
    meta(object)
        .and_then(|m| m.get("ownerReferences"))
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// Follows a path of object fields.
pub(crate) fn at<'a>(object: &'a Value, path: &[String]) -> Option<&'a Value> {
    path.iter()
        .try_fold(object, |value, field| value.get(field))
}

/// Sets the value at a path of object fields, making what is missing on the way.
pub(crate) fn set_at(object: &mut Value, path: &[String], value: Value) {
    match path {
        [] => *object = value,
        [field, rest @ ..] => {
            let slot = as_map(object).entry(field.as_str()).or_insert(Value::Null);
            set_at(slot, rest, value);
        }
    }
}
