//! CEL rules (`x-kubernetes-validations`), evaluated by `kube-cel`.
//!
//! Guarantees: rules run after defaults and only on objects that the schema accepts; transition
//! rules see the stored object; a null of an object with properties is absent to a rule, one of a map is not; a rule
//! that cannot be evaluated refuses the object. Cost budgets,
//! ratcheting, and the refusal of `3.0` where a rule reads an integer are left to the real server.

use std::borrow::Cow;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use kube_cel::{CompiledSchema, Validator, compile_schema};
use serde_json::Value;

use crate::schema::Schema;
use crate::schema::field_error::FieldError;
use crate::schema::optional_old;

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
        let mut schema = schema.clone();
        optional_old::rewrite(&mut schema);
        let compiled = compile_schema(&schema);
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

    /// The errors of `new`, an object of `schema`, that replaces `old`.
    pub(crate) fn check(
        &self,
        schema: &Schema,
        new: &Value,
        old: Option<&Value>,
    ) -> Vec<FieldError> {
        let compiled = self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        let (rules, validator) = &*compiled;
        let shown = as_rules_see(schema, new);
        let stored = old.map(|old| as_rules_see(schema, old));
        match validator.validate_compiled(rules, &shown, stored.as_deref()) {
            Ok(()) => Vec::new(),
            Err(errors) => errors
                .into_vec()
                .into_iter()
                .map(|error| refusal(new, &error))
                .collect(),
        }
    }
}

/// The object without the nulls that count as absent (apiserver v0.36.4, `pkg/cel/common/values.go`,
/// `unstructuredMap.Find`).
fn as_rules_see<'a>(schema: &Schema, object: &'a Value) -> Cow<'a, Value> {
    match has_null(object) {
        true => Cow::Owned(without_null_properties(schema, object)),
        false => Cow::Borrowed(object),
    }
}

fn has_null(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(list) => list.iter().any(has_null),
        Value::Object(map) => map.values().any(has_null),
        _ => false,
    }
}

fn without_null_properties(schema: &Schema, value: &Value) -> Value {
    let below = |schema: Option<&Schema>, value: &Value| match schema {
        Some(schema) => without_null_properties(schema, value),
        None => value.clone(),
    };
    match value {
        Value::Array(list) => list.iter().map(|item| below(schema.item(), item)).collect(),
        Value::Object(map) => map
            .iter()
            .filter(|(_, value)| schema.properties.is_empty() || !value.is_null())
            .map(|(name, value)| (name.clone(), below(schema.field(name), value)))
            .collect(),
        other => other.clone(),
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
