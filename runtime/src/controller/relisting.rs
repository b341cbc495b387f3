//! A join under way: when it begins, what it finds, how it ends.
//!
//! Guarantees: a watch is opened where the first page of its kind was read, before the join reads on;
//! the join waits for room in the queue, the watches do not. Leaves to others: when one is due
//! (`resync`), what it finds (`join`).

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use futures::StreamExt;
use futures::stream::{BoxStream, unfold};
use tracing::info;

use crate::api::Operator;
use crate::cache::Cache;
use crate::controller::Controller;
use crate::queue::Admission;
use crate::relist::{Coverage, Found, ListError, Relist};

/// What the join under way finds next.
pub(crate) async fn next_found(relist: &mut Option<Running>) -> Option<Found> {
    match relist {
        Some(running) => running.found.next().await,
        None => None,
    }
}

/// A join under way.
pub(crate) struct Running {
    found: BoxStream<'static, Found>,
    coverage: Coverage,
    /// First pages that are still to come: watches wait for them.
    opening: usize,
    /// The revisions of those that came, by kind.
    revisions: Vec<u64>,
}

impl<O: Operator, C: Cache> Controller<O, C> {
    pub(crate) fn relist_may_go_on(&self) -> bool {
        self.relist
            .as_ref()
            .is_some_and(|running| running.opening > 0 || self.queue.has_capacity())
    }

    pub(crate) fn begin_relist(&mut self) {
        if self.queue.take_lost() {
            self.on_admission(Admission::Rejected, Coverage::All);
        }
        let (coverage, at_ms) = self.schedule.next();
        let now_ms = self.now_ms();
        let replaces = self.relist.as_ref().is_none_or(|running| {
            // A watch without a place does not wait for a join of owners to end.
            running.coverage == Coverage::Owners && coverage == Coverage::All
        });
        if at_ms > now_ms
            || !replaces
            || (coverage == Coverage::Owners && !self.queue.has_capacity())
        {
            return;
        }
        self.schedule.began(coverage, now_ms);
        self.cache.relist_began();
        let relist = Relist::new(
            Arc::clone(&self.operator),
            self.api.clone(),
            Arc::clone(&self.paths),
            coverage,
            self.cache.retention(),
        );
        let found = unfold(relist, |mut relist| async {
            Some((relist.next().await, relist))
        })
        .boxed();
        self.relist = Some(Running {
            found,
            coverage,
            opening: coverage.kinds(&self.paths),
            revisions: Vec::new(),
        });
    }

    pub(crate) fn on_found(&mut self, found: Found) {
        let now_ms = self.now_ms();
        match found {
            Found::Opened {
                kind,
                resource_version,
            } => {
                let mut owners_version = resource_version;
                if let Some(running) = &mut self.relist {
                    running.opening -= 1;
                    running.revisions.push(resource_version);
                    owners_version = running.revisions[0];
                }
                if self.watches[kind].is_none() {
                    self.watches[kind] = Some(self.watch(kind, resource_version));
                    if kind > 0 {
                        self.queue.relisted(owners_version);
                    }
                }
            }
            Found::Owner {
                key,
                mut state,
                triggers,
            } => {
                let revisions = self.relist.as_ref().map(|running| &*running.revisions);
                // What this join found by the children, one of owners alone would not find again.
                let coverage = self
                    .relist
                    .as_ref()
                    .map_or(Coverage::All, |relist| relist.coverage);
                if self.cache.on_owner(&mut state, revisions) {
                    let admission = self.queue.admit_owner(&key, *state, triggers);
                    self.on_admission(admission, coverage);
                }
            }
            Found::Done { objects } => {
                let Some(Running { coverage, .. }) = self.relist.take() else {
                    return;
                };
                self.cache.relist_ended(true);
                self.api.metrics().relists_completed.fetch_add(1, Relaxed);
                if let Some(period) = self.schedule.listed(coverage, objects) {
                    info!(
                        objects,
                        period_s = period.as_secs(),
                        "the relist period follows from the number of objects; --relist-period sets another"
                    );
                }
                self.schedule
                    .ended(coverage, self.queue.is_full_of_failures(), now_ms);
                self.trim_timer.worked(now_ms);
                self.relisted_once |= coverage == Coverage::All;
                // One of owners says nothing of the children's lists.
                let is_listed =
                    |unlisted: &(usize, String)| coverage == Coverage::All || unlisted.0 == 0;
                self.unlisted = self.unlisted.take().filter(|unlisted| !is_listed(unlisted));
                self.check_ready();
            }
            Found::Failed(ListError { kind, error }) => {
                let Some(Running { coverage, .. }) = self.relist.take() else {
                    return;
                };
                self.cache.relist_ended(false);
                self.schedule.failed(coverage, now_ms);
                // Later ones tell of a right that was taken away: what was missed would never be found.
                if !self.relisted_once || error.missing_permission().is_some() {
                    self.set_unlisted(kind, &error);
                }
            }
        }
    }
}
