//! Stock: the EdgeApp operator on `kube::runtime::Controller`, as the kube-rs documentation teaches
//! it; what Tare is measured against.
//!
//! Guarantees: the same resource, children and status as Tare's operator, on kube's defaults
//! throughout: neither crippled nor tuned (see README.md for what its memory goes to).

use std::sync::Arc;

use kube::Client;
use kube::api::Api;
use kube::runtime::controller::Controller;
use kube::runtime::watcher;

use baseline_kube_rs::admin;
use baseline_kube_rs::edgeapp::{self, EdgeApp};
use baseline_kube_rs::metrics::Metrics;
use baseline_kube_rs::stock::{self, CHECK_BACK, Context};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    tracing_subscriber::fmt::init();
    let admin = admin::address(env!("CARGO_BIN_NAME"))?;
    let client = Client::try_default().await?;

    let apps = Api::<EdgeApp>::all(client.clone());
    edgeapp::check_installed(&apps).await?;

    let metrics = Arc::new(Metrics::default());
    let controller = Controller::new(apps, watcher::Config::default());
    if let Some(address) = admin {
        let server = admin::bind(address).await?;
        tokio::spawn(admin::serve(server, metrics.clone()));
    }
    // The event of the newer version is on its way, and brings a reconcile.
    let when_outdated = CHECK_BACK;
    let context = Context {
        client,
        metrics,
        when_outdated,
    };
    stock::run(controller, context).await;
    Ok(())
}
