//! Values with placeholders: what a declaration says about an object, filled in from it.
//!
//! Guarantees: `$name`, `$uid`, `$now`, `$generation` anywhere in a text; a text that is `$at POINTER`, `$number
//! POINTER` or `$count POINTER` becomes the value there, a number or 0, a number or nothing; of several pointers the
//! first with a value counts. A value that is not there becomes null.

use serde_json::{Map, Value, json};

use crate::model::json::{generation, meta_str};

/// The template with the object's own values; `now` is RFC 3339.
pub(crate) fn fill(template: &Value, object: &Value, now: &str) -> Value {
    match template {
        Value::Object(map) => Value::Object(
            map.iter()
                .map(|(field, value)| (field.clone(), fill(value, object, now)))
                .collect::<Map<_, _>>(),
        ),
        Value::Array(items) => items.iter().map(|item| fill(item, object, now)).collect(),
        Value::String(text) => fill_text(text, object, now),
        other => other.clone(),
    }
}

fn fill_text(text: &str, object: &Value, now: &str) -> Value {
    if !text.contains('$') {
        return json!(text);
    }
    if text == "$generation" {
        return json!(generation(object));
    }
    if let Some((word, pointers)) = text.split_once(' ') {
        let found = pointers
            .split(' ')
            .find_map(|pointer| object.pointer(pointer));
        let number = found.and_then(Value::as_i64);
        match word {
            "$at" => return found.cloned().unwrap_or(Value::Null),
            "$number" => return json!(number.unwrap_or(0)),
            "$count" => return number.filter(|n| *n != 0).map_or(Value::Null, Value::from),
            _ => {}
        }
    }
    json!(
        text.replace("$name", meta_str(object, "name"))
            .replace("$uid", meta_str(object, "uid"))
            .replace("$generation", &generation(object).to_string())
            .replace("$now", now)
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::fill;

    #[test]
    fn placeholders_by_table() {
        let object = json!({
            "metadata": {"name": "web", "uid": "u-1", "generation": 3},
            "spec": {"replicas": 2, "none": 0, "share": "50%"},
        });
        let cases = [
            (json!("text"), json!("text")),
            (json!("$name-$generation"), json!("web-3")),
            (json!("$generation"), json!(3)),
            (json!("pvc-$uid"), json!("pvc-u-1")),
            (json!({"at": ["$now"]}), json!({"at": ["T"]})),
            (json!("$at /spec/share"), json!("50%")),
            (json!("$at /spec/missing"), json!(null)),
            (json!("$number /spec/share"), json!(0)),
            (json!("$count /spec/none"), json!(null)),
            (json!("$count /spec/missing /spec/replicas"), json!(2)),
        ];
        for (template, want) in cases {
            assert_eq!(fill(&template, &object, "T"), want, "{template}");
        }
    }
}
