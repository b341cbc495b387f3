//! The reconciler of stock: EdgeApp to Deployment, Service and status, with server-side apply.
//!
//! Guarantees: idempotent; applies everything on every call, as the documentation teaches.
//! Leaves scheduling, deduplication and retries to `kube::runtime::Controller`.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use kube::api::Api;
use kube::runtime::controller::Action;
use kube::runtime::finalizer::{Event, finalizer};
use kube::{Client, ResourceExt};
use tracing::instrument;

use baseline_kube_rs::children;
use baseline_kube_rs::edgeapp::EdgeApp;
use baseline_kube_rs::metrics::Metrics;
use baseline_kube_rs::status;
use baseline_kube_rs::writes::{
    Error, FINALIZER, Standing, apply_child, apply_service, cleanup, degraded_reason, delete_child,
    is_carried_out, retry, write_status,
};

/// What a reconcile needs besides the object.
pub struct Context {
    pub client: Client,
    pub metrics: Arc<Metrics>,
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
    retry(&app, error, &context.metrics)
}

async fn apply(app: &EdgeApp, client: &Client) -> Result<Action, Error> {
    let now = Time(Timestamp::now());
    match apply_children(app, client).await {
        Ok(deployment) => {
            write_status(
                app,
                client,
                status::observed(app, (&deployment).into(), &now),
            )
            .await?;
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
