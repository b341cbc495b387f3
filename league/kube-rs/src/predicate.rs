//! Predicate: stock with the two changes that most users make first, a generation predicate and a
//! bound on the concurrency (README.md).
//!
//! Guarantees: the reconciler of stock, and its store of whole objects. Leaves every other trick to
//! tuned.

use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use kube::api::Api;
use kube::runtime::controller::{Config, Controller};
use kube::runtime::{WatchStreamExt, predicates, reflector, watcher};

use baseline_kube_rs::admin;
use baseline_kube_rs::edgeapp::{self, EdgeApp};
use baseline_kube_rs::metrics::Metrics;
use baseline_kube_rs::stock::{self, Context};

/// As the other subjects; each reconcile under way may hold a connection.
const CONCURRENCY: u16 = 16;
/// The event of one's own status write is filtered out, so a reconcile from an outdated copy has to
/// ask for the next one itself. Watches show a write sooner than this, as a rule.
const WHEN_OUTDATED: Duration = Duration::from_millis(500);

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    tracing_subscriber::fmt::init();
    let admin = admin::address(env!("CARGO_BIN_NAME"))?;
    let client = Client::try_default().await?;

    let apps = Api::<EdgeApp>::all(client.clone());
    edgeapp::check_installed(&apps).await?;

    let metrics = Arc::new(Metrics::default());
    let (reader, writer) = reflector::store();
    let app_events = watcher(apps, watcher::Config::default())
        .default_backoff()
        .reflect(writer)
        .applied_objects()
        .predicate_filter(predicates::generation, Default::default());
    let controller = Controller::for_stream(app_events, reader);
    if let Some(address) = admin {
        let server = admin::bind(address).await?;
        tokio::spawn(admin::serve(server, metrics.clone()));
    }
    let controller = controller.with_config(Config::default().concurrency(CONCURRENCY));
    let context = Context {
        client,
        metrics,
        when_outdated: WHEN_OUTDATED,
    };
    stock::run(controller, context).await;
    Ok(())
}
