//! ConfigMaps: their keys are names of files, and immutable ones stay as they are.

use serde_json::Value;

use crate::schema::field_error::FieldError;

pub(crate) fn shape(object: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for field in ["data", "binaryData"] {
        errors.extend(keys(field, object));
    }
    if let Some(data) = object.get("data").and_then(Value::as_object) {
        for (key, value) in data {
            if !value.is_string() {
                errors.push(FieldError::type_invalid(
                    format!("data[{key}]"),
                    value,
                    "must be a string",
                ));
            }
        }
    }
    let Some(old) = old.filter(|old| old.get("immutable") == Some(&Value::Bool(true))) else {
        return errors;
    };
    for field in ["immutable", "data", "binaryData"] {
        if old.get(field) != object.get(field) {
            errors.push(FieldError::forbidden(
                field,
                "field is immutable when `immutable` is set",
            ));
        }
    }
    errors
}

/// What is wrong with the keys of the map `field`, of a ConfigMap or a Secret.
///
/// The rules and their words are those of `IsConfigMapKey` in `k8s.io/apimachinery/pkg/util/validation` v0.36.4.
pub(crate) fn keys(field: &str, object: &Value) -> Vec<FieldError> {
    let all = object.get(field).and_then(Value::as_object);
    let mut errors = Vec::new();
    for key in all.into_iter().flatten().map(|(key, _)| key) {
        let mut wrong = |detail: &str| {
            let value = Value::from(key.as_str());
            errors.push(FieldError::invalid(
                format!("{field}[{key}]"),
                &value,
                detail,
            ));
        };
        if key.len() > 253 {
            wrong("must be no more than 253 characters");
        }
        let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if key.is_empty() || !key.chars().all(is_allowed) {
            wrong(
                "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')",
            );
        } else if key == "." {
            wrong("must not be '.'");
        } else if key.starts_with("..") {
            wrong(match &**key {
                ".." => "must not be '..'",
                _ => "must not start with '..'",
            });
        }
    }
    errors
}
