//! What Go's `omitempty` leaves out of built-in kinds: nulls, empty lists, empty maps.

use serde_json::Value;

/// Maps, which go when they are empty. What else has fields is a struct, whose emptiness means something.
const MAPS: [&str; 18] = [
    "allocatedResourceStatuses",
    "allocatedResources",
    "annotations",
    "binaryData",
    "capacity",
    "data",
    "hard",
    "labels",
    "limits",
    "matchLabels",
    "nodeSelector",
    "options",
    "overhead",
    "parameters",
    "requests",
    "stringData",
    "used",
    "volumeAttributes",
];

/// Annotations, labels and data keep what they hold: only containers are dropped.
pub(crate) fn drop_empty(object: &mut Value) {
    let Value::Object(map) = object else {
        return;
    };
    map.retain(|key, value| {
        if matches!(key.as_str(), "data" | "binaryData" | "managedFields") {
            return match value {
                Value::Null => false,
                Value::Object(map) => !map.is_empty(),
                _ => true,
            };
        }
        match value {
            Value::Null => false,
            Value::Array(list) => {
                list.iter_mut().for_each(drop_empty);
                !list.is_empty()
            }
            Value::Object(_) => {
                drop_empty(value);
                !MAPS.contains(&key.as_str()) || value.as_object().is_some_and(|m| !m.is_empty())
            }
            _ => true,
        }
    });
}
