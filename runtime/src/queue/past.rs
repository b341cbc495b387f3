//! What a relist shows of an owner whose work was done since its page: the owner is past, its children may be newer
//! than those that the work has met.
//!
//! Guarantees: a change of a child that only a page shows, because it came while no watch was open, is work also where the
//! page's owner is as its children are. Leaves to others: owners that nobody has written since (`queue`).

use crate::model::{ObjectKey, OwnerState, Triggers, Uid};
use crate::queue::entry::State;
use crate::queue::{Admission, Queue};

impl Queue {
    /// An owner as it was before its work was done, with its children as pages of `revisions` show them. Where its entry
    /// is gone, nobody knows whether the work has met them: they are compared.
    pub(super) fn admit_past(
        &mut self,
        key: &ObjectKey,
        shown: &OwnerState,
        revisions: &[u64],
    ) -> Admission {
        let Some(entry) = self.entries.get_mut(key) else {
            return self.admit_due(key, shown.object.uid, Triggers::default());
        };
        if entry.owner.object.uid != shown.object.uid && entry.owner.object.uid != Uid::default() {
            return Admission::Idle;
        }
        if entry.state == State::InFlight {
            entry.arrivals.request(Triggers::CHILDREN);
            return Admission::Accepted;
        }
        if shown.children.complete {
            self.entries.change_owner(key, |owner| {
                owner.observe_pages(&shown.children, revisions);
            });
        }
        let state = self.entries.get(key).map(|entry| entry.state);
        match state {
            // It failed, or changes are being merged: it stays due at the same time.
            Some(State::Delayed { .. }) => Admission::Accepted,
            _ => self.requeue_or_settle(key),
        }
    }
}
