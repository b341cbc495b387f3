//! The loop: events become keys, keys become bounded work, work becomes writes and back-off.
//!
//! Guarantees: watches are always read, whatever else waits; at most `concurrency` owners are worked
//! on at once, and a quarter while one after the other is refused; what found no room is found again by a join; on shutdown no new work is begun and
//! what is in flight gets five seconds. Everything runs in the one task that polls [`run`].
//! Leaves to others: deciding (`queue`), finding (`join`, `source`), writing (`apply`).

pub mod concurrency;
mod config;
mod joining;
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
use crate::cache::{Cache, Heard, Keeps};
use crate::controller::concurrency::Width;
pub use crate::controller::config::Config;
use crate::controller::joining::{Running, next_found};
use crate::controller::trim::Tidying;
use crate::http::paths::Paths;
use crate::http::request::{Api, ApiError};
use crate::metrics::Metrics;
use crate::queue::{Offer, Queue, Verdict, Work};
use crate::reconcile::Applier;
use crate::reconcile::events::Events;
use crate::relist::Extent;
use crate::relist::schedule::Resync;
use crate::watch::{Seen, Source, What};

type Worker<'a> = Pin<Box<dyn Future<Output = Worked> + Send + 'a>>;

/// What a worker gives back, and when it had begun, ms.
type Worked = (Arc<str>, Work, Verdict, u64);

/// Runs `operator` until `shutdown` completes. Trouble with the server is waited out, never an end.
pub async fn run<O: Operator>(
    operator: Arc<O>,
    cache: impl Cache,
    client: Client,
    metrics: Arc<Metrics>,
    config: Config,
    shutdown: impl Future<Output = ()>,
) {
    let keeps = cache.keeps();
    let paths = Paths::of::<O>(config.namespace.clone(), config.selector.as_deref());
    let paths = Arc::new(match keeps {
        Keeps::Identities => paths.watched_as_metadata::<O>(),
        Keeps::Nothing | Keeps::Specs => paths,
    });
    let api = Api::new(client, metrics, config.request_deadline);
    let applier = Applier {
        operator: Arc::clone(&operator),
        api: api.clone(),
        paths: Arc::clone(&paths),
        events: Events::default(),
        deadline: config.deadline,
        keeps_proofs: keeps == Keeps::Specs,
    };
    let mut controller = Controller::new(operator, cache, api, paths, &config);
    let mut workers: FuturesUnordered<Worker<'_>> = FuturesUnordered::new();
    tokio::pin!(shutdown);

    loop {
        controller.begin_join();
        while workers.len() < controller.width.now()
            && let Some((key, work)) = controller.take()
        {
            let (applier, begun_ms) = (&applier, controller.now_ms());
            workers.push(Box::pin(async move {
                let (work, verdict) = applier.reconcile(&key, work).await;
                (key, work, verdict, begun_ms)
            }));
        }
        controller.gauge();
        let due = controller.due();
        let join_may_go_on = controller.join_may_go_on();
        tokio::select! {
            () = &mut shutdown => break,
            seen = next_seen(&mut controller.sources, &mut controller.turn) => controller.see(seen),
            Some(worked) = workers.next(), if !workers.is_empty() => controller.finish(worked),
            Some(found) = next_found(&mut controller.join), if join_may_go_on => controller.found(found),
            () = sleep_until(due) => controller.wake(),
        }
    }
    info!(in_flight = workers.len(), "shutting down");
    let drained = async { while workers.next().await.is_some() {} };
    if tokio::time::timeout(config.drain, drained).await.is_err() {
        warn!(
            left = workers.len(),
            "not all work in flight was finished in time; a restart goes on with it"
        );
    }
}

/// The next thing that any watch shows; they take turns.
async fn next_seen(sources: &mut [Option<BoxStream<'static, Seen>>], turn: &mut usize) -> Seen {
    std::future::poll_fn(|cx| {
        let count = sources.len();
        for step in 0..count {
            let index = (*turn + step) % count;
            if let Some(source) = &mut sources[index]
                && let Poll::Ready(Some(seen)) = source.poll_next_unpin(cx)
            {
                *turn = index + 1;
                return Poll::Ready(seen);
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
    resync: Resync,
    /// The watches, the owners' first; `None` while one waits for a join to tell its place.
    sources: Vec<Option<BoxStream<'static, Seen>>>,
    turn: usize,
    /// Why each watch is not open, where it is not.
    closed: Vec<Option<String>>,
    /// Which kind the last join could not list and why, where it is to be told.
    unread: Option<(usize, String)>,
    join: Option<Running>,
    joined_once: bool,
    started: Instant,
    tidying: Tidying,
    width: Width,
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
            resync: Resync::new(config.resync, config.seed),
            sources: (0..paths.len()).map(|_| None).collect(),
            turn: 0,
            closed: vec![None; paths.len()],
            unread: None,
            join: None,
            joined_once: false,
            started: Instant::now(),
            tidying: Tidying::default(),
            width: Width::of(config.concurrency),
            paths,
        }
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn take(&mut self) -> Option<(Arc<str>, Work)> {
        let (key, mut work) = self.queue.take()?;
        self.cache.complete(&mut work);
        Some((key, work))
    }

    /// When the loop has to look up without being told.
    fn due(&self) -> Instant {
        let (_, join_ms) = self.resync.next();
        let join_ms = if self.join.is_some() {
            u64::MAX
        } else {
            join_ms
        };
        let now_ms = self.now_ms();
        let mut due_ms = self.queue.next_due_ms().unwrap_or(u64::MAX).min(join_ms);
        if join_ms <= now_ms {
            // A join is due and waits for room: what makes room is an event of its own.
            due_ms = self.queue.next_due_ms().unwrap_or(u64::MAX);
        }
        // An hour stands for ever: an `Instant` cannot hold every number of milliseconds.
        due_ms = due_ms.min(self.tidying.due_ms().unwrap_or(u64::MAX));
        self.started + Duration::from_millis(due_ms.min(now_ms + 3_600_000))
    }

    fn wake(&mut self) {
        let now_ms = self.now_ms();
        self.queue.wake(now_ms);
        if self.tidying.is_due(now_ms) {
            crate::app::allocator::tidy();
        }
    }

    fn watch(&self, kind: usize, resource_version: u64) -> BoxStream<'static, Seen> {
        let source = Source::<O>::new(
            self.api.clone(),
            Arc::clone(&self.paths),
            kind,
            resource_version,
        );
        unfold(source, |mut source| async {
            Some((source.next().await, source))
        })
        .boxed()
    }

    fn see(
        &mut self,
        Seen {
            kind,
            resource_version,
            what,
        }: Seen,
    ) {
        let now_ms = self.now_ms();
        self.queue.shown(kind, resource_version);
        if !matches!(what, What::Closed(_) | What::Expired { .. })
            && self.closed[kind].take().is_some()
        {
            self.check_ready();
        }
        match what {
            What::Owner { key, mut work } => {
                if self.cache.seen(&mut work, None) {
                    let offer = self.queue.offer_owner(&key, *work, Default::default());
                    // Where a status does not tell what was observed, only children do.
                    let extent = match Status::<O>::OBSERVES {
                        true => Extent::Owners,
                        false => Extent::All,
                    };
                    self.heed(offer, extent);
                }
            }
            What::OwnerGone { key, uid } => {
                self.cache.gone(uid);
                self.queue.owner_gone(&key, uid);
            }
            What::Child {
                owner,
                mut news,
                line,
            } => {
                let at_rest = self.queue.is_at_rest(&owner);
                let asked = self.cache.heard(Heard {
                    owner: &owner,
                    news: &mut news,
                    line: &line,
                    at_rest,
                });
                let offer = match (at_rest, asked) {
                    (true, Some(work)) => self.queue.offer_at_rest(&owner, work, now_ms),
                    (true, None) => Offer::Idle,
                    (false, _) => self.queue.offer_child(&owner, news),
                };
                self.heed(offer, Extent::All);
            }
            What::Bookmark => self.queue.settle_all(),
            What::Opened | What::Skipped => {}
            What::Expired { backwards } => {
                self.sources[kind] = None;
                if backwards {
                    warn!(
                        kind = self.paths.plural(kind),
                        "the server's revisions went backwards: joining anew"
                    );
                    self.queue.forget_revisions();
                    self.cache.forget();
                }
                self.owe(Extent::All);
            }
            What::Closed(error) => self.close(kind, &error),
        }
    }

    fn heed(&mut self, offer: Offer, extent: Extent) {
        if offer == Offer::Owed {
            self.api.metrics().dropped_events.fetch_add(1, Relaxed);
            let news = self.resync.owe_events(extent, self.now_ms());
            self.count_owed(news);
        }
    }

    fn owe(&mut self, extent: Extent) {
        let now_ms = self.now_ms();
        let news = self.resync.owe(extent, now_ms);
        self.count_owed(news);
    }

    fn count_owed(&self, news: bool) {
        let joins_owed = &self.api.metrics().joins_owed;
        joins_owed.fetch_add(u64::from(news), Relaxed);
    }

    fn finish(&mut self, (key, mut work, verdict, begun_ms): Worked) {
        let now_ms = self.now_ms();
        self.width.worked(verdict, now_ms.saturating_sub(begun_ms));
        if let Verdict::Written {
            within: Some(within),
            ..
        } = verdict
        {
            self.resync.within(within, now_ms);
        }
        if verdict != Verdict::Gone {
            self.cache.learn(&mut work);
        }
        self.queue.finish(&key, work, verdict, now_ms);
        self.tidying.worked(now_ms);
    }

    fn check_ready(&self) {
        let hindered = self.closed.iter().flatten();
        let hindered = hindered.chain(self.unread.as_ref().map(|(_, because)| because));
        if let Some(because) = hindered.last() {
            self.api.metrics().set_not_ready(because);
        } else if self.joined_once && self.api.metrics().set_ready() {
            info!(after_ms = self.now_ms(), "ready");
        }
    }

    /// A watch cannot be opened.
    fn close(&mut self, kind: usize, error: &ApiError) {
        let because = self.because("watch", kind, error);
        if self.closed[kind].as_ref() != Some(&because) {
            warn!("{because}");
            self.closed[kind] = Some(because);
        }
        self.check_ready();
    }

    /// A join cannot read on.
    fn leave_unread(&mut self, kind: usize, error: &ApiError) {
        let unread = Some((kind, self.because("list", kind, error)));
        if self.unread != unread {
            self.unread = unread;
            if let Some((_, because)) = &self.unread {
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
