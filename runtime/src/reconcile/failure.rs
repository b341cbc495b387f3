//! Why a reconcile ended early, and what follows from that.
//!
//! Guarantees: the message says what happened, to which object, and what to do. Leaves to others: writing it.

use std::any::Any;
use std::time::Duration;

use crate::api::{
    By, Child, Failure, Kind, Operator, PlanError, Reference, Retry, is_labelled, is_namespaced,
    kind_index,
};
use crate::http::paths::Paths;
use crate::http::permission;
use crate::http::permission::Permission;
use crate::http::request::ApiError;
use crate::model::{Meta, owner_label_value};

/// How a reconcile ended early.
#[derive(Debug)]
pub(crate) enum Interrupt {
    /// The owner was deleted.
    Gone,
    /// A write met a newer object: read it and start again.
    Again,
    /// The owner turns out to be large: it waits until others of that size are done.
    Large,
    /// Something else has to happen first; nothing is wrong.
    Wait(Duration),
    /// It failed.
    Failed { failure: Failure, told: Told },
}

/// When the status of the owner and an Event tell of a failure. The metric counts each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Told {
    /// It is about this owner: at once.
    AtOnce,
    /// The server answered a write of a child with an error of its own, such as that of a webhook which is down: once
    /// it fails for the second time in a row. What passes with the first back-off is not told, and while the whole
    /// server is away nothing can be written: neither leaves a wave of writes behind it.
    Repeated,
    /// The server or the connection is at fault, and not the owner.
    Never,
}

impl Interrupt {
    /// Whether the server has refused a request: it has not executed it.
    pub(crate) fn is_refusal(&self) -> bool {
        matches!(self, Self::Failed { failure, .. } if [REJECTED, FORBIDDEN].contains(&failure.reason))
    }
}

/// The reasons of requests that the server refuses.
const REJECTED: &str = "Rejected";
const FORBIDDEN: &str = "Forbidden";

fn failed(reason: &'static str, message: String) -> Interrupt {
    interrupt(reason, message, Retry::Backoff, Told::AtOnce)
}

/// Like [`failed`], where nothing but a change can help.
fn stuck(reason: &'static str, message: String) -> Interrupt {
    interrupt(reason, message, Retry::AwaitChange, Told::AtOnce)
}

/// Like [`failed`], for what is wrong with the server or the connection and not with the owner.
fn elsewhere(reason: &'static str, message: String) -> Interrupt {
    interrupt(reason, message, Retry::Backoff, Told::Never)
}

fn interrupt(reason: &'static str, message: String, retry: Retry, told: Told) -> Interrupt {
    let failure = Failure {
        reason,
        message,
        retry,
    };
    Interrupt::Failed { failure, told }
}

/// What a panic said.
pub(crate) fn words(panic: &(dyn Any + Send)) -> Option<String> {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
}

pub(crate) fn panicked(panic: &(dyn Any + Send)) -> Interrupt {
    let what = words(panic).unwrap_or_default();
    failed("Panic", format!("the operator panicked: {what}"))
}

pub(crate) fn contended() -> Interrupt {
    let message = "the object kept changing while it was written";
    elsewhere("Conflict", message.to_owned())
}

pub(crate) fn late(deadline: Duration) -> Interrupt {
    let message = format!(
        "not done within {} s; the API server answers too slowly",
        deadline.as_secs_f32()
    );
    failed("Timeout", message)
}

pub(crate) fn unreadable(error: &serde_json::Error) -> Interrupt {
    let message = format!("the object is not what this version expects: {error}");
    stuck("Undecodable", message)
}

pub(crate) fn planned<E: PlanError>(error: &E) -> Interrupt {
    let message = error.to_string();
    interrupt(error.reason(), message, error.retry(), Told::AtOnce)
}

/// A cleanup that failed: nothing but another attempt shows that it can succeed.
pub(crate) fn cleanup<E: PlanError>(error: &E) -> Interrupt {
    let retry = match error.retry() {
        Retry::AwaitChange => Retry::Backoff,
        retry => retry,
    };
    let message = format!("cleanup: {error}");
    interrupt(error.reason(), message, retry, Told::AtOnce)
}

/// A child of that name that is not ours. `belongs`: to whom.
pub(crate) fn collision(kind: &str, name: &str, belongs: &str, owner_kind: &str) -> Interrupt {
    let message =
        format!("{kind} {name:?} {belongs}; rename the {owner_kind} or remove that {kind}");
    failed("Collision", message)
}

/// What is to be `done` with an object of a kind that the server does not serve.
pub(crate) fn kind_missing(kind: &Kind, name: &str, done: &str) -> Interrupt {
    let (api_version, plural, kind) = (kind.api_version, kind.plural, kind.kind);
    let message = format!(
        "{kind} {name:?} cannot be {done}: this cluster does not serve {plural} of {api_version}; install the CRD of {kind}"
    );
    failed("KindMissing", message)
}

/// What an owner refers to cannot be read. `which`: its name, or a label selector.
pub(crate) fn unread(error: ApiError, verb: &str, kind: &Kind, which: &str) -> Interrupt {
    match error.is_of_missing_kind() {
        true => kind_missing(kind, which, "read"),
        false => asked(error, verb, kind.kind, which),
    }
}

/// Gives the children of the plan of `owner` their kinds as the operator declares them, and a namespace only where that is
/// not the owner's.
///
/// # Errors
/// A child is of a kind that is not declared, has no name, or is where it cannot be.
pub(crate) fn declare_children<O: Operator>(
    owner: &Meta,
    plan: &mut [Child],
) -> Result<(), Interrupt> {
    let named = |kind: &Kind| format!("{} of {}", kind.kind, kind.api_version);
    for child in plan {
        let declared = kind_index(O::KINDS, &child.kind).and_then(|index| index.of(O::KINDS));
        let Some(declared) = declared else {
            let declared: Vec<_> = O::KINDS.iter().map(named).collect();
            let message = format!(
                "the plan has a {} ({:?}), which is not among the KINDS of the operator {}: {}",
                named(&child.kind),
                child.name,
                O::NAME,
                declared.join(", ")
            );
            return Err(stuck("UndeclaredKind", message));
        };
        if child.name.is_empty() {
            let message = format!("the plan has a {} without a name", named(declared));
            return Err(stuck("NamelessChild", message));
        }
        child.kind = *declared;
        place_child::<O>(owner, child)?;
    }
    Ok(())
}

/// # Errors
/// A child is where nothing of it is seen.
pub(crate) fn check_watched(paths: &Paths, plan: &[Child]) -> Result<(), Interrupt> {
    for child in plan {
        let namespace = child.namespace.as_deref().unwrap_or_default();
        if !paths.are_in(namespace) {
            let message = format!(
                "{} {:?} is in the namespace {namespace}, which this operator does not watch: run it with --namespace {namespace} too",
                child.kind.kind, child.name
            );
            return Err(failed("NotWatched", message));
        }
    }
    Ok(())
}

/// Names the namespace of a child only where that is not its owner's: empty where its kind has none.
fn place_child<O: Operator>(owner: &Meta, child: &mut Child) -> Result<(), Interrupt> {
    if !child.kind.namespaced {
        child.namespace = Some(String::new());
    }
    child
        .namespace
        .take_if(|namespace| **namespace == *owner.namespace);
    let (kind, name) = (child.kind.kind, &child.name);
    let (reason, why) = match child.namespace.as_deref() {
        None if child.kind.namespaced && !is_namespaced::<O>() => (
            "NoNamespace",
            "is in no namespace, and neither is its owner: say which (in_namespace)",
        ),
        Some("") if child.kind.namespaced => (
            "NoNamespace",
            "is in no namespace, and its kind has namespaces: say which (in_namespace)",
        ),
        Some(_) if is_namespaced::<O>() && O::FINALIZER.is_none() => (
            "NeedsFinalizer",
            "is not in the namespace of its owner: the garbage collector would not delete it, and the operator has no FINALIZER under which to do that",
        ),
        // Events of the child could not be told to be the owner's.
        Some(_) if is_labelled::<O>(child) && owner_label_value(&owner.name) != *owner.name => (
            "NameTooLong",
            "is not in the namespace of its owner, whose name has more than the 63 characters of a label, by which it is found",
        ),
        _ => return Ok(()),
    };
    let message = format!(
        "the plan of {} has a {kind} {name:?} that {why}",
        owner.key()
    );
    Err(stuck(reason, message))
}

/// An owner names an object of a kind that the operator does not declare: it is not watched.
pub(crate) fn undeclared_reference<O: Operator>(reference: &Reference) -> Interrupt {
    let (By::Name(which) | By::Labels(which)) = &reference.by;
    let message = format!(
        "the owner names a {} ({which:?}), which is not among the REFERENCES of the operator {}",
        reference.kind.kind,
        O::NAME
    );
    stuck("UndeclaredKind", message)
}

/// An owner without a namespace names an object in its own.
pub(crate) fn reference_without_namespace(kind: &Kind, name: &str) -> Interrupt {
    let message = format!(
        "the owner names a {} {name:?} and is in no namespace itself: say which (in_namespace)",
        kind.kind
    );
    stuck("NoNamespace", message)
}

/// The reason of a field conflict.
pub(crate) const FIELD_CONFLICT: &str = "FieldConflict";

/// What a field conflict is about.
pub(crate) fn in_conflict(kind: &str, name: &str, path: &str) -> String {
    format!(
        "{kind} {name:?}: another controller keeps changing {path}; it is set back with growing pauses"
    )
}

/// A field that another controller keeps changing. The child is looked at again after `pause`.
pub(crate) fn field_conflict(message: &str, pause: Duration) -> Failure {
    Failure {
        reason: FIELD_CONFLICT,
        message: message.to_owned(),
        retry: Retry::From(pause),
    }
}

/// A child that may not be made because of a missing permission on its owner.
pub(crate) fn owner_denied(permission: &Permission, kind: &str, name: &str) -> Interrupt {
    let message = format!(
        "may not create {kind} {name:?}: its owner reference with blockOwnerDeletion asks for the \
         permission to {permission}"
    );
    failed("Forbidden", message)
}

/// What a write of a child that failed means for its owner.
pub(crate) fn not_written(error: ApiError, verb: &str, kind: &str, name: &str) -> Interrupt {
    let is_of_server = matches!(error.code(), Some(429 | 500..=599));
    match asked(error, verb, kind, name) {
        Interrupt::Failed { failure, .. } if is_of_server => Interrupt::Failed {
            failure,
            told: Told::Repeated,
        },
        interrupt => interrupt,
    }
}

/// What a request that failed means for the owner it was made for.
pub(crate) fn asked(error: ApiError, verb: &str, kind: &str, name: &str) -> Interrupt {
    let told = format!("{verb} {kind} {name:?}: {error}");
    let is_denied = error.missing_permission().is_some();
    match error {
        ApiError::Status {
            namespace_terminating: true,
            ..
        } => Interrupt::Wait(Duration::from_secs(5)),
        ApiError::Status {
            code: 403, message, ..
        } if permission::is_about_unknown_owner_kind(&message) => {
            let told = format!("{verb} {kind} {name:?}: {message}");
            elsewhere("ServerError", told)
        }
        _ if is_denied => failed(FORBIDDEN, format!("may not {told}")),
        // 403: admission refuses, a quota or a policy.
        ApiError::Status {
            code: 400 | 403 | 405 | 413 | 415 | 422,
            message,
            ..
        } => {
            let words = without_object(&message);
            let told = format!("the API server refuses {kind} {name:?}: {words}");
            failed(REJECTED, told)
        }
        ApiError::Status { code: 409, .. } => Interrupt::Again,
        ApiError::Status {
            code: 429 | 500..=599,
            retry_after,
            ..
        } => {
            let retry = retry_after.map_or(Retry::Backoff, Retry::From);
            interrupt("ServerError", told, retry, Told::Never)
        }
        ApiError::Timeout(_) => failed("Timeout", told),
        ApiError::Unreachable(_) => elsewhere("Unreachable", error.to_string()),
        ApiError::Status { .. } | ApiError::TooLarge(_) | ApiError::Undecodable(_) => {
            failed("Unexpected", told)
        }
    }
}

/// The message without the object that a refused patch would have made: of a patch with an unknown field the server
/// repeats all of it.
fn without_object(message: &str) -> &str {
    const STRICT: &str = "strict decoding error";
    message.find(STRICT).map_or(message, |at| &message[at..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_an_unknown_field_only_its_name_is_told() {
        let whole = r#"Deployment.apps "web" is invalid: patch: Invalid value: "{\"spec\":{}}": strict decoding error: unknown field "spec.replcas""#;
        let told = r#"strict decoding error: unknown field "spec.replcas""#;
        assert_eq!(without_object(whole), told);
        assert_eq!(without_object("quota exceeded"), "quota exceeded");
    }
}
