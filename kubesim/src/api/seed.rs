//! What a test writes itself: definitions, and objects that are there before a controller starts.
//!
//! Guarantees: an object is checked, defaulted and stored as by a request of an administrator; no request is counted, and no
//! fault applies.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, header};
use serde_json::{Value, json};

use crate::api;
use crate::api::answer::Answer;
use crate::api::call::Call;
use crate::api::query::{Query, Shape};
use crate::model::json::meta_str;
use crate::model::status::ApiError;
use crate::state::{Inner, Served};

const MANAGER: &str = "kubesim";

enum Write {
    Apply,
    Create,
    PatchStatus,
}

/// Creates or replaces a definition.
pub(crate) fn install(inner: &Arc<Inner>, mut definition: Value) -> Result<(), ApiError> {
    let Some(served) = inner.served("apiextensions.k8s.io", "customresourcedefinitions") else {
        return Err(ApiError::no_such_path());
    };
    let name = meta_str(&definition, "name").to_owned();
    if let Some(map) = definition.as_object_mut() {
        map.remove("status");
    }
    write(inner, &served, Write::Apply, ("", &name), &definition).map(|_| ())
}

/// Creates an object, and then its status if it has one. Without a namespace it goes to `default`.
pub(crate) fn seed(inner: &Arc<Inner>, object: &Value) -> Result<(), ApiError> {
    let text = |field: &str| object[field].as_str().unwrap_or_default();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    let served = inner.by_kind(api_version, kind).ok_or_else(|| {
        let message = "its kind is not served: install its definition, or declare it";
        ApiError::new(404, "NotFound", message)
    })?;
    let namespace = match (served.kind.namespaced, meta_str(object, "namespace")) {
        (false, _) => "",
        (true, "") => "default",
        (true, named) => named,
    };
    let created = write(inner, &served, Write::Create, (namespace, ""), object)?;
    let status = &object["status"];
    if !served.kind.has_status || status.is_null() {
        return Ok(());
    }
    let Answer::Whole(_, created) = created else {
        return Err(ApiError::internal(
            "an object that is created is the answer",
        ));
    };
    let created: Value =
        serde_json::from_slice(&created).map_err(|error| ApiError::internal(error.to_string()))?;
    let at = (namespace, meta_str(&created, "name"));
    let status = json!({ "status": status });
    write(inner, &served, Write::PatchStatus, at, &status).map(|_| ())
}

fn write(
    inner: &Arc<Inner>,
    served: &Served,
    write: Write,
    (namespace, name): (&str, &str),
    body: &Value,
) -> Result<Answer, ApiError> {
    let (verb, content_type) = match write {
        Write::Apply => ("patch", "application/apply-patch+yaml"),
        Write::Create => ("create", "application/json"),
        Write::PatchStatus => ("patch", "application/merge-patch+json"),
    };
    let call = Call {
        inner,
        served,
        namespace,
        name,
        subresource: matches!(write, Write::PatchStatus).then_some("status"),
        manager: MANAGER.to_owned(),
        query: &Query {
            field_manager: Some(MANAGER.to_owned()),
            force: matches!(write, Write::Apply),
            ..Query::default()
        },
        shape: Shape::Full,
    };
    let content_type = (header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    let headers = HeaderMap::from_iter([content_type]);
    api::run(verb, &call, &headers, &Bytes::from(body.to_string()))
}
