//! Where a file differs from what its raw data gives.
//!
//! Guarantees: pure; says the first place and how many there are, never a whole file. Of `values`, which have a figure for
//! each name, one that is not there is no difference: an earlier loadgen did not know it. Leaves to others: which files.

use serde_json::Value;

use crate::record::difference::{Difference, between, shown};

/// Where a run has its figures by name.
const VALUES: &str = ".values.";

/// The first field in which JSON differs, what is expected there and what was found.
pub fn of_json(expected: &Value, found: &Value) -> Option<String> {
    let counts = |place: &Difference| place.other.is_some() || !place.path.contains(VALUES);
    let places = between(expected, found).into_iter().filter(counts);
    let places: Vec<Difference> = places.collect();
    let first = places.first()?;
    let others = match places.len() {
        1 => String::new(),
        all => format!(" ({all} fields differ)"),
    };
    let path = &first.path;
    Some(match (first.one, first.other) {
        (None, _) => format!("{path}: unknown field{others}"),
        (one, None) => format!("{path}: missing, the raw data gives {}{others}", shown(one)),
        (one, other) => {
            let (one, other) = (shown(one), shown(other));
            format!("{path}: {other}, the raw data gives {one}{others}")
        }
    })
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
                "a: 0 entries, the raw data gives 2 entries",
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
