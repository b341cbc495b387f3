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
mod overwritten;
mod past;
mod same_name;
mod unshown;

pub use crate::queue::limits::Limits;
pub use crate::queue::observe::Observation;
pub use crate::queue::outcome::{Admission, Evicted, Outcome};

use crate::model::{ObjectKey, OwnerState, Triggers, Uid, Versions};
use crate::queue::entries::Entries;
use crate::queue::entry::{Entry, State};

/// From this failure in a row on, an owner waits without its spec: it may wait for minutes, and reading it
/// again is one request beside those that fail.
const WITHOUT_SPEC_FROM: u8 = 2;

/// What events, relists and workers do to the entries.
#[derive(Debug)]
pub struct Queue {
    limits: Limits,
    finalizer: bool,
    entries: Entries,
    versions: Versions,
    random: u64,
}

impl Queue {
    /// An empty queue for an operator with `kinds` kinds of children, with or without a finalizer.
    pub fn new(limits: Limits, kinds: usize, finalizer: bool, seed: u64) -> Self {
        Self {
            limits,
            finalizer,
            entries: Entries::new(limits, finalizer),
            versions: Versions::new(kinds + 1),
            random: seed | 1,
        }
    }

    /// Entries in any state.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.entries.len() == 0
    }

    /// Entries that wait for a worker.
    pub fn depth(&self) -> usize {
        self.entries.depth()
    }

    /// Entries that a worker has.
    pub fn in_flight(&self) -> usize {
        self.entries.in_flight()
    }

    /// Bytes of specs in the queue, without those that workers have.
    pub fn spec_bytes(&self) -> usize {
        self.entries.spec_bytes()
    }

    /// Whether a relist may add owners: half of the bounds is free for the watches, and an entry is free or
    /// one that waits can be evicted.
    pub fn has_capacity(&self) -> bool {
        self.entries.has_capacity()
    }

    /// Whether a status may yield: while it does, its owner keeps an entry, which new owners need too, and its
    /// spec, which is read again where it is dropped.
    pub fn has_room_to_yield(&self) -> bool {
        self.entries.has_room_to_wait()
    }

    /// Whether all entries are taken and most of them are of failing owners.
    pub fn is_full_of_failures(&self) -> bool {
        self.entries.is_full_of_failures()
    }

    /// What was evicted since the last call. Relists have to find it.
    pub fn take_evicted(&mut self) -> Evicted {
        self.entries.take_evicted()
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

    /// Whether more is known of an owner than a list shows that was read since, at `list_version`: the server was
    /// restored from a backup.
    pub fn is_ahead_of(&self, key: &ObjectKey, shown: &OwnerState, list_version: u64) -> bool {
        self.entries.get(key).is_some_and(|entry| {
            let newest = entry.owner.object.newest_version();
            entry.owner.object.uid == shown.object.uid
                && newest > shown.object.resource_version
                && newest <= list_version
        })
    }

    /// An owner as a watch or a relist shows it. `beyond`: triggers that do not show on the owner itself.
    pub(crate) fn admit_owner(
        &mut self,
        key: &ObjectKey,
        mut shown: OwnerState,
        beyond: Triggers,
    ) -> Admission {
        shown.work.triggers = shown.object.own_triggers(self.finalizer).with(beyond);
        let Some(entry) = self.entries.get_mut(key) else {
            return self.insert_with_work(key, shown);
        };
        let same =
            entry.owner.object.uid == shown.object.uid || entry.owner.object.uid == Uid::default();
        if entry.state == State::InFlight {
            if shown.object.large_bytes > 0 {
                // The worker has one copy already.
                shown.drop_bodies();
            }
            self.entries
                .change_arrivals(key, |arrivals| arrivals.on_owner(shown, beyond, same));
            return Admission::Accepted;
        }
        let newest = entry.owner.object.newest_version();
        if newest == 0 && entry.owner.object.uid != shown.object.uid {
            return self.admit_beside_children(key, shown.work.triggers);
        }
        if !same && shown.object.resource_version < newest {
            // A page from before the owner was created again.
            return Admission::Idle;
        }
        if !same {
            self.entries.remove(key);
            return self.insert_with_work(key, shown);
        }
        if shown.object.resource_version > newest {
            return self.admit_newer(key, shown, beyond);
        }
        // The entry knows a newer owner than the page does, but not what the page says of its children.
        let found = match shown.object.resource_version < newest {
            true if mutant!(FindingOfOlderPageDropped) => Triggers::default(),
            true => beyond.only(Triggers::CHILDREN),
            false => beyond,
        };
        if found.is_empty() {
            self.settle(key);
            return Admission::Idle;
        }
        entry.owner.work.request(found);
        match entry.state {
            State::Delayed { .. } if entry.is_overwritten() => self.entries.enqueue(key),
            // It failed, or changes are being merged: it stays due at the same time.
            State::Delayed { .. } => Admission::Accepted,
            State::Queued | State::InFlight | State::Awaiting { .. } => self.requeue_or_settle(key),
        }
    }

    fn insert_with_work(&mut self, key: &ObjectKey, owner: OwnerState) -> Admission {
        match owner.work.triggers.is_empty() {
            true => Admission::Idle,
            false => self.entries.insert(key, owner, State::Queued),
        }
    }

    /// A newer state of an owner that no worker has.
    fn admit_newer(&mut self, key: &ObjectKey, shown: OwnerState, beyond: Triggers) -> Admission {
        let Some(entry) = self.entries.get(key) else {
            return Admission::Idle;
        };
        let known = entry.owner.object.newest_version() > 0;
        let spec_changed = known
            && (shown.object.generation != entry.owner.object.generation
                || shown.object.deleting != entry.owner.object.deleting);
        // It failed, or events of its children are being merged.
        let waits = matches!(entry.state, State::Delayed { .. })
            && (known || shown.work.triggers.is_empty())
            && !spec_changed
            && (!entry.is_overwritten() || beyond.is_empty());
        let finalizer = self.finalizer;
        self.entries.change_owner(key, |owner| {
            owner.refresh(shown.object);
            // Computed again: metadata alone do not tell the observed generation.
            let own = owner.object.own_triggers(finalizer);
            owner.work.request(own.with(beyond));
            if !waits {
                owner.work.attempts = 0;
            }
        });
        if waits {
            // Nothing that matters changed: it stays due at the same time.
            self.entries.drop_specs(key);
            return Admission::Accepted;
        }
        self.requeue_or_settle(key)
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
        let (mut waiting, mut doubted) = (Vec::new(), Vec::new());
        for (key, entry) in self.entries.iter_mut() {
            if entry.state == State::InFlight {
                if !mutant!(RelistedInFlightIgnored) {
                    entry.arrivals.request(Triggers::CHILDREN);
                }
                continue;
            }
            let owner = &entry.owner;
            let is_newer = owner.object.newest_version() > owners_version;
            let by_event = owner
                .work
                .triggers
                .has(Triggers::CHILD.with(Triggers::STATUS))
                || owner.children.are_pending();
            if is_newer || by_event {
                doubted.push(key.clone());
                if matches!(entry.state, State::Awaiting { .. }) {
                    waiting.push(key.clone());
                }
            }
        }
        for key in doubted {
            self.entries.change_owner(&key, OwnerState::recheck);
        }
        // A map has no order of its own, and a simulation repeats exactly.
        waiting.sort_unstable();
        for key in waiting {
            self.entries.enqueue(&key);
        }
    }

    /// The next owner to work on. Where nobody has work, a status has no reason to yield.
    pub fn take(&mut self) -> Option<(ObjectKey, OwnerState)> {
        if self.entries.depth() == 0
            && self.entries.in_flight() == 0
            && let Some(key) = self.entries.first_yielded()
        {
            self.entries.enqueue(&key);
        }
        self.entries.take()
    }

    /// When something is due next, ms.
    pub fn next_due_ms(&self) -> Option<u64> {
        self.entries.first_timer().map(|(due_ms, _)| *due_ms)
    }

    /// An owner is to be read and compared, because its plan asked for that or an event could not be decoded.
    /// `triggers`: beside a comparison of the children.
    pub(super) fn admit_due(&mut self, key: &ObjectKey, uid: Uid, triggers: Triggers) -> Admission {
        let triggers = triggers.with(Triggers::CHECK);
        let Some(entry) = self.entries.get_mut(key) else {
            let owner = OwnerState::unread(uid, triggers);
            return self.entries.insert(key, owner, State::Queued);
        };
        entry.owner.work.request(triggers);
        match entry.state {
            State::InFlight => entry.arrivals.request(triggers.with(Triggers::CHILDREN)),
            State::Awaiting { .. } => return self.entries.enqueue(key),
            State::Delayed { .. } if entry.is_overwritten() => return self.entries.enqueue(key),
            State::Queued | State::Delayed { .. } => {}
        }
        Admission::Accepted
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
