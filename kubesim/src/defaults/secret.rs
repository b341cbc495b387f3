//! Secrets: `stringData` becomes `data`, immutable ones stay as they are.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use crate::defaults::configmap::keys;
use crate::defaults::default;
use crate::model::json::as_map;
use crate::schema::field_error::FieldError;

pub(crate) fn shape(object: &mut Value, old: Option<&Value>) -> Vec<FieldError> {
    let secret = as_map(object);
    default(secret, "type", "Opaque");
    move_string_data(secret);
    let mut errors = keys("data", object);
    let Some(old) = old else {
        return errors;
    };
    if old.get("type") != object.get("type") {
        let found = object.get("type").unwrap_or(&Value::Null);
        errors.push(FieldError::invalid("type", found, "field is immutable"));
    }
    if old.get("immutable") == Some(&Value::Bool(true)) {
        for field in ["immutable", "data"] {
            if old.get(field) != object.get(field) {
                errors.push(FieldError::forbidden(
                    field,
                    "field is immutable when `immutable` is set",
                ));
            }
        }
    }
    errors
}

/// `stringData` is for writing only and replaces what `data` has.
fn move_string_data(secret: &mut Map<String, Value>) {
    let Some(Value::Object(texts)) = secret.remove("stringData") else {
        return;
    };
    let data = as_map(secret.entry("data").or_insert(json!({})));
    for (key, text) in texts {
        let text = text.as_str().unwrap_or_default();
        data.insert(key, json!(STANDARD.encode(text)));
    }
}
