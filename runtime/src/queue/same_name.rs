//! Owners of one name, one after the other: the watch of the owners may show an earlier one after children of the next.
//!
//! Guarantees: the end of an owner ends no entry that the children of another one of its name have made. Where that is
//! not known, the owner is read. Leaves to others: what arrives while a worker has the owner (`arrivals`).

use crate::model::{ObjectKey, Triggers, Uid};
use crate::queue::entry::State;
use crate::queue::{Admission, Queue};

impl Queue {
    /// The owner was deleted at `resource_version`.
    pub(super) fn owner_gone(&mut self, key: &ObjectKey, uid: Uid, resource_version: u64) {
        let Some(entry) = self.entries.get(key) else {
            return;
        };
        if entry.state == State::InFlight {
            self.entries.change_arrivals(key, |arrivals| {
                arrivals.on_owner_gone(uid, resource_version)
            });
        } else if entry.owner.object.uid == uid {
            self.entries.remove(key);
        }
    }

    /// An owner with work, where the entry is of children of another one of this name, or of nobody known: this may be
    /// the earlier of the two, shown late.
    pub(super) fn admit_beside_children(
        &mut self,
        key: &ObjectKey,
        triggers: Triggers,
    ) -> Admission {
        self.entries.change_owner(key, |owner| {
            if owner.object.uid != Uid::default() {
                owner.doubt();
            }
            owner.work.request(triggers);
        });
        match triggers.is_empty() {
            true => Admission::Accepted,
            false => self.entries.enqueue(key),
        }
    }
}
