//! The verbs on single objects, and what they share: reading bodies, committing, showing.
//!
//! Guarantees: a write is computed outside the store's lock and committed only if nobody wrote in
//! between; otherwise it is computed again. A write that changes nothing commits nothing.

mod create;
mod delete;
mod patch;
mod scale;
mod update;

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, header};
use serde_json::{Value, json};

pub(crate) use crate::verbs::delete::{Deletion, Propagation, remove};
pub(crate) use crate::verbs::update::write_as;

use crate::kind::Rules;
use crate::list::{full, metadata_only};
use crate::logs;
use crate::object::{generation, is_deleting, meta, meta_mut, meta_str, owner_references};
use crate::record::{Draft, Record};
use crate::route::{Query, Shape};
use crate::server::{Inner, Served};
use crate::service::Answer;
use crate::status::ApiError;
use crate::store::{CommitError, Expect};

/// A request on one object (or one collection), with all it needs.
pub(crate) struct Call<'a> {
    pub(crate) inner: &'a Arc<Inner>,
    pub(crate) served: &'a Served,
    /// Empty for cluster scope.
    pub(crate) namespace: &'a str,
    /// Empty for a collection.
    pub(crate) name: &'a str,
    pub(crate) subresource: Option<&'a str>,
    pub(crate) manager: String,
    pub(crate) query: &'a Query,
    pub(crate) shape: Shape,
}

pub(crate) fn run(
    verb: &str,
    call: &Call<'_>,
    headers: &HeaderMap,
    body: &Bytes,
) -> Result<Answer, ApiError> {
    check_dry_run(call.query)?;
    match (verb, call.subresource) {
        ("get" | "update" | "patch", Some("scale")) if call.served.kind.scale.is_some() => {
            scale::run(verb, call, headers, body)
        }
        ("get", Some("log")) if matches!(call.served.kind.rules, Rules::Pod) => logs::run(call),
        (_, Some("status"))
            if call.served.kind.has_status && verb != "create" && verb != "delete" =>
        {
            main(verb, call, headers, body)
        }
        (_, None) => main(verb, call, headers, body),
        (_, Some(other)) => Err(unknown_subresource(call, other)),
    }
}

fn main(
    verb: &str,
    call: &Call<'_>,
    headers: &HeaderMap,
    body: &Bytes,
) -> Result<Answer, ApiError> {
    match verb {
        "get" => get(call),
        "create" if !call.name.is_empty() => {
            Err(ApiError::method_not_allowed(&call.served.kind, "create"))
        }
        "create" => create::run(call, headers, body),
        "update" => update::run(call, headers, body),
        "patch" => patch::run(call, headers, body),
        "delete" => delete::run(call, body),
        "deletecollection" => delete::run_collection(call, body),
        other => Err(ApiError::method_not_allowed(&call.served.kind, other)),
    }
}

fn unknown_subresource(call: &Call<'_>, subresource: &str) -> ApiError {
    const REAL: [&str; 10] = [
        "log",
        "exec",
        "attach",
        "portforward",
        "proxy",
        "eviction",
        "binding",
        "ephemeralcontainers",
        "resize",
        "finalize",
    ];
    let kind = &call.served.kind;
    if !kind.is_custom() && REAL.contains(&subresource) {
        ApiError::not_implemented(&format!("{}/{subresource}", kind.plural))
    } else {
        ApiError::no_such_path()
    }
}

fn check_dry_run(query: &Query) -> Result<(), ApiError> {
    match query.dry_run.as_deref() {
        None | Some("All") => Ok(()),
        Some(other) => Err(ApiError::new(
            422,
            "Invalid",
            format!(
                "Options.meta.k8s.io \"\" is invalid: dryRun: Unsupported value: [\"{other}\"]: supported values: \"All\""
            ),
        )),
    }
}

fn get(call: &Call<'_>) -> Result<Answer, ApiError> {
    let record = call.stored()?;
    Ok(call.show(200, &record))
}

impl Call<'_> {
    pub(crate) fn key(&self) -> String {
        self.served.kind.key(self.namespace, self.name)
    }

    pub(crate) fn stored(&self) -> Result<Arc<Record>, ApiError> {
        self.inner
            .store
            .get(self.served.table, &self.key())
            .ok_or_else(|| ApiError::not_found(&self.served.kind, self.name))
    }

    pub(crate) fn is_dry_run(&self) -> bool {
        self.query.dry_run.is_some()
    }

    pub(crate) fn show(&self, code: u16, record: &Record) -> Answer {
        match self.shape {
            Shape::Full => Answer::Whole(code, full(&self.served.kind, record)),
            Shape::MetadataOnly => {
                let mut out = Vec::new();
                metadata_only(&mut out, record);
                Answer::Whole(code, Bytes::from(out))
            }
        }
    }

    /// Shows what a dry run would have stored.
    pub(crate) fn show_dry(&self, code: u16, object: &Value, revision: u64) -> Answer {
        let record = Draft::new(&self.key(), object).seal(revision);
        self.show(code, &record)
    }
}

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
    let object = parse(body, content_type)?;
    check_type(call, object)
}

/// JSON, or YAML where the content type says so.
pub(crate) fn parse(body: &Bytes, content_type: &str) -> Result<Value, ApiError> {
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

/// Stores an object and tells the controllers.
pub(crate) fn commit(
    inner: &Arc<Inner>,
    served: &Served,
    key: &str,
    expect: Expect,
    object: &Value,
) -> Result<Arc<Record>, CommitError> {
    let record = inner
        .store
        .put(served.table, expect, Draft::new(key, object))?;
    written(inner, served, &record, object);
    Ok(record)
}

/// What a write may set in motion.
fn written(inner: &Arc<Inner>, served: &Served, record: &Record, object: &Value) {
    let at = || (served.table, record.key.clone());
    let mut work = false;
    if !owner_references(object).is_empty() && has_unknown_owner(inner, record) {
        inner.garbage.check(at());
        work = true;
    }
    if is_deleting(object) {
        inner.garbage.deleting(at());
        work = true;
    }
    if matches!(served.kind.rules, Rules::Deployment) && !is_deleting(object) {
        let observed = object
            .get("status")
            .and_then(|status| status.get("observedGeneration"))
            .and_then(Value::as_i64);
        if observed != Some(generation(object)) {
            inner.agenda.add(inner.options.ready_delay, at());
            work = true;
        }
    }
    if work {
        inner.work.notify_one();
    }
}

fn has_unknown_owner(inner: &Inner, record: &Record) -> bool {
    let state = inner.store.lock();
    record.owners.iter().any(|owner| {
        state.locate(*owner).is_none_or(|(_, key)| {
            key.split_once('/')
                .is_some_and(|(namespace, _)| namespace != record.namespace())
        })
    })
}

/// A namespace that is there from the start.
pub(crate) fn seed_namespace(inner: &Arc<Inner>, name: &str) {
    let Some(served) = inner.served("", "namespaces") else {
        return;
    };
    let uid = crate::record::Uid::random_text(inner.random(), inner.random());
    let object = json!({
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {
            "name": name,
            "uid": uid,
            "creationTimestamp": inner.clock.now(),
            "labels": {"kubernetes.io/metadata.name": name},
        },
        "spec": {"finalizers": ["kubernetes"]},
        "status": {"phase": "Active"},
    });
    let _ = commit(inner, &served, name, Expect::Absent, &object);
}

/// The revision that a body insists on, if it does.
pub(crate) fn insisted_revision(object: &Value) -> Option<&str> {
    meta(object)?
        .get("resourceVersion")?
        .as_str()
        .filter(|revision| !revision.is_empty())
}
