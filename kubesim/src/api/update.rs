//! `update`, and the loop that every change of an existing object goes through.

use std::sync::Arc;

use bytes::Bytes;
use http::HeaderMap;
use serde_json::{Value, json};

use crate::api::answer::Answer;
use crate::api::body::{check_place, decode, insisted_revision};
use crate::api::call::Call;
use crate::api::commit::commit;
use crate::api::delete::remove_stored;
use crate::api::query::{Query, Shape};
use crate::api::{create, definition, prepare};
use crate::fields::managed::{Operation, record_update};
use crate::model::built_in::BuiltIn;
use crate::model::event_view;
use crate::model::json::{finalizers, is_deleting, meta_mut, meta_str};
use crate::model::kind::{Kind, Rules};
use crate::model::record::{Draft, Record};
use crate::model::status::ApiError;
use crate::model::versions;
use crate::schema::field_error::FieldError;
use crate::state::{Inner, Served};
use crate::store::{CommitError, Expect};

/// The result of a change of an object.
pub(crate) enum Changed {
    /// Stored, or nothing to change.
    Stored(Arc<Record>),
    /// The last finalizer is gone, and the object with it.
    Removed(Arc<Record>),
    Dry(Value, u64),
}

pub(crate) fn run(call: &Call<'_>, headers: &HeaderMap, body: &Bytes) -> Result<Answer, ApiError> {
    let mut object = decode(call, headers, body)?;
    check_place(call, &mut object)?;
    let by_update = |kind: &BuiltIn| kind.created_by_update;
    if call.served.kind.is_built_in_that(by_update)
        && call.subresource.is_none()
        && insisted_revision(&object).is_none()
        && call.stored().is_err()
    {
        return create::run(call, headers, body);
    }
    let object = event_view::stored(&call.served.kind, object);
    let manager = call.manager.clone();
    let changed = change(call, |old| {
        let mut new = object.clone();
        check_update(call, old, &new)?;
        prepare::for_update(call, old, &mut new)?;
        let writer = call.writer(&manager, Operation::Update);
        record_update(&call.served.kind, Some(old), &mut new, &writer);
        prepare::admit(call, Some(old), &mut new)?;
        Ok(new)
    })?;
    Ok(show(call, &changed))
}

pub(crate) fn show(call: &Call<'_>, changed: &Changed) -> Answer {
    match changed {
        Changed::Stored(record) | Changed::Removed(record) => call.show(200, record),
        Changed::Dry(object, revision) => call.show_dry(200, object, *revision),
    }
}

/// An update makes a precondition of the uid in the body, and a custom resource has to be updated
/// from a resourceVersion; built-in kinds take one without.
pub(crate) fn check_update(call: &Call<'_>, old: &Value, new: &Value) -> Result<(), ApiError> {
    let kind = &call.served.kind;
    let (uid, stored_uid) = (meta_str(new, "uid"), meta_str(old, "uid"));
    if !uid.is_empty() && uid != stored_uid {
        return Err(ApiError::conflict(
            kind,
            call.name,
            &format!(
                "Precondition failed: UID in precondition: {uid}, UID in object meta: {stored_uid}"
            ),
        ));
    }
    if insisted_revision(new).is_none() && !allows_unconditional_update(kind) {
        let error = FieldError {
            kind: "FieldValueInvalid",
            field: "metadata.resourceVersion".to_owned(),
            message: "Invalid value: 0: must be specified for an update".to_owned(),
        };
        return Err(ApiError::invalid(kind, call.name, &[error]));
    }
    check_revision(call, old, new)
}

/// A patch meets the resourceVersion first and then the validation of metadata, where the uid is
/// immutable (kubernetes#127625); with the status of a custom resource, the stored metadata has
/// replaced it by then.
pub(crate) fn check_patch(call: &Call<'_>, old: &Value, new: &Value) -> Result<(), ApiError> {
    check_revision(call, old, new)?;
    let kind = &call.served.kind;
    let uid = meta_str(new, "uid");
    let replaced = kind.is_custom() && call.subresource.is_some();
    if uid.is_empty() || uid == meta_str(old, "uid") || replaced {
        return Ok(());
    }
    let error = FieldError::invalid("metadata.uid", &Value::from(uid), "field is immutable");
    Err(ApiError::invalid(kind, call.name, &[error]))
}

fn check_revision(call: &Call<'_>, old: &Value, new: &Value) -> Result<(), ApiError> {
    match insisted_revision(new) {
        Some(revision) if revision != meta_str(old, "resourceVersion") => {
            Err(ApiError::stale(&call.served.kind, call.name))
        }
        _ => Ok(()),
    }
}

/// Most built-in kinds take an update without a resourceVersion.
fn allows_unconditional_update(kind: &Kind) -> bool {
    kind.is_built_in_that(|built_in| !built_in.needs_revision)
}

/// Computes the new state from the stored one, again when another write came in between.
pub(crate) fn change(
    call: &Call<'_>,
    compute: impl Fn(&Value) -> Result<Value, ApiError>,
) -> Result<Changed, ApiError> {
    loop {
        let record = call.stored()?;
        let storage = call.storage();
        let old = versions::stored(&storage, record.object());
        let new = compute(&versions::shown(&call.served.kind, old.clone()))?;
        let new = versions::stored(&storage, new);
        match store_change(call, &record, &old, new) {
            Ok(changed) => {
                if let Changed::Stored(record) = &changed
                    && matches!(call.served.kind.rules, Rules::Definition)
                {
                    definition::established(call.inner, &record.object())?;
                }
                return Ok(changed);
            }
            Err(CommitError::Stale | CommitError::Exists) => {}
            Err(CommitError::NoTable) => return Err(ApiError::no_such_path()),
        }
    }
}

fn store_change(
    call: &Call<'_>,
    record: &Arc<Record>,
    old: &Value,
    mut new: Value,
) -> Result<Changed, CommitError> {
    meta_mut(&mut new).insert(
        "resourceVersion".to_owned(),
        old["metadata"]["resourceVersion"].clone(),
    );
    if call.is_dry_run() {
        return Ok(Changed::Dry(new, record.revision));
    }
    let expect = Expect::Revision(record.revision);
    if is_deleting(&new) && finalizers(&new).is_empty() && !has_namespace_finalizers(call, &new) {
        remove_stored(call.inner, call.served, record, expect)?;
        let shown = Draft::new(&record.key, &new).seal(record.revision);
        return Ok(Changed::Removed(Arc::new(shown)));
    }
    if new == *old {
        return Ok(Changed::Stored(record.clone()));
    }
    commit(call.inner, call.served, &record.key, expect, &new).map(Changed::Stored)
}

fn has_namespace_finalizers(call: &Call<'_>, object: &Value) -> bool {
    matches!(call.served.kind.rules, Rules::Namespace)
        && object
            .pointer("/spec/finalizers")
            .and_then(Value::as_array)
            .is_some_and(|list| !list.is_empty())
}

/// A write by one of the server's own controllers: `edit` changes a copy of what is stored.
/// Nothing happens when the object is gone.
pub(crate) fn write_as(
    inner: &Arc<Inner>,
    served: &Served,
    key: &str,
    manager: &str,
    subresource: Option<&str>,
    edit: impl Fn(&mut Value),
) {
    let (namespace, name) = key.split_once('/').unwrap_or(("", key));
    let query = Query::default();
    let call = Call {
        inner,
        served,
        namespace,
        name,
        subresource,
        manager: manager.to_owned(),
        query: &query,
        shape: Shape::Full,
    };
    // The only refusal left is that the object has gone meanwhile.
    let _ = change(&call, |old| {
        let mut new = old.clone();
        edit(&mut new);
        meta_mut(&mut new).insert(
            "resourceVersion".to_owned(),
            json!(meta_str(old, "resourceVersion")),
        );
        if new != *old {
            let writer = call.writer(manager, Operation::Update);
            record_update(&served.kind, Some(old), &mut new, &writer);
        }
        Ok(new)
    });
}
