//! Removes what a schema does not know.

use serde_json::Value;

use crate::schema::Schema;

/// Prunes in place and names what went, as `spec.foo`.
pub(crate) fn prune(schema: &Schema, value: &mut Value, at: &str) -> Vec<String> {
    let mut gone = Vec::new();
    prune_into(schema, value, at, &mut gone);
    gone
}

fn prune_into(schema: &Schema, value: &mut Value, at: &str, gone: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            map.retain(|key, value| {
                let path = if at.is_empty() {
                    key.clone()
                } else {
                    format!("{at}.{key}")
                };
                let typed = schema.embedded_resource
                    && matches!(key.as_str(), "apiVersion" | "kind" | "metadata");
                match schema.field(key) {
                    Some(below) => {
                        prune_into(below, value, &path, gone);
                        true
                    }
                    None if schema.preserve_unknown || typed => true,
                    None => {
                        gone.push(path);
                        false
                    }
                }
            });
        }
        Value::Array(list) => {
            if let Some(item) = schema.item() {
                for (i, value) in list.iter_mut().enumerate() {
                    prune_into(item, value, &format!("{at}[{i}]"), gone);
                }
            }
        }
        _ => {}
    }
}
