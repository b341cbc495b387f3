//! Owners in flight: one entry for each owner that has work or whose last write is not yet seen.
//!
//! Guarantees: pure, time comes in as milliseconds; a key is held once and is with one worker at
//! most; entries and spec bytes are bounded, and what does not fit is dropped and said to be owed
//! to a join; a failing key never delays another; an older event never undoes a newer one.
//! Leaves to others: doing the work (`apply`), finding what was dropped (`join`).

mod admission;
mod children;
mod entry;
mod limits;
mod outcome;

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

pub use crate::queue::entry::{
    ChildEvent, ChildRecord, ChildSnapshot, Finalizers, LastApplied, OwnerState, SnapshotContent,
    StatusRecord, Transition, Triggers,
};
pub use crate::queue::limits::Limits;
pub use crate::queue::outcome::{Admission, Outcome};

use crate::model::object::Uid;
use crate::queue::admission::pool;
use crate::queue::limits::backoff_ms;

/// From this failure in a row on an owner waits without its spec: it may wait for minutes, and reading
/// it anew is one request beside those that fail.
const SPARED_FROM: u8 = 2;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Has work and waits for a worker.
    Queued,
    /// A worker has it.
    InFlight,
    /// Waits for its time: after a failure, or while child events merge.
    Delayed { due_ms: u64 },
    /// Written; kept until the watches have shown it and it is ready, at the latest until `until_ms`.
    Awaiting { until_ms: u64 },
}

#[derive(Debug)]
struct Entry {
    state: State,
    owner: OwnerState,
    /// The newest sight of the owner that came while a worker had it.
    pending: Option<Box<OwnerState>>,
    /// Changes of children that came while a worker had it, one for each child.
    child_events: Vec<ChildEvent>,
    /// The owner vanished while a worker had it.
    gone: bool,
    /// A child may have changed unseen while a worker had it.
    must_recheck: bool,
}

/// The entries and their order.
#[derive(Debug)]
pub struct Queue {
    limits: Limits,
    finalizer: bool,
    entries: HashMap<Arc<str>, Box<Entry>>,
    ready: VecDeque<Arc<str>>,
    timers: BTreeSet<(u64, Arc<str>)>,
    /// Bytes of specs of owners that wait for a worker, and of those that wait for anything else.
    queued_bytes: usize,
    waiting_bytes: usize,
    in_flight: usize,
    /// Work was forgotten to make room.
    lost: bool,
    /// Newest resourceVersion that each watch has shown: the owner's first, then the kinds'.
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

    /// Entries in whatever state.
    pub fn len(&self) -> usize {
        self.entries.len()
    }
    /// Whether nothing is held.
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
    /// Bytes of specs held here (not by workers).
    pub fn spec_bytes(&self) -> usize {
        self.queued_bytes + self.waiting_bytes
    }
    /// Whether a join may add more: half of the bounds is free, so that the watches keep theirs, and
    /// an entry is free or one that waits can make room.
    pub fn has_capacity(&self) -> bool {
        (self.entries.len() < self.limits.entries || !self.timers.is_empty())
            && self.queued_bytes < self.limits.spec_bytes / 2
            && self.ready.len() < self.limits.queued().div_ceil(2)
    }

    /// Whether most entries are of owners that fail, in a table that is full.
    pub fn is_full_of_failures(&self) -> bool {
        let failing = self
            .entries
            .values()
            .filter(|entry| entry.owner.attempts > 0);
        self.entries.len() >= self.limits.entries && failing.count() > self.limits.entries / 2
    }

    /// A watch has shown everything of `kind` (0: owners, then the kinds) up to `resource_version`.
    pub fn advance(&mut self, kind: usize, resource_version: u64) {
        if let Some(newest) = self.revisions.get_mut(kind) {
            *newest = resource_version.max(*newest);
        }
    }

    /// Revisions start over (the server was restored from a backup): forgets all that compare.
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

    /// An owner as a watch or a join shows it. With `beyond`, reasons that do not show on the owner.
    pub fn admit_owner(&mut self, key: &str, mut shown: OwnerState, beyond: Triggers) -> Admission {
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
            // It failed, or its children's events are being merged.
            let waits = matches!(entry.state, State::Delayed { .. })
                && (known || shown.triggers.is_empty());
            let pool = pool(entry.state, &mut self.queued_bytes, &mut self.waiting_bytes);
            *pool -= entry.owner.spec_bytes();
            entry.owner.refresh(shown);
            // Asked anew: a sight of the metadata alone does not tell what was observed.
            let own = entry.owner.own_triggers(self.finalizer);
            entry.owner.triggers = entry.owner.triggers.with(own).with(beyond);
            *pool += entry.owner.spec_bytes();
            if waits && !spec_changed {
                // Nothing that matters changed: its time stands.
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

    /// The owner is gone from the server.
    pub fn owner_gone(&mut self, key: &str, uid: Uid) {
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
    pub fn take(&mut self) -> Option<(Arc<str>, OwnerState)> {
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
            // The identity stays here, for the events that come meanwhile.
            entry.owner.uid = owner.uid;
            self.queued_bytes -= owner.spec_bytes();
            return Some((key, owner));
        }
        None
    }

    /// A worker gives back what it took.
    pub fn finish(&mut self, key: &Arc<str>, mut owner: OwnerState, outcome: Outcome, now_ms: u64) {
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
                // Deleted and created again under the same name: the old one is done with.
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
                // What failed is still to be done; what it was must not be forgotten.
                owner.triggers = owner.triggers.with(triggers);
                owner.attempts = owner.attempts.saturating_add(1);
                if owner.attempts >= SPARED_FROM {
                    owner.drop_bodies();
                }
                let base_ms = outcome.base_ms();
                let due_ms =
                    now_ms + backoff_ms(&self.limits, owner.attempts, base_ms, &mut self.random);
                self.waiting_bytes += owner.spec_bytes();
                entry.owner = owner;
                entry.state = State::Delayed { due_ms };
                self.timers.insert((due_ms, Arc::clone(key)));
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
        self.timers.insert((until_ms, Arc::clone(key)));
        self.requeue_or_settle(key);
        self.drop_specs(key);
    }

    /// When something is due next, ms.
    pub fn next_due_ms(&self) -> Option<u64> {
        self.timers.first().map(|(due_ms, _)| *due_ms)
    }

    /// Queues what is due and forgets what was held long enough.
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

    fn requeue_or_settle(&mut self, key: &str) -> Admission {
        match self.entries.get(key) {
            Some(entry) if !entry.owner.triggers.is_empty() => self.enqueue(key),
            _ => {
                self.settle(key);
                Admission::Idle
            }
        }
    }

    /// Looks again at all that is held, after a bookmark has moved a watch on.
    pub fn settle_all(&mut self) {
        let held: Vec<Arc<str>> = self.timers.iter().map(|(_, key)| Arc::clone(key)).collect();
        for key in held {
            self.settle(&key);
        }
    }

    /// Forgets a held owner as soon as it is ready and every watch has shown our last writes.
    fn settle(&mut self, key: &str) {
        let Some(entry) = self.entries.get(key) else {
            return;
        };
        let owner = &entry.owner;
        let confirmed = |kind: usize, version: u64| {
            self.revisions
                .get(kind)
                .is_some_and(|revision| *revision >= version)
        };
        if matches!(entry.state, State::Awaiting { .. })
            && owner.status.ready
            && owner.triggers.is_empty()
            // Somebody changed a child: remembered for a while, to tell a slip from a fight.
            && owner.corrections == 0
            && confirmed(0, owner.own_version)
            && owner
                .children
                .iter()
                .all(|record| confirmed(usize::from(record.kind) + 1, record.resource_version))
        {
            self.remove(key);
        }
    }

    fn enqueue(&mut self, key: &str) -> Admission {
        let Some((key, entry)) = self.entries.get_key_value(key) else {
            return Admission::Idle;
        };
        let key = Arc::clone(key);
        match entry.state {
            State::InFlight | State::Queued => return Admission::Accepted,
            State::Delayed { due_ms: at } | State::Awaiting { until_ms: at } => {
                self.timers.remove(&(at, Arc::clone(&key)));
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
