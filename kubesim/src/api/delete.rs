//! `delete` and `deletecollection`: preconditions, propagation, finalizers.
//!
//! Source of the rules: apiserver v0.36.4, `pkg/registry/generic/registry/store.go`.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Value, json};

use crate::api::answer::Answer;
use crate::api::call::Call;
use crate::api::commit::commit;
use crate::api::{definition, list};
use crate::defaults::service;
use crate::model::json::{finalizers, generation, is_deleting, meta_mut, meta_str};
use crate::model::kind::Rules;
use crate::model::record::Record;
use crate::model::status::ApiError;
use crate::state::{Inner, Served};
use crate::store::{CommitError, Expect};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Propagation {
    Background,
    Foreground,
    Orphan,
}

/// What DeleteOptions contain.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Deletion {
    pub(crate) uid: Option<String>,
    pub(crate) revision: Option<String>,
    /// `None`: as the finalizers that are already there say.
    pub(crate) propagation: Option<Propagation>,
    pub(crate) dry_run: bool,
}

pub(crate) enum Removal {
    /// Finalizers keep it.
    Held(Arc<Record>),
    Gone(Arc<Record>),
}

pub(crate) fn run(call: &Call<'_>, body: &Bytes) -> Result<Answer, ApiError> {
    let deletion = options(call, body)?;
    let is_kept = matches!(call.name, "default" | "kube-system");
    if is_kept && matches!(call.served.kind.rules, Rules::Namespace) {
        let why = "this namespace may not be deleted";
        return Err(ApiError::forbidden(&call.served.kind, call.name, why));
    }
    match remove(call.inner, call.served, &call.key(), &deletion)? {
        Removal::Held(record) => Ok(call.show(200, &record)),
        Removal::Gone(record) => Ok(gone(call, &record)),
    }
}

/// Most kinds answer with a Status; Pods, Services and some others with the object (`ReturnDeletedObject` in
/// Kubernetes v1.36.4, `pkg/registry`).
fn gone(call: &Call<'_>, record: &Record) -> Answer {
    let kind = &call.served.kind;
    if kind.is_built_in_that(|built_in| built_in.shown_when_deleted) {
        return call.show(200, record);
    }
    let object = record.object();
    let mut details = json!({
        "name": call.name,
        "kind": kind.plural,
        "uid": meta_str(&object, "uid"),
    });
    if !kind.group.is_empty() {
        details["group"] = json!(kind.group);
    }
    Answer::json(
        200,
        &json!({
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Success",
            "details": details,
        }),
    )
}

fn options(call: &Call<'_>, body: &Bytes) -> Result<Deletion, ApiError> {
    let options: Value = if body.is_empty() {
        json!({})
    } else {
        serde_json::from_slice(body).map_err(|cause| {
            ApiError::bad_request(format!("the DeleteOptions could not be read: {cause}"))
        })?
    };
    let text = |path: &str| {
        options
            .pointer(path)
            .and_then(Value::as_str)
            .map(str::to_owned)
    };
    let policy = text("/propagationPolicy").or_else(|| call.query.propagation_policy.clone());
    let propagation = match policy.as_deref() {
        Some("Background") => Some(Propagation::Background),
        Some("Foreground") => Some(Propagation::Foreground),
        Some("Orphan") => Some(Propagation::Orphan),
        None => match options.get("orphanDependents").and_then(Value::as_bool) {
            Some(true) => Some(Propagation::Orphan),
            Some(false) => Some(Propagation::Background),
            None => None,
        },
        Some(other) => {
            return Err(ApiError::new(
                422,
                "Invalid",
                format!(
                    "DeleteOptions.meta.k8s.io \"\" is invalid: propagationPolicy: Unsupported value: \"{other}\": supported values: \"Background\", \"Foreground\", \"Orphan\""
                ),
            ));
        }
    };
    Ok(Deletion {
        uid: text("/preconditions/uid"),
        revision: text("/preconditions/resourceVersion"),
        propagation,
        dry_run: call.is_dry_run()
            || options
                .get("dryRun")
                .and_then(Value::as_array)
                .is_some_and(|d| !d.is_empty()),
    })
}

/// Deletes an object, or marks it when finalizers keep it.
pub(crate) fn remove(
    inner: &Arc<Inner>,
    served: &Served,
    key: &str,
    deletion: &Deletion,
) -> Result<Removal, ApiError> {
    let name = key.split_once('/').map_or(key, |(_, name)| name);
    loop {
        let record = inner
            .store
            .get(served.table, key)
            .ok_or_else(|| ApiError::not_found(&served.kind, name))?;
        let old = record.object();
        check_preconditions(served, name, &old, deletion)?;
        let marked = marked(inner, served, &old, deletion);
        let held = !finalizers(&marked).is_empty() || namespace_content(served, &marked);
        let outcome = if deletion.dry_run {
            Ok(Removal::Gone(record))
        } else if !held {
            remove_stored(inner, served, &record, Expect::Revision(record.revision))
                .map(Removal::Gone)
        } else if marked == old {
            Ok(Removal::Held(record))
        } else {
            let expect = Expect::Revision(record.revision);
            commit(inner, served, key, expect, &marked).map(Removal::Held)
        };
        match outcome {
            Ok(removal) => return Ok(removal),
            Err(CommitError::NoTable) => return Err(ApiError::no_such_path()),
            Err(CommitError::Stale | CommitError::Exists) => {}
        }
    }
}

fn check_preconditions(
    served: &Served,
    name: &str,
    old: &Value,
    deletion: &Deletion,
) -> Result<(), ApiError> {
    let stored_uid = meta_str(old, "uid");
    if let Some(uid) = &deletion.uid
        && uid != stored_uid
    {
        return Err(ApiError::conflict(
            &served.kind,
            name,
            &format!(
                "Precondition failed: UID in precondition: {uid}, UID in object meta: {stored_uid}"
            ),
        ));
    }
    let stored = meta_str(old, "resourceVersion");
    if let Some(revision) = &deletion.revision
        && revision != stored
    {
        return Err(ApiError::conflict(
            &served.kind,
            name,
            &format!(
                "Precondition failed: ResourceVersion in precondition: {revision}, ResourceVersion in object meta: {stored}"
            ),
        ));
    }
    Ok(())
}

/// The object with its deletion recorded: finalizers by policy, timestamp, generation.
fn marked(inner: &Inner, served: &Served, old: &Value, deletion: &Deletion) -> Value {
    let mut new = old.clone();
    if let Some(propagation) = deletion.propagation {
        let wanted = match propagation {
            Propagation::Background => None,
            Propagation::Foreground => Some("foregroundDeletion"),
            Propagation::Orphan => Some("orphan"),
        };
        let mut list: Vec<&str> = finalizers(old)
            .into_iter()
            .filter(|f| !matches!(*f, "foregroundDeletion" | "orphan"))
            .collect();
        list.extend(wanted);
        if list.is_empty() {
            meta_mut(&mut new).remove("finalizers");
        } else {
            meta_mut(&mut new).insert("finalizers".to_owned(), json!(list));
        }
    }
    if !is_deleting(old) {
        let bumped = generation(old) + 1;
        let meta = meta_mut(&mut new);
        meta.insert("deletionTimestamp".to_owned(), json!(inner.clock.now()));
        meta.insert("deletionGracePeriodSeconds".to_owned(), json!(0));
        if served.kind.has_generation() {
            meta.insert("generation".to_owned(), json!(bumped));
        }
        if matches!(served.kind.rules, Rules::Namespace) {
            new["status"]["phase"] = json!("Terminating");
        }
    }
    new
}

/// Whether the namespace controller has yet to empty this namespace.
fn namespace_content(served: &Served, object: &Value) -> bool {
    matches!(served.kind.rules, Rules::Namespace)
        && object
            .pointer("/spec/finalizers")
            .and_then(Value::as_array)
            .is_some_and(|list| !list.is_empty())
}

/// Takes the object out of the store and tells the controllers.
pub(crate) fn remove_stored(
    inner: &Arc<Inner>,
    served: &Served,
    record: &Record,
    expect: Expect,
) -> Result<Arc<Record>, CommitError> {
    let removed = inner.store.remove(served.table, &record.key, expect)?;
    match served.kind.rules {
        Rules::Definition => definition::removed(inner, &removed.object()),
        Rules::Service => service::released(&inner.addresses, &removed.object()),
        _ => {}
    }
    inner.garbage.gone(inner, &removed);
    inner.work.notify_one();
    Ok(removed)
}

pub(crate) fn run_collection(call: &Call<'_>, body: &Bytes) -> Result<Answer, ApiError> {
    let deletion = options(call, body)?;
    let namespace = Some(call.namespace).filter(|_| call.served.kind.namespaced);
    let page = list::page(
        &call.inner.store,
        call.served.table,
        &call.served.kind.plural,
        namespace,
        call.query,
    )?;
    for record in &page.records {
        match remove(call.inner, call.served, &record.key, &deletion) {
            Err(error) if error.code != 404 => return Err(error),
            _ => {}
        }
    }
    let body: Vec<u8> = page
        .encode(&call.served.kind, call.shape)
        .flatten()
        .collect();
    Ok(Answer::Whole(200, Bytes::from(body)))
}
