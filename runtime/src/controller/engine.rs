//! The state of the controller between two polls: what came in, what it means for cache, queue and schedule.

mod missing;
mod referring;
mod relisting;

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use tokio::time::Instant;
use tracing::warn;

use crate::api::{Operator, OwnerStatus, Status};
use crate::cache::{Cache, ChildUpdate};
use crate::controller::Config;
use crate::controller::concurrency::Concurrency;
use crate::controller::departed::Departed;
use crate::controller::finished::Finished;
use crate::controller::gauges;
use crate::controller::pace::Pace;
use crate::controller::readiness::{Readiness, cause};
use crate::controller::recovery::Recovery;
use crate::controller::requeues::Requeues;
use crate::controller::running::RunningRelist;
use crate::controller::trim::TrimTimer;
use crate::controller::watches::Watches;
use crate::http::paths::Paths;
use crate::http::request::Api;
use crate::model::{Content, KindId, ObjectKey, OwnerState, Triggers, Uid, Versions, millis};
use crate::queue::{Admission, Evicted, Observation, Outcome, Queue};
use crate::reconcile::child;
use crate::reconcile::child_names::ChildNames;
use crate::reconcile::observe::Observed;
use crate::relist::Coverage;
use crate::relist::schedule::RelistSchedule;
use crate::watch::{WatchEvent, WatchItem};

/// The state of the loop.
pub(crate) struct Controller<O: Operator, C> {
    operator: Arc<O>,
    cache: C,
    api: Api,
    paths: Arc<Paths>,
    names: Arc<ChildNames>,
    queue: Queue,
    schedule: RelistSchedule,
    pub watches: Watches,
    pub relist: Option<RunningRelist>,
    readiness: Readiness,
    /// Only owners with certain labels are ours.
    selects: bool,
    started: Instant,
    trim: fn(),
    trim_timer: TrimTimer,
    concurrency: Concurrency,
    pace: Pace,
    recovery: Recovery,
    departed: Departed,
    /// How often resourceVersions have started over.
    pub epoch: u32,
    requeues: Requeues,
}

impl<O: Operator, C: Cache> Controller<O, C> {
    pub fn new(
        operator: Arc<O>,
        cache: C,
        api: Api,
        paths: Arc<Paths>,
        names: Arc<ChildNames>,
        config: &Config,
    ) -> Self {
        let (versions, finalizer) = (Versions::of(paths.part_counts()), O::FINALIZER.is_some());
        Self {
            operator,
            cache,
            api,
            queue: Queue::new(config.limits, versions, finalizer, config.seed),
            schedule: RelistSchedule::new(config.resync.or(O::DRIFT_PERIOD), config.seed),
            watches: Watches::new(paths.len()),
            relist: None,
            readiness: Readiness::new(paths.len() + O::REFERENCES.len()),
            selects: config.selector.is_some(),
            started: Instant::now(),
            trim: config.trim,
            trim_timer: TrimTimer::default(),
            concurrency: Concurrency::of(config.concurrency),
            pace: Pace::default(),
            recovery: Recovery::default(),
            departed: Departed::default(),
            epoch: 0,
            requeues: Requeues::new(config.requeues),
            paths,
            names,
        }
    }

    /// Milliseconds since the start.
    pub fn now_ms(&self) -> u64 {
        millis(self.started.elapsed())
    }

    /// How many owners may be reconciled at once.
    pub fn concurrency(&self) -> usize {
        self.concurrency.now()
    }

    /// Whether more owners wait than workers are free, and there is room for owners that yield. Where owners
    /// failed lately, one that has a worker makes use of it: those that hang may take all of them the next time.
    pub fn is_under_pressure(&self) -> bool {
        let wait = self.queue.depth() + self.queue.in_flight() > self.concurrency.now();
        wait && self.queue.has_room_to_yield() && !self.concurrency.failed_lately(|| self.now_ms())
    }

    /// How long, in ms, the thread waits for more before it looks at its sockets.
    pub fn pause_ms(&self, pressure: bool) -> u64 {
        self.pace.pause_ms(pressure)
    }

    /// The next owner to reconcile.
    pub fn take(&mut self) -> Option<(ObjectKey, OwnerState)> {
        let (key, mut state) = self.queue.take()?;
        self.cache.complete(&mut state);
        Some((key, state))
    }

    /// When the loop has to wake up without an event.
    pub fn due(&self) -> Instant {
        let (_, relist_ms) = self.schedule.next();
        let relist_ms = match self.relist {
            Some(_) => u64::MAX,
            None => relist_ms,
        };
        let now_ms = self.now_ms();
        let queue_ms = self.queue.next_due_ms().unwrap_or(u64::MAX);
        // A relist that is due already waits for capacity in the queue, which comes with an event.
        let due_ms = match relist_ms <= now_ms {
            true => queue_ms,
            false => queue_ms.min(relist_ms),
        };
        // At most an hour: an `Instant` cannot hold every number of milliseconds.
        let due_ms = due_ms.min(self.trim_timer.due_ms().unwrap_or(u64::MAX));
        let due_ms = due_ms.min(self.departed.due_ms().unwrap_or(u64::MAX));
        let due_ms = due_ms.min(self.requeues.first_due_ms().unwrap_or(u64::MAX));
        self.started + Duration::from_millis(due_ms.min(now_ms + 3_600_000))
    }

    pub fn wake(&mut self) {
        let now_ms = self.now_ms();
        self.queue.wake(now_ms);
        while let Some((key, uid)) = self.requeues.take_due(now_ms) {
            self.on_due(&key, uid, Triggers::default());
        }
        self.departed.expire(now_ms);
        if self.trim_timer.is_due(now_ms) {
            (self.trim)();
        }
    }

    pub fn on_watch_item(&mut self, item: WatchItem<Observed>) {
        let WatchItem {
            kind,
            part,
            resource_version,
            event,
        } = item;
        if self.readiness.is_missing(kind) {
            return self.on_probe(kind, &event);
        }
        self.queue.versions().advance(kind, part, resource_version);
        if !matches!(event, WatchEvent::Closed(_) | WatchEvent::Expired { .. })
            && self.readiness.opened(kind, part)
        {
            self.publish_readiness();
            self.recovery.awaited = true;
            self.recover();
        }
        match event {
            WatchEvent::Object { object, line } => {
                self.on_observed(object, &line, resource_version);
            }
            WatchEvent::Bookmark => self.queue.settle_all(),
            WatchEvent::Opened => {}
            WatchEvent::Skipped { object } => self.on_skipped(kind, object),
            WatchEvent::Expired { backwards } => {
                self.watches.close(kind);
                if backwards {
                    self.forget_revisions(kind);
                }
                if !mutant!(ExpiredWithoutRelist) {
                    self.request_all();
                }
            }
            WatchEvent::Closed(error) if !kind.is_owner() && error.is_of_missing_kind() => {
                self.on_kind_gone(kind);
            }
            WatchEvent::Closed(error) => {
                let because = cause::<O>(&self.paths, "watch", kind, &error);
                self.readiness.closed(kind, part, because);
                self.publish_readiness();
            }
        }
    }

    /// The server was restored from a backup: nothing that is known compares, and no watch shows anything until
    /// the server is as far as it was.
    fn forget_revisions(&mut self, kind: KindId) {
        warn!(
            kind = self.paths.plural(kind),
            "the server's resourceVersions went backwards; listing everything again"
        );
        self.queue.forget_revisions();
        self.cache.clear();
        self.departed = Departed::default();
        self.watches.close_all();
        if self.relist.take().is_some() {
            self.cache.relist_ended(false);
        }
        self.epoch += 1;
    }

    /// An event could not be decoded. An owner is read; of a child it is not known whose it is, so that a relist
    /// has to find what has changed. It comes late: the object may never be decodable.
    fn on_skipped(&mut self, kind: KindId, object: Option<(ObjectKey, Uid)>) {
        if mutant!(SkippedForgotten) {
            return;
        }
        match object.filter(|_| kind.is_owner()) {
            Some((key, uid)) => self.on_due(&key, uid, Triggers::REFRESH),
            None => self.request_late(Coverage::All),
        }
    }

    /// An owner is to be read and compared.
    fn on_due(&mut self, key: &ObjectKey, uid: Uid, triggers: Triggers) {
        self.observe(key, Observation::Due { uid, triggers }, Coverage::All);
    }

    /// Tells the queue. `coverage`: of the relist that finds what it has no room for.
    fn observe(&mut self, key: &ObjectKey, observation: Observation<'_>, coverage: Coverage) {
        let now_ms = self.now_ms();
        let admission = self.queue.observe(key, observation, now_ms);
        self.on_admission(admission, coverage);
    }

    fn on_observed(&mut self, object: Observed, line: &[u8], resource_version: u64) {
        match object {
            Observed::Owner { key, mut state } => {
                self.departed.remove(&key);
                let is_known = self.cache.knows_status_of(&state);
                if self.cache.on_owner(&mut state, None) {
                    let has_work = !state.object.own_triggers(O::FINALIZER.is_some()).is_empty();
                    // A status is compared with the children.
                    let coverage = match has_work {
                        true => Self::owners(),
                        false => Coverage::All,
                    };
                    let shown = *state;
                    self.observe(&key, Observation::Owner { shown, is_known }, coverage);
                }
            }
            Observed::OwnerGone { key, uid } => {
                self.cache.on_owner_gone(uid);
                self.requeues.owner_gone(&key, uid);
                let gone = Observation::OwnerGone {
                    uid,
                    resource_version,
                };
                self.observe(&key, gone, Coverage::All);
                let now_ms = self.now_ms();
                self.departed.insert(&key, uid, now_ms);
                self.trim_timer.worked(now_ms);
            }
            Observed::Child { owner, mut event } => {
                let idle = self.queue.is_idle(&owner);
                let is_gone = event.child.content == Content::Gone;
                if mutant!(DeletedChildIgnored) && idle && is_gone {
                    return;
                }
                let departed = event.owner_uid;
                // Their deletion frees a name for which another owner may wait.
                let matters = !idle && is_gone;
                if !matters && departed.is_some_and(|uid| self.departed.contains(&owner, uid)) {
                    return;
                }
                let work = self.cache.on_child_event(ChildUpdate {
                    owner: &owner,
                    event: &mut event,
                    line,
                    idle,
                });
                let is_whole = self.cache.sees_whole(event.child.kind);
                let child = Observation::Child {
                    event,
                    idle: work,
                    hold: &|| match is_whole {
                        true => child::held(line),
                        false => Content::Unread,
                    },
                };
                self.observe(&owner, child, Coverage::All);
            }
        }
    }

    fn on_admission(&mut self, admission: Admission, coverage: Coverage) {
        if admission == Admission::Rejected && !mutant!(RejectedForgotten) {
            self.api.metrics().dropped_events.fetch_add(1, Relaxed);
            let now_ms = self.now_ms();
            let is_new = self.schedule.request_for_dropped(coverage, now_ms);
            self.count_request(is_new);
        }
    }

    /// What was evicted with its work has to be found by a relist, and while a watch is closed also what waited for its
    /// children: what happens to those comes as no event.
    fn request_for_evicted(&mut self) {
        let Evicted {
            work,
            waiting,
            failing_owners,
            failing_children,
        } = self.queue.take_evicted();
        if mutant!(EvictedForgotten) {
            return;
        }
        if work || (waiting && !self.watches.are_open()) {
            self.on_admission(Admission::Rejected, Coverage::All);
        }
        if failing_owners || failing_children {
            self.request_late(match failing_children {
                true => Coverage::All,
                false => Self::owners(),
            });
        }
    }

    fn request_late(&mut self, coverage: Coverage) {
        let is_new = self.schedule.request_late(coverage, self.now_ms());
        self.count_request(is_new);
    }

    /// An owner that asks for a requeue which does not fit is compared by a late relist.
    pub(super) fn on_requeue(&mut self, fits: bool) {
        if !fits {
            self.request_late(Coverage::All);
        }
    }

    /// The relist that finds owners with work of their own. Where a status does not tell what was observed,
    /// only children do.
    fn owners() -> Coverage {
        match Status::<O>::OBSERVES {
            true => Coverage::Owners,
            false => Coverage::All,
        }
    }

    fn request_all(&mut self) {
        let is_new = self.schedule.request(Coverage::All, self.now_ms());
        self.count_request(is_new);
    }

    fn count_request(&self, is_new: bool) {
        let requested = &self.api.metrics().relists_requested;
        requested.fetch_add(u64::from(is_new), Relaxed);
    }

    pub fn on_finished(&mut self, mut finished: Finished) {
        let now_ms = self.now_ms();
        let (outcome, begun_ms) = (finished.outcome, finished.begun_ms);
        // While requests hang their deadlines are short: what fails at once was not rejected.
        let took_ms = match self.api.requests_hang() {
            true => u64::MAX,
            false => now_ms.saturating_sub(begun_ms),
        };
        self.concurrency.ended(outcome, took_ms, now_ms);
        self.pace.ended(took_ms);
        // A server that says how long to wait is obeyed.
        if self.concurrency.is_reduced() && outcome == (Outcome::Failed { base_ms: None }) {
            self.recovery.awaited = true;
        }
        if finished.succeeds_after_a_failure() {
            self.recover();
        }
        // What it has read and written may have been on the server as it was before.
        let is_void = finished.epoch != self.epoch;
        if is_void {
            finished.start_over();
        }
        let Finished {
            key,
            mut state,
            outcome,
            ..
        } = finished;
        if outcome != Outcome::Gone && !is_void {
            self.queue.versions().answer(&state);
            self.cache.record(&mut state);
        }
        let uid = state.object.uid;
        if let Some(running) = &mut self.relist
            && matches!(outcome, Outcome::Written { .. })
        {
            running.written.done(&key, uid, state.object.own_version);
        }
        let admission = self.queue.finish(&key, state, outcome, now_ms);
        // One that was created again meanwhile, and what was seen of its children.
        self.on_admission(admission, Coverage::All);
        // Only of the owner that the worker had: it may have been deleted meanwhile.
        if admission == Admission::Accepted
            && let Outcome::Written { requeue_after, .. } = outcome
        {
            let fits = self.requeues.set(&key, uid, requeue_after, now_ms);
            self.on_requeue(fits);
        }
        self.trim_timer.worked(now_ms);
    }

    /// The server works again: owners that failed are tried at once, where an outage was awaited to end.
    fn recover(&mut self) {
        let now_ms = self.now_ms();
        if self.recovery.begins(now_ms) {
            self.queue.retry_failing();
            self.schedule.hurry(now_ms);
        }
    }

    fn publish_readiness(&self) {
        self.readiness.publish(self.api.metrics(), self.now_ms());
    }

    pub fn set_gauges(&self) {
        let waiting = self.queue.depth() + self.queue.in_flight();
        self.api.set_backlog(waiting, self.concurrency.now());
        gauges::set(self.api.metrics(), &self.queue, self.cache.len());
    }
}
