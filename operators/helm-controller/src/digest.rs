//! The digest of what a Helm Job installs: the same that helm-controller v0.17 makes, so that a chart which it has installed
//! is not installed again.
//!
//! Its source: `hashObjects` in `pkg/controllers/chart/chart.go` of k3s-io/helm-controller v0.17.9. SHA-256 over the back-off
//! limit, the pod template as Go writes JSON, and the data of the objects with sorted keys.

use std::fmt::Write;

use ring::digest::{Context, SHA256};
use serde_json::Value;

/// Uppercase hexadecimal digits. `data`: the `data` of ConfigMaps and Secrets, these with their values in base64.
pub fn digest<'a>(
    back_off_limit: Option<i32>,
    template: &Value,
    data: impl IntoIterator<Item = &'a Value>,
) -> String {
    let mut context = Context::new(&SHA256);
    if let Some(limit) = back_off_limit {
        context.update(limit.to_string().as_bytes());
    }
    context.update(json_of_go(template).as_bytes());
    for data in data {
        let mut fields: Vec<_> = data.as_object().into_iter().flatten().collect();
        fields.sort_by_key(|(name, _)| *name);
        for (name, value) in fields {
            context.update(name.as_bytes());
            context.update(value.as_str().unwrap_or_default().as_bytes());
        }
    }
    hex(context.finish().as_ref()).to_uppercase()
}

/// Lowercase hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// JSON as Go's encoder writes it: keys sorted, characters that HTML gives a meaning escaped, a line feed at the end.
fn json_of_go(value: &Value) -> String {
    let mut text = String::new();
    write_json(value, &mut text);
    text.push('\n');
    text
}

fn write_json(value: &Value, out: &mut String) {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_by_key(|(name, _)| *name);
            out.push('{');
            for (place, (name, value)) in fields.into_iter().enumerate() {
                if place > 0 {
                    out.push(',');
                }
                write_text(name, out);
                out.push(':');
                write_json(value, out);
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (place, item) in items.iter().enumerate() {
                if place > 0 {
                    out.push(',');
                }
                write_json(item, out);
            }
            out.push(']');
        }
        Value::String(text) => write_text(text, out),
        scalar => {
            let _ = write!(out, "{scalar}");
        }
    }
}

fn write_text(text: &str, out: &mut String) {
    for character in Value::from(text).to_string().chars() {
        match character {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                let _ = write!(out, "\\u{:04x}", character as u32);
            }
            other => out.push(other),
        }
    }
}
