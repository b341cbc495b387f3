//! When Deployments become ready: one ordered schedule for all of them.
//!
//! Leaves to others: the status write itself ([`crate::controllers`]).

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
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
}

impl Schedule {
    pub(crate) fn add(&self, delay: Duration, at: Location) {
        let mut due = self.due.lock().unwrap_or_else(PoisonError::into_inner);
        due.next += 1;
        let number = due.next;
        due.entries.insert((Instant::now() + delay, number), at);
    }

    pub(crate) fn next_due(&self) -> Option<Instant> {
        let due = self.due.lock().unwrap_or_else(PoisonError::into_inner);
        due.entries.first_key_value().map(|((at, _), _)| *at)
    }

    /// The first Deployment whose time has come; it leaves the schedule.
    pub(crate) fn take_due(&self) -> Option<Location> {
        let mut due = self.due.lock().unwrap_or_else(PoisonError::into_inner);
        let first = due.entries.first_entry()?;
        (first.key().0 <= Instant::now()).then(|| first.remove())
    }
}
