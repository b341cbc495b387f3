//! Where two files that should be the same differ.
//!
//! Guarantees: pure; says the first place and how many there are, never a whole file. Leaves to
//! others: which files.

use serde_json::Value;

/// As much of a value or a line as a message shows, in characters.
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

/// The first line in which text differs, what is expected there and what was found.
pub fn of_text(expected: &str, found: &str) -> Option<String> {
    let (expected, found): (Vec<&str>, Vec<&str>) =
        (expected.lines().collect(), found.lines().collect());
    let longest = expected.len().max(found.len());
    let differs = |n: &usize| expected.get(*n) != found.get(*n);
    let mut places = (0..longest).filter(differs);
    let first = places.next()?;
    let rest = places.count();
    let (expected, found) = (expected.get(first), found.get(first));
    let from = match (expected, found) {
        (Some(expected), Some(found)) => common_start(expected, found),
        _ => 0,
    };
    let line = |line: Option<&&str>| {
        line.map_or("no such line".to_owned(), |line| {
            format!("`{}`", short(&after(line, from)))
        })
    };
    let what = format!(
        "line {}: {}, the raw data gives {}",
        first + 1,
        line(found),
        line(expected)
    );
    Some(what + &others(rest + 1, "lines"))
}

/// How many characters two lines have in common, less a few for orientation.
fn common_start(a: &str, b: &str) -> usize {
    let common = a.chars().zip(b.chars()).take_while(|(a, b)| a == b);
    common.count().saturating_sub(30)
}

fn after(line: &str, from: usize) -> String {
    let rest: String = line.chars().skip(from).collect();
    match from {
        0 => rest,
        _ => format!("…{rest}"),
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
        let expected = json!({"a": [{"b": 1.5}, {"b": null}], "c": "x"});
        assert_eq!(of_json(&expected, &expected), None);
        for (path, found, want) in [
            (
                "number",
                json!({"a": [{"b": 2}, {"b": null}], "c": "x"}),
                "a[0].b: 2, the raw data gives 1.5",
            ),
            (
                "missing",
                json!({"a": [{"b": 1.5}, {"b": null}]}),
                "c: missing, the raw data gives \"x\"",
            ),
            (
                "shorter",
                json!({"a": [], "c": "x"}),
                "a: 0 entries, the raw data gives 2",
            ),
            (
                "unknown",
                json!({"a": [{"b": 1.5}, {"b": null}], "c": "x", "d": 1}),
                "d: unknown field",
            ),
            (
                "two",
                json!({"a": [{"b": 2}, {"b": 3}], "c": "x"}),
                "a[0].b: 2, the raw data gives 1.5 (2 fields differ)",
            ),
        ] {
            assert_eq!(of_json(&expected, &found).as_deref(), Some(want), "{path}");
        }
    }

    #[test]
    fn text_differs_in_a_line() {
        assert_eq!(of_text("a\nb\n", "a\nb\n"), None);
        assert_eq!(
            of_text("a\nb\n", "a\nc\n").as_deref(),
            Some("line 2: `c`, the raw data gives `b`")
        );
        assert_eq!(
            of_text("a\n", "a\nb\n").as_deref(),
            Some("line 2: `b`, the raw data gives no such line")
        );
        let long = "x".repeat(5_000);
        let said = of_text(&format!("{long}1"), &format!("{long}2")).expect("they differ");
        assert!(said.chars().count() < 150 && said.contains("x2`"), "{said}");
    }
}
