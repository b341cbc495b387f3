//! The comparison and the patch, for plans and objects that nobody thought of.

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};

use crate::reconcile::api_fields::{is_text_map, is_zero, zero_is_absent};
use crate::reconcile::drift::differs;
use crate::reconcile::merge_patch::{as_merge_patch, without_nulls};
use crate::reconcile::normalized::NormalizedFields;
use crate::reconcile::quantity::same_quantity;

const KEYS: [&str; 3] = ["name", "port", "protocol"];
/// Names with a meaning for the comparison, and others.
const FIELDS: [&str; 14] = [
    "spec",
    "labels",
    "selector",
    "matchLabels",
    "env",
    "name",
    "value",
    "ports",
    "port",
    "requests",
    "cpu",
    "replicas",
    "protocol",
    "a~b/c",
];

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-1..3i32).prop_map(Value::from),
        select(&["", "TCP", "0.5", "500m", "web"][..]).prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 4, |inner| {
        prop_oneof![
            1 => vec(inner.clone(), 0..4).prop_map(Value::from),
            3 => btree_map(select(&FIELDS[..]), inner, 0..5).prop_map(|map| {
                map.into_iter().map(|(key, value)| (key.to_owned(), of_key(key, value))).collect()
            }),
        ]
    })
}

/// What tells the items of a list apart is a text or a number.
fn of_key(key: &str, value: Value) -> Value {
    match value {
        Value::Object(_) | Value::Array(_) if KEYS.contains(&key) => json!(1),
        value => value,
    }
}

fn object() -> impl Strategy<Value = Value> {
    value().prop_map(|value| match value {
        object @ Value::Object(_) => object,
        other => json!({ "spec": other }),
    })
}

/// RFC 7396, as the server applies it.
fn merged(target: &Value, patch: &Value) -> Value {
    let Value::Object(patch) = patch else {
        return patch.clone();
    };
    let mut merged: Map<String, Value> = target.as_object().cloned().unwrap_or_default();
    for (key, change) in patch {
        if change.is_null() {
            merged.remove(key);
        } else {
            let before = merged.get(key).cloned().unwrap_or_default();
            merged.insert(key.clone(), self::merged(&before, change));
        }
    }
    Value::Object(merged)
}

/// What Go's `omitempty` leaves of it. The values of a map of texts are kept.
fn stored(value: &Value, text_map: bool) -> Value {
    match value {
        Value::Object(map) => map
            .iter()
            .filter(|(key, value)| text_map || !(is_zero(value) && zero_is_absent(key)))
            .map(|(key, value)| (key.clone(), stored(value, is_text_map(key))))
            .collect(),
        Value::Array(list) => list.iter().map(|item| stored(item, text_map)).collect(),
        other => other.clone(),
    }
}

fn difference(plan: &Value, actual: &Value) -> Option<String> {
    differs(plan, actual, None, &NormalizedFields::default())
}

proptest! {
    /// One patch is enough: what it makes of any object has no difference.
    #[test]
    fn a_patched_object_is_as_planned(plan in object(), actual in object()) {
        let patch = as_merge_patch(&plan, &actual);
        let patched = merged(&actual, &patch);
        prop_assert_eq!(difference(&plan, &patched), None, "{} by {}", patched, patch);
    }

    #[test]
    fn a_created_object_is_as_planned_in_the_form_that_is_sent_and_in_the_one_that_is_stored(
        plan in object(),
    ) {
        let sent = without_nulls(&plan);
        prop_assert_eq!(difference(&plan, &sent), None, "{}", sent);
        let stored = stored(&sent, false);
        prop_assert_eq!(difference(&plan, &stored), None, "{}", stored);
    }

    #[test]
    fn a_comparison_of_anything_with_anything_ends(plan in value(), actual in value()) {
        let _ = difference(&plan, &actual);
        prop_assert_eq!(difference(&actual, &actual), None);
    }

    #[test]
    fn a_quantity_is_the_same_as_itself_or_is_none(
        text in "[+-]?[0-9.]{0,40}[eEinumkKMGTP]{0,3}[+-]?[0-9]{0,12}", any_text: String,
    ) {
        for text in [text, any_text] {
            let value = json!(text);
            let _ = same_quantity(&value, &json!("1"));
            let same = same_quantity(&value, &value);
            prop_assert!(same || !same_quantity(&value, &json!("0")));
        }
    }

    #[test]
    fn a_quantity_is_the_same_in_thousandths(whole in 0..1_000_000u64, milli in 0..1_000u64) {
        let one = json!(format!("{whole}.{milli:03}"));
        for other in [
            format!("{}m", whole * 1_000 + milli),
            format!("{}u", (whole * 1_000 + milli) * 1_000),
            format!("{}e-3", whole * 1_000 + milli),
            format!("+{whole}.{milli:03}000"),
        ] {
            prop_assert!(same_quantity(&one, &json!(other)), "{one} and {other}");
        }
    }
}

/// The server rounds up what is smaller than it can store.
#[test]
fn a_fraction_of_a_billionth_is_one() {
    assert!(same_quantity(&json!("0.1n"), &json!("1n")));
    assert!(same_quantity(&json!("1e-20"), &json!("1n")));
    assert!(!same_quantity(&json!("1e-20"), &json!("0")));
    assert!(same_quantity(&json!("0e-20"), &json!("0")));
}

#[test]
fn an_exponent_beyond_all_bounds_is_no_quantity() {
    for text in [
        "1.5e-2147483648",
        "1e2147483648",
        "1.5e2147483647",
        "1e99999999999",
    ] {
        assert!(!same_quantity(&json!(text), &json!(text)), "{text}");
    }
    assert!(!same_quantity(&json!("+-1"), &json!("-1")));
}
