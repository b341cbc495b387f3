//! Where two JSON values differ.
//!
//! Guarantees: pure; every place once, by its path, in the order of the first value, then what only the second one has. Arrays
//! of other lengths are one difference. Leaves to others: which differences matter, and what to say of them.

use serde_json::Value;

/// As much of a value as a message shows, in characters.
const SHOWN: usize = 80;

/// A place where one value differs from another; `None` where it is not there.
#[derive(Debug, PartialEq)]
pub struct Difference<'a> {
    /// Such as `subjects[0].runs[2].values`.
    pub path: String,
    pub one: Option<&'a Value>,
    pub other: Option<&'a Value>,
}

/// All places where `one` differs from `other`.
pub fn between<'a>(one: &'a Value, other: &'a Value) -> Vec<Difference<'a>> {
    let mut found = Vec::new();
    walk(Some(one), Some(other), "", &mut found);
    found
}

fn walk<'a>(
    one: Option<&'a Value>,
    other: Option<&'a Value>,
    path: &str,
    found: &mut Vec<Difference<'a>>,
) {
    match (one, other) {
        (Some(Value::Object(one)), Some(Value::Object(other))) => {
            let only_other = other.keys().filter(|key| !one.contains_key(*key));
            for key in one.keys().chain(only_other) {
                let below = match path {
                    "" => key.clone(),
                    path => format!("{path}.{key}"),
                };
                walk(one.get(key), other.get(key), &below, found);
            }
        }
        (Some(Value::Array(one)), Some(Value::Array(other))) if one.len() == other.len() => {
            for (n, (one, other)) in one.iter().zip(other).enumerate() {
                walk(Some(one), Some(other), &format!("{path}[{n}]"), found);
            }
        }
        (one, other) if one != other => found.push(Difference {
            path: path.to_owned(),
            one,
            other,
        }),
        _ => {}
    }
}

/// A value as a message shows it: of an array its length, of a long text its beginning.
pub fn shown(value: Option<&Value>) -> String {
    let text = match value {
        None => return "absent".to_owned(),
        Some(Value::Array(entries)) => return format!("{} entries", entries.len()),
        Some(value) => value.to_string(),
    };
    match text.chars().count() > SHOWN {
        true => text.chars().take(SHOWN).chain(['…']).collect(),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_place_is_named_once() {
        let cut = format!("a[1].b: null, \"{}…", "y".repeat(79));
        let one = json!({"a": [{"b": 1.5}, {"b": null}], "c": "x", "r": {"d": 1}});
        let table = [
            (one.clone(), vec![]),
            (
                json!({"a": [{"b": 2}, {"b": null}], "c": "x", "r": {"d": 1}}),
                vec!["a[0].b: 1.5, 2"],
            ),
            (
                json!({"a": [{"b": 1.5}, {"b": null}], "r": {}}),
                vec!["c: \"x\", absent", "r.d: 1, absent"],
            ),
            (
                json!({"a": [], "c": "x", "r": {"d": 1}}),
                vec!["a: 2 entries, 0 entries"],
            ),
            (
                json!({"a": [{"b": 1.5}, {"b": null}], "c": "x", "e": 1, "r": {"d": 1}}),
                vec!["e: absent, 1"],
            ),
            (
                json!({"a": [{"b": 2}, {"b": "y".repeat(100)}], "c": "x", "r": {"d": 1}}),
                vec!["a[0].b: 1.5, 2", &cut],
            ),
        ];
        for (other, want) in table {
            let said = between(&one, &other);
            let said = said.iter().map(|place| {
                let (one, other) = (shown(place.one), shown(place.other));
                format!("{}: {one}, {other}", place.path)
            });
            assert_eq!(said.collect::<Vec<_>>(), want);
        }
    }
}
