//! Writes that keep to what is ours, with server-side apply.
//!
//! Guarantees: touches no child that another owner controls or nobody does. Leaves to others: when
//! to write, and whether there is need to.

use std::fmt::Debug;
use std::time::Duration;

use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::core::v1::Service;
use kube::api::{Api, DeleteParams, Patch, PatchParams, Preconditions};
use kube::{Client, Resource, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use tracing::warn;

use crate::children::is_headless;
use crate::controller::Action;
use crate::edgeapp::{EdgeApp, EdgeAppStatus};
use crate::metrics::Metrics;

const FIELD_MANAGER: &str = "edgeapp-kube-rs";

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{0}")]
    Kube(#[from] kube::Error),
    #[error("{kind} {name:?} belongs to {owner}; rename the EdgeApp")]
    Foreign {
        kind: String,
        name: String,
        owner: String,
    },
    #[error("a child cannot be encoded: {0}")]
    Encode(#[from] serde_json::Error),
}

/// What both variants do when a reconcile failed.
pub fn retry(app: &EdgeApp, error: &Error, metrics: &Metrics) -> Action {
    warn!(namespace = app.namespace(), name = app.name_any(), %error, "reconcile failed");
    metrics.count_error();
    Action::requeue(Duration::from_secs(5))
}

/// Applies the Service. A cluster IP can neither be given up nor be gained: then it is made anew.
pub async fn apply_service(
    app: &EdgeApp,
    api: &Api<Service>,
    wanted: &Service,
    standing: Standing,
) -> Result<(), Error> {
    match apply_child(app, api, wanted, standing).await {
        Ok(applied) if is_headless(&applied) == is_headless(wanted) => return Ok(()),
        Err(Error::Kube(kube::Error::Api(refusal))) if !refusal.is_invalid() => {
            return Err(Error::Kube(kube::Error::Api(refusal)));
        }
        Ok(_) | Err(Error::Kube(kube::Error::Api(_))) => {}
        Err(error) => return Err(error),
    }
    delete_child(app, api).await?;
    apply_child(app, api, wanted, Standing::Unknown).await?;
    Ok(())
}

/// What is known of a child before it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It was ours when last seen.
    Ours,
    /// Nothing: there may be one that belongs to somebody else.
    Unknown,
}

/// Applies a child, unless there is one of that name that is not ours.
///
/// Whose it is, is looked up where that is not known, and when another manager holds a field. A
/// field of a child that is ours is taken back.
pub async fn apply_child<K>(
    app: &EdgeApp,
    api: &Api<K>,
    child: &K,
    standing: Standing,
) -> Result<K, Error>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + Serialize
        + DeserializeOwned
        + Clone
        + Debug,
{
    let (name, apply) = (app.name_any(), PatchParams::apply(FIELD_MANAGER));
    if standing == Standing::Unknown {
        find_ours(app, api).await?;
    }
    match api.patch(&name, &apply, &Patch::Apply(child)).await {
        Err(kube::Error::Api(refusal)) if refusal.is_conflict() => {
            find_ours(app, api).await?;
            Ok(api
                .patch(&name, &apply.force(), &Patch::Apply(child))
                .await?)
        }
        applied => Ok(applied?),
    }
}

/// Deletes a child if it is ours, and only the very object that was looked at.
pub async fn delete_child<K>(app: &EdgeApp, api: &Api<K>) -> Result<(), Error>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + DeserializeOwned
        + Clone
        + Debug,
{
    let uid = match find_ours(app, api).await {
        Ok(Some(uid)) => uid,
        Ok(None) | Err(Error::Foreign { .. }) => return Ok(()),
        Err(error) => return Err(error),
    };
    let this_one = DeleteParams::background().preconditions(Preconditions {
        uid: Some(uid),
        resource_version: None,
    });
    match api.delete(&app.name_any(), &this_one).await {
        // Gone, or another by now: either way ours is no more.
        Err(kube::Error::Api(refusal)) if refusal.is_not_found() || refusal.is_conflict() => Ok(()),
        deleted => Ok(deleted.map(|_| ())?),
    }
}

/// The uid of the child of the app's name; `None` if there is none.
async fn find_ours<K>(app: &EdgeApp, api: &Api<K>) -> Result<Option<String>, Error>
where
    K: Resource<DynamicType = ()> + DeserializeOwned + Clone + Debug,
{
    let name = app.name_any();
    let Some(child) = api.get_metadata_opt(&name).await? else {
        return Ok(None);
    };
    let owners = child.owner_references();
    let controller = owners.iter().find(|owner| owner.controller == Some(true));
    match controller {
        Some(owner) if Some(&owner.uid) == app.metadata.uid.as_ref() => Ok(child.uid()),
        other => Err(Error::Foreign {
            kind: K::kind(&()).into_owned(),
            name,
            owner: other.map_or("nobody".to_owned(), |owner| {
                format!("{} {:?}", owner.kind, owner.name)
            }),
        }),
    }
}

/// Writes the status; `None` where the app has changed since, or is gone.
pub async fn write_status(
    app: &EdgeApp,
    client: &Client,
    status: EdgeAppStatus,
) -> Result<Option<EdgeApp>, Error> {
    let namespace = app.namespace().unwrap_or_default();
    let apps = Api::<EdgeApp>::namespaced(client.clone(), &namespace);
    let patch = Patch::Apply(json!({
        "apiVersion": EdgeApp::api_version(&()),
        "kind": EdgeApp::kind(&()),
        // Transition times come from the status that was read: it has to be the last one. Without
        // this condition an outdated copy moves them, its event brings the next reconcile, and a
        // burst of 500 took 40 writes per object; with it, one of 1,500 took 13.
        "metadata": { "resourceVersion": app.metadata.resource_version },
        "status": status,
    }));
    let force = PatchParams::apply(FIELD_MANAGER).force();
    match apps.patch_status(&app.name_any(), &force, &patch).await {
        Err(kube::Error::Api(refusal)) if refusal.is_conflict() || refusal.is_not_found() => {
            Ok(None)
        }
        written => Ok(Some(written?)),
    }
}

/// The spec in hand was applied before, and to children that are ours.
pub fn is_carried_out(app: &EdgeApp) -> bool {
    let Some(status) = &app.status else {
        return false;
    };
    let degraded = status
        .conditions
        .iter()
        .any(|condition| condition.type_ == "Degraded" && condition.status == "True");
    status.observed_generation == app.metadata.generation && !degraded
}

/// The reason of the condition for an error that the user can do something about.
pub fn degraded_reason(error: &Error) -> Option<&'static str> {
    match error {
        Error::Foreign { .. } => Some("NameTaken"),
        Error::Kube(kube::Error::Api(refusal)) if refusal.is_invalid() => Some("ChildRefused"),
        Error::Kube(kube::Error::Api(refusal)) if refusal.is_forbidden() => Some("Forbidden"),
        _ => None,
    }
}
