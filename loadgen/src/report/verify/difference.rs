//! Where JSON differs from what it should be.
//!
//! Guarantees: pure; says the first place and how many there are, never a whole file. Of `values`, which have a figure for
//! each name, one that is not there is no difference: an earlier loadgen did not know it. Leaves to others: which files.

use serde_json::Value;

/// Where a run has its figures by name.
const VALUES: &str = ".values";
/// As much of a value as a message shows, in characters.
const SHOWN: usize = 80;

/// The first field in which JSON differs, what is expected there and what was found.
pub fn of_json(expected: &Value, found: &Value) -> Option<String> {
    let mut places = Vec::new();
    walk(expected, found, "", &mut places);
    let first = places.first()?.clone();
    Some(first + &others(places.len(), "fields"))
}

fn walk(expected: &Value, found: &Value, path: &str, places: &mut Vec<String>) {
    match (expected, found) {
        (Value::Object(expected), Value::Object(found)) => {
            let below = |key: &String| match path {
                "" => key.clone(),
                path => format!("{path}.{key}"),
            };
            for (key, value) in expected {
                match found.get(key) {
                    Some(found) => walk(value, found, &below(key), places),
                    None if path.ends_with(VALUES) => {}
                    None => places.push(format!(
                        "{}: missing, the raw data gives {}",
                        below(key),
                        short(&value.to_string())
                    )),
                }
            }
            let unknown = found.keys().filter(|key| !expected.contains_key(*key));
            places.extend(unknown.map(|key| format!("{}: unknown field", below(key))));
        }
        (Value::Array(expected), Value::Array(found)) if expected.len() == found.len() => {
            for (n, (expected, found)) in expected.iter().zip(found).enumerate() {
                walk(expected, found, &format!("{path}[{n}]"), places);
            }
        }
        (Value::Array(expected), Value::Array(found)) => places.push(format!(
            "{path}: {} entries, the raw data gives {}",
            found.len(),
            expected.len()
        )),
        (expected, found) if expected != found => places.push(format!(
            "{path}: {}, the raw data gives {}",
            short(&found.to_string()),
            short(&expected.to_string())
        )),
        _ => {}
    }
}

fn short(text: &str) -> String {
    match text.chars().count() > SHOWN {
        true => text.chars().take(SHOWN).chain(['…']).collect(),
        false => text.to_owned(),
    }
}

fn others(all: usize, what: &str) -> String {
    match all {
        0 | 1 => String::new(),
        _ => format!(" ({all} {what} differ)"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn json_differs_in_a_field() {
        let expected =
            json!({"a": [{"b": 1.5}, {"b": null}], "c": "x", "r": {"values": {"d": 1, "e": 1}}});
        assert_eq!(of_json(&expected, &expected), None);
        for (path, found, want) in [
            (
                "number",
                json!({"a": [{"b": 2}, {"b": null}], "c": "x", "r": {"values": {"d": 1}}}),
                "a[0].b: 2, the raw data gives 1.5",
            ),
            (
                "missing",
                json!({"a": [{"b": 1.5}, {"b": null}], "r": {"values": {}}}),
                "c: missing, the raw data gives \"x\"",
            ),
            (
                "shorter",
                json!({"a": [], "c": "x", "r": {"values": {"d": 1}}}),
                "a: 0 entries, the raw data gives 2",
            ),
            (
                "unknown",
                json!({"a": [{"b": 1.5}, {"b": null}], "c": "x", "r": {"values": {"d": 1}}, "d": 1}),
                "d: unknown field",
            ),
            (
                "a figure",
                json!({"a": [{"b": 1.5}, {"b": null}], "c": "x", "r": {"values": {"d": 2}}}),
                "r.values.d: 2, the raw data gives 1",
            ),
            (
                "two",
                json!({"a": [{"b": 2}, {"b": 3}], "c": "x", "r": {"values": {"d": 1}}}),
                "a[0].b: 2, the raw data gives 1.5 (2 fields differ)",
            ),
        ] {
            assert_eq!(of_json(&expected, &found).as_deref(), Some(want), "{path}");
        }
    }
}
