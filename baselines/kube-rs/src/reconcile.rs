//! The reconciler: EdgeApp to Deployment, Service and status, with server-side apply.
//!
//! Guarantees: idempotent; applies everything on every call, as the documentation teaches; touches
//! no child that another owner controls or nobody does.
//! Leaves scheduling, deduplication and retries to `kube::runtime::Controller`.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use kube::api::{Api, DeleteParams, Patch, PatchParams, Preconditions};
use kube::runtime::controller::Action;
use kube::runtime::finalizer::{Event, finalizer};
use kube::{Client, Resource, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use tracing::{instrument, warn};

use crate::children::{self, is_headless};
use crate::edgeapp::{EdgeApp, EdgeAppStatus};
use crate::metrics::Metrics;
use crate::status;

const FINALIZER: &str = "tare.dev/cleanup";
const FIELD_MANAGER: &str = "edgeapp-kube-rs";

/// What a reconcile needs besides the object.
pub struct Context {
    pub client: Client,
    pub metrics: Arc<Metrics>,
}

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
    #[error(transparent)]
    Finalizer(Box<kube::runtime::finalizer::Error<Error>>),
}

/// Called by the controller when an EdgeApp or one of its children changed.
#[instrument(skip_all, fields(namespace = app.namespace(), name = app.name_any()))]
pub async fn reconcile(app: Arc<EdgeApp>, context: Arc<Context>) -> Result<Action, Error> {
    let _timer = context.metrics.measure();
    let namespace = app.namespace().unwrap_or_default();
    let apps = Api::<EdgeApp>::namespaced(context.client.clone(), &namespace);
    finalizer(&apps, FINALIZER, app, |event| async {
        match event {
            Event::Apply(app) => apply(&app, &context.client).await,
            Event::Cleanup(app) => cleanup(&app, &context.client).await,
        }
    })
    .await
    .map_err(|error| Error::Finalizer(Box::new(error)))
}

/// Called by the controller when a reconcile failed.
pub fn error_policy(app: Arc<EdgeApp>, error: &Error, context: Arc<Context>) -> Action {
    warn!(namespace = app.namespace(), name = app.name_any(), %error, "reconcile failed");
    context.metrics.count_error();
    Action::requeue(Duration::from_secs(5))
}

async fn apply(app: &EdgeApp, client: &Client) -> Result<Action, Error> {
    let now = Time(Timestamp::now());
    match apply_children(app, client).await {
        Ok(deployment) => {
            write_status(app, client, status::observed(app, &deployment, &now)).await?;
            // If no events were received, check back every 5 minutes.
            Ok(Action::requeue(Duration::from_secs(5 * 60)))
        }
        Err(error) => {
            if let Some(reason) = degraded_reason(&error) {
                let message = error.to_string();
                write_status(app, client, status::degraded(app, reason, &message, &now)).await?;
            }
            Err(error)
        }
    }
}

async fn apply_children(app: &EdgeApp, client: &Client) -> Result<Deployment, Error> {
    let namespace = app.namespace().unwrap_or_default();
    let deployments = Api::<Deployment>::namespaced(client.clone(), &namespace);
    let services = Api::<Service>::namespaced(client.clone(), &namespace);

    let deployment = apply_child(app, &deployments, &children::deployment(app)).await?;
    match children::service(app) {
        Some(service) => apply_service(app, &services, &service).await?,
        None if had_service(app) => delete_child(app, &services).await?,
        None => {}
    }
    Ok(deployment)
}

/// A cluster IP can neither be given up nor be gained: then the Service is made anew.
async fn apply_service(app: &EdgeApp, api: &Api<Service>, wanted: &Service) -> Result<(), Error> {
    match apply_child(app, api, wanted).await {
        Ok(applied) if is_headless(&applied) == is_headless(wanted) => return Ok(()),
        Err(Error::Kube(kube::Error::Api(refusal))) if !refusal.is_invalid() => {
            return Err(Error::Kube(kube::Error::Api(refusal)));
        }
        Ok(_) | Err(Error::Kube(kube::Error::Api(_))) => {}
        Err(error) => return Err(error),
    }
    delete_child(app, api).await?;
    apply_child(app, api, wanted).await?;
    Ok(())
}

/// Applies a child, unless there is one of that name that is not ours.
///
/// Whose it is, is looked up before a spec is carried out for the first time, and when another
/// manager holds a field. A field of a child that is ours is taken back.
async fn apply_child<K>(app: &EdgeApp, api: &Api<K>, child: &K) -> Result<K, Error>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + Serialize
        + DeserializeOwned
        + Clone
        + Debug,
{
    let (name, apply) = (app.name_any(), PatchParams::apply(FIELD_MANAGER));
    if !is_carried_out(app) {
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
async fn delete_child<K>(app: &EdgeApp, api: &Api<K>) -> Result<(), Error>
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

/// Ordered teardown: the Service first, so that traffic drains. Children of an app that is deleted
/// with `--cascade=orphan` stay.
async fn cleanup(app: &EdgeApp, client: &Client) -> Result<Action, Error> {
    if !app
        .finalizers()
        .iter()
        .any(|finalizer| finalizer == "orphan")
    {
        let namespace = app.namespace().unwrap_or_default();
        delete_child(app, &Api::<Service>::namespaced(client.clone(), &namespace)).await?;
        delete_child(
            app,
            &Api::<Deployment>::namespaced(client.clone(), &namespace),
        )
        .await?;
    }
    Ok(Action::await_change())
}

/// Always overwrites the status with what was seen.
async fn write_status(app: &EdgeApp, client: &Client, status: EdgeAppStatus) -> Result<(), Error> {
    let namespace = app.namespace().unwrap_or_default();
    let apps = Api::<EdgeApp>::namespaced(client.clone(), &namespace);
    let patch = Patch::Apply(json!({
        "apiVersion": EdgeApp::api_version(&()),
        "kind": EdgeApp::kind(&()),
        // Transition times come from the status that was read: it has to be the last one.
        "metadata": { "resourceVersion": app.metadata.resource_version },
        "status": status,
    }));
    let force = PatchParams::apply(FIELD_MANAGER).force();
    match apps.patch_status(&app.name_any(), &force, &patch).await {
        // The app has changed since: its event is on the way and brings another reconcile.
        Err(kube::Error::Api(refusal)) if refusal.is_conflict() || refusal.is_not_found() => Ok(()),
        written => Ok(written.map(|_| ())?),
    }
}

/// The spec in hand was applied before, and to children that are ours.
fn is_carried_out(app: &EdgeApp) -> bool {
    let Some(status) = &app.status else {
        return false;
    };
    let degraded = status
        .conditions
        .iter()
        .any(|condition| condition.type_ == "Degraded" && condition.status == "True");
    status.observed_generation == app.metadata.generation && !degraded
}

/// A Service may be left from before the port was removed.
fn had_service(app: &EdgeApp) -> bool {
    let status = app.status.as_ref();
    !is_carried_out(app) || status.is_some_and(|status| status.endpoint.is_some())
}

/// The reason of the condition for an error that the user can do something about.
fn degraded_reason(error: &Error) -> Option<&'static str> {
    match error {
        Error::Foreign { .. } => Some("NameTaken"),
        Error::Kube(kube::Error::Api(refusal)) if refusal.is_invalid() => Some("ChildRefused"),
        Error::Kube(kube::Error::Api(refusal)) if refusal.is_forbidden() => Some("Forbidden"),
        _ => None,
    }
}
