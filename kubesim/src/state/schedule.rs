//! When objects become ready: one ordered schedule for all of them, and the Deployments whose pods fail for a while.
//!
//! Leaves to others: the status write itself ([`crate::controllers`]).

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::store::Location;

/// Status writes that are due at some time.
#[derive(Default)]
pub(crate) struct Schedule {
    due: Mutex<Due>,
}

#[derive(Default)]
struct Due {
    next: u64,
    /// The number keeps what is due at one time in order.
    entries: BTreeMap<(Instant, u64), Location>,
    /// Until when the pods of a Deployment fail.
    failing: HashMap<Location, Instant>,
    /// Nothing is due any more.
    is_stopped: bool,
}

impl Schedule {
    pub(crate) fn add(&self, delay: Duration, at: Location) {
        self.lock().add(Instant::now() + delay, at);
    }

    /// The pods of this Deployment fail from now on, for so long: its status is due now and then.
    pub(crate) fn fail(&self, lasts: Duration, at: Location) {
        let (mut due, now) = (self.lock(), Instant::now());
        let until = due.failing.entry(at.clone()).or_insert(now);
        *until = (now + lasts).max(*until);
        let until = *until;
        due.add(now, at.clone());
        due.add(until, at);
    }

    /// Nothing is due from now on.
    pub(crate) fn stop(&self) {
        let mut due = self.lock();
        due.is_stopped = true;
        due.entries.clear();
    }

    /// Whether the pods of this Deployment fail now.
    pub(crate) fn is_failing(&self, at: &Location) -> bool {
        let mut due = self.lock();
        let is_failing = due
            .failing
            .get(at)
            .is_some_and(|until| *until > Instant::now());
        if !is_failing {
            due.failing.remove(at);
        }
        is_failing
    }

    pub(crate) fn next_due(&self) -> Option<Instant> {
        self.lock()
            .entries
            .first_key_value()
            .map(|((at, _), _)| *at)
    }

    /// The first object whose time has come; it leaves the schedule.
    pub(crate) fn take_due(&self) -> Option<Location> {
        let mut due = self.lock();
        let first = due.entries.first_entry()?;
        (first.key().0 <= Instant::now()).then(|| first.remove())
    }

    fn lock(&self) -> MutexGuard<'_, Due> {
        self.due.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Due {
    fn add(&mut self, at: Instant, of: Location) {
        if self.is_stopped {
            return;
        }
        self.next += 1;
        self.entries.insert((at, self.next), of);
    }
}
