//! A reconcile that cleans up before its object goes: kube's `finalizer`, with our [`Action`].

use std::error::Error as StdError;
use std::fmt::Debug;
use std::sync::Arc;

use futures::{TryFuture, TryFutureExt};
use kube::api::{Patch, PatchParams};
use kube::{Api, Resource};
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::free::action::Action;

/// What went wrong. Named as in kube.
#[derive(Debug, thiserror::Error)]
pub enum Error<ReconcileErr: StdError + 'static> {
    /// The author's [`Event::Apply`] failed.
    #[error("failed to apply object: {0}")]
    ApplyFailed(#[source] ReconcileErr),
    /// The author's [`Event::Cleanup`] failed. The finalizer stays.
    #[error("failed to clean up object: {0}")]
    CleanupFailed(#[source] ReconcileErr),
    /// The finalizer could not be added.
    #[error("failed to add finalizer: {0}")]
    AddFinalizer(#[source] kube::Error),
    /// The finalizer could not be removed.
    #[error("failed to remove finalizer: {0}")]
    RemoveFinalizer(#[source] kube::Error),
    /// The object has no name.
    #[error("object has no name")]
    UnnamedObject,
}

/// What a reconcile has to do with an object.
#[derive(Debug)]
pub enum Event<K> {
    /// Make the state of the world as the object says. It has the finalizer.
    Apply(Arc<K>),
    /// The object is being deleted: remove what it owns.
    Cleanup(Arc<K>),
}

/// Reconciles an object that needs a cleanup before it goes.
///
/// # Expected Flow
/// An object without `finalizer_name` gets it, and the write is the change that brings it back. With it, `reconcile`
/// gets [`Event::Apply`]. Once the object is being deleted it gets [`Event::Cleanup`]; when that has succeeded the finalizer
/// is removed, and the server removes the object with its last finalizer.
///
/// # Guarantees
/// If `Apply` ever began, a `Cleanup` has succeeded before the object goes. A finalizer is added and removed
/// only in the object as it was read: if it has changed since, the server refuses (409), and the next reconcile has
/// the newer one.
///
/// # Assumptions
/// `finalizer_name` is unique among the controllers of the object. `Apply` and `Cleanup` may begin more than once, and
/// `Cleanup` also where `Apply` never succeeded.
///
/// # Caveats
/// Nothing goes while the controller does not run, or while `Cleanup` fails.
///
/// # Errors
/// Those of `reconcile`, and of the request that adds or removes the finalizer.
pub async fn finalizer<K, ReconcileFut>(
    api: &Api<K>,
    finalizer_name: &str,
    obj: Arc<K>,
    reconcile: impl FnOnce(Event<K>) -> ReconcileFut,
) -> Result<Action, Error<ReconcileFut::Error>>
where
    K: Resource + Clone + DeserializeOwned + Debug,
    ReconcileFut: TryFuture<Ok = Action>,
    ReconcileFut::Error: StdError + 'static,
{
    let finalizers = obj.meta().finalizers.clone().unwrap_or_default();
    let has_ours = finalizers.iter().any(|name| name == finalizer_name);
    let is_deleting = obj.meta().deletion_timestamp.is_some();
    match (has_ours, is_deleting) {
        (true, false) => TryFutureExt::into_future(reconcile(Event::Apply(obj)))
            .await
            .map_err(Error::ApplyFailed),
        (true, true) => {
            let event = Event::Cleanup(Arc::clone(&obj));
            let cleaned = TryFutureExt::into_future(reconcile(event)).await;
            let action = cleaned.map_err(Error::CleanupFailed)?;
            let kept = finalizers.into_iter().filter(|name| name != finalizer_name);
            write(api, &obj, kept.collect(), Error::RemoveFinalizer).await?;
            Ok(action)
        }
        (false, false) => {
            let mut finalizers = finalizers;
            finalizers.push(finalizer_name.to_owned());
            write(api, &obj, finalizers, Error::AddFinalizer).await?;
            Ok(Action::await_change())
        }
        (false, true) => Ok(Action::await_change()),
    }
}

/// Writes the finalizers of the object as it was read.
async fn write<K, E>(
    api: &Api<K>,
    object: &K,
    finalizers: Vec<String>,
    failed: fn(kube::Error) -> Error<E>,
) -> Result<(), Error<E>>
where
    K: Resource + Clone + DeserializeOwned + Debug,
    E: StdError + 'static,
{
    let meta = object.meta();
    let name = meta.name.as_deref().ok_or(Error::UnnamedObject)?;
    let patch = json!({"metadata": {
        "resourceVersion": meta.resource_version,
        "uid": meta.uid,
        "finalizers": finalizers,
    }});
    api.patch_metadata(name, &PatchParams::default(), &Patch::Merge(patch))
        .await
        .map_err(failed)?;
    Ok(())
}
