//! CEL rules (`x-kubernetes-validations`).

use serde_json::Value;

use super::Schema;
use crate::embedded::status::FieldError;

/// Evaluates the rules of a schema.
pub(crate) fn check(_schema: &Schema, _new: &Value, _old: Option<&Value>) -> Vec<FieldError> {
    Vec::new()
}
