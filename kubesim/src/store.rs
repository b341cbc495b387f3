//! The objects and their history, behind one lock that is held for map operations only.
//!
//! Guarantees: one revision counter for everything; a commit, its history entry and its notice to
//! the watches are one step; keys are ordered as bytes of `namespace/name`. History is bounded in
//! events and in bytes over all resources together, the oldest goes first.
//! Leaves to others: what may be written (`api`), and what a write leads to (`controllers`).

mod backup;

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::model::kind::Kind;
use crate::model::record::{Draft, Record, Uid};
use crate::signal::{Changes, Signal};
pub use crate::store::backup::Backup;

/// Index of a resource; never used again after the resource is gone.
pub(crate) type TableId = usize;

/// Where an object is kept: its table and its key there.
pub(crate) type Location = (TableId, Arc<str>);

/// What a commit did to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    Added,
    Modified,
    Deleted,
}

/// One entry of the history.
#[derive(Debug)]
pub(crate) struct Event {
    pub(crate) change: Change,
    /// For a deletion the last state, at the deletion's revision.
    pub(crate) record: Arc<Record>,
    pub(crate) previous: Option<Arc<Record>>,
}

/// What must hold of the stored object for a commit to go through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expect {
    Absent,
    Revision(u64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CommitError {
    Exists,
    /// Another write came first, or the object is gone.
    Stale,
    /// The resource itself is gone.
    NoTable,
}

pub(crate) struct Table {
    pub(crate) kind: Arc<Kind>,
    pub(crate) objects: BTreeMap<Arc<str>, Arc<Record>>,
    history: VecDeque<Arc<Event>>,
    /// Events up to here are forgotten.
    forgotten: u64,
    /// The last revision of this table; closed when the resource goes.
    changed: Signal,
}

impl Table {
    /// Whether everything after `revision` is still known.
    pub(crate) fn remembers(&self, revision: u64) -> bool {
        revision >= self.forgotten
    }

    /// Events after `revision`, oldest first.
    pub(crate) fn since(&self, revision: u64) -> impl DoubleEndedIterator<Item = &Arc<Event>> {
        let start = self
            .history
            .partition_point(|event| event.record.revision <= revision);
        self.history.range(start..)
    }

    /// How many events there are after `revision`.
    pub(crate) fn behind(&self, revision: u64) -> usize {
        let start = self
            .history
            .partition_point(|event| event.record.revision <= revision);
        self.history.len() - start
    }
}

pub(crate) struct State {
    pub(crate) revision: u64,
    /// No watch or list can start before this revision.
    pub(crate) compacted: u64,
    tables: Vec<Option<Table>>,
    /// The table of each event in the history, the oldest first.
    order: VecDeque<TableId>,
    history_bytes: usize,
    max_events: usize,
    max_bytes: usize,
    uids: HashMap<Uid, Location>,
    children: HashMap<Uid, BTreeSet<Location>>,
}

impl State {
    pub(crate) fn table(&self, id: TableId) -> Option<&Table> {
        self.tables.get(id)?.as_ref()
    }

    pub(crate) fn tables(&self) -> impl Iterator<Item = (TableId, &Table)> {
        self.tables
            .iter()
            .enumerate()
            .filter_map(|(id, table)| Some((id, table.as_ref()?)))
    }

    pub(crate) fn children(&self, owner: Uid) -> Vec<Location> {
        self.children
            .get(&owner)
            .map(|set| set.iter().cloned().collect())
            .unwrap_or_default()
    }

    pub(crate) fn locate(&self, uid: Uid) -> Option<&Location> {
        self.uids.get(&uid)
    }

    fn index(&mut self, id: TableId, key: &Arc<str>, record: &Record) {
        self.uids.insert(record.uid, (id, key.clone()));
        for owner in &record.owners {
            self.children
                .entry(*owner)
                .or_default()
                .insert((id, key.clone()));
        }
    }

    fn unindex(&mut self, id: TableId, key: &Arc<str>, record: &Record) {
        for owner in &record.owners {
            if let Some(set) = self.children.get_mut(owner) {
                set.remove(&(id, key.clone()));
                if set.is_empty() {
                    self.children.remove(owner);
                }
            }
        }
        self.uids.remove(&record.uid);
    }

    fn remember(&mut self, id: TableId, event: Arc<Event>) {
        self.history_bytes += event.record.weight();
        if let Some(table) = self.tables.get_mut(id).and_then(Option::as_mut) {
            table.history.push_back(event);
            table.changed.send();
        }
        self.order.push_back(id);
        while self.order.len() > self.max_events || self.history_bytes > self.max_bytes {
            if !self.forget_oldest() {
                break;
            }
        }
    }

    fn forget_oldest(&mut self) -> bool {
        let Some(id) = self.order.pop_front() else {
            return false;
        };
        if let Some(table) = self.tables.get_mut(id).and_then(Option::as_mut)
            && let Some(event) = table.history.pop_front()
        {
            table.forgotten = table.forgotten.max(event.record.revision);
            self.history_bytes = self.history_bytes.saturating_sub(event.record.weight());
        }
        true
    }
}

pub(crate) struct Store {
    state: Mutex<State>,
}

impl Store {
    pub(crate) fn new(max_events: usize, max_bytes: usize) -> Store {
        Store {
            state: Mutex::new(State {
                revision: 1,
                compacted: 0,
                tables: Vec::new(),
                order: VecDeque::new(),
                history_bytes: 0,
                max_events,
                max_bytes,
                uids: HashMap::new(),
                children: HashMap::new(),
            }),
        }
    }

    /// Every change under the lock is complete before anything can panic, so a poisoned lock is usable.
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn add_table(&self, kind: Arc<Kind>) -> TableId {
        let mut state = self.lock();
        // As with the watch cache of kube-apiserver: what became of the objects of an earlier resource of this name is
        // not known.
        let forgotten = state.revision;
        state.tables.push(Some(Table {
            kind,
            objects: BTreeMap::new(),
            history: VecDeque::new(),
            forgotten,
            changed: Signal::default(),
        }));
        state.tables.len() - 1
    }

    /// Replaces what is known of a resource (a CRD that was changed); its objects stay.
    pub(crate) fn replace_kind(&self, id: TableId, kind: Arc<Kind>) {
        if let Some(table) = self.lock().tables.get_mut(id).and_then(Option::as_mut) {
            table.kind = kind;
        }
    }

    /// Takes the resource away with all that is in it; its watches end.
    pub(crate) fn remove_table(&self, id: TableId) -> Vec<Arc<Record>> {
        let mut state = self.lock();
        let Some(table) = state.tables.get_mut(id).and_then(Option::take) else {
            return Vec::new();
        };
        for (key, record) in &table.objects {
            state.unindex(id, key, record);
        }
        let freed: usize = table.history.iter().map(|e| e.record.weight()).sum();
        state.history_bytes = state.history_bytes.saturating_sub(freed);
        table.objects.into_values().collect()
    }

    pub(crate) fn get(&self, id: TableId, key: &str) -> Option<Arc<Record>> {
        self.lock().table(id)?.objects.get(key).cloned()
    }

    pub(crate) fn revision(&self) -> u64 {
        self.lock().revision
    }

    /// A receiver of every commit to the table; `None` when the resource is gone.
    pub(crate) fn subscribe(&self, id: TableId) -> Option<Changes> {
        Some(self.lock().table(id)?.changed.subscribe())
    }

    /// Writes an object.
    pub(crate) fn put(
        &self,
        id: TableId,
        expect: Expect,
        draft: Draft,
    ) -> Result<Arc<Record>, CommitError> {
        let mut state = self.lock();
        let key = draft.key.clone();
        let previous = state.check(id, &key, expect)?;
        state.revision += 1;
        let record = Arc::new(draft.seal(state.revision));
        if let Some(previous) = &previous {
            state.unindex(id, &key, previous);
        }
        state.index(id, &key, &record);
        if let Some(table) = state.tables.get_mut(id).and_then(Option::as_mut) {
            table.objects.insert(key, record.clone());
        }
        let change = if previous.is_some() {
            Change::Modified
        } else {
            Change::Added
        };
        let event = Event {
            change,
            record: record.clone(),
            previous,
        };
        state.remember(id, Arc::new(event));
        Ok(record)
    }

    /// Removes an object; the answer is its last state at the deletion's revision.
    pub(crate) fn remove(
        &self,
        id: TableId,
        key: &str,
        expect: Expect,
    ) -> Result<Arc<Record>, CommitError> {
        let mut state = self.lock();
        let key: Arc<str> = key.into();
        let Some(previous) = state.check(id, &key, expect)? else {
            return Err(CommitError::Stale);
        };
        state.revision += 1;
        let record = Arc::new(previous.deleted_at(state.revision));
        state.unindex(id, &key, &previous);
        if let Some(table) = state.tables.get_mut(id).and_then(Option::as_mut) {
            table.objects.remove(&key);
        }
        let event = Event {
            change: Change::Deleted,
            record: record.clone(),
            previous: Some(previous),
        };
        state.remember(id, Arc::new(event));
        Ok(record)
    }

    /// Forgets all history up to now.
    pub(crate) fn compact(&self) {
        let mut state = self.lock();
        while state.forget_oldest() {}
        let now = state.revision;
        state.compacted = now;
        for table in state.tables.iter_mut().flatten() {
            table.forgotten = now;
        }
    }
}

impl State {
    fn check(
        &self,
        id: TableId,
        key: &str,
        expect: Expect,
    ) -> Result<Option<Arc<Record>>, CommitError> {
        let table = self.table(id).ok_or(CommitError::NoTable)?;
        let current = table.objects.get(key);
        match (expect, current) {
            (Expect::Absent, None) => Ok(None),
            (Expect::Absent, Some(_)) => Err(CommitError::Exists),
            (Expect::Revision(seen), Some(record)) if record.revision == seen => {
                Ok(Some(record.clone()))
            }
            (Expect::Revision(_), _) => Err(CommitError::Stale),
        }
    }
}
