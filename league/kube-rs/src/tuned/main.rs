//! Tuned: the same operator with every published trick that keeps its behaviour. What each one is
//! for, and where it is published, is in README.md.
//!
//! Guarantees: the same resource, children and status as stock. Leaves to others: the writes
//! (`baseline_kube_rs`), and whether there is need to write (`reconcile`).

mod child;
mod reconcile;
mod unseen;

use std::sync::Arc;

use futures::{Stream, StreamExt, stream};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Service;
use kube::api::Api;
use kube::runtime::controller::{self, Controller, Error};
use kube::runtime::reflector::{self, Store};
use kube::runtime::watcher::{self, Event, watcher};
use kube::runtime::{WatchStreamExt, predicates};
use kube::{Client, ResourceExt};
use tracing::{debug, warn};

use baseline_kube_rs::edgeapp::{self, EdgeApp};
use baseline_kube_rs::metrics::Metrics;
use baseline_kube_rs::{admin, children};
use child::{Planned, SeenChild};
use reconcile::{Context, error_policy, reconcile};
use unseen::Unseen;

/// As the other subjects; each reconcile may hold a connection.
const CONCURRENCY: u16 = 16;
/// A page is collected and parsed whole: 50 of them are under a megabyte.
const PAGE_SIZE: u32 = 50;

// One thread: the work is waiting for answers, and a second one would have its own heap.
#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    tracing_subscriber::fmt::init();
    let admin = admin::address(env!("CARGO_BIN_NAME"))?;
    let client = Client::try_default().await?;

    let apps = Api::<EdgeApp>::all(client.clone());
    edgeapp::check_installed(&apps).await?;

    let metrics = Arc::new(Metrics::default());
    if let Some(address) = admin {
        let server = admin::bind(address).await?;
        tokio::spawn(admin::serve(server, metrics.clone()));
    }
    let (deployments, deployment_events) = watch_children::<Deployment>(&client);
    let (services, service_events) = watch_children::<Service>(&client);
    let unseen = Arc::new(Unseen::default());
    let (reader, app_events) = watch_apps(apps, unseen.clone());
    let context = Context {
        client,
        metrics,
        deployments: deployments.clone(),
        services: services.clone(),
        unseen,
    };
    // The Controller begins when it has all apps, which begin when all children are there: a child
    // that is not in its store is then missing indeed.
    let app_events = stream::once(async move {
        // A writer that is gone has taken the whole Controller with it.
        let _ = deployments.wait_until_ready().await;
        let _ = services.wait_until_ready().await;
        app_events
    })
    .flatten();
    Controller::for_stream(app_events, reader)
        .owns_stream(deployment_events)
        .owns_stream(service_events)
        .with_config(controller::Config::default().concurrency(CONCURRENCY))
        .shutdown_on_signal()
        .run(reconcile, error_policy, Arc::new(context))
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

/// The apps without what is never looked at, and those of their events that ask for work.
fn watch_apps(
    api: Api<EdgeApp>,
    unseen: Arc<Unseen>,
) -> (
    Store<EdgeApp>,
    impl Stream<Item = watcher::Result<EdgeApp>> + Send + 'static,
) {
    let (reader, writer) = reflector::store();
    let events = watcher(api, watcher::Config::default().page_size(PAGE_SIZE))
        .default_backoff()
        .modify(|app: &mut EdgeApp| {
            app.managed_fields_mut().clear();
            app.annotations_mut().clear();
            app.labels_mut().clear();
        })
        .reflect(writer)
        .inspect(move |event| match event {
            Ok(Event::Apply(app) | Event::InitApply(app)) => unseen.seen(app),
            Ok(Event::Delete(app)) => unseen.forget(app),
            _ => {}
        })
        .applied_objects()
        // One's own status writes ask for nothing.
        .predicate_filter(predicates::generation, Default::default());
    (reader, events)
}

/// What is needed of the children of one kind, and an event for each change of one.
fn watch_children<K: Planned>(
    client: &Client,
) -> (
    Store<SeenChild<K>>,
    impl Stream<Item = watcher::Result<SeenChild<K>>> + Send + 'static,
) {
    let (reader, writer) = reflector::store();
    let ours = format!("{}={}", children::MANAGED_BY_LABEL, children::MANAGED_BY);
    let config = watcher::Config::default()
        .page_size(PAGE_SIZE)
        .labels(&ours);
    // No predicate: it would swallow deletions, and a reconcile that finds all as planned is cheap.
    let events = watcher(Api::<SeenChild<K>>::all(client.clone()), config)
        .default_backoff()
        .reflect(writer)
        .touched_objects();
    (reader, events)
}
