//! The reconciler of stock as Tare's documentation says: on one thread, with the lean client, and without a reconcile for
//! one's own status writes.
//!
//! Guarantees: the same resource, children and status as stock.

use std::sync::Arc;
use std::time::Duration;

use kube::api::Api;
use kube::runtime::watcher;
use tare_runtime::allocator;
use tare_runtime::free::{Config, Controller};
use tare_runtime::http::client;

use baseline_tare_controller::admin;
use baseline_tare_controller::edgeapp::{self, EdgeApp};
use baseline_tare_controller::metrics::Metrics;
use baseline_tare_controller::stock::{self, Context};

/// As the other subjects; each reconcile under way may hold a connection.
const CONCURRENCY: u16 = 16;
/// The event of one's own status write is skipped, so a reconcile from an outdated copy has to ask for the next one itself.
const WHEN_OUTDATED: Duration = Duration::from_millis(500);

fn main() -> anyhow::Result<()> {
    allocator::init();
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?
        .block_on(run())
}

async fn run() -> anyhow::Result<()> {
    tracing_subscriber::fmt::init();
    let admin = admin::address(env!("CARGO_BIN_NAME"))?;
    let client = client::build(&client::config(None).await?)?;

    let apps = Api::<EdgeApp>::all(client.clone());
    edgeapp::check_installed(&apps).await?;

    let metrics = Arc::new(Metrics::default());
    let config = Config::default().concurrency(CONCURRENCY);
    let controller = Controller::new(apps, watcher::Config::default())
        .with_config(config)
        .skip(is_observed);
    if let Some(address) = admin {
        let server = admin::bind(address).await?;
        tokio::spawn(admin::serve(server, metrics.clone()));
    }
    let context = Context {
        client,
        metrics,
        when_outdated: WHEN_OUTDATED,
    };
    stock::run(controller, context).await;
    Ok(())
}

/// The status speaks of the newest spec.
fn is_observed(app: &EdgeApp) -> bool {
    let status = app.status.as_ref();
    let observed = status.and_then(|status| status.observed_generation);
    observed.is_some()
        && observed == app.metadata.generation
        && app.metadata.deletion_timestamp.is_none()
}
