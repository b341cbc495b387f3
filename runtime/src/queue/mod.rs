//! The workqueue: one entry for each owner that has work or whose last write is not yet confirmed.
//!
//! Guarantees: pure, time comes in as milliseconds. A key has one entry and is with one worker at most.
//! Entries and spec bytes are bounded; what does not fit is rejected, and the caller requests a relist. A
//! failing key never delays another. An older event never undoes a newer one. What is said about the children
//! of an owner that has an entry is remembered there, also while a worker has it. Changes of children of an
//! idle owner are merged for a while. A key that backs off stays where it is unless something relevant changed.
//! Leaves to others: the work itself (`reconcile`), finding what was rejected (`relist`), what a change of a
//! child means to an idle owner (`cache`).

mod arrivals;
mod entries;
mod entry;
mod finish;
mod limits;
mod observe;
mod outcome;
mod owner;
mod unshown;

pub use crate::queue::limits::Limits;
pub use crate::queue::observe::Observation;
pub use crate::queue::outcome::{Admission, Evicted, Outcome};

use crate::model::{ObjectKey, OwnerState, Triggers, Versions};
use crate::queue::entries::Entries;
use crate::queue::entry::{Entry, State};

/// From this failure in a row on, an owner waits without its spec: it may wait for minutes, and reading it
/// again is one request beside those that fail.
const WITHOUT_SPEC_FROM: u8 = 2;

/// What events, relists and workers do to the entries.
#[derive(Debug)]
pub struct Queue {
    entries: Entries,
    versions: Versions,
    random: u64,
}

impl Queue {
    /// An empty queue for an operator with or without a finalizer. `versions`: of its kinds, of which nothing was said yet.
    pub fn new(limits: Limits, versions: Versions, finalizer: bool, seed: u64) -> Self {
        Self {
            entries: Entries::new(limits, finalizer),
            versions,
            random: seed | 1,
        }
    }

    /// How far the server is. An entry is confirmed once the watches have shown its last writes.
    pub fn versions(&self) -> &Versions {
        &self.versions
    }

    /// resourceVersions start over because the server was restored: forgets all that are compared.
    pub fn forget_revisions(&mut self) {
        self.versions.forget();
        self.entries.forget_revisions();
    }

    /// A kind of child was listed and its watch begins at that list: what changed before comes as no event.
    /// The relist compares the owners as they were at `owners_version`. Owners that were written or shown
    /// since then, those that a worker has, and those that are due because of what an event has shown of a child,
    /// which may be out of date, have their children read.
    pub fn relisted(&mut self, owners_version: u64) {
        let owners_version = match mutant!(FindingOfOlderPageDropped) {
            true => u64::MAX,
            false => owners_version,
        };
        let mut waiting = Vec::new();
        self.entries.change_all(|key, entry| {
            if entry.state == State::InFlight {
                if !mutant!(RelistedInFlightIgnored) {
                    entry.arrivals.recheck_children();
                }
                return;
            }
            let owner = &mut entry.owner;
            let of_children = Triggers::CHILD.with(Triggers::STATUS);
            let by_event = owner.work.triggers.has(of_children) || owner.children.are_pending();
            if owner.object.newest_version() > owners_version || by_event {
                owner.recheck();
                if matches!(entry.state, State::Awaiting { .. }) {
                    waiting.push(key.clone());
                }
            }
        });
        // A map has no order of its own, and a simulation repeats exactly.
        waiting.sort_unstable();
        for key in waiting {
            self.entries.enqueue(&key);
        }
    }

    /// The owners were listed and their watch begins at that list: what changed before comes as no event, and the relist
    /// finds an owner only where it or its children ask for work. What is held of an owner may be out of date: it is read
    /// before it is relied on.
    pub fn owners_relisted(&mut self) {
        self.entries.change_all(|_, entry| match entry.state {
            State::InFlight => entry.arrivals.request(Triggers::REFRESH),
            _ => entry.owner.object.body = None,
        });
    }

    /// The next owner to work on, for a worker that is free.
    pub fn take(&mut self) -> Option<(ObjectKey, OwnerState)> {
        self.entries.take()
    }

    /// When something is due next, ms.
    pub fn next_due_ms(&self) -> Option<u64> {
        self.entries.first_timer().map(|(due_ms, _)| *due_ms)
    }

    /// Queues what is due and removes entries whose wait is over.
    pub fn wake(&mut self, now_ms: u64) {
        while let Some((due_ms, key)) = self.entries.first_timer().cloned() {
            if due_ms > now_ms {
                return;
            }
            match self.entries.get(&key).map(|entry| entry.state) {
                Some(State::Awaiting { .. }) if mutant!(EntriesStay) => {
                    self.entries.delay(&key, now_ms + 3_600_000);
                }
                Some(State::Awaiting { .. }) => self.entries.end_wait(&key),
                _ => {
                    self.entries.enqueue(&key);
                }
            }
        }
    }

    /// The cause of many failures is gone: owners that failed do not wait any longer.
    pub fn retry_failing(&mut self) {
        for key in self.entries.waiting() {
            if self.entries.get(&key).is_some_and(Entry::is_failing) {
                self.entries.enqueue(&key);
            }
        }
    }

    /// Removes the entries that are confirmed, after a bookmark has moved a watch on.
    pub fn settle_all(&mut self) {
        for key in self.entries.waiting() {
            self.settle(&key);
        }
    }

    fn requeue_or_settle(&mut self, key: &ObjectKey) -> Admission {
        match self.entries.get(key) {
            Some(entry) if entry.owner.has_work() => self.entries.enqueue(key),
            _ => {
                self.settle(key);
                Admission::Idle
            }
        }
    }

    /// Removes an entry as soon as its owner is ready and every watch has shown our last writes.
    fn settle(&mut self, key: &ObjectKey) {
        let entry = self.entries.get(key);
        if entry.is_some_and(|entry| entry.is_confirmed(&self.versions)) {
            self.entries.remove(key);
        }
    }
}

#[cfg(test)]
mod tests;
