//! Room in the queue: what comes in, what has to go, and what is owed to a join instead.
//!
//! Guarantees: the bounds of [`Limits`](crate::queue::Limits) hold after every call, and the counts of
//! bytes are those of the specs that are held. Leaves to others: when an entry is done with (`queue`).

use std::sync::Arc;

use crate::queue::{Admission, Entry, OwnerState, Queue, State};

impl Queue {
    pub(super) fn insert(&mut self, key: &str, owner: OwnerState, state: State) -> Admission {
        let bytes = owner.spec_bytes();
        // One spec is always let in: an object larger than the bound must be worked on too.
        if state == State::Queued
            && self.queued_bytes > 0
            && self.queued_bytes + bytes > self.limits.spec_bytes
        {
            return Admission::Rejected;
        }
        // Owners without a spec weigh nothing; too many of them would push out those that wait for
        // their children.
        if state == State::Queued && self.ready.len() >= self.limits.queued() {
            return Admission::Rejected;
        }
        if self.entries.len() >= self.limits.entries && !self.evict() {
            return Admission::Rejected;
        }
        let key: Arc<str> = key.into();
        *pool(state, &mut self.queued_bytes, &mut self.waiting_bytes) += bytes;
        match state {
            State::Queued => self.ready.push_back(Arc::clone(&key)),
            State::Delayed { due_ms: at } | State::Awaiting { until_ms: at } => {
                self.timers.insert((at, Arc::clone(&key)));
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

    /// Makes room by forgetting the entry that waits longest. One that waits for its children is seen
    /// again when they change, one that failed by the periodic join: sooner would be a storm. What any
    /// other waits for would be lost.
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

    /// Whether work was forgotten since this was last asked: a join of everything has to find it.
    pub fn take_lost(&mut self) -> bool {
        std::mem::take(&mut self.lost)
    }

    /// A waiting owner keeps its spec only while the bound for those allows it.
    pub(crate) fn drop_specs(&mut self, key: &str) {
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

    pub(super) fn remove(&mut self, key: &str) {
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

    /// Gives memory back after a burst, without doing so at every removal.
    pub(crate) fn shrink(&mut self) {
        if self.entries.capacity() > 64 && self.entries.len() < self.entries.capacity() / 8 {
            self.entries.shrink_to(self.entries.len() * 2);
            self.ready.shrink_to(self.ready.len() * 2);
        }
    }
}

/// The count that a spec in `state` belongs to.
pub(crate) fn pool<'a>(state: State, queued: &'a mut usize, held: &'a mut usize) -> &'a mut usize {
    match state {
        State::Queued | State::InFlight => queued,
        State::Delayed { .. } | State::Awaiting { .. } => held,
    }
}
