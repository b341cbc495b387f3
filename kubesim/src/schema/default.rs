//! Fills in defaults, after nulls that may not stay have gone.

use serde_json::Value;

use crate::schema::Schema;

/// Nulls of fields that are not nullable count as missing, as in apiextensions/v1.
pub(crate) fn default(schema: &Schema, value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.retain(|key, value| {
                !value.is_null()
                    || schema
                        .field(key)
                        .is_none_or(|s| s.nullable || s.preserve_unknown)
            });
            for (key, below) in &schema.properties {
                if let Some(default) = &below.default
                    && !map.contains_key(key)
                {
                    map.insert(key.clone(), default.clone());
                }
            }
            for (key, value) in map {
                if let Some(below) = schema.field(key) {
                    default(below, value);
                }
            }
        }
        Value::Array(list) => {
            if let Some(item) = schema.item() {
                for value in list {
                    default(item, value);
                }
            }
        }
        _ => {}
    }
}
