//! ObjectMeta: type checks, Go's `omitempty`, validation.

use serde_json::{Map, Value, json};

use crate::model::json::{finalizers, is_deleting, meta, meta_mut, meta_str, owner_references};
use crate::model::kind::{Kind, Rules};
use crate::model::names;
use crate::model::status::ApiError;
use crate::schema::field_error::FieldError;

const KNOWN: [&str; 15] = [
    "name",
    "generateName",
    "namespace",
    "selfLink",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "labels",
    "annotations",
    "ownerReferences",
    "finalizers",
    "managedFields",
];

/// Drops unknown, null and empty fields; wrong types are 400, as when Go decodes.
pub(crate) fn normalise(kind: &Kind, object: &mut Value) -> Result<(), ApiError> {
    let undecodable = |field: &str, want: &str| {
        ApiError::bad_request(format!(
            "{} in version \"{}\" cannot be handled as a {}: json: cannot unmarshal into Go struct field ObjectMeta.metadata.{field} of type {want}",
            kind.kind, kind.version, kind.kind
        ))
    };
    if !object["metadata"].is_object() {
        return Err(undecodable("", "v1.ObjectMeta"));
    }
    let meta = meta_mut(object);
    meta.retain(|key, value| {
        KNOWN.contains(&key.as_str()) && !value.is_null() && key != "selfLink"
    });
    for field in ["labels", "annotations"] {
        match meta.get_mut(field) {
            None => continue,
            Some(Value::Object(map)) => {
                for value in map.values_mut() {
                    match value {
                        Value::String(_) => {}
                        Value::Null => *value = json!(""),
                        _ => return Err(undecodable(field, "string")),
                    }
                }
                if !map.is_empty() {
                    continue;
                }
            }
            Some(_) => return Err(undecodable(field, "map[string]string")),
        }
        meta.remove(field);
    }
    for field in ["ownerReferences", "finalizers", "managedFields"] {
        match meta.get(field) {
            None => {}
            Some(Value::Array(list)) => {
                let strings = field == "finalizers";
                if list.iter().any(|item| {
                    if strings {
                        !item.is_string()
                    } else {
                        !item.is_object()
                    }
                }) {
                    return Err(undecodable(
                        field,
                        if strings { "string" } else { "struct" },
                    ));
                }
                if list.is_empty() {
                    meta.remove(field);
                }
            }
            Some(_) => return Err(undecodable(field, "[]")),
        }
    }
    for field in [
        "name",
        "generateName",
        "namespace",
        "uid",
        "resourceVersion",
    ] {
        match meta.get(field) {
            None => {}
            Some(Value::String(text)) if text.is_empty() => {
                meta.remove(field);
            }
            Some(Value::String(_)) => {}
            Some(_) => return Err(undecodable(field, "string")),
        }
    }
    Ok(())
}

/// Sets what only the server sets.
pub(crate) fn stamp_new(kind: &Kind, object: &mut Value, uid: String, now: String) {
    let meta = meta_mut(object);
    meta.insert("uid".to_owned(), json!(uid));
    meta.insert("creationTimestamp".to_owned(), json!(now));
    for field in [
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "resourceVersion",
        "generation",
    ] {
        meta.remove(field);
    }
    if kind.has_generation() {
        meta.insert("generation".to_owned(), json!(1));
    }
}

/// Keeps what no update may change.
pub(crate) fn keep_server_fields(old: &Value, new: &mut Value) {
    let old: Map<String, Value> = meta(old).cloned().unwrap_or_default();
    let meta = meta_mut(new);
    for field in [
        "name",
        "namespace",
        "uid",
        "creationTimestamp",
        "generation",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "resourceVersion",
    ] {
        match old.get(field) {
            Some(value) => meta.insert(field.to_owned(), value.clone()),
            None => meta.remove(field),
        };
    }
}

pub(crate) fn validate(kind: &Kind, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if old.is_none() {
        validate_name(kind, object, &mut errors);
    }
    let labels = meta(object).and_then(|meta| meta.get("labels"));
    let labels = labels.and_then(Value::as_object);
    errors.extend(names::refuse_labels(labels, "metadata.labels"));
    validate_owners(object, &mut errors);
    for finalizer in finalizers(object) {
        if let Some(why) = names::refuse_qualified(finalizer) {
            errors.push(FieldError::invalid(
                "metadata.finalizers",
                &json!(finalizer),
                &why,
            ));
        }
    }
    if let Some(old) = old
        && is_deleting(old)
    {
        let before = finalizers(old);
        let added: Vec<String> = finalizers(object)
            .into_iter()
            .filter(|f| !before.contains(f))
            .map(|f| format!("\"{f}\""))
            .collect();
        if !added.is_empty() {
            errors.push(FieldError::forbidden(
                "metadata.finalizers",
                &format!(
                    "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
                    added.join(", ")
                ),
            ));
        }
    }
    errors
}

fn validate_name(kind: &Kind, object: &Value, errors: &mut Vec<FieldError>) {
    let name = meta_str(object, "name");
    if name.is_empty() {
        errors.push(FieldError::required(
            "metadata.name",
            "name or generateName is required",
        ));
        return;
    }
    let refusal = match kind.rules {
        Rules::Namespace => names::refuse_label(name),
        // Since 1.36 a digit may come first (RelaxedServiceNameValidation).
        Rules::Service => names::refuse_label(name),
        _ => names::refuse_subdomain(name),
    };
    if let Some(why) = refusal {
        errors.push(FieldError::invalid("metadata.name", &json!(name), &why));
    }
}

fn validate_owners(object: &Value, errors: &mut Vec<FieldError>) {
    let mut controllers = 0;
    for (i, owner) in owner_references(object).iter().enumerate() {
        for (field, detail) in [
            ("apiVersion", "version must not be empty"),
            ("kind", "must not be empty"),
            ("name", "must not be empty"),
            ("uid", "must not be empty"),
        ] {
            let text = owner.get(field).and_then(Value::as_str).unwrap_or("");
            if text.is_empty() {
                let at = format!("metadata.ownerReferences[{i}].{field}");
                errors.push(FieldError::invalid(at, &json!(""), detail));
            }
        }
        if owner.get("controller").and_then(Value::as_bool) == Some(true) {
            controllers += 1;
        }
    }
    if controllers > 1 {
        errors.push(FieldError::invalid(
            "metadata.ownerReferences",
            &Value::Array(owner_references(object).to_vec()),
            "Only one reference can have Controller set to true",
        ));
    }
}
