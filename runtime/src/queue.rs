//! Owners in flight: one entry for each owner that has work or whose last write is not yet seen.
//!
//! Guarantees: pure, time comes in as milliseconds; a key is held once and is with one worker at
//! most; entries and spec bytes are bounded, and what does not fit is dropped and said to be owed
//! to a join; a failing key never delays another; an older event never undoes a newer one.
//! Leaves to others: doing the work (`apply`), finding what was dropped (`join`).

mod children;
mod entry;
mod limits;
mod room;
mod verdict;

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

pub use crate::queue::entry::{
    ChildNews, Finalizers, Proof, Reasons, Shown, Sight, Slot, StatusMemory, Transition, Work,
};
pub use crate::queue::limits::Limits;
pub use crate::queue::verdict::{Offer, Verdict};

use crate::model::object::Uid;
use crate::queue::limits::backoff_ms;
use crate::queue::room::pool;

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
    Held { until_ms: u64 },
}

#[derive(Debug)]
struct Entry {
    state: State,
    work: Work,
    /// The newest sight of the owner that came while a worker had it.
    pending: Option<Box<Work>>,
    /// Changes of children that came while a worker had it, one for each child.
    news: Vec<ChildNews>,
    /// The owner vanished while a worker had it.
    gone: bool,
    /// A child may have changed unseen while a worker had it.
    doubted: bool,
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
    held_bytes: usize,
    in_flight: usize,
    /// Work was forgotten to make room.
    lost: bool,
    /// Newest resourceVersion that each watch has shown: the owner's first, then the kinds'.
    shown: Vec<u64>,
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
            held_bytes: 0,
            in_flight: 0,
            lost: false,
            shown: vec![0; kinds + 1],
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
        self.queued_bytes + self.held_bytes
    }
    /// Whether a join may add more: half of the bounds is free, so that the watches keep theirs, and
    /// an entry is free or one that waits can make room.
    pub fn has_room(&self) -> bool {
        (self.entries.len() < self.limits.entries || !self.timers.is_empty())
            && self.queued_bytes < self.limits.spec_bytes / 2
            && self.ready.len() < self.limits.queued().div_ceil(2)
    }

    /// Whether most entries are of owners that fail, in a table that is full.
    pub fn is_crowded(&self) -> bool {
        let failing = self
            .entries
            .values()
            .filter(|entry| entry.work.attempts > 0);
        self.entries.len() >= self.limits.entries && failing.count() > self.limits.entries / 2
    }

    /// A watch has shown everything of `kind` (0: owners, then the kinds) up to `resource_version`.
    pub fn shown(&mut self, kind: usize, resource_version: u64) {
        if let Some(shown) = self.shown.get_mut(kind) {
            *shown = resource_version.max(*shown);
        }
    }

    /// Revisions start over (the server was restored from a backup): forgets all that compare.
    pub fn forget_revisions(&mut self) {
        self.shown.fill(0);
        for entry in self.entries.values_mut() {
            entry.work.own_version = 0;
            entry.work.resource_version = 0;
            entry.work.slots.clear();
            entry.work.slots_complete = false;
            entry.news.clear();
            let pending = entry.pending.take();
            self.queued_bytes -= pending.map_or(0, |p| p.spec_bytes());
        }
    }

    /// An owner as a watch or a join shows it. With `beyond`, reasons that do not show on the owner.
    pub fn offer_owner(&mut self, key: &str, mut seen: Work, beyond: Reasons) -> Offer {
        seen.reasons = seen.own_reasons(self.finalizer).with(beyond);
        let Some(entry) = self.entries.get_mut(key) else {
            if seen.reasons.is_empty() {
                return Offer::Idle;
            }
            return self.insert(key, seen, State::Queued);
        };
        let same = entry.work.uid == seen.uid || entry.work.uid == Uid::default();
        if entry.state == State::InFlight {
            if entry
                .pending
                .as_ref()
                .is_none_or(|p| p.resource_version < seen.resource_version)
            {
                self.queued_bytes += seen.spec_bytes();
                self.queued_bytes -= entry.pending.as_ref().map_or(0, |p| p.spec_bytes());
                entry.gone &= same;
                entry.pending = Some(Box::new(seen));
            }
            return Offer::Accepted;
        }
        let newest = entry.work.own_version.max(entry.work.resource_version);
        if same && seen.resource_version <= newest {
            if beyond.is_empty() || seen.resource_version < newest {
                self.settle(key);
                return Offer::Idle;
            }
            entry.work.reasons = entry.work.reasons.with(beyond);
        } else if same {
            let known = entry.work.uid != Uid::default();
            let spec_changed = known
                && (seen.generation != entry.work.generation
                    || seen.deleting != entry.work.deleting);
            // It failed, or its children's events are being merged.
            let waits =
                matches!(entry.state, State::Delayed { .. }) && (known || seen.reasons.is_empty());
            let pool = pool(entry.state, &mut self.queued_bytes, &mut self.held_bytes);
            *pool -= entry.work.spec_bytes();
            entry.work.refresh(seen);
            // Asked anew: a sight of the metadata alone does not tell what was observed.
            let own = entry.work.own_reasons(self.finalizer);
            entry.work.reasons = entry.work.reasons.with(own).with(beyond);
            *pool += entry.work.spec_bytes();
            if waits && !spec_changed {
                // Nothing that matters changed: its time stands.
                self.spare_specs(key);
                return Offer::Accepted;
            }
            entry.work.attempts = 0;
        } else {
            self.remove(key);
            if seen.reasons.is_empty() {
                return Offer::Idle;
            }
            return self.insert(key, seen, State::Queued);
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
            Some(entry) if entry.work.uid == uid || entry.work.uid == Uid::default() => {
                self.remove(key)
            }
            _ => {}
        }
    }

    /// The next owner to work on.
    pub fn take(&mut self) -> Option<(Arc<str>, Work)> {
        while let Some(key) = self.ready.pop_front() {
            let Some(entry) = self.entries.get_mut(&key) else {
                continue;
            };
            if entry.state != State::Queued {
                continue;
            }
            entry.state = State::InFlight;
            self.in_flight += 1;
            let work = std::mem::take(&mut entry.work);
            // The identity stays here, for the events that come meanwhile.
            entry.work.uid = work.uid;
            self.queued_bytes -= work.spec_bytes();
            return Some((key, work));
        }
        None
    }

    /// A worker gives back what it took.
    pub fn finish(&mut self, key: &Arc<str>, mut work: Work, verdict: Verdict, now_ms: u64) {
        let Some(entry) = self.entries.get_mut(key) else {
            return;
        };
        self.in_flight -= 1;
        let pending = entry.pending.take();
        let news = std::mem::take(&mut entry.news);
        let gone = std::mem::take(&mut entry.gone);
        let doubted = std::mem::take(&mut entry.doubted);
        let mut reasons = Reasons::default();
        self.queued_bytes -= pending.as_ref().map_or(0, |p| p.spec_bytes());

        if let Some(seen) = pending {
            if seen.uid != work.uid && work.uid != Uid::default() {
                // Deleted and created again under the same name: the old one is done with.
                self.entries.remove(key);
                if !seen.reasons.is_empty() {
                    self.insert(key, *seen, State::Queued);
                }
                return;
            }
            if seen.resource_version > work.own_version.max(work.resource_version) {
                let changed = seen.generation != work.generation || seen.deleting != work.deleting;
                let beyond = seen.reasons.without(Reasons::SPEC.with(Reasons::DELETE));
                work.refresh(*seen);
                reasons = work.own_reasons(self.finalizer).with(beyond);
                if changed {
                    work.attempts = 0;
                }
            }
        } else if gone {
            self.entries.remove(key);
            self.shrink();
            return;
        }
        if verdict == Verdict::Gone && reasons.is_empty() {
            self.entries.remove(key);
            self.shrink();
            return;
        }
        for one in &news {
            reasons = reasons.with(work.hear(one));
        }
        if doubted {
            reasons = reasons.with(Reasons::CHECK).with(Reasons::READ);
        }
        let Some(entry) = self.entries.get_mut(key) else {
            return;
        };
        match verdict {
            Verdict::Written { .. } | Verdict::Gone => {
                work.attempts = 0;
                work.shown = Vec::new();
                work.reasons = reasons;
            }
            Verdict::Stuck => work.reasons = reasons,
            Verdict::Again => work.reasons = work.reasons.with(reasons),
            Verdict::Failed { .. } | Verdict::Waits { .. } => {
                // What failed is still to be done; what it was must not be forgotten.
                work.reasons = work.reasons.with(reasons);
                work.attempts = work.attempts.saturating_add(1);
                if work.attempts >= SPARED_FROM {
                    work.spare();
                }
                let base_ms = verdict.base_ms();
                let due_ms =
                    now_ms + backoff_ms(&self.limits, work.attempts, base_ms, &mut self.random);
                self.held_bytes += work.spec_bytes();
                entry.work = work;
                entry.state = State::Delayed { due_ms };
                self.timers.insert((due_ms, Arc::clone(key)));
                self.spare_specs(key);
                return;
            }
        }
        let hold_ms = if matches!(verdict, Verdict::Written { ready: true, .. }) {
            if work.reasons.is_empty() {
                work.spec = None;
            }
            self.limits.confirm_ms
        } else {
            self.limits.hold_ms
        };
        self.held_bytes += work.spec_bytes();
        entry.work = work;
        let until_ms = now_ms + hold_ms;
        entry.state = State::Held { until_ms };
        self.timers.insert((until_ms, Arc::clone(key)));
        self.requeue_or_settle(key);
        self.spare_specs(key);
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
                Some(State::Held { .. }) => self.remove(&key),
                _ => {
                    self.enqueue(&key);
                }
            }
        }
    }

    fn requeue_or_settle(&mut self, key: &str) -> Offer {
        match self.entries.get(key) {
            Some(entry) if !entry.work.reasons.is_empty() => self.enqueue(key),
            _ => {
                self.settle(key);
                Offer::Idle
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
        let work = &entry.work;
        let seen =
            |kind: usize, version: u64| self.shown.get(kind).is_some_and(|shown| *shown >= version);
        if matches!(entry.state, State::Held { .. })
            && work.status.ready
            && work.reasons.is_empty()
            // Somebody changed a child: remembered for a while, to tell a slip from a fight.
            && work.mends == 0
            && seen(0, work.own_version)
            && work
                .slots
                .iter()
                .all(|slot| seen(usize::from(slot.kind) + 1, slot.resource_version))
        {
            self.remove(key);
        }
    }

    fn enqueue(&mut self, key: &str) -> Offer {
        let Some((key, entry)) = self.entries.get_key_value(key) else {
            return Offer::Idle;
        };
        let key = Arc::clone(key);
        match entry.state {
            State::InFlight | State::Queued => return Offer::Accepted,
            State::Delayed { due_ms: at } | State::Held { until_ms: at } => {
                self.timers.remove(&(at, Arc::clone(&key)));
            }
        }
        if let Some(entry) = self.entries.get_mut(&key) {
            entry.state = State::Queued;
            self.held_bytes -= entry.work.spec_bytes();
            self.queued_bytes += entry.work.spec_bytes();
        }
        self.ready.push_back(key);
        Offer::Accepted
    }
}

#[cfg(test)]
mod tests;
