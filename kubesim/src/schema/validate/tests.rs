//! What is refused and with which words, and what is accepted, by table.

#![allow(clippy::unwrap_used)]

use serde_json::{Value, json};

use super::validate;
use crate::schema::Schema;
use crate::schema::default::default;
use crate::schema::prune::prune;

/// A schema with one field `x`.
fn with(field: Value) -> Schema {
    Schema::parse(&json!({"type": "object", "properties": {"x": field}})).unwrap()
}

#[test]
fn refusals_by_table() {
    let cases = [
        (
            json!({"type": "integer", "minimum": 1}),
            json!(0),
            "Invalid value: 0: x in body should be greater than or equal to 1",
        ),
        (
            json!({"type": "number", "maximum": 2_000_000}),
            json!(3e6),
            "Invalid value: 3000000.0: x in body should be less than or equal to 2e+06",
        ),
        (
            json!({"type": "string", "minLength": 1}),
            json!(""),
            "Invalid value: \"\": x in body should be at least 1 chars long",
        ),
        (
            json!({"type": "string", "maxLength": 2}),
            json!("abc"),
            "Too long: may not be more than 2 bytes",
        ),
        (
            json!({"type": "array", "maxItems": 1, "items": {"type": "string"}}),
            json!(["a", "b"]),
            "Too many: 2: must have at most 1 item",
        ),
        (
            json!({"type": "object", "maxProperties": 1, "additionalProperties": {"type": "string"}}),
            json!({"a": "", "b": ""}),
            "Too many: 2: must have at most 1 item",
        ),
        (
            json!({"type": "object", "additionalProperties": {"type": "string"}}),
            json!([]),
            "Invalid value: \"array\": x in body must be of type object: \"array\"",
        ),
        (
            json!({"x-kubernetes-int-or-string": true}),
            json!(true),
            "Invalid value: \"boolean\": x in body must be of type integer,string: \"boolean\"",
        ),
        (
            json!({"type": "string", "format": "date-time"}),
            json!("now"),
            "Invalid value: \"now\": x in body must be of type date-time: \"now\"",
        ),
        (
            json!({"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}}),
            json!(["a", "a"]),
            "Duplicate value: \"a\"",
        ),
        (
            json!({"type": "string"}),
            json!(null),
            "Invalid value: \"null\": x in body must be of type string: \"null\"",
        ),
    ];
    for (schema, value, want) in cases {
        let errors = validate(&with(schema.clone()), &json!({"x": value}), "");
        assert_eq!(errors.len(), 1, "{schema}: {errors:?}");
        assert_eq!(errors[0].message, want, "{schema}");
    }
}

#[test]
fn what_is_accepted_by_table() {
    let cases = [
        (json!({"type": "string", "nullable": true}), json!(null)),
        (json!({"x-kubernetes-int-or-string": true}), json!("25%")),
        (
            json!({"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}]}),
            json!(3),
        ),
        (json!({"type": "integer"}), json!(3.0)),
        (
            json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}),
            json!({"a": [1]}),
        ),
        (
            json!({"type": "string", "format": "date-time"}),
            json!("2026-11-21T05:00:00.25+01:00"),
        ),
    ];
    for (schema, value) in cases {
        let errors = validate(&with(schema.clone()), &json!({"x": value}), "");
        assert!(errors.is_empty(), "{schema}: {errors:?}");
    }
}

#[test]
fn pruned_and_defaulted_as_the_real_server_does() {
    let schema = Schema::parse(&json!({"type": "object", "properties": {
        "a": {"type": "integer", "default": 3},
        "b": {"type": "object", "default": {}, "properties": {"c": {"type": "string", "default": "d"}}},
        "n": {"type": "string", "nullable": true},
        "m": {"type": "string"},
        "list": {"type": "array", "items": {"type": "object", "properties": {"k": {"type": "string", "default": "v"}}}},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
    }}))
    .unwrap();
    let mut value =
        json!({"a": null, "n": null, "m": null, "gone": 1, "list": [{"z": 1}], "free": {"z": 1}});
    assert_eq!(prune(&schema, &mut value, ""), ["gone", "list[0].z"]);
    default(&schema, &mut value);
    assert_eq!(
        value,
        json!({"a": 3, "b": {"c": "d"}, "n": null, "list": [{"k": "v"}], "free": {"z": 1}})
    );
}
