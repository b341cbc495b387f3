//! An object that a schema accepts, as far as the schema says what it accepts.
//!
//! Guarantees: pure; only what is required and has no default; where a value cannot be guessed it says so. Leaves to
//! others: rules in CEL and webhooks, which a dry run asks (`loadgen lint`).

use serde_json::{Value, json};

/// Below this many levels a schema is not followed.
const DEEPEST: usize = 16;

/// The fields of an object.
pub struct Sample {
    pub fields: Value,
    /// Paths of values that somebody has to look at, and why.
    pub open: Vec<(String, String)>,
}

/// The required fields of a schema.
pub fn sample(schema: &Value) -> Sample {
    let mut open = Vec::new();
    let fields = value(schema, "", 0, &mut open);
    Sample { fields, open }
}

fn value(schema: &Value, path: &str, depth: usize, open: &mut Vec<(String, String)>) -> Value {
    if let Some(first) = schema["enum"].as_array().and_then(|all| all.first()) {
        return first.clone();
    }
    if schema["x-kubernetes-int-or-string"] == true {
        return json!(1);
    }
    let least = |name: &str| schema[name].as_u64().unwrap_or(0);
    match schema["type"].as_str() {
        Some("object") | None if depth < DEEPEST => {
            let required = schema["required"].as_array().cloned().unwrap_or_default();
            let required = required.iter().filter_map(Value::as_str);
            let fields = required.filter_map(|name| {
                let field = &schema["properties"][name];
                // The server fills it in before it looks for what is missing.
                let is_set = field.get("default").is_none();
                let path = format!("{path}.{name}");
                is_set.then(|| (name.to_owned(), value(field, &path, depth + 1, open)))
            });
            let fields: serde_json::Map<String, Value> = fields.collect();
            if fields.is_empty() && least("minProperties") > 0 {
                open.push((path.to_owned(), "has to have a key".to_owned()));
            }
            Value::Object(fields)
        }
        Some("array") if least("minItems") > 0 && depth < DEEPEST => {
            let path = format!("{path}[]");
            let item = value(&schema["items"], &path, depth + 1, open);
            Value::Array(vec![item; least("minItems").min(16) as usize])
        }
        Some("array") => json!([]),
        Some("boolean") => json!(false),
        Some("integer" | "number") => {
            let minimum = schema["minimum"].as_i64();
            let maximum = schema["maximum"].as_i64().unwrap_or(i64::MAX);
            json!(minimum.unwrap_or(1).max(1.min(maximum)))
        }
        Some("string") => text(schema, path, open),
        _ => json!({}),
    }
}

fn text(schema: &Value, path: &str, open: &mut Vec<(String, String)>) -> Value {
    if let Some(pattern) = schema["pattern"].as_str() {
        open.push((path.to_owned(), format!("has to match {pattern}")));
    }
    match schema["format"].as_str() {
        Some("date-time") => json!("2026-01-01T00:00:00Z"),
        Some("duration") => json!("1m"),
        Some("ipv4" | "ip") => json!("192.0.2.1"),
        Some("cidr") => json!("192.0.2.0/24"),
        Some("uri" | "url") => json!("https://example.com"),
        Some(format) => {
            open.push((path.to_owned(), format!("has the format {format}")));
            json!("{{ name }}")
        }
        None => json!("{{ name }}"),
    }
}
