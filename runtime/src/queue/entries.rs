//! The entries of the queue: which are let in, the order in which workers take them, which are evicted.
//!
//! Guarantees: the bounds of [`Limits`] hold after every call, and the counts of bytes are those of the specs
//! that the entries hold. Each entry that waits for a time has one timer, each that waits for a worker one
//! place in the order.
//! Leaves to others: what an event means to an entry, and when an entry has no more work (`queue`).

#[cfg(test)]
mod checked;
mod eviction;

use std::collections::{BTreeSet, HashMap, VecDeque};

use crate::model::{ObjectKey, OwnerState};
use crate::queue::Queue;
use crate::queue::arrivals::Arrivals;
use crate::queue::entry::{Entry, State};
use crate::queue::limits::Limits;
use crate::queue::outcome::{Admission, Evicted};
use crate::queue::unshown::Unshown;

/// Many owners that fail by a deadline, each tried again within seconds, would fill all turns: those that never failed
/// have most of them.
const RETRY_TURN: u32 = 4;

/// All entries, by key.
#[derive(Debug, Default)]
pub(super) struct Entries {
    pub(super) limits: Limits,
    by_key: HashMap<ObjectKey, Box<Entry>>,
    ready: VecDeque<ObjectKey>,
    /// Owners whose last attempt failed. Where others are ready, they have one turn in [`RETRY_TURN`].
    retries: VecDeque<ObjectKey>,
    turn: u32,
    /// Large owners that were first in `ready` when there was no room for them.
    large: VecDeque<ObjectKey>,
    /// Bytes of the large owners that workers have.
    large_bytes: usize,
    timers: BTreeSet<(u64, ObjectKey)>,
    /// Bytes of specs of owners that wait for a worker, and of those that wait for anything else.
    queued_bytes: usize,
    waiting_bytes: usize,
    in_flight: usize,
    /// Whether the operator has a finalizer.
    pub(super) finalizer: bool,
    evicted: Evicted,
    /// Writes of owners that left early, which the watch is still to show.
    pub(super) unshown: Unshown,
}

impl Entries {
    pub(super) fn new(limits: Limits, finalizer: bool) -> Self {
        Self {
            limits,
            finalizer,
            ..Self::default()
        }
    }

    /// Entries that wait for a worker and have not failed.
    fn untried(&self) -> usize {
        self.ready.len() + self.large.len()
    }

    /// Bytes of specs, without those that workers have.
    fn spec_bytes(&self) -> usize {
        self.queued_bytes + self.waiting_bytes
    }

    pub(super) fn get(&self, key: &ObjectKey) -> Option<&Entry> {
        self.by_key.get(key).map(|entry| &**entry)
    }

    /// An entry to change; its specs are changed by [`change`](Self::change), which counts their bytes.
    pub(super) fn get_mut(&mut self, key: &ObjectKey) -> Option<&mut Entry> {
        self.by_key.get_mut(key).map(|entry| &mut **entry)
    }

    /// Changes the owner of an entry, or what has arrived for it.
    pub(super) fn change(&mut self, key: &ObjectKey, change: impl FnOnce(&mut Entry)) {
        if let Some(entry) = self.by_key.get_mut(key) {
            let pool = pool(entry.state, &mut self.queued_bytes, &mut self.waiting_bytes);
            counted(entry, pool, change);
        }
    }

    /// The same of all entries, in no order.
    pub(super) fn change_all(&mut self, mut change: impl FnMut(&ObjectKey, &mut Entry)) {
        for (key, entry) in &mut self.by_key {
            let pool = pool(entry.state, &mut self.queued_bytes, &mut self.waiting_bytes);
            counted(entry, pool, |entry| change(key, entry));
        }
    }

    /// resourceVersions start over because the server was restored: forgets all that are compared.
    pub(super) fn forget_revisions(&mut self) {
        self.unshown = Unshown::default();
        self.change_all(|_, entry| {
            entry.owner.forget_revisions();
            entry.arrivals.forget_revisions();
        });
    }

    /// Adds an entry if the bounds allow it, with an eviction where that is needed.
    pub(super) fn insert(
        &mut self,
        key: &ObjectKey,
        mut owner: OwnerState,
        state: State,
    ) -> Admission {
        // The spec of a large owner is read again when it is its turn.
        if owner.object.large_bytes > 0
            && self.queued_bytes + owner.spec_bytes() > self.limits.spec_bytes
        {
            owner.drop_bodies();
        }
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
        if state == State::Queued && self.untried() >= self.limits.queued() {
            return Admission::Rejected;
        }
        let is_full = self.by_key.len() >= self.limits.entries && !mutant!(BoundIgnored);
        if is_full && !self.evict() {
            return Admission::Rejected;
        }
        let key = key.clone();
        *pool(state, &mut self.queued_bytes, &mut self.waiting_bytes) += bytes;
        if state == State::Queued {
            self.ready.push_back(key.clone());
        }
        if let Some(at_ms) = state.timer_ms() {
            self.timers.insert((at_ms, key.clone()));
        }
        let entry = Entry {
            state,
            owner,
            arrivals: Arrivals::default(),
        };
        self.by_key.insert(key, Box::new(entry));
        Admission::Accepted
    }

    /// Lets a worker take an entry that waits for a time, after those that wait for a worker already.
    pub(super) fn enqueue(&mut self, key: &ObjectKey) -> Admission {
        let Some(entry) = self.by_key.get_mut(key) else {
            return Admission::Idle;
        };
        let Some(at_ms) = entry.state.timer_ms() else {
            return Admission::Accepted;
        };
        let is_retry = entry.owner.work.attempts > 0;
        entry.state = State::Queued;
        self.waiting_bytes -= entry.owner.spec_bytes();
        self.queued_bytes += entry.owner.spec_bytes();
        // The timer's key shares the text of the entry's; the caller's may be a copy of it.
        let timer = self.timers.take(&(at_ms, key.clone()));
        match timer {
            Some((_, key)) if is_retry => self.retries.push_back(key),
            Some((_, key)) => self.ready.push_back(key),
            None => {}
        }
        Admission::Accepted
    }

    /// Lets an entry that waits for a time wait until `due_ms`.
    pub(super) fn delay(&mut self, key: &ObjectKey, due_ms: u64) -> Admission {
        let Some(entry) = self.by_key.get_mut(key) else {
            return Admission::Idle;
        };
        if let Some(at_ms) = entry.state.timer_ms()
            && let Some((_, key)) = self.timers.take(&(at_ms, key.clone()))
        {
            entry.state = State::Delayed { due_ms };
            self.timers.insert((due_ms, key));
        }
        Admission::Accepted
    }

    /// Hands the next entry that is ready to a worker. Large owners wait until those before them are done; the
    /// others pass them.
    pub(super) fn take(&mut self) -> Option<(ObjectKey, OwnerState)> {
        while let Some(key) = self.large.front() {
            let queued = self.queued(key);
            if queued.is_some_and(|entry| !self.has_room_for(entry.owner.object.large_bytes)) {
                break;
            }
            let key = self.large.pop_front()?;
            if let Some(owner) = self.hand_over(&key) {
                return Some((key, owner));
            }
        }
        while let Some(key) = self.pop_ready() {
            let queued = self.queued(&key);
            let large_bytes = queued.map_or(0, |entry| entry.owner.object.large_bytes);
            let in_turn = self.large.is_empty() && self.has_room_for(large_bytes);
            if large_bytes > 0 && !in_turn {
                self.large.push_back(key);
            } else if let Some(owner) = self.hand_over(&key) {
                return Some((key, owner));
            }
        }
        None
    }

    fn pop_ready(&mut self) -> Option<ObjectKey> {
        self.turn = (self.turn + 1) % RETRY_TURN;
        let (first, then) = match self.turn {
            0 => (&mut self.retries, &mut self.ready),
            _ => (&mut self.ready, &mut self.retries),
        };
        first.pop_front().or_else(|| then.pop_front())
    }

    /// The entry of `key` if it waits for a worker.
    fn queued(&self, key: &ObjectKey) -> Option<&Entry> {
        self.get(key).filter(|entry| entry.state == State::Queued)
    }

    /// Whether a worker may have an owner of `large_bytes` beside those that others have.
    fn has_room_for(&self, large_bytes: u32) -> bool {
        let wanted = self.large_share(large_bytes);
        wanted == 0 || self.large_bytes == 0 || self.large_bytes + wanted <= self.limits.large_bytes
    }

    /// What a large owner counts for: one alone may exceed the bound.
    fn large_share(&self, large_bytes: u32) -> usize {
        let bytes = usize::try_from(large_bytes).unwrap_or(usize::MAX);
        bytes.min(self.limits.large_bytes.max(1))
    }

    /// The owner of an entry that waits for a worker, which has it now.
    fn hand_over(&mut self, key: &ObjectKey) -> Option<OwnerState> {
        let entry = self.by_key.get_mut(key)?;
        if entry.state != State::Queued {
            return None;
        }
        entry.state = State::InFlight;
        let owner = std::mem::take(&mut entry.owner);
        // The identity stays here for events that arrive meanwhile, and the size for the bound.
        entry.owner.object.uid = owner.object.uid;
        entry.owner.object.large_bytes = owner.object.large_bytes;
        self.in_flight += 1;
        self.large_bytes += self.large_share(owner.object.large_bytes);
        self.queued_bytes -= owner.spec_bytes();
        Some(owner)
    }

    /// A worker is done with an entry: takes what arrived for it meanwhile.
    pub(super) fn returned(&mut self, key: &ObjectKey) -> Option<Arrivals> {
        let large_share = self.large_share(self.get(key)?.owner.object.large_bytes);
        let entry = self.by_key.get_mut(key)?;
        self.in_flight -= 1;
        self.large_bytes -= large_share;
        self.queued_bytes -= entry.arrivals.spec_bytes();
        Some(std::mem::take(&mut entry.arrivals))
    }

    /// The owner that a worker had waits for a time now.
    pub(super) fn put_back(&mut self, key: &ObjectKey, owner: OwnerState, state: State) {
        if let Some(entry) = self.by_key.get_mut(key) {
            *pool(state, &mut self.queued_bytes, &mut self.waiting_bytes) += owner.spec_bytes();
            entry.owner = owner;
            entry.state = state;
        }
        if let Some(at_ms) = state.timer_ms() {
            self.timers.insert((at_ms, key.clone()));
        }
    }

    /// The entry whose wait ends first, and when, ms.
    pub(super) fn first_timer(&self) -> Option<&(u64, ObjectKey)> {
        self.timers.first()
    }

    /// The keys of all entries that wait for a time.
    pub(super) fn waiting(&self) -> Vec<ObjectKey> {
        self.timers.iter().map(|(_, key)| key.clone()).collect()
    }

    pub(super) fn remove(&mut self, key: &ObjectKey) {
        let Some((key, entry)) = self.by_key.remove_entry(key) else {
            return;
        };
        *pool(entry.state, &mut self.queued_bytes, &mut self.waiting_bytes) -= entry.spec_bytes();
        if let Some(at_ms) = entry.state.timer_ms() {
            self.timers.remove(&(at_ms, key));
        }
        self.shrink();
    }

    /// Gives memory back after a burst, but not at every removal.
    fn shrink(&mut self) {
        if self.by_key.capacity() > 64 && self.by_key.len() < self.by_key.capacity() / 8 {
            self.by_key.shrink_to(self.by_key.len() * 2);
            self.ready.shrink_to(self.ready.len() * 2);
            self.retries.shrink_to(self.retries.len() * 2);
            self.large.shrink_to(self.large.len() * 2);
        }
    }
}

impl Queue {
    /// Entries in any state.
    pub fn len(&self) -> usize {
        self.entries.by_key.len()
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.entries.by_key.is_empty()
    }

    /// Entries that wait for a worker.
    pub fn depth(&self) -> usize {
        self.entries.untried() + self.entries.retries.len()
    }

    /// Entries that a worker has.
    pub fn in_flight(&self) -> usize {
        self.entries.in_flight
    }

    /// Bytes of specs in the queue, without those that workers have.
    pub fn spec_bytes(&self) -> usize {
        self.entries.spec_bytes()
    }

    /// Whether a relist may add owners: half of the bounds is free for the watches, and an entry is free or
    /// one that waits can be evicted.
    pub fn has_capacity(&self) -> bool {
        let (entries, limits) = (&self.entries, &self.entries.limits);
        (entries.by_key.len() < limits.entries || !entries.timers.is_empty())
            && entries.queued_bytes < limits.spec_bytes / 2
            && entries.untried() < limits.queued().div_ceil(2)
    }

    /// Whether a status may yield, which needs an entry, as new owners do, and keeps a spec, which is read again where
    /// it is dropped: few entries wait for a time, and half of the bytes for their specs are free.
    pub fn has_room_to_yield(&self) -> bool {
        let (entries, limits) = (&self.entries, &self.entries.limits);
        entries.timers.len() < limits.entries / 4
            && entries.waiting_bytes < limits.waiting_spec_bytes / 2
    }

    /// Whether all entries are taken and most of them are of failing owners.
    pub fn is_full_of_failures(&self) -> bool {
        let failing = self.entries.by_key.values();
        let failing = failing.filter(|entry| entry.owner.work.attempts > 0);
        let most = self.entries.limits.entries;
        self.len() >= most && failing.count() > most / 2
    }

    /// What was evicted since the last call. Relists have to find it.
    pub fn take_evicted(&mut self) -> Evicted {
        std::mem::take(&mut self.entries.evicted)
    }
}

/// Changes an entry, whose specs are counted in this pool.
fn counted(entry: &mut Entry, pool: &mut usize, change: impl FnOnce(&mut Entry)) {
    *pool -= entry.spec_bytes();
    change(entry);
    *pool += entry.spec_bytes();
}

/// The counter of bytes for a spec in `state`.
fn pool<'a>(state: State, queued: &'a mut usize, waiting: &'a mut usize) -> &'a mut usize {
    match state {
        State::Queued | State::InFlight => queued,
        State::Delayed { .. } | State::Awaiting { .. } => waiting,
    }
}
