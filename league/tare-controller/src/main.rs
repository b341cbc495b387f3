//! `kube-rs/stock` on Tare's Controller: its `main`, line by line but for the imports.
//!
//! Guarantees: what differs from `league/kube-rs/src/main.rs` are `use` lines. A test compares them.

use std::sync::Arc;

use kube::Client;
use kube::api::Api;
use kube::runtime::watcher;
use tare_runtime::free::Controller;

use baseline_tare_controller::admin;
use baseline_tare_controller::edgeapp::{self, EdgeApp};
use baseline_tare_controller::metrics::Metrics;
use baseline_tare_controller::stock::{self, CHECK_BACK, Context};

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
