//! The workqueue: one entry for each owner that has work or whose last write is not yet confirmed.
//!
//! Guarantees: pure, time comes in as milliseconds. A key has one entry and is with one worker at most.
//! Entries and spec bytes are bounded; what does not fit is rejected, and the caller requests a relist. A
//! failing key never delays another. An older event never undoes a newer one.
//! Leaves to others: the work itself (`reconcile`), finding what was rejected (`relist`).

mod admission;
mod children;
mod limits;
mod outcome;

use std::collections::{BTreeSet, HashMap, VecDeque};

pub use crate::queue::limits::Limits;
pub use crate::queue::outcome::{Admission, Outcome};

use crate::model::{ChildEvent, KindId, ObjectKey, OwnerState, Triggers, Uid};
use crate::queue::admission::pool;
use crate::queue::limits::backoff_ms;

/// From this failure in a row on, an owner waits without its spec: it may wait for minutes, and reading it
/// again is one request beside those that fail.
const WITHOUT_SPEC_FROM: u8 = 2;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Has work and waits for a worker.
    Queued,
    /// A worker has it.
    InFlight,
    /// Waits until it is due: after a failure, or while events of children are merged.
    Delayed { due_ms: u64 },
    /// Written. Awaits confirmation by the watches, and the readiness of its children, at the latest until
    /// `until_ms`.
    Awaiting { until_ms: u64 },
}

#[derive(Debug)]
struct Entry {
    state: State,
    owner: OwnerState,
    /// The newest state of the owner that arrived while a worker had it.
    pending: Option<Box<OwnerState>>,
    /// Changes of children that arrived while a worker had it, one for each child.
    child_events: Vec<ChildEvent>,
    /// The owner was deleted while a worker had it.
    gone: bool,
    /// A child may have changed without an event while a worker had it.
    must_recheck: bool,
}

/// The entries, and the order in which workers take them.
#[derive(Debug)]
pub struct Queue {
    limits: Limits,
    finalizer: bool,
    entries: HashMap<ObjectKey, Box<Entry>>,
    ready: VecDeque<ObjectKey>,
    timers: BTreeSet<(u64, ObjectKey)>,
    /// Bytes of specs of owners that wait for a worker, and of those that wait for anything else.
    queued_bytes: usize,
    waiting_bytes: usize,
    in_flight: usize,
    /// An entry with work was evicted.
    lost: bool,
    /// Newest resourceVersion that each watch has shown, by index of the kind.
    revisions: Vec<u64>,
    random: u64,
}

impl Queue {
    /// An empty queue for an operator with `kinds` kinds of children, with or without a finalizer.
    pub fn new(limits: Limits, kinds: usize, finalizer: bool, seed: u64) -> Self {
        Self {
            limits,
            finalizer,
            entries: HashMap::new(),
            ready: VecDeque::new(),
            timers: BTreeSet::new(),
            queued_bytes: 0,
            waiting_bytes: 0,
            in_flight: 0,
            lost: false,
            revisions: vec![0; kinds + 1],
            random: seed | 1,
        }
    }

    /// Entries in any state.
    pub fn len(&self) -> usize {
        self.entries.len()
    }
    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
    /// Entries that wait for a worker.
    pub fn depth(&self) -> usize {
        self.ready.len()
    }
    /// Entries that a worker has.
    pub fn in_flight(&self) -> usize {
        self.in_flight
    }
    /// Bytes of specs in the queue, without those that workers have.
    pub fn spec_bytes(&self) -> usize {
        self.queued_bytes + self.waiting_bytes
    }
    /// Whether a relist may add owners: half of the bounds is free for the watches, and an entry is free or
    /// one that waits can be evicted.
    pub fn has_capacity(&self) -> bool {
        (self.entries.len() < self.limits.entries || !self.timers.is_empty())
            && self.queued_bytes < self.limits.spec_bytes / 2
            && self.ready.len() < self.limits.queued().div_ceil(2)
    }

    /// Whether all entries are taken and most of them are of failing owners.
    pub fn is_full_of_failures(&self) -> bool {
        let failing = self
            .entries
            .values()
            .filter(|entry| entry.owner.attempts > 0);
        self.entries.len() >= self.limits.entries && failing.count() > self.limits.entries / 2
    }

    /// A watch has shown everything of `kind` up to `resource_version`.
    pub fn advance(&mut self, kind: KindId, resource_version: u64) {
        if let Some(newest) = self.revisions.get_mut(kind.index()) {
            *newest = resource_version.max(*newest);
        }
    }

    /// resourceVersions start over because the server was restored: forgets all that are compared.
    pub fn forget_revisions(&mut self) {
        self.revisions.fill(0);
        for entry in self.entries.values_mut() {
            entry.owner.own_version = 0;
            entry.owner.resource_version = 0;
            entry.owner.children.clear();
            entry.owner.children_complete = false;
            entry.child_events.clear();
            let pending = entry.pending.take();
            self.queued_bytes -= pending.map_or(0, |p| p.spec_bytes());
        }
    }

    /// An owner as a watch or a relist shows it. `beyond`: triggers that do not show on the owner itself.
    pub fn admit_owner(
        &mut self,
        key: &ObjectKey,
        mut shown: OwnerState,
        beyond: Triggers,
    ) -> Admission {
        shown.triggers = shown.own_triggers(self.finalizer).with(beyond);
        let Some(entry) = self.entries.get_mut(key) else {
            if shown.triggers.is_empty() {
                return Admission::Idle;
            }
            return self.insert(key, shown, State::Queued);
        };
        let same = entry.owner.uid == shown.uid || entry.owner.uid == Uid::default();
        if entry.state == State::InFlight {
            if entry
                .pending
                .as_ref()
                .is_none_or(|p| p.resource_version < shown.resource_version)
            {
                self.queued_bytes += shown.spec_bytes();
                self.queued_bytes -= entry.pending.as_ref().map_or(0, |p| p.spec_bytes());
                entry.gone &= same;
                entry.pending = Some(Box::new(shown));
            }
            return Admission::Accepted;
        }
        let newest = entry.owner.own_version.max(entry.owner.resource_version);
        if same && shown.resource_version <= newest {
            if beyond.is_empty() || shown.resource_version < newest {
                self.settle(key);
                return Admission::Idle;
            }
            entry.owner.triggers = entry.owner.triggers.with(beyond);
        } else if same {
            let known = entry.owner.uid != Uid::default();
            let spec_changed = known
                && (shown.generation != entry.owner.generation
                    || shown.deleting != entry.owner.deleting);
            // It failed, or events of its children are being merged.
            let waits = matches!(entry.state, State::Delayed { .. })
                && (known || shown.triggers.is_empty());
            let pool = pool(entry.state, &mut self.queued_bytes, &mut self.waiting_bytes);
            *pool -= entry.owner.spec_bytes();
            entry.owner.refresh(shown);
            // Computed again: metadata alone do not tell the observed generation.
            let own = entry.owner.own_triggers(self.finalizer);
            entry.owner.triggers = entry.owner.triggers.with(own).with(beyond);
            *pool += entry.owner.spec_bytes();
            if waits && !spec_changed {
                // Nothing that matters changed: it stays due at the same time.
                self.drop_specs(key);
                return Admission::Accepted;
            }
            entry.owner.attempts = 0;
        } else {
            self.remove(key);
            if shown.triggers.is_empty() {
                return Admission::Idle;
            }
            return self.insert(key, shown, State::Queued);
        }
        self.requeue_or_settle(key)
    }

    /// The owner was deleted.
    pub fn owner_gone(&mut self, key: &ObjectKey, uid: Uid) {
        match self.entries.get_mut(key) {
            Some(entry) if entry.state == State::InFlight => {
                let newer = entry.pending.take_if(|p| p.uid != uid);
                self.queued_bytes -= entry.pending.take().map_or(0, |p| p.spec_bytes());
                entry.gone = newer.is_none();
                entry.pending = newer;
            }
            Some(entry) if entry.owner.uid == uid || entry.owner.uid == Uid::default() => {
                self.remove(key)
            }
            _ => {}
        }
    }

    /// The next owner to work on.
    pub fn take(&mut self) -> Option<(ObjectKey, OwnerState)> {
        while let Some(key) = self.ready.pop_front() {
            let Some(entry) = self.entries.get_mut(&key) else {
                continue;
            };
            if entry.state != State::Queued {
                continue;
            }
            entry.state = State::InFlight;
            self.in_flight += 1;
            let owner = std::mem::take(&mut entry.owner);
            // The identity stays here for events that arrive meanwhile.
            entry.owner.uid = owner.uid;
            self.queued_bytes -= owner.spec_bytes();
            return Some((key, owner));
        }
        None
    }

    /// A worker returns the owner that it took.
    pub fn finish(
        &mut self,
        key: &ObjectKey,
        mut owner: OwnerState,
        outcome: Outcome,
        now_ms: u64,
    ) {
        let Some(entry) = self.entries.get_mut(key) else {
            return;
        };
        self.in_flight -= 1;
        let pending = entry.pending.take();
        let child_events = std::mem::take(&mut entry.child_events);
        let gone = std::mem::take(&mut entry.gone);
        let must_recheck = std::mem::take(&mut entry.must_recheck);
        let mut triggers = Triggers::default();
        self.queued_bytes -= pending.as_ref().map_or(0, |p| p.spec_bytes());

        if let Some(shown) = pending {
            if shown.uid != owner.uid && owner.uid != Uid::default() {
                // Deleted and created again under the same name.
                self.entries.remove(key);
                if !shown.triggers.is_empty() {
                    self.insert(key, *shown, State::Queued);
                }
                return;
            }
            if shown.resource_version > owner.own_version.max(owner.resource_version) {
                let changed =
                    shown.generation != owner.generation || shown.deleting != owner.deleting;
                let beyond = shown
                    .triggers
                    .without(Triggers::SPEC.with(Triggers::DELETE));
                owner.refresh(*shown);
                triggers = owner.own_triggers(self.finalizer).with(beyond);
                if changed {
                    owner.attempts = 0;
                }
            }
        } else if gone {
            self.entries.remove(key);
            self.shrink();
            return;
        }
        if outcome == Outcome::Gone && triggers.is_empty() {
            self.entries.remove(key);
            self.shrink();
            return;
        }
        for one in &child_events {
            triggers = triggers.with(owner.on_event(one));
        }
        if must_recheck {
            triggers = triggers.with(Triggers::CHECK).with(Triggers::READ);
        }
        let Some(entry) = self.entries.get_mut(key) else {
            return;
        };
        match outcome {
            Outcome::Written { .. } | Outcome::Gone => {
                owner.attempts = 0;
                owner.snapshots = Vec::new();
                owner.triggers = triggers;
            }
            Outcome::Stuck => owner.triggers = triggers,
            Outcome::Again => owner.triggers = owner.triggers.with(triggers),
            Outcome::Failed { .. } | Outcome::Waits { .. } => {
                // What failed is still to be done.
                owner.triggers = owner.triggers.with(triggers);
                owner.attempts = owner.attempts.saturating_add(1);
                if owner.attempts >= WITHOUT_SPEC_FROM {
                    owner.drop_bodies();
                }
                let base_ms = outcome.base_ms();
                let due_ms =
                    now_ms + backoff_ms(&self.limits, owner.attempts, base_ms, &mut self.random);
                self.waiting_bytes += owner.spec_bytes();
                entry.owner = owner;
                entry.state = State::Delayed { due_ms };
                self.timers.insert((due_ms, key.clone()));
                self.drop_specs(key);
                return;
            }
        }
        let keep_ms = if matches!(outcome, Outcome::Written { ready: true, .. }) {
            if owner.triggers.is_empty() {
                owner.spec = None;
            }
            self.limits.confirm_ms
        } else {
            self.limits.progress_ms
        };
        self.waiting_bytes += owner.spec_bytes();
        entry.owner = owner;
        let until_ms = now_ms + keep_ms;
        entry.state = State::Awaiting { until_ms };
        self.timers.insert((until_ms, key.clone()));
        self.requeue_or_settle(key);
        self.drop_specs(key);
    }

    /// When something is due next, ms.
    pub fn next_due_ms(&self) -> Option<u64> {
        self.timers.first().map(|(due_ms, _)| *due_ms)
    }

    /// Queues what is due and removes entries whose wait is over.
    pub fn wake(&mut self, now_ms: u64) {
        while let Some((due_ms, key)) = self.timers.first().cloned() {
            if due_ms > now_ms {
                return;
            }
            match self.entries.get(&key).map(|entry| entry.state) {
                Some(State::Awaiting { .. }) => self.remove(&key),
                _ => {
                    self.enqueue(&key);
                }
            }
        }
    }

    fn requeue_or_settle(&mut self, key: &ObjectKey) -> Admission {
        match self.entries.get(key) {
            Some(entry) if !entry.owner.triggers.is_empty() => self.enqueue(key),
            _ => {
                self.settle(key);
                Admission::Idle
            }
        }
    }

    /// Removes the entries that are confirmed, after a bookmark has moved a watch on.
    pub fn settle_all(&mut self) {
        let waiting: Vec<ObjectKey> = self.timers.iter().map(|(_, key)| key.clone()).collect();
        for key in waiting {
            self.settle(&key);
        }
    }

    /// Removes an entry as soon as its owner is ready and every watch has shown our last writes.
    fn settle(&mut self, key: &ObjectKey) {
        let Some(entry) = self.entries.get(key) else {
            return;
        };
        let owner = &entry.owner;
        let confirmed = |kind: KindId, version: u64| {
            self.revisions
                .get(kind.index())
                .is_some_and(|revision| *revision >= version)
        };
        if matches!(entry.state, State::Awaiting { .. })
            && owner.status.ready
            && owner.triggers.is_empty()
            // Somebody changed a child. The count is kept for a while to detect a field conflict.
            && owner.corrections == 0
            && confirmed(KindId::OWNER, owner.own_version)
            && owner
                .children
                .iter()
                .all(|record| confirmed(record.kind, record.resource_version))
        {
            self.remove(key);
        }
    }

    fn enqueue(&mut self, key: &ObjectKey) -> Admission {
        let Some((key, entry)) = self.entries.get_key_value(key) else {
            return Admission::Idle;
        };
        let key = key.clone();
        match entry.state {
            State::InFlight | State::Queued => return Admission::Accepted,
            State::Delayed { due_ms: at } | State::Awaiting { until_ms: at } => {
                self.timers.remove(&(at, key.clone()));
            }
        }
        if let Some(entry) = self.entries.get_mut(&key) {
            entry.state = State::Queued;
            self.waiting_bytes -= entry.owner.spec_bytes();
            self.queued_bytes += entry.owner.spec_bytes();
        }
        self.ready.push_back(key);
        Admission::Accepted
    }
}

#[cfg(test)]
mod tests;
