//! Admission: what is let in, what is evicted, and what is rejected.
//!
//! Guarantees: the bounds of [`Limits`](crate::queue::Limits) hold after every call, and the counts of bytes
//! are those of the specs in the queue. Leaves to others: when an entry has no more work (`queue`).

use crate::model::{ObjectKey, OwnerState};
use crate::queue::{Admission, Entry, Queue, State};

impl Queue {
    pub(super) fn insert(&mut self, key: &ObjectKey, owner: OwnerState, state: State) -> Admission {
        let bytes = owner.spec_bytes();
        // One spec is always admitted: an object that is larger than the bound must be reconciled too.
        if state == State::Queued
            && self.queued_bytes > 0
            && self.queued_bytes + bytes > self.limits.spec_bytes
        {
            return Admission::Rejected;
        }
        // Owners without a spec count no bytes; too many of them would evict those that wait for their
        // children.
        if state == State::Queued && self.ready.len() >= self.limits.queued() {
            return Admission::Rejected;
        }
        if self.entries.len() >= self.limits.entries && !self.evict() {
            return Admission::Rejected;
        }
        let key = key.clone();
        *pool(state, &mut self.queued_bytes, &mut self.waiting_bytes) += bytes;
        match state {
            State::Queued => self.ready.push_back(key.clone()),
            State::Delayed { due_ms: at } | State::Awaiting { until_ms: at } => {
                self.timers.insert((at, key.clone()));
            }
            State::InFlight => {}
        }
        let entry = Entry {
            state,
            owner,
            pending: None,
            child_events: Vec::new(),
            gone: false,
            must_recheck: false,
        };
        self.entries.insert(key, Box::new(entry));
        Admission::Accepted
    }

    /// Evicts the entry that is due last. One that waits for its children comes back when they change, one
    /// that failed comes back with the periodic relist. The work of any other needs a relist.
    fn evict(&mut self) -> bool {
        let Some((_, key)) = self.timers.last().cloned() else {
            return false;
        };
        let entry = self.entries.get(&key);
        self.lost |= entry.is_some_and(|entry| {
            matches!(entry.state, State::Delayed { .. }) && entry.owner.attempts == 0
        });
        self.remove(&key);
        true
    }

    /// Whether work was evicted since the last call. A relist of everything has to find it.
    pub fn take_lost(&mut self) -> bool {
        std::mem::take(&mut self.lost)
    }

    /// Drops the spec of a waiting owner when their bound is exceeded.
    pub(crate) fn drop_specs(&mut self, key: &ObjectKey) {
        if self.waiting_bytes <= self.limits.waiting_spec_bytes {
            return;
        }
        if let Some(entry) = self.entries.get_mut(key)
            && matches!(entry.state, State::Awaiting { .. } | State::Delayed { .. })
        {
            self.waiting_bytes -= entry.owner.spec_bytes();
            entry.owner.drop_bodies();
        }
    }

    pub(super) fn remove(&mut self, key: &ObjectKey) {
        let Some((key, entry)) = self.entries.remove_entry(key) else {
            return;
        };
        *pool(entry.state, &mut self.queued_bytes, &mut self.waiting_bytes) -=
            entry.owner.spec_bytes();
        self.queued_bytes -= entry.pending.as_ref().map_or(0, |p| p.spec_bytes());
        if let State::Delayed { due_ms: at } | State::Awaiting { until_ms: at } = entry.state {
            self.timers.remove(&(at, key));
        }
        self.shrink();
    }

    /// Gives memory back after a burst, but not at every removal.
    pub(crate) fn shrink(&mut self) {
        if self.entries.capacity() > 64 && self.entries.len() < self.entries.capacity() / 8 {
            self.entries.shrink_to(self.entries.len() * 2);
            self.ready.shrink_to(self.ready.len() * 2);
        }
    }
}

/// The counter of bytes for a spec in `state`.
pub(crate) fn pool<'a>(state: State, queued: &'a mut usize, held: &'a mut usize) -> &'a mut usize {
    match state {
        State::Queued | State::InFlight => queued,
        State::Delayed { .. } | State::Awaiting { .. } => held,
    }
}
