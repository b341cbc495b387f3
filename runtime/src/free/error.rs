//! What a controller's stream says went wrong.

use kube::api::DynamicObject;
use kube::runtime::reflector::ObjectRef;

use crate::http::request::ApiError;

/// What went wrong. None of these ends the stream. The first three are named as in kube.
#[derive(Debug, thiserror::Error)]
pub enum Error<ReconcilerErr: 'static> {
    /// An object was asked for, by a mapper or a requeue, that does not exist.
    #[error("tried to reconcile object {0} that does not exist")]
    ObjectNotFound(Box<ObjectRef<DynamicObject>>),
    /// The author's reconcile failed for the object. The error policy has decided what follows.
    #[error("reconciler for object {1} failed: {0}")]
    ReconcilerFailed(#[source] ReconcilerErr, Box<ObjectRef<DynamicObject>>),
    /// A collection cannot be listed or watched now. It is tried again.
    #[error("{0}")]
    QueueError(#[source] QueueError),
    /// The author's reconcile or error policy panicked. The object is tried again after a pause that grows.
    #[error("reconciler for object {1} panicked: {0}")]
    ReconcilerPanicked(String, Box<ObjectRef<DynamicObject>>),
    /// The object cannot be read. It is tried again after a pause that grows.
    #[error("object {1} cannot be read: {0}")]
    ReadFailed(#[source] ApiError, Box<ObjectRef<DynamicObject>>),
    /// The object is not of the type. It waits for a change.
    #[error("object {1} cannot be decoded: {0}")]
    Undecodable(#[source] serde_json::Error, Box<ObjectRef<DynamicObject>>),
}

/// Why a collection cannot be listed or watched.
#[derive(Debug, thiserror::Error)]
#[error("{what} {plural}: {cause}")]
pub struct QueueError {
    /// `list`, `watch` or `decode`.
    pub what: &'static str,
    /// The collection: `deployments`, ...
    pub plural: String,
    /// The cause.
    #[source]
    pub cause: ApiError,
}
