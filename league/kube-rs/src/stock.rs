//! The reconciler of stock and predicate: EdgeApp to Deployment, Service and status, with
//! server-side apply.
//!
//! Guarantees: idempotent; applies everything on every call, as the documentation teaches.
//! Leaves scheduling, deduplication and retries to `kube::runtime::Controller`, and the choice of
//! the events that ask for a reconcile to the two programs.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use kube::api::Api;
use kube::runtime::watcher;
use kube::{Client, ResourceExt};
use tracing::{debug, instrument, warn};

use crate::children;
use crate::controller::{self, Action, Controller};
use crate::edgeapp::EdgeApp;
use crate::metrics::Metrics;
use crate::status;
use crate::writes::{
    Error, Standing, apply_child, apply_service, degraded_reason, delete_child, is_carried_out,
    retry, write_status,
};

/// When an object is reconciled again if nothing has happened to it: as in controller-rs.
pub const CHECK_BACK: Duration = Duration::from_secs(5 * 60);

/// What a reconcile needs besides the object.
pub struct Context {
    pub client: Client,
    pub metrics: Arc<Metrics>,
    /// When an object is reconciled again whose status was not written, because the copy in hand is
    /// older than the object.
    pub when_outdated: Duration,
}

/// Runs a controller of EdgeApps over their children until the program is told to end.
pub async fn run(controller: Controller<EdgeApp>, context: Context) {
    let client = context.client.clone();
    controller
        .owns(
            Api::<Deployment>::all(client.clone()),
            watcher::Config::default(),
        )
        .owns(Api::<Service>::all(client), watcher::Config::default())
        .shutdown_on_signal()
        .run(reconcile, error_policy, Arc::new(context))
        .for_each(|result| async move {
            match result {
                Ok((app, _)) => debug!(%app, "reconciled"),
                // Logged by the error policy, and no failure.
                Err(
                    controller::Error::ReconcilerFailed(..) | controller::Error::ObjectNotFound(_),
                ) => {}
                Err(error) => warn!(%error, "cannot watch"),
            }
        })
        .await;
}

/// Called by the controller when an EdgeApp or one of its children changed.
#[instrument(skip_all, fields(namespace = app.namespace(), name = app.name_any()))]
pub async fn reconcile(app: Arc<EdgeApp>, context: Arc<Context>) -> Result<Action, Error> {
    let _timer = context.metrics.measure();
    // The garbage collector deletes the children once the app is gone.
    if app.metadata.deletion_timestamp.is_some() {
        return Ok(Action::await_change());
    }
    let client = &context.client;
    let now = Time(Timestamp::now());
    match apply_children(&app, client).await {
        Ok(deployment) => {
            let status = status::observed(&app, (&deployment).into(), &now);
            Ok(match write_status(&app, client, status).await? {
                Some(_) => Action::requeue(CHECK_BACK),
                None => Action::requeue(context.when_outdated),
            })
        }
        Err(error) => {
            if let Some(reason) = degraded_reason(&error) {
                let message = error.to_string();
                write_status(&app, client, status::degraded(&app, reason, &message, &now)).await?;
            }
            Err(error)
        }
    }
}

/// Called by the controller when a reconcile failed.
pub fn error_policy(app: Arc<EdgeApp>, error: &Error, context: Arc<Context>) -> Action {
    retry(&app, error, &context.metrics)
}

async fn apply_children(app: &EdgeApp, client: &Client) -> Result<Deployment, Error> {
    let namespace = app.namespace().unwrap_or_default();
    let deployments = Api::<Deployment>::namespaced(client.clone(), &namespace);
    let services = Api::<Service>::namespaced(client.clone(), &namespace);

    // Whose the children are, is looked up before a spec is carried out for the first time.
    let standing = if is_carried_out(app) {
        Standing::Ours
    } else {
        Standing::Unknown
    };
    let wanted = children::deployment(app);
    let deployment = apply_child(app, &deployments, &wanted, standing).await?;
    match children::service(app) {
        Some(service) => apply_service(app, &services, &service, standing).await?,
        None if had_service(app) => delete_child(app, &services).await?,
        None => {}
    }
    Ok(deployment)
}

/// A Service may be left from before the port was removed.
fn had_service(app: &EdgeApp) -> bool {
    let status = app.status.as_ref();
    !is_carried_out(app) || status.is_some_and(|status| status.endpoint.is_some())
}
