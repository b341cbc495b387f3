//! Stock: the EdgeApp operator on `kube::runtime::Controller`, as the kube-rs documentation teaches
//! it; what Tare is measured against.
//!
//! Guarantees: the same resource, children, finalizer and status as Tare's operator, on kube's
//! defaults throughout: neither crippled nor tuned (see README.md for what its memory goes to).

mod reconcile;

use std::sync::Arc;

use futures::StreamExt;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Service;
use kube::Client;
use kube::api::Api;
use kube::runtime::controller::{Controller, Error};
use kube::runtime::watcher;
use tracing::{debug, warn};

use baseline_kube_rs::admin;
use baseline_kube_rs::edgeapp::{self, EdgeApp};
use baseline_kube_rs::metrics::Metrics;
use reconcile::{Context, error_policy, reconcile};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    tracing_subscriber::fmt::init();
    let admin = admin::address()?;
    let client = Client::try_default().await?;

    let apps = Api::<EdgeApp>::all(client.clone());
    edgeapp::check_installed(&apps).await?;

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
