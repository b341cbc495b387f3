//! CEL rules (`x-kubernetes-validations`), evaluated by `kube-cel`.
//!
//! Guarantees: rules run after defaults and only on objects that the schema accepts; transition
//! rules see the stored object; a rule that cannot be evaluated refuses the object. Cost budgets,
//! ratcheting, and the refusal of `3.0` where a rule reads an integer are left to the real server.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use kube_cel::{CompiledSchema, Validator, compile_schema};
use serde_json::Value;

use crate::schema::field_error::FieldError;

/// The rules of one schema.
pub(crate) struct Rules {
    compiled: Mutex<(CompiledSchema, Validator)>,
}

impl fmt::Debug for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Rules")
    }
}

impl Rules {
    /// # Errors
    /// Names the rules at the root that do not compile.
    pub(crate) fn compile(schema: &Value) -> Result<Rules, String> {
        let compiled = compile_schema(schema);
        let errors: Vec<String> = compiled
            .compilation_errors()
            .iter()
            .map(ToString::to_string)
            .collect();
        if errors.is_empty() {
            Ok(Rules {
                compiled: Mutex::new((compiled, Validator::new())),
            })
        } else {
            Err(format!("x-kubernetes-validations: {}", errors.join("; ")))
        }
    }

    pub(crate) fn check(&self, new: &Value, old: Option<&Value>) -> Vec<FieldError> {
        let compiled = self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        let (schema, validator) = &*compiled;
        match validator.validate_compiled(schema, new, old) {
            Ok(()) => Vec::new(),
            Err(errors) => errors
                .into_vec()
                .into_iter()
                .map(|error| refusal(new, &error))
                .collect(),
        }
    }
}

/// Worded as apiextensions-apiserver v0.36.4, `pkg/apiserver/schema/cel/validation.go`: scalars
/// are shown, objects and lists are not, the root has the path `<nil>`.
fn refusal(object: &Value, error: &kube_cel::ValidationError) -> FieldError {
    let path = error.field_path.trim_start_matches('.');
    let field = if path.is_empty() { "<nil>" } else { path };
    let message = error.message.trim();
    match error.reason.as_deref() {
        Some("FieldValueForbidden") => return FieldError::forbidden(field, message),
        Some("FieldValueRequired") => return FieldError::required(field, message),
        _ => {}
    }
    let value = path
        .split('.')
        .try_fold(object, |value, name| value.get(name))
        .filter(|value| !(value.is_object() || value.is_array()));
    match value {
        Some(value) => FieldError::invalid(field, value, message),
        None => FieldError {
            kind: "FieldValueInvalid",
            field: field.to_owned(),
            message: format!("Invalid value: {message}"),
        },
    }
}
