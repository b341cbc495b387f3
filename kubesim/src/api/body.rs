//! Bodies of requests: decoding, and the checks against the path.

use bytes::Bytes;
use http::{HeaderMap, header};
use serde_json::{Value, json};

use crate::api::call::Call;
use crate::model::json::{meta, meta_mut, meta_str};
use crate::model::status::ApiError;

/// The body as an object of the right type; missing type fields are filled in.
pub(crate) fn decode(
    call: &Call<'_>,
    headers: &HeaderMap,
    body: &Bytes,
) -> Result<Value, ApiError> {
    let content_type = headers
        .get(header::CONTENT_TYPE)
        .and_then(|v| v.to_str().ok())
        .unwrap_or("application/json");
    if content_type.contains("protobuf") || content_type.contains("cbor") {
        return Err(unsupported_media_type(
            content_type,
            "application/json, application/yaml",
        ));
    }
    let object = parse_body(body, content_type)?;
    check_type(call, object)
}

/// JSON, or YAML where the content type says so.
pub(crate) fn parse_body(body: &Bytes, content_type: &str) -> Result<Value, ApiError> {
    let object: Value = if content_type.contains("yaml") {
        let text = std::str::from_utf8(body)
            .map_err(|cause| ApiError::bad_request(format!("the body is not UTF-8: {cause}")))?;
        serde_saphyr::from_str(text)
            .map_err(|cause| ApiError::bad_request(format!("error parsing YAML: {cause}")))?
    } else {
        serde_json::from_slice(body).map_err(|cause| {
            ApiError::bad_request(format!("the object provided is unrecognized: couldn't get version/kind; json parse error: {cause}"))
        })?
    };
    if object.is_object() {
        Ok(object)
    } else {
        Err(ApiError::bad_request(
            "the object provided is unrecognized: couldn't get version/kind; json parse error: not an object",
        ))
    }
}

pub(crate) fn unsupported_media_type(content_type: &str, supported: &str) -> ApiError {
    ApiError::new(
        415,
        "UnsupportedMediaType",
        format!(
            "the body of the request was in an unknown format - accepted media types include: {supported}; got {content_type}"
        ),
    )
}

pub(crate) fn check_type(call: &Call<'_>, mut object: Value) -> Result<Value, ApiError> {
    let kind = &call.served.kind;
    let api_version = kind.api_version();
    for (field, want) in [
        ("apiVersion", api_version.as_str()),
        ("kind", kind.kind.as_str()),
    ] {
        match object.get(field).and_then(Value::as_str).unwrap_or("") {
            "" => object[field] = json!(want),
            found if found == want => {}
            found => {
                return Err(ApiError::bad_request(format!(
                    "the {field} in the data ({found}) does not match the expected {field} ({want})"
                )));
            }
        }
    }
    if object.get("metadata").is_none_or(Value::is_null) {
        object["metadata"] = json!({});
    }
    Ok(object)
}

/// Names and namespaces in the body must be those of the path.
pub(crate) fn check_place(call: &Call<'_>, object: &mut Value) -> Result<(), ApiError> {
    if call.served.kind.namespaced {
        let namespace = meta_str(object, "namespace");
        if namespace.is_empty() {
            meta_mut(object).insert("namespace".to_owned(), json!(call.namespace));
        } else if namespace != call.namespace {
            return Err(ApiError::bad_request(format!(
                "the namespace of the provided object does not match the namespace sent on the request ({namespace} != {})",
                call.namespace
            )));
        }
    } else {
        meta_mut(object).remove("namespace");
    }
    if !call.name.is_empty() {
        let name = meta_str(object, "name");
        if name.is_empty() {
            meta_mut(object).insert("name".to_owned(), json!(call.name));
        } else if name != call.name {
            return Err(ApiError::bad_request(format!(
                "the name of the object ({name}) does not match the name on the URL ({})",
                call.name
            )));
        }
    }
    Ok(())
}

/// The resourceVersion that a body requires, if it has one.
pub(crate) fn insisted_revision(object: &Value) -> Option<&str> {
    meta(object)?
        .get("resourceVersion")?
        .as_str()
        .filter(|revision| !revision.is_empty())
}
