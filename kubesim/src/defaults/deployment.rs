//! Deployments and ReplicaSets.

use serde_json::{Value, json};

use crate::defaults::{default, pod};
use crate::model::json::{as_map, map_at};
use crate::model::names;
use crate::schema::field_error::FieldError;

pub(crate) fn shape(object: &mut Value, old: Option<&Value>) -> Vec<FieldError> {
    let spec = map_at(object, "spec");
    default(spec, "replicas", 1);
    default(spec, "revisionHistoryLimit", 10);
    default(spec, "progressDeadlineSeconds", 600);
    let strategy = as_map(spec.entry("strategy").or_insert(json!({})));
    default(strategy, "type", "RollingUpdate");
    if strategy.get("type") == Some(&json!("RollingUpdate")) {
        let rolling = as_map(strategy.entry("rollingUpdate").or_insert(json!({})));
        default(rolling, "maxUnavailable", "25%");
        default(rolling, "maxSurge", "25%");
    }
    workload(object, old)
}

pub(crate) fn shape_replica_set(object: &mut Value, old: Option<&Value>) -> Vec<FieldError> {
    default(map_at(object, "spec"), "replicas", 1);
    workload(object, old)
}

/// For both kinds: the selector never changes, and it selects the template.
fn workload(object: &mut Value, old: Option<&Value>) -> Vec<FieldError> {
    let spec = map_at(object, "spec");
    let template = as_map(spec.entry("template").or_insert(json!({})));
    template.entry("metadata").or_insert(json!({}));
    let mut errors = pod::shape_spec(
        template.entry("spec").or_insert(json!({})),
        "spec.template.spec",
    );
    let spec = Value::Object(std::mem::take(map_at(object, "spec")));
    check_selector(&spec, old, &mut errors);
    let replicas = spec.get("replicas").unwrap_or(&Value::Null);
    if replicas.as_i64().is_none_or(|n| n < 0) {
        errors.push(FieldError::invalid(
            "spec.replicas",
            replicas,
            "must be greater than or equal to 0",
        ));
    }
    object["spec"] = spec;
    errors
}

fn check_selector(spec: &Value, old: Option<&Value>, errors: &mut Vec<FieldError>) {
    let selector = spec.get("selector").unwrap_or(&Value::Null);
    if selector.is_null() {
        errors.push(FieldError::required("spec.selector", ""));
        return;
    }
    if selector.as_object().is_some_and(serde_json::Map::is_empty) {
        errors.push(FieldError::invalid(
            "spec.selector",
            selector,
            "empty selector is invalid for deployment",
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
    if let Some(before) = old.and_then(|old| old.pointer("/spec/selector"))
        && before != selector
    {
        errors.push(FieldError::invalid(
            "spec.selector",
            selector,
            "field is immutable",
        ));
    }
}
