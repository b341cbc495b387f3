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
use crate::queue::Offer;
use crate::relist::{Extent, Found, Join, Unread};

/// What the join under way finds next.
pub(crate) async fn next_found(join: &mut Option<Running>) -> Option<Found> {
    match join {
        Some(running) => running.found.next().await,
        None => None,
    }
}

/// A join under way.
pub(crate) struct Running {
    found: BoxStream<'static, Found>,
    extent: Extent,
    /// First pages that are still to come: watches wait for them.
    opening: usize,
    /// The revisions of those that came, by kind.
    revisions: Vec<u64>,
}

impl<O: Operator, C: Cache> Controller<O, C> {
    pub(crate) fn join_may_go_on(&self) -> bool {
        self.join
            .as_ref()
            .is_some_and(|running| running.opening > 0 || self.queue.has_room())
    }

    pub(crate) fn begin_join(&mut self) {
        if self.queue.take_lost() {
            self.heed(Offer::Owed, Extent::All);
        }
        let (extent, at_ms) = self.resync.next();
        let now_ms = self.now_ms();
        let replaces = self.join.as_ref().is_none_or(|running| {
            // A watch without a place does not wait for a join of owners to end.
            running.extent == Extent::Owners && extent == Extent::All
        });
        if at_ms > now_ms || !replaces || (extent == Extent::Owners && !self.queue.has_room()) {
            return;
        }
        self.resync.began(extent, now_ms);
        self.cache.join_began();
        let join = Join::new(
            Arc::clone(&self.operator),
            self.api.clone(),
            Arc::clone(&self.paths),
            extent,
            self.cache.keeps(),
        );
        let found = unfold(join, |mut join| async { Some((join.next().await, join)) }).boxed();
        self.join = Some(Running {
            found,
            extent,
            opening: extent.kinds(&self.paths),
            revisions: Vec::new(),
        });
    }

    pub(crate) fn found(&mut self, found: Found) {
        let now_ms = self.now_ms();
        match found {
            Found::Opened {
                kind,
                resource_version,
            } => {
                let mut owners_version = resource_version;
                if let Some(running) = &mut self.join {
                    running.opening -= 1;
                    running.revisions.push(resource_version);
                    owners_version = running.revisions[0];
                }
                if self.sources[kind].is_none() {
                    self.sources[kind] = Some(self.watch(kind, resource_version));
                    if kind > 0 {
                        self.queue.listed_anew(owners_version);
                    }
                }
            }
            Found::Work {
                key,
                mut work,
                reasons,
            } => {
                let revisions = self.join.as_ref().map(|running| &*running.revisions);
                // What this join found by the children, one of owners alone would not find again.
                let extent = self.join.as_ref().map_or(Extent::All, |join| join.extent);
                if self.cache.seen(&mut work, revisions) {
                    let offer = self.queue.offer_owner(&key, *work, reasons);
                    self.heed(offer, extent);
                }
            }
            Found::Done { objects } => {
                let Some(Running { extent, .. }) = self.join.take() else {
                    return;
                };
                self.cache.join_ended(true);
                self.api.metrics().joins_done.fetch_add(1, Relaxed);
                if let Some(period) = self.resync.read(extent, objects) {
                    info!(
                        objects,
                        period_s = period.as_secs(),
                        "the period of the full join follows from what one reads; --resync sets another"
                    );
                }
                self.resync.ended(extent, self.queue.is_crowded(), now_ms);
                self.tidying.worked(now_ms);
                self.joined_once |= extent == Extent::All;
                // One of owners says nothing of the children's lists.
                let is_read = |unread: &(usize, String)| extent == Extent::All || unread.0 == 0;
                self.unread = self.unread.take().filter(|unread| !is_read(unread));
                self.check_ready();
            }
            Found::Failed(Unread { kind, error }) => {
                let Some(Running { extent, .. }) = self.join.take() else {
                    return;
                };
                self.cache.join_ended(false);
                self.resync.failed(extent, now_ms);
                // Later ones tell of a right that was taken away: what was missed would never be found.
                if !self.joined_once || error.missing_permission().is_some() {
                    self.leave_unread(kind, &error);
                }
            }
        }
    }
}
