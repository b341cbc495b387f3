//! Events: one of the older kind, without an eventTime, is in the namespace of what it is about
//! (Kubernetes v1.36.4, `pkg/apis/core/validation/events.go`).

use serde_json::Value;

use crate::model::json::meta_str;
use crate::schema::field_error::FieldError;

pub(crate) fn validate(object: &Value) -> Vec<FieldError> {
    if object.get("eventTime").is_some_and(|time| !time.is_null()) {
        return Vec::new();
    }
    let namespace = meta_str(object, "namespace");
    let about = object.pointer("/involvedObject/namespace");
    let about = about.and_then(Value::as_str).unwrap_or("");
    // Cluster-scoped objects have their events in `default`.
    if about == namespace || (about.is_empty() && namespace == "default") {
        return Vec::new();
    }
    vec![FieldError::invalid(
        "involvedObject.namespace",
        &Value::from(about),
        "does not match event.namespace",
    )]
}
