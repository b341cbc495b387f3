//! What a custom resource with a scale subresource must hold where `/scale` reads.
//!
//! Follows `ValidateScaleSpec` and `ValidateScaleStatus` of apiextensions-apiserver v0.36.4
//! (`pkg/registry/customresource/validator.go`).

use serde_json::{Value, json};

use crate::model::kind::Kind;
use crate::schema::field_error::FieldError;

/// The object as it was sent: before numbers get the form in which they are stored.
pub(crate) fn validate(kind: &Kind, object: &Value) -> Vec<FieldError> {
    let Some(scale) = &kind.scale else {
        return Vec::new();
    };
    let mut errors = Vec::new();
    for path in [&scale.spec_replicas, &scale.status_replicas] {
        errors.extend(match find(object, path) {
            Ok(found) => found.and_then(|found| replicas(path, found)),
            Err(detail) => Some(FieldError::invalid(dotted(path), &json!(0), &detail)),
        });
    }
    if let Some(path) = scale.selector.as_ref().filter(|path| !path.is_empty()) {
        let detail = match find(object, path) {
            Ok(Some(found)) if !found.is_string() => Some(accessor(path, found, "string")),
            Ok(_) => None,
            Err(detail) => Some(detail),
        };
        let refused = |detail: String| FieldError::invalid(dotted(path), &json!(""), &detail);
        errors.extend(detail.map(refused));
    }
    errors
}

/// What is at the path, where all that leads to it are objects.
fn find<'a>(object: &'a Value, path: &[String]) -> Result<Option<&'a Value>, String> {
    let mut value = object;
    for (depth, field) in path.iter().enumerate() {
        match value {
            Value::Object(map) => match map.get(field) {
                Some(below) if !below.is_null() => value = below,
                _ => return Ok(None),
            },
            other => return Err(accessor(&path[..=depth], other, "map[string]interface{}")),
        }
    }
    Ok(Some(value))
}

fn replicas(path: &[String], found: &Value) -> Option<FieldError> {
    let most = i64::from(i32::MAX);
    let Some(replicas) = found.as_i64() else {
        let detail = accessor(path, found, "int64");
        return Some(FieldError::invalid(dotted(path), &json!(0), &detail));
    };
    let detail = match replicas {
        ..0 => "should be a non-negative integer".to_owned(),
        more if more > most => format!("should be less than or equal to {most}"),
        _ => return None,
    };
    Some(FieldError::invalid(dotted(path), &json!(replicas), &detail))
}

fn accessor(path: &[String], found: &Value, expected: &str) -> String {
    let (shown, go_type) = match found {
        Value::Number(number) if number.is_f64() => {
            (number.as_f64().unwrap_or_default().to_string(), "float64")
        }
        Value::Number(number) => (number.to_string(), "int64"),
        Value::String(text) => (text.clone(), "string"),
        Value::Bool(truth) => (truth.to_string(), "bool"),
        Value::Array(list) if list.is_empty() => ("[]".to_owned(), "[]interface {}"),
        Value::Array(_) => (found.to_string(), "[]interface {}"),
        _ => (found.to_string(), "map[string]interface {}"),
    };
    let field = dotted(path);
    format!("{field} accessor error: {shown} is of the type {go_type}, expected {expected}")
}

/// `.spec.replicas`, as the definition writes it.
fn dotted(path: &[String]) -> String {
    format!(".{}", path.join("."))
}
