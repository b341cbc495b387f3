//! Kinds with a pod template: its defaults, and that the selector selects it.

use serde_json::{Value, json};

use crate::defaults::pod;
use crate::model::json::as_map;
use crate::model::names;
use crate::schema::field_error::FieldError;

/// Defaults and checks of a pod template; `at` is its path in messages.
pub(crate) fn shape_template(template: &mut Value, at: &str) -> Vec<FieldError> {
    let template = as_map(template);
    template.entry("metadata").or_insert(json!({}));
    pod::shape_spec(
        template.entry("spec").or_insert(json!({})),
        &format!("{at}.spec"),
    )
}

/// The selector selects the template; `word` is the kind in messages.
pub(crate) fn check_selector(spec: &Value, word: &str, errors: &mut Vec<FieldError>) {
    let selector = spec.get("selector").unwrap_or(&Value::Null);
    if selector.is_null() {
        errors.push(FieldError::required("spec.selector", ""));
        return;
    }
    if selector.as_object().is_some_and(serde_json::Map::is_empty) {
        errors.push(FieldError::invalid(
            "spec.selector",
            selector,
            &format!("empty selector is invalid for {word}"),
        ));
    }
    let wanted = selector.get("matchLabels").and_then(Value::as_object);
    let invalid = names::refuse_labels(wanted, "spec.selector.matchLabels");
    if !invalid.is_empty() {
        errors.extend(invalid);
        let detail = "invalid label selector";
        errors.push(FieldError::invalid("spec.selector", selector, detail));
        return;
    }
    let labels = spec.pointer("/template/metadata/labels");
    let all = labels.and_then(Value::as_object);
    errors.extend(names::refuse_labels(all, "spec.template.labels"));
    let selected = selector
        .get("matchLabels")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .all(|(key, value)| labels.and_then(|l| l.get(key)) == Some(value));
    if !selected {
        errors.push(FieldError::invalid(
            "spec.template.metadata.labels",
            labels.unwrap_or(&json!({})),
            "`selector` does not match template `labels`",
        ));
    }
}
