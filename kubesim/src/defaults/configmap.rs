//! ConfigMaps: immutable ones stay as they are.

use serde_json::Value;

use crate::schema::field_error::FieldError;

pub(crate) fn shape(object: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut errors = Vec::new();
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
