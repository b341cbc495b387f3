//! One field that validation refuses, worded as `field.Error` of apimachinery v0.36.4.

use serde_json::Value;

/// One field that was refused; `kind` is the cause's type (`FieldValueInvalid`, …).
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FieldError {
    pub(crate) kind: &'static str,
    pub(crate) field: String,
    /// The body after `field: `.
    pub(crate) message: String,
}

impl FieldError {
    pub(crate) fn required(field: impl Into<String>, detail: &str) -> FieldError {
        let message = if detail.is_empty() {
            "Required value".to_owned()
        } else {
            format!("Required value: {detail}")
        };
        FieldError {
            kind: "FieldValueRequired",
            field: field.into(),
            message,
        }
    }

    pub(crate) fn invalid(field: impl Into<String>, value: &Value, detail: &str) -> FieldError {
        let shown = shown(value);
        FieldError {
            kind: "FieldValueInvalid",
            field: field.into(),
            message: format!("Invalid value: {shown}: {detail}"),
        }
    }

    pub(crate) fn forbidden(field: impl Into<String>, detail: &str) -> FieldError {
        FieldError {
            kind: "FieldValueForbidden",
            field: field.into(),
            message: format!("Forbidden: {detail}"),
        }
    }

    /// Whether rules are not checked beside it: the object has not the shape that they expect
    /// (`hasBlockingErr` of apiextensions-apiserver, `pkg/registry/customresource/strategy.go`).
    pub(crate) fn blocks_rules(&self) -> bool {
        matches!(
            self.kind,
            "FieldValueNotSupported"
                | "FieldValueRequired"
                | "FieldValueTooLong"
                | "FieldValueTooMany"
                | "FieldValueTypeInvalid"
        )
    }

    /// Beside errors that block the rules.
    pub(crate) fn rules_not_checked() -> FieldError {
        FieldError::invalid(
            "<nil>",
            &Value::Null,
            "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation",
        )
    }

    pub(crate) fn type_invalid(
        field: impl Into<String>,
        value: &Value,
        detail: &str,
    ) -> FieldError {
        FieldError {
            kind: "FieldValueTypeInvalid",
            ..FieldError::invalid(field, value, detail)
        }
    }

    pub(crate) fn not_supported(
        field: impl Into<String>,
        value: &Value,
        supported: &[Value],
    ) -> FieldError {
        let list: Vec<String> = supported.iter().map(shown).collect();
        FieldError {
            kind: "FieldValueNotSupported",
            field: field.into(),
            message: format!(
                "Unsupported value: {}: supported values: {}",
                shown(value),
                list.join(", ")
            ),
        }
    }

    pub(crate) fn too_long(field: impl Into<String>, max: u64) -> FieldError {
        let bytes = if max == 1 { "byte" } else { "bytes" };
        FieldError {
            kind: "FieldValueTooLong",
            field: field.into(),
            message: format!("Too long: may not be more than {max} {bytes}"),
        }
    }

    pub(crate) fn too_many(field: impl Into<String>, actual: usize, max: u64) -> FieldError {
        let items = if max == 1 { "item" } else { "items" };
        FieldError {
            kind: "FieldValueTooMany",
            field: field.into(),
            message: format!("Too many: {actual}: must have at most {max} {items}"),
        }
    }
}

/// Values in messages: JSON for scalars, as `field.Error` prints them.
fn shown(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        other => other.to_string(),
    }
}
