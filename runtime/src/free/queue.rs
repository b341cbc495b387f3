//! Which objects are to be reconciled, and when.
//!
//! Guarantees: an object is asked for once, however often it changes, and never has two workers; a change while a worker
//! has it means another reconcile. What finds no room keeps a mark, and is found again by a list. The JSON of a waiting object
//! is held within a bound of bytes; the newest one that a watch has shown is held, or none.
//! Leaves to others: reading objects and lists (`engine`, `pass`), what a reconcile is.
//!
//! | an object is asked for while it | becomes |
//! |---|---|
//! | has no entry | due after the debounce; with no room a mark |
//! | waits for its time | due after the debounce, or at its time where that is sooner |
//! | waits out the debounce | due after the debounce, from now on |
//! | is ready | ready, with the newest content |
//! | has a worker | due once more, after the debounce |

use std::collections::hash_map::Entry as Slot;
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::time::Duration;

use crate::free::action::Next;
use crate::free::marks::{Mark, Marks};
use crate::model::{ObjectKey, hash64, millis};

/// Objects with an entry: about 150 bytes each, beside their content.
const ENTRIES: usize = 4_096;
/// Overdue objects that one list looks for, in times of the entries: few enough to be done in about a minute.
const LOT: usize = 4;
/// JSON of waiting objects that is held.
const HELD_BYTES: usize = 512 << 10;
/// Pauses after failures: the first and the longest, ms.
const BACK_OFF_MS: (u64, u64) = (1_000, 300_000);

/// An object as JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Content {
    Object(Vec<u8>),
    /// In an event of a watch.
    Event(Vec<u8>),
    /// In a list that has nothing else, or nothing.
    List(Vec<u8>),
}

impl Content {
    fn bytes(&self) -> usize {
        match self {
            Content::Object(json) | Content::Event(json) | Content::List(json) => json.capacity(),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Waits for a worker.
    Ready,
    /// Waits for a time that its reconcile asked for.
    Requeued { due_ms: u64 },
    /// Waits for further changes until that time.
    Debounced { due_ms: u64 },
    /// A worker has it. `again_ms`: it was asked for meanwhile, and is due then.
    InFlight { again_ms: Option<u64> },
}

struct Entry {
    state: State,
    content: Option<Content>,
    failures: u8,
}

/// The bounds of a queue.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub entries: usize,
    pub held_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            entries: ENTRIES,
            held_bytes: HELD_BYTES,
        }
    }
}

/// An object that a worker takes.
#[derive(Debug)]
pub(super) struct Taken {
    pub key: ObjectKey,
    /// `None`: to be read.
    pub content: Option<Content>,
}

/// The objects that have work.
pub(super) struct Queue {
    entries: HashMap<ObjectKey, Entry>,
    ready: VecDeque<ObjectKey>,
    timers: BTreeSet<(u64, ObjectKey)>,
    marks: Marks,
    held_bytes: usize,
    in_flight: usize,
    debounce_ms: u64,
    limits: Limits,
    seed: u64,
}

impl Queue {
    pub fn new(debounce: Duration, limits: Limits, seed: u64) -> Self {
        Self {
            entries: HashMap::new(),
            ready: VecDeque::new(),
            timers: BTreeSet::new(),
            marks: Marks::default(),
            held_bytes: 0,
            in_flight: 0,
            debounce_ms: millis(debounce),
            limits,
            seed,
        }
    }

    /// Objects that wait for a worker.
    #[cfg(test)]
    pub fn ready(&self) -> usize {
        self.ready.len()
    }

    pub fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// Objects that have no entry and are due at some time.
    #[cfg(test)]
    pub fn marked(&self) -> usize {
        self.marks.len()
    }

    /// Entries that are free, but for those that only wait for their time and can become marks.
    pub fn room(&self) -> usize {
        let at_work = self.ready.len() + self.in_flight;
        self.limits.entries.saturating_sub(at_work)
    }

    /// The object is to be reconciled. `content`: as a watch or a list shows it now; `None` where it is to be read.
    pub fn request(&mut self, key: &ObjectKey, content: Option<Content>, now_ms: u64) {
        let due_ms = now_ms.saturating_add(self.debounce_ms);
        let state = match self.entries.get(key).map(|entry| entry.state) {
            None => return self.admit(key, content, Mark::new(due_ms, 0), now_ms),
            Some(State::Ready) => State::Ready,
            Some(State::Requeued { due_ms: at_ms }) if at_ms < due_ms => {
                State::Requeued { due_ms: at_ms }
            }
            Some(State::Requeued { .. } | State::Debounced { .. }) => State::Debounced { due_ms },
            Some(State::InFlight { .. }) => State::InFlight {
                again_ms: Some(due_ms),
            },
        };
        // What a change of another object asks for says nothing of this one.
        if let Some(content) = content {
            self.hold(key, content);
        }
        self.set(key, state, now_ms);
    }

    /// A change asks for nothing: where the object waits for something else it does so with the newest content.
    pub fn renew(&mut self, key: &ObjectKey, content: Content) {
        let state = self.entries.get(key).map(|entry| entry.state);
        if !matches!(state, None | Some(State::InFlight { again_ms: None })) {
            self.hold(key, content);
        }
    }

    /// A list shows an object of which no watch has shown a change since the list began. `json` is as new as the list.
    pub fn offer(&mut self, key: &ObjectKey, json: Vec<u8>, now_ms: u64) {
        if self.entries.contains_key(key) {
            return self.request(key, None, now_ms);
        }
        self.marks.take(key, now_ms);
        let content = Some(Content::Object(json));
        self.admit(key, content, Mark::new(now_ms, 0), now_ms);
    }

    /// Whether a list that offers objects may read on: only what workers need soon is held.
    pub fn wants_more(&self, workers: usize) -> bool {
        self.ready.len() < 2 * workers && self.room() > 0
    }

    /// The object is gone: what is not at work with it yet is over.
    pub fn forget(&mut self, key: &ObjectKey) {
        match self.entries.get(key).map(|entry| entry.state) {
            None => {}
            Some(State::InFlight { .. }) => {
                self.drop_content(key);
                self.put(key, State::InFlight { again_ms: None });
            }
            Some(_) => self.remove(key),
        }
    }

    /// A list shows the object: it is due where its mark says so, by `until_ms`.
    pub fn resolve(&mut self, key: &ObjectKey, until_ms: u64, now_ms: u64) {
        if let Some(mark) = self.marks.take(key, until_ms) {
            match self.entries.contains_key(key) {
                true => self.request(key, None, now_ms),
                false => self.admit(key, None, mark, now_ms),
            }
        }
    }

    /// A list that began at `began_ms`, to resolve marks by `until_ms`, has shown every object.
    pub fn listed(&mut self, began_ms: u64, until_ms: u64) {
        self.marks.listed(began_ms, until_ms);
    }

    /// When a list is needed to find what has a mark, ms.
    pub fn marks_due_ms(&self) -> Option<u64> {
        self.marks.first_due_ms()
    }

    /// By when marks are to be resolved by a list that begins now. Where more is due than can be done, what is due first has
    /// its turn first, in lots: a list shows objects by their names, and waits where there is no room.
    pub fn resolve_until_ms(&self, now_ms: u64) -> u64 {
        let entries = self.limits.entries;
        self.marks.until_ms(now_ms, LOT * entries, entries / 2)
    }

    /// The next object for a worker.
    pub fn take(&mut self) -> Option<Taken> {
        let key = self.ready.pop_front()?;
        let content = self.drop_content(&key);
        self.put(&key, State::InFlight { again_ms: None });
        self.in_flight += 1;
        Some(Taken { key, content })
    }

    /// A worker is done with the object.
    pub(super) fn finish(&mut self, key: &ObjectKey, next: Next, now_ms: u64) {
        let Some(entry) = self.entries.get_mut(key) else {
            return;
        };
        let State::InFlight { again_ms } = entry.state else {
            return;
        };
        self.in_flight -= 1;
        entry.failures = match next {
            Next::BackOff => entry.failures.saturating_add(1),
            Next::Never | Next::After(_) => 0,
        };
        let failures = entry.failures;
        let after_ms = match next {
            Next::Never => None,
            Next::After(after) => Some(now_ms.saturating_add(millis(after))),
            Next::BackOff => Some(now_ms + self.pause_ms(key, failures)),
        };
        let state = match (again_ms, after_ms) {
            (None, None) => return self.remove(key),
            (Some(again_ms), after_ms) if after_ms.is_none_or(|after_ms| again_ms <= after_ms) => {
                State::Debounced { due_ms: again_ms }
            }
            (_, Some(due_ms)) => State::Requeued { due_ms },
            (Some(due_ms), None) => State::Debounced { due_ms },
        };
        self.put(key, State::Ready);
        self.set_from_rest(key, state, now_ms);
    }

    /// When something is due next, ms: without what has a mark only.
    pub fn next_due_ms(&self) -> Option<u64> {
        self.timers.first().map(|(due_ms, _)| *due_ms)
    }

    /// What is due becomes ready.
    pub fn wake(&mut self, now_ms: u64) {
        while let Some((due_ms, _)) = self.timers.first()
            && *due_ms <= now_ms
            && let Some((_, key)) = self.timers.pop_first()
        {
            self.put(&key, State::Ready);
            self.ready.push_back(key);
        }
    }

    /// An object without an entry is due: it gets one, or keeps a mark.
    fn admit(&mut self, key: &ObjectKey, content: Option<Content>, mark: Mark, now_ms: u64) {
        if self.entries.len() >= self.limits.entries && !self.evict_after(mark.due_ms(), now_ms) {
            return self.mark(key, mark, now_ms);
        }
        let entry = Entry {
            state: State::InFlight { again_ms: None },
            content: None,
            failures: mark.failures(),
        };
        self.entries.insert(key.clone(), entry);
        if let Some(content) = content {
            self.hold(key, content);
        }
        let due_ms = mark.due_ms();
        self.set_from_rest(key, State::Debounced { due_ms }, now_ms);
    }

    /// The entry that waits longest, and longer than until `due_ms`, becomes a mark. False where there is none.
    fn evict_after(&mut self, due_ms: u64, now_ms: u64) -> bool {
        let Some((latest_ms, key)) = self.timers.last().cloned() else {
            return false;
        };
        if latest_ms <= due_ms {
            return false;
        }
        let failures = self.entries.get(&key).map_or(0, |entry| entry.failures);
        self.remove(&key);
        self.mark(&key, Mark::new(latest_ms, failures), now_ms);
        true
    }

    /// A list that runs has shown the object already, perhaps: the mark is due after its begin, so that it outlives that.
    fn mark(&mut self, key: &ObjectKey, mark: Mark, now_ms: u64) {
        let due_ms = mark.due_ms().max(now_ms);
        self.marks.add(key, Mark::new(due_ms, mark.failures()));
    }

    /// Moves an entry from the state that it has, to which timers may belong.
    fn set(&mut self, key: &ObjectKey, state: State, now_ms: u64) {
        match self.entries.get(key).map(|entry| entry.state) {
            Some(State::Requeued { due_ms } | State::Debounced { due_ms }) => {
                self.timers.remove(&(due_ms, key.clone()));
                self.set_from_rest(key, state, now_ms);
            }
            Some(State::Ready | State::InFlight { .. }) => self.put(key, state),
            None => {}
        }
    }

    /// Gives an entry that is in no list its state, and its place in one.
    fn set_from_rest(&mut self, key: &ObjectKey, state: State, now_ms: u64) {
        match state {
            State::Requeued { due_ms } | State::Debounced { due_ms } if due_ms > now_ms => {
                self.put(key, state);
                self.timers.insert((due_ms, key.clone()));
            }
            _ => {
                self.put(key, State::Ready);
                self.ready.push_back(key.clone());
            }
        }
    }

    fn put(&mut self, key: &ObjectKey, state: State) {
        if let Some(entry) = self.entries.get_mut(key) {
            entry.state = state;
        }
    }

    fn hold(&mut self, key: &ObjectKey, content: Content) {
        self.drop_content(key);
        let bytes = content.bytes();
        if self.held_bytes + bytes <= self.limits.held_bytes
            && let Some(entry) = self.entries.get_mut(key)
        {
            self.held_bytes += bytes;
            entry.content = Some(content);
        }
    }

    fn drop_content(&mut self, key: &ObjectKey) -> Option<Content> {
        let content = self.entries.get_mut(key)?.content.take()?;
        self.held_bytes -= content.bytes();
        Some(content)
    }

    fn remove(&mut self, key: &ObjectKey) {
        self.drop_content(key);
        let Slot::Occupied(entry) = self.entries.entry(key.clone()) else {
            return;
        };
        let state = entry.remove().state;
        match state {
            State::Requeued { due_ms } | State::Debounced { due_ms } => {
                self.timers.remove(&(due_ms, key.clone()));
            }
            State::Ready => self.ready.retain(|other| other != key),
            State::InFlight { .. } => {}
        }
        if self.entries.is_empty() {
            (self.entries, self.ready) = Default::default();
        }
    }

    /// The pause after so many failures in a row; a quarter of it is by chance, from the key and the seed.
    fn pause_ms(&self, key: &ObjectKey, failures: u8) -> u64 {
        let doubled = BACK_OFF_MS.0 << failures.saturating_sub(1).min(20);
        let pause_ms = doubled.min(BACK_OFF_MS.1);
        let chance = hash64(key.as_str().as_bytes()) ^ self.seed ^ u64::from(failures);
        pause_ms - pause_ms / 4 * (chance.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) / 256
    }
}

#[cfg(test)]
mod tests;
