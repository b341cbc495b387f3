//! The loop: events become keys, keys become bounded work, work becomes writes and back-off.
//!
//! Guarantees: watches are always read, whatever else waits; at most `concurrency` owners are worked
//! on at once, and a quarter while one after the other is refused; what found no room is found again by a join; on shutdown no new work is begun and
//! what is in flight gets five seconds. Everything runs in the one task that polls [`run`].
//! Leaves to others: deciding (`queue`), finding (`join`, `source`), writing (`apply`).

pub mod concurrency;
mod config;
mod relisting;
pub mod trim;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::task::Poll;
use std::time::Duration;

use futures::StreamExt;
use futures::stream::{BoxStream, FuturesUnordered, unfold};
use kube::Client;
use tokio::time::{Instant, sleep_until};
use tracing::{info, warn};

use crate::api::{Operator, OwnerStatus, Status};
use crate::cache::{Cache, ChildUpdate, Retention};
use crate::controller::concurrency::Concurrency;
pub use crate::controller::config::Config;
use crate::controller::relisting::{Running, next_found};
use crate::controller::trim::TrimTimer;
use crate::http::paths::Paths;
use crate::http::request::{Api, ApiError};
use crate::metrics::Metrics;
use crate::queue::{Admission, Outcome, OwnerState, Queue};
use crate::reconcile::Applier;
use crate::reconcile::events::Events;
use crate::relist::Coverage;
use crate::relist::schedule::RelistSchedule;
use crate::watch::{WatchEvent, WatchItem, WatchStream};

type Worker<'a> = Pin<Box<dyn Future<Output = Worked> + Send + 'a>>;

/// What a worker gives back, and when it had begun, ms.
type Worked = (Arc<str>, OwnerState, Outcome, u64);

/// Runs `operator` until `shutdown` completes. Trouble with the server is waited out, never an end.
pub async fn run<O: Operator>(
    operator: Arc<O>,
    cache: impl Cache,
    client: Client,
    metrics: Arc<Metrics>,
    config: Config,
    shutdown: impl Future<Output = ()>,
) {
    let retention = cache.retention();
    let paths = Paths::of::<O>(config.namespace.clone(), config.selector.as_deref());
    let paths = Arc::new(match retention {
        Retention::Identities => paths.watched_as_metadata::<O>(),
        Retention::Nothing | Retention::Specs => paths,
    });
    let api = Api::new(client, metrics, config.request_deadline);
    let applier = Applier {
        operator: Arc::clone(&operator),
        api: api.clone(),
        paths: Arc::clone(&paths),
        events: Events::default(),
        deadline: config.deadline,
        keeps_last_applied: retention == Retention::Specs,
    };
    let mut controller = Controller::new(operator, cache, api, paths, &config);
    let mut workers: FuturesUnordered<Worker<'_>> = FuturesUnordered::new();
    tokio::pin!(shutdown);

    loop {
        controller.begin_relist();
        while workers.len() < controller.concurrency.now()
            && let Some((key, state)) = controller.take()
        {
            let (applier, begun_ms) = (&applier, controller.now_ms());
            workers.push(Box::pin(async move {
                let (state, outcome) = applier.reconcile(&key, state).await;
                (key, state, outcome, begun_ms)
            }));
        }
        controller.gauge();
        let due = controller.due();
        let relist_may_go_on = controller.relist_may_go_on();
        tokio::select! {
            () = &mut shutdown => break,
            item = next_watch_item(&mut controller.watches, &mut controller.turn) => controller.on_watch_item(item),
            Some(worked) = workers.next(), if !workers.is_empty() => controller.finish(worked),
            Some(found) = next_found(&mut controller.relist), if relist_may_go_on => controller.on_found(found),
            () = sleep_until(due) => controller.wake(),
        }
    }
    info!(in_flight = workers.len(), "shutting down");
    let drained = async { while workers.next().await.is_some() {} };
    if tokio::time::timeout(config.drain, drained).await.is_err() {
        warn!(
            in_flight = workers.len(),
            "not all work in flight was finished in time; a restart goes on with it"
        );
    }
}

/// The next thing that any watch shows; they take turns.
async fn next_watch_item(
    watches: &mut [Option<BoxStream<'static, WatchItem>>],
    turn: &mut usize,
) -> WatchItem {
    std::future::poll_fn(|cx| {
        let count = watches.len();
        for step in 0..count {
            let index = (*turn + step) % count;
            if let Some(stream) = &mut watches[index]
                && let Poll::Ready(Some(item)) = stream.poll_next_unpin(cx)
            {
                *turn = index + 1;
                return Poll::Ready(item);
            }
        }
        Poll::Pending
    })
    .await
}

/// The state of the loop.
struct Controller<O: Operator, C> {
    operator: Arc<O>,
    cache: C,
    api: Api,
    paths: Arc<Paths>,
    queue: Queue,
    schedule: RelistSchedule,
    /// The watches, the owners' first; `None` while one waits for a join to tell its place.
    watches: Vec<Option<BoxStream<'static, WatchItem>>>,
    turn: usize,
    /// Why each watch is not open, where it is not.
    closed: Vec<Option<String>>,
    /// Which kind the last join could not list and why, where it is to be told.
    unlisted: Option<(usize, String)>,
    relist: Option<Running>,
    relisted_once: bool,
    started: Instant,
    trim_timer: TrimTimer,
    trim: fn(),
    concurrency: Concurrency,
}

impl<O: Operator, C: Cache> Controller<O, C> {
    fn new(operator: Arc<O>, cache: C, api: Api, paths: Arc<Paths>, config: &Config) -> Self {
        Self {
            operator,
            cache,
            api,
            queue: Queue::new(
                config.limits,
                O::KINDS.len(),
                O::FINALIZER.is_some(),
                config.seed,
            ),
            schedule: RelistSchedule::new(config.resync, config.seed),
            watches: (0..paths.len()).map(|_| None).collect(),
            turn: 0,
            closed: vec![None; paths.len()],
            unlisted: None,
            relist: None,
            relisted_once: false,
            started: Instant::now(),
            trim_timer: TrimTimer::default(),
            trim: config.trim,
            concurrency: Concurrency::of(config.concurrency),
            paths,
        }
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn take(&mut self) -> Option<(Arc<str>, OwnerState)> {
        let (key, mut state) = self.queue.take()?;
        self.cache.complete(&mut state);
        Some((key, state))
    }

    /// When the loop has to look up without being told.
    fn due(&self) -> Instant {
        let (_, relist_ms) = self.schedule.next();
        let relist_ms = if self.relist.is_some() {
            u64::MAX
        } else {
            relist_ms
        };
        let now_ms = self.now_ms();
        let mut due_ms = self.queue.next_due_ms().unwrap_or(u64::MAX).min(relist_ms);
        if relist_ms <= now_ms {
            // A join is due and waits for room: what makes room is an event of its own.
            due_ms = self.queue.next_due_ms().unwrap_or(u64::MAX);
        }
        // An hour stands for ever: an `Instant` cannot hold every number of milliseconds.
        due_ms = due_ms.min(self.trim_timer.due_ms().unwrap_or(u64::MAX));
        self.started + Duration::from_millis(due_ms.min(now_ms + 3_600_000))
    }

    fn wake(&mut self) {
        let now_ms = self.now_ms();
        self.queue.wake(now_ms);
        if self.trim_timer.is_due(now_ms) {
            (self.trim)();
        }
    }

    fn watch(&self, kind: usize, resource_version: u64) -> BoxStream<'static, WatchItem> {
        let stream = WatchStream::<O>::new(
            self.api.clone(),
            Arc::clone(&self.paths),
            kind,
            resource_version,
        );
        unfold(stream, |mut stream| async {
            Some((stream.next().await, stream))
        })
        .boxed()
    }

    fn on_watch_item(
        &mut self,
        WatchItem {
            kind,
            resource_version,
            event,
        }: WatchItem,
    ) {
        let now_ms = self.now_ms();
        self.queue.advance(kind, resource_version);
        if !matches!(event, WatchEvent::Closed(_) | WatchEvent::Expired { .. })
            && self.closed[kind].take().is_some()
        {
            self.check_ready();
        }
        match event {
            WatchEvent::Owner { key, mut state } => {
                if self.cache.on_owner(&mut state, None) {
                    let admission = self.queue.admit_owner(&key, *state, Default::default());
                    // Where a status does not tell what was observed, only children do.
                    let coverage = match Status::<O>::OBSERVES {
                        true => Coverage::Owners,
                        false => Coverage::All,
                    };
                    self.on_admission(admission, coverage);
                }
            }
            WatchEvent::OwnerGone { key, uid } => {
                self.cache.on_owner_gone(uid);
                self.queue.owner_gone(&key, uid);
            }
            WatchEvent::Child {
                owner,
                mut event,
                line,
            } => {
                let idle = self.queue.is_idle(&owner);
                let asked = self.cache.on_child_event(ChildUpdate {
                    owner: &owner,
                    event: &mut event,
                    line: &line,
                    idle,
                });
                let admission = match (idle, asked) {
                    (true, Some(state)) => self.queue.admit_idle(&owner, state, now_ms),
                    (true, None) => Admission::Idle,
                    (false, _) => self.queue.admit_child(&owner, event),
                };
                self.on_admission(admission, Coverage::All);
            }
            WatchEvent::Bookmark => self.queue.settle_all(),
            WatchEvent::Opened | WatchEvent::Skipped => {}
            WatchEvent::Expired { backwards } => {
                self.watches[kind] = None;
                if backwards {
                    warn!(
                        kind = self.paths.plural(kind),
                        "the server's revisions went backwards: joining anew"
                    );
                    self.queue.forget_revisions();
                    self.cache.clear();
                }
                self.request_relist(Coverage::All);
            }
            WatchEvent::Closed(error) => self.set_closed(kind, &error),
        }
    }

    fn on_admission(&mut self, admission: Admission, coverage: Coverage) {
        if admission == Admission::Rejected {
            self.api.metrics().dropped_events.fetch_add(1, Relaxed);
            let is_new = self.schedule.request_for_dropped(coverage, self.now_ms());
            self.count_request(is_new);
        }
    }

    fn request_relist(&mut self, coverage: Coverage) {
        let now_ms = self.now_ms();
        let is_new = self.schedule.request(coverage, now_ms);
        self.count_request(is_new);
    }

    fn count_request(&self, is_new: bool) {
        let relists_requested = &self.api.metrics().relists_requested;
        relists_requested.fetch_add(u64::from(is_new), Relaxed);
    }

    fn finish(&mut self, (key, mut state, outcome, begun_ms): Worked) {
        let now_ms = self.now_ms();
        self.concurrency
            .worked(outcome, now_ms.saturating_sub(begun_ms));
        if let Outcome::Written {
            requeue_after: Some(requeue_after),
            ..
        } = outcome
        {
            self.schedule.limit_period(requeue_after, now_ms);
        }
        if outcome != Outcome::Gone {
            self.cache.record(&mut state);
        }
        self.queue.finish(&key, state, outcome, now_ms);
        self.trim_timer.worked(now_ms);
    }

    fn check_ready(&self) {
        let hindered = self.closed.iter().flatten();
        let hindered = hindered.chain(self.unlisted.as_ref().map(|(_, because)| because));
        if let Some(because) = hindered.last() {
            self.api.metrics().set_not_ready(because);
        } else if self.relisted_once && self.api.metrics().set_ready() {
            info!(after_ms = self.now_ms(), "ready");
        }
    }

    /// A watch cannot be opened.
    fn set_closed(&mut self, kind: usize, error: &ApiError) {
        let because = self.because("watch", kind, error);
        if self.closed[kind].as_ref() != Some(&because) {
            warn!("{because}");
            self.closed[kind] = Some(because);
        }
        self.check_ready();
    }

    /// A join cannot read on.
    fn set_unlisted(&mut self, kind: usize, error: &ApiError) {
        let unlisted = Some((kind, self.because("list", kind, error)));
        if self.unlisted != unlisted {
            self.unlisted = unlisted;
            if let Some((_, because)) = &self.unlisted {
                warn!("{because}");
            }
        }
        self.check_ready();
    }

    /// Why a kind cannot be read, and what to do about it.
    fn because(&self, verb: &str, kind: usize, error: &ApiError) -> String {
        let plural = self.paths.plural(kind);
        match (error.code(), error.missing_permission()) {
            (Some(404), _) if kind == 0 => format!(
                "the {} CRD is not installed: run `{} install` (retrying)",
                self.paths.owner_kind,
                O::NAME
            ),
            (_, Some(permission)) => {
                format!(
                    "may not {permission}: grant that to this operator's role (retrying): {error}"
                )
            }
            (Some(401 | 403), None) => format!("may not {verb} {plural}: {error} (retrying)"),
            _ => format!("cannot read {plural}: {error} (retrying)"),
        }
    }

    fn gauge(&self) {
        let metrics = self.api.metrics();
        let count = |value: usize| value as u64;
        metrics
            .queue_depth
            .store(count(self.queue.depth()), Relaxed);
        metrics
            .in_flight
            .store(count(self.queue.in_flight()), Relaxed);
        metrics.entries.store(count(self.queue.len()), Relaxed);
        metrics
            .cached_owners
            .store(count(self.cache.len()), Relaxed);
        metrics
            .spec_bytes
            .store(count(self.queue.spec_bytes()), Relaxed);
    }
}
