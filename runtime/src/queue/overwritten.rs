//! The status of an owner that another client has written: a second replica without leader election, or somebody by hand.
//!
//! Guarantees: what the watch of the owners shows and we have not written is compared with the plan within a second. Where
//! the other client writes again each time, the pause before the next comparison doubles, up to about four minutes;
//! anything else that happens to the owner ends it. Our own writes are known by their resourceVersions.
//! Leaves to others: comparing and writing (`reconcile`), what a cache knows of a status (`cache`).

use crate::model::{ObjectKey, OwnerState, Triggers, Uid};
use crate::queue::entry::State;
use crate::queue::{Admission, Queue};

/// A pause doubles as often at most: from one second to 256.
const DOUBLINGS: u8 = 8;

impl Queue {
    /// An owner as its watch shows it. `is_known`: its status is the one that the cache knows.
    pub(super) fn admit_watched(
        &mut self,
        key: &ObjectKey,
        shown: OwnerState,
        is_known: bool,
        now_ms: u64,
    ) -> Admission {
        let is_own = self.entries.unshown.shows(shown.object.resource_version);
        let (has_entry, differs) = match self.entries.get(key) {
            // It is compared when the worker returns it.
            Some(entry) if entry.state == State::InFlight => (true, false),
            Some(entry) => {
                let is_same = entry.owner.object.uid == shown.object.uid
                    || entry.owner.object.uid == Uid::default();
                (
                    true,
                    is_same && entry.owner.object.may_be_overwritten(&shown.object),
                )
            }
            None => (false, !is_known && !is_own),
        };
        let has_work =
            shown.object.deleting || !shown.object.own_triggers(self.finalizer).is_empty();
        if !differs || has_work {
            return self.admit_owner(key, shown, Triggers::default());
        }
        match has_entry {
            true => self.overwrite(key, shown, now_ms),
            false => self.insert_overwritten(key, shown, now_ms),
        }
    }

    fn insert_overwritten(&mut self, key: &ObjectKey, shown: OwnerState, now_ms: u64) -> Admission {
        let mut owner = shown;
        owner.work.triggers = Triggers::CHECK;
        let due_ms = now_ms + pause_ms(&mut owner, self.limits.merge_ms);
        let admission = self.entries.insert(key, owner, State::Delayed { due_ms });
        self.entries.drop_specs(key);
        admission
    }

    fn overwrite(&mut self, key: &ObjectKey, shown: OwnerState, now_ms: u64) -> Admission {
        self.entries.change_owner(key, |owner| {
            owner.work.request(shown.object.comparison());
            owner.refresh(shown.object);
        });
        let Some(entry) = self.entries.get_mut(key) else {
            return Admission::Idle;
        };
        if matches!(entry.state, State::Awaiting { .. }) {
            let due_ms = now_ms + pause_ms(&mut entry.owner, self.limits.merge_ms);
            self.entries.delay(key, due_ms);
        }
        self.entries.drop_specs(key);
        Admission::Accepted
    }
}

/// Another client has written the status once more: how long the owner waits before it is compared, ms.
pub(super) fn pause_ms(owner: &mut OwnerState, merge_ms: u64) -> u64 {
    let doublings = owner.work.overwritten.min(DOUBLINGS);
    owner.work.overwritten = owner.work.overwritten.saturating_add(1);
    merge_ms << doublings
}
