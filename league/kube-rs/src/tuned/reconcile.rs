//! The reconciler of tuned: what is as planned is not written again.
//!
//! Guarantees: idempotent; reads children and status from the stores, which are filled before the
//! first call. A store that lags costs a write that changes nothing, or is made up for by the event
//! that is on its way. Leaves scheduling and retries to `kube::runtime::Controller`.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use kube::api::Api;
use kube::runtime::controller::Action;
use kube::runtime::reflector::{ObjectRef, Store};
use kube::{Client, ResourceExt};
use tracing::instrument;

use baseline_kube_rs::children;
use baseline_kube_rs::edgeapp::{EdgeApp, EdgeAppStatus};
use baseline_kube_rs::metrics::Metrics;
use baseline_kube_rs::status::{self, Progress};
use baseline_kube_rs::writes::{
    Error, Standing, apply_child, apply_service, degraded_reason, delete_child, retry, write_status,
};

use crate::child::{Planned, SeenChild};
use crate::unseen::Unseen;

/// How long a watch takes to show a write, at most, as a rule.
const WATCH_LAG: Duration = Duration::from_millis(20);

/// What a reconcile needs besides the object.
pub struct Context {
    pub client: Client,
    pub metrics: Arc<Metrics>,
    pub deployments: Store<SeenChild<Deployment>>,
    pub services: Store<SeenChild<Service>>,
    pub unseen: Arc<Unseen>,
}

/// Called by the controller when an EdgeApp or one of its children changed.
#[instrument(skip_all, fields(namespace = app.namespace(), name = app.name_any()))]
pub async fn reconcile(app: Arc<EdgeApp>, context: Arc<Context>) -> Result<Action, Error> {
    let _timer = context.metrics.measure();
    // The garbage collector deletes the children once the app is gone.
    if app.metadata.deletion_timestamp.is_some() {
        return Ok(Action::await_change());
    }
    if context.unseen.is_outdated(&app) {
        return Ok(Action::requeue(WATCH_LAG));
    }
    let now = Time(Timestamp::now());
    match apply_children(&app, &context).await {
        Ok(progress) => keep_status(&app, &context, status::observed(&app, progress, &now)).await,
        Err(error) => {
            if let Some(reason) = degraded_reason(&error) {
                let message = error.to_string();
                let status = status::degraded(&app, reason, &message, &now);
                keep_status(&app, &context, status).await?;
            }
            Err(error)
        }
    }
}

/// Called by the controller when a reconcile failed.
pub fn error_policy(app: Arc<EdgeApp>, error: &Error, context: Arc<Context>) -> Action {
    retry(&app, error, &context.metrics)
}

async fn apply_children(app: &EdgeApp, context: &Context) -> Result<Progress, Error> {
    let namespace = app.namespace().unwrap_or_default();
    let deployments = Api::<Deployment>::namespaced(context.client.clone(), &namespace);
    let services = Api::<Service>::namespaced(context.client.clone(), &namespace);

    let wanted = children::deployment(app);
    let progress = match observe(app, &context.deployments, &wanted)? {
        Observed::AsPlanned(progress) => progress,
        Observed::Differs(standing) => {
            let applied = apply_child(app, &deployments, &wanted, standing).await?;
            Progress::from(&applied)
        }
    };
    match children::service(app) {
        Some(wanted) => match observe(app, &context.services, &wanted)? {
            Observed::AsPlanned(_) => {}
            Observed::Differs(standing) => apply_service(app, &services, &wanted, standing).await?,
        },
        None if is_ours(app, &context.services) => delete_child(app, &services).await?,
        None => {}
    }
    Ok(progress)
}

/// What the store says about a child.
enum Observed {
    AsPlanned(Progress),
    Differs(Standing),
}

fn observe<K: Planned>(
    app: &EdgeApp,
    store: &Store<SeenChild<K>>,
    wanted: &K,
) -> Result<Observed, Error> {
    let planned = SeenChild::planned(wanted)?;
    Ok(match store.get(&key(app)) {
        Some(seen) if seen.is_as(&planned) => Observed::AsPlanned(seen.progress()),
        Some(seen) if seen.controller_uid() == app.metadata.uid.as_deref() => {
            Observed::Differs(Standing::Ours)
        }
        // A child without our label is in no store.
        _ => Observed::Differs(Standing::Unknown),
    })
}

fn is_ours<K: Planned>(app: &EdgeApp, store: &Store<SeenChild<K>>) -> bool {
    let seen = store.get(&key(app));
    seen.is_some_and(|seen| seen.controller_uid() == app.metadata.uid.as_deref())
}

fn key<K: Planned>(app: &EdgeApp) -> ObjectRef<SeenChild<K>> {
    let namespace = app.namespace().unwrap_or_default();
    ObjectRef::new(&app.name_any()).within(&namespace)
}

/// Writes the status if it is another.
async fn keep_status(
    app: &EdgeApp,
    context: &Context,
    status: EdgeAppStatus,
) -> Result<Action, Error> {
    if app.status.as_ref() == Some(&status) {
        return Ok(Action::await_change());
    }
    match write_status(app, &context.client, status).await? {
        Some(written) => {
            context.unseen.wrote(&written);
            Ok(Action::await_change())
        }
        // Our copy is older than the app: the next one is on the way, and may be filtered out.
        None => Ok(Action::requeue(WATCH_LAG)),
    }
}
