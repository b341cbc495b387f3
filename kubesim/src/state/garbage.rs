//! The queue of the garbage collector.
//!
//! Leaves to others: what a task does ([`crate::controllers`]).

use std::collections::{HashSet, VecDeque};
use std::sync::{Mutex, PoisonError};

use crate::model::record::Record;
use crate::state::Inner;
use crate::store::Location;

/// One piece of work.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Task {
    /// Some owner of this object may be gone.
    Check(Location),
    /// This object is being deleted: foreground deletion, orphaning or emptying may be due.
    Deleting(Location),
}

/// The collector's queue; a task is in it once.
#[derive(Default)]
pub(crate) struct Garbage {
    queue: Mutex<Queue>,
}

#[derive(Default)]
struct Queue {
    order: VecDeque<Task>,
    known: HashSet<Task>,
}

impl Garbage {
    pub(crate) fn check(&self, at: Location) {
        self.push(Task::Check(at));
    }

    pub(crate) fn deleting(&self, at: Location) {
        self.push(Task::Deleting(at));
    }

    /// An object is gone: its dependents, its owners and its namespace may have work.
    pub(crate) fn gone(&self, inner: &Inner, record: &Record) {
        let (children, owners) = {
            let state = inner.store.lock();
            let owners: Vec<Location> = record
                .owners
                .iter()
                .filter_map(|o| state.locate(*o).cloned())
                .collect();
            (state.children(record.uid), owners)
        };
        for child in children {
            self.check(child);
        }
        for owner in owners {
            self.deleting(owner);
        }
        if !record.namespace().is_empty()
            && let Some(namespaces) = inner.served("", "namespaces")
        {
            self.deleting((namespaces.table, record.namespace().into()));
        }
    }

    fn push(&self, task: Task) {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        if queue.known.insert(task.clone()) {
            queue.order.push_back(task);
        }
    }

    /// The next task, which leaves the queue.
    pub(crate) fn next(&self) -> Option<Task> {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let task = queue.order.pop_front()?;
        queue.known.remove(&task);
        Some(task)
    }
}
