//! `/scale`: replicas read and written without the rest of the object.

use bytes::Bytes;
use http::{HeaderMap, header};
use serde_json::{Value, json};

use crate::api::answer::Answer;
use crate::api::body::parse_body;
use crate::api::call::Call;
use crate::api::prepare;
use crate::api::update::{Changed, change, check_patch};
use crate::fields::managed::{Operation, record_update};
use crate::model::json::{at, meta_mut, meta_str, set_at};
use crate::model::status::ApiError;
use crate::patch::{json as json_patch, merge};
use crate::schema::field_error::FieldError;

pub(crate) fn run(
    verb: &str,
    call: &Call<'_>,
    headers: &HeaderMap,
    body: &Bytes,
) -> Result<Answer, ApiError> {
    if verb == "get" {
        let object = call.stored()?.object();
        return Ok(Answer::json(200, &scale_of(call, &object)));
    }
    let content_type = headers
        .get(header::CONTENT_TYPE)
        .and_then(|v| v.to_str().ok())
        .unwrap_or("application/json")
        .to_owned();
    let changed = change(call, |old| {
        let current = scale_of(call, old);
        let wanted = match (verb, content_type.as_str()) {
            ("update", _) => parse_body(body, &content_type)?,
            (_, "application/json-patch+json") => {
                json_patch::apply(&json_patch::parse(body)?, &current)?
            }
            (_, "application/merge-patch+json" | "application/strategic-merge-patch+json") => {
                let mut scale = current.clone();
                merge::merge(&mut scale, &parse_body(body, &content_type)?);
                scale
            }
            _ => {
                return Err(ApiError::not_implemented(&format!(
                    "{content_type} on a scale subresource"
                )));
            }
        };
        write(call, old, &wanted)
    })?;
    let object = match changed {
        Changed::Stored(record) | Changed::Removed(record) => record.object(),
        Changed::Dry(object, _) => object,
    };
    Ok(Answer::json(200, &scale_of(call, &object)))
}

fn write(call: &Call<'_>, old: &Value, scale: &Value) -> Result<Value, ApiError> {
    check_patch(call, old, scale)?;
    let kind = &call.served.kind;
    let replicas = scale.pointer("/spec/replicas").cloned().unwrap_or(json!(0));
    if replicas.as_i64().is_none_or(|n| n < 0) {
        let error = FieldError::invalid(
            "spec.replicas",
            &replicas,
            "must be greater than or equal to 0",
        );
        return Err(ApiError::invalid(kind, call.name, &[error]));
    }
    let mut new = old.clone();
    if let Some(paths) = &kind.scale {
        set_at(&mut new, &paths.spec_replicas, replicas);
    }
    let main = Call {
        subresource: None,
        manager: call.manager.clone(),
        ..*call
    };
    prepare::for_update(&main, old, &mut new)?;
    record_update(
        kind,
        Some(old),
        &mut new,
        &call.writer(&call.manager, Operation::Update),
    );
    Ok(new)
}

fn scale_of(call: &Call<'_>, object: &Value) -> Value {
    let mut scale = json!({
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {},
        "spec": {},
        "status": {"replicas": 0},
    });
    for field in [
        "name",
        "namespace",
        "uid",
        "resourceVersion",
        "creationTimestamp",
    ] {
        let value = meta_str(object, field);
        if !value.is_empty() {
            meta_mut(&mut scale).insert(field.to_owned(), json!(value));
        }
    }
    if let Some(paths) = &call.served.kind.scale {
        // Left out where it is zero.
        let replicas = at(object, &paths.spec_replicas);
        if let Some(replicas) = replicas.filter(|replicas| replicas.as_i64() != Some(0)) {
            scale["spec"]["replicas"] = replicas.clone();
        }
        if let Some(replicas) = at(object, &paths.status_replicas) {
            scale["status"]["replicas"] = replicas.clone();
        }
        let selector = match &paths.selector {
            Some(path) => at(object, path).and_then(Value::as_str).map(str::to_owned),
            None => object.pointer("/spec/selector").map(selector_text),
        };
        if let Some(selector) = selector {
            scale["status"]["selector"] = json!(selector);
        }
    }
    scale
}

/// A LabelSelector's matchLabels as text; expressions are left out.
fn selector_text(selector: &Value) -> String {
    let terms: Vec<String> = selector
        .get("matchLabels")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or("")))
        .collect();
    terms.join(",")
}
