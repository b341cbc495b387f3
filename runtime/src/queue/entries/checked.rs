//! What tests see of the entries. Leaves to others: everything else (`entries`).

use crate::model::ObjectKey;
use crate::queue::entries::Entries;
use crate::queue::entry::State;

impl Entries {
    /// Compares the counters with what the entries hold.
    pub(in crate::queue) fn assert_consistent(&self) {
        let entries = || self.by_key.values();
        let held = entries().map(|e| e.spec_bytes());
        let timed = entries().filter(|e| e.state.timer_ms().is_some());
        assert!(self.by_key.len() <= self.limits.entries);
        assert!(self.waiting_bytes <= self.limits.waiting_spec_bytes);
        assert_eq!(self.spec_bytes(), held.sum::<usize>());
        assert_eq!(self.timers.len(), timed.count());
        let in_flight = entries().filter(|e| e.state == State::InFlight);
        let large = in_flight.map(|e| self.large_share(e.owner.object.large_bytes));
        assert_eq!(self.large_bytes, large.sum::<usize>());
    }

    /// The keys of entries with work.
    pub(in crate::queue) fn with_work(&self) -> Vec<ObjectKey> {
        let entries = self.by_key.iter();
        let work = entries.filter(|(_, entry)| !matches!(entry.state, State::Awaiting { .. }));
        work.map(|(key, _)| key.clone()).collect()
    }
}
