//! `patch`: the four patch types over the one loop that changes objects.

use bytes::Bytes;
use http::{HeaderMap, header};
use serde_json::Value;

use crate::api::answer::Answer;
use crate::api::body::{check_place, check_type, parse_body, unsupported_media_type};
use crate::api::call::Call;
use crate::api::update::{change, check_patch, show};
use crate::api::{create, prepare};
use crate::fields::apply;
use crate::fields::managed::{Operation, record_update};
use crate::model::event_view;
use crate::model::json::meta_str;
use crate::model::status::ApiError;
use crate::patch::{json, merge, strategic};
use crate::schema::field_error::FieldError;

const APPLY: &str = "application/apply-patch+yaml";
const SUPPORTED: &str = "application/json-patch+json, application/merge-patch+json, application/strategic-merge-patch+json, application/apply-patch+yaml";

pub(crate) fn run(call: &Call<'_>, headers: &HeaderMap, body: &Bytes) -> Result<Answer, ApiError> {
    let content_type = headers
        .get(header::CONTENT_TYPE)
        .and_then(|v| v.to_str().ok())
        .unwrap_or("")
        .split(';')
        .next()
        .unwrap_or("")
        .trim();
    if call.query.force && content_type != APPLY {
        let refused = FieldError::forbidden("force", "may not be specified for non-apply patch");
        return Err(ApiError::invalid_options("PatchOptions", &refused));
    }
    match content_type {
        "application/merge-patch+json" => {
            let patch = parse_body(body, content_type)?;
            patched(call, |old| {
                let mut new = old.clone();
                merge::merge(&mut new, &patch);
                Ok(new)
            })
        }
        "application/json-patch+json" => {
            let patch = json::parse(body)?;
            patched(call, |old| json::apply(&patch, old))
        }
        "application/strategic-merge-patch+json" if call.served.kind.is_custom() => {
            Err(unsupported_media_type(
                content_type,
                "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml",
            ))
        }
        "application/strategic-merge-patch+json" => {
            let patch = parse_body(body, content_type)?;
            patched(call, |old| strategic::merge(old, &patch))
        }
        APPLY => applied(call, &parse_body(body, "yaml")?),
        other => Err(unsupported_media_type(other, SUPPORTED)),
    }
}

fn patched(
    call: &Call<'_>,
    patch: impl Fn(&Value) -> Result<Value, ApiError>,
) -> Result<Answer, ApiError> {
    let changed = change(call, |old| {
        let kind = &call.served.kind;
        let mut new = check_type(call, patch(&event_view::shown(kind, old.clone()))?)?;
        check_place(call, &mut new)?;
        new = event_view::stored(kind, new);
        check_patch(call, old, &new)?;
        prepare::for_update(call, old, &mut new).map_err(|error| {
            let patched = patch(&event_view::shown(kind, old.clone())).unwrap_or_default();
            prepare::refused_patch(&patched, error)
        })?;
        let writer = call.writer(&call.manager, Operation::Update);
        record_update(&call.served.kind, Some(old), &mut new, &writer);
        prepare::admit(call, Some(old), &mut new)?;
        Ok(new)
    })?;
    Ok(show(call, &changed))
}

fn applied(call: &Call<'_>, config: &Value) -> Result<Answer, ApiError> {
    let Some(manager) = call.query.field_manager.as_deref() else {
        let missing = FieldError::required("fieldManager", "is required for apply patch");
        return Err(ApiError::invalid_options("PatchOptions", &missing));
    };
    for field in ["apiVersion", "kind"] {
        if config
            .get(field)
            .and_then(Value::as_str)
            .is_none_or(str::is_empty)
        {
            return Err(ApiError::bad_request(format!(
                "invalid object type: /, Kind=: {field} is required in an apply patch"
            )));
        }
    }
    if config
        .pointer("/metadata/managedFields")
        .is_some_and(|m| !m.is_null())
    {
        return Err(ApiError::bad_request("metadata.managedFields must be nil"));
    }
    let is_named = !meta_str(config, "name").is_empty();
    let mut config = check_type(call, config.clone())?;
    check_place(call, &mut config)?;
    let exists = call
        .inner
        .store
        .get(call.served.table, &call.key())
        .is_some();
    if !exists && call.subresource.is_none() {
        if !is_named {
            return Err(ApiError::bad_request(format!(
                "the name of the object ({} based on URL) was undeterminable: name must be provided",
                call.name
            )));
        }
        return create_by_apply(call, &config, manager);
    }
    let changed = change(call, |old| {
        check_patch(call, old, &config)?;
        let writer = call.writer(manager, Operation::Apply);
        let (mut new, managers) = apply::apply(
            &call.served.kind,
            Some(old),
            &config,
            &writer,
            call.query.force,
        )?;
        prepare::for_update(call, old, &mut new)?;
        managers.store(&mut new);
        prepare::admit(call, Some(old), &mut new)?;
        Ok(new)
    })?;
    Ok(show(call, &changed))
}

fn create_by_apply(call: &Call<'_>, config: &Value, manager: &str) -> Result<Answer, ApiError> {
    if !meta_str(config, "uid").is_empty() {
        return Err(ApiError::conflict(
            &call.served.kind,
            call.name,
            &format!(
                "uid mismatch: the provided object specified uid {}, and no existing object was found",
                meta_str(config, "uid")
            ),
        ));
    }
    let writer = call.writer(manager, Operation::Apply);
    let (mut object, managers) =
        apply::apply(&call.served.kind, None, config, &writer, call.query.force)?;
    // A resourceVersion in the configuration is compared with an existing object only.
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("resourceVersion");
    }
    create::create(call, object, |object, _| managers.store(object))
}
