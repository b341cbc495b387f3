//! The EdgeApp operator on `kube::runtime::Controller`, as the kube-rs documentation teaches it:
//! what Tare is measured against.
//!
//! Guarantees: the same resource, children, finalizer and status as Tare's operator, on kube's
//! defaults throughout: neither crippled nor tuned. Links nothing of Tare but its histogram.
//! Leaves the installation of the CRD to whoever starts it (`deploy/base/crd.yaml`).

mod admin;
mod children;
mod edgeapp;
#[path = "../../../src/histogram.rs"]
mod histogram;
mod metrics;
mod reconcile;
mod status;

use std::sync::Arc;

use anyhow::bail;
use futures::StreamExt;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Service;
use kube::api::{Api, ListParams};
use kube::runtime::controller::{Controller, Error};
use kube::runtime::watcher;
use kube::{Client, CustomResourceExt};
use tracing::{debug, warn};

use crate::edgeapp::EdgeApp;
use crate::metrics::Metrics;
use crate::reconcile::{Context, error_policy, reconcile};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    tracing_subscriber::fmt::init();
    let admin = admin::address()?;
    let client = Client::try_default().await?;

    let apps = Api::<EdgeApp>::all(client.clone());
    if let Err(error) = apps.list(&ListParams::default().limit(1)).await {
        bail!(
            "cannot list {}: {error}; is the CRD installed? kubectl apply -f deploy/base/crd.yaml",
            EdgeApp::crd_name()
        );
    }

    let metrics = Arc::new(Metrics::default());
    let controller = Controller::new(apps, watcher::Config::default());
    if let Some(address) = admin {
        let server = admin::bind(address).await?;
        tokio::spawn(admin::serve(server, metrics.clone()));
    }
    controller
        .owns(
            Api::<Deployment>::all(client.clone()),
            watcher::Config::default(),
        )
        .owns(
            Api::<Service>::all(client.clone()),
            watcher::Config::default(),
        )
        .shutdown_on_signal()
        .run(
            reconcile,
            error_policy,
            Arc::new(Context { client, metrics }),
        )
        .for_each(|result| async move {
            match result {
                Ok((app, _)) => debug!(%app, "reconciled"),
                // Logged by the error policy, and no failure.
                Err(Error::ReconcilerFailed(..) | Error::ObjectNotFound(_)) => {}
                Err(error) => warn!(%error, "cannot watch"),
            }
        })
        .await;
    Ok(())
}
