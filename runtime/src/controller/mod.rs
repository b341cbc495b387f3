//! The controller: events become keys, keys become bounded work, work becomes writes and back-off.
//!
//! Guarantees: watches are always read, whatever else waits. At most `concurrency` owners are reconciled at
//! once, and a quarter of that while one after the other is rejected. A relist finds what was dropped. On
//! shutdown no new reconcile begins, and those in flight have `drain` to end. Everything runs in the one task
//! that polls [`run`].
//! Leaves to others: what is due (`queue`), what changed (`watch`, `relist`), what is written (`reconcile`).

mod concurrency;
mod config;
mod departed;
mod engine;
mod finished;
mod gauges;
mod next;
mod pace;
mod readiness;
mod recovery;
mod references;
mod requeues;
mod running;
mod trim;
mod watches;
mod written;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use kube::Client;
use tracing::{info, warn};

use crate::api::Operator;
use crate::cache::Cache;
pub use crate::controller::config::Config;
use crate::controller::engine::Controller;
use crate::controller::finished::Finished;
use crate::controller::next::{Next, next};
pub(crate) use crate::controller::trim::TrimTimer;
use crate::http::paths::Paths;
use crate::http::request::Api;
use crate::metrics::Metrics;
use crate::model::Retention;
pub use crate::queue::Limits;
use crate::reconcile::Reconciler;
use crate::reconcile::child_names::ChildNames;

type Worker<'a> = Pin<Box<dyn Future<Output = Finished> + Send + 'a>>;

/// Runs `operator` until `shutdown` completes. Errors of the server are retried and never end it.
pub async fn run<O: Operator>(
    operator: Arc<O>,
    cache: impl Cache,
    client: Client,
    metrics: Arc<Metrics>,
    config: Config,
    shutdown: impl Future<Output = ()>,
) {
    metrics.show(&O::metrics());
    let retention = cache.retention();
    let paths = Paths::of::<O>(&config.namespaces, config.selector.as_deref());
    let paths = Arc::new(match retention {
        Retention::Identities => paths.watched_as_metadata::<O>(),
        Retention::Nothing | Retention::Specs => paths,
    });
    let api = Api::new(client, metrics, config.request_deadline).with_clock(config.now_s);
    let names = Arc::new(ChildNames::new(O::KINDS.len()));
    let reconciler = Reconciler::new(
        Arc::clone(&operator),
        api.clone(),
        Arc::clone(&paths),
        config.deadline,
        Arc::clone(&names),
        retention,
    );
    let mut references = references::followed(&operator, &api, &paths, &reconciler.referenced);
    let mut controller = Controller::new(operator, cache, api, paths, names, &config);
    let mut workers: FuturesUnordered<Worker<'_>> = FuturesUnordered::new();
    tokio::pin!(shutdown);
    let mut turn = 0;

    loop {
        controller.begin_relist();
        while workers.len() < controller.concurrency()
            && let Some((key, state)) = controller.take()
        {
            let (reconciler, begun_ms) = (&reconciler, controller.now_ms());
            let epoch = controller.epoch;
            workers.push(Box::pin(async move {
                let (state, outcome) = reconciler.reconcile(&key, state).await;
                Finished {
                    key,
                    state,
                    outcome,
                    begun_ms,
                    epoch,
                }
            }));
        }
        let pressure = controller.is_under_pressure();
        reconciler.set_pressure(pressure);
        (config.pause)(controller.pause_ms(pressure));
        controller.set_gauges();
        let next = tokio::select! {
            biased;
            () = &mut shutdown => break,
            next = next(&mut controller, &mut workers, &mut references, &mut turn) => next,
        };
        match next {
            Next::Item(item) => controller.on_watch_item(item),
            Next::Finished(finished) => controller.on_finished(finished),
            Next::Found(found) => controller.on_found(found),
            Next::Referrer(referrer) => controller.on_referrer(referrer),
            Next::Due => controller.wake(),
        }
    }
    (config.pause)(0);
    info!(in_flight = workers.len(), "shutting down");
    let drained = async { while workers.next().await.is_some() {} };
    if tokio::time::timeout(config.drain, drained).await.is_err() {
        warn!(
            in_flight = workers.len(),
            "some reconciles did not end in time; the next start continues them"
        );
    }
}
