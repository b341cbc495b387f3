//! What Go's `omitempty` leaves out of built-in kinds: nulls, empty lists, most empty maps.

use serde_json::Value;

/// Structs behind pointers (or without omitempty), whose emptiness means something.
const KEPT: [&str; 12] = [
    "securityContext",
    "resources",
    "emptyDir",
    "status",
    "spec",
    "selector",
    "loadBalancer",
    "metadata",
    "template",
    "strategy",
    "podSelector",
    "creationTimestamp",
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
                KEPT.contains(&key.as_str()) || value.as_object().is_some_and(|m| !m.is_empty())
            }
            _ => true,
        }
    });
}
