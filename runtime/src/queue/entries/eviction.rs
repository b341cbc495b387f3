//! What leaves the queue, or is dropped there, so that its bounds hold.
//!
//! Guarantees: what leaves with its work is told, so that a relist is requested. Leaves to others: the bounds (`limits`).

use crate::model::{ObjectKey, OwnerState, Triggers};
use crate::queue::entries::Entries;
use crate::queue::entry::State;

impl Entries {
    /// Evicts the entry that is due last. One that waits for its children comes back when a watch shows that they
    /// changed. The work of any other needs a relist.
    pub(in crate::queue) fn evict(&mut self) -> bool {
        let Some((_, key)) = self.timers.last().cloned() else {
            return false;
        };
        if let Some(entry) = self.by_key.get(&key)
            && matches!(entry.state, State::Delayed { .. })
        {
            let owner = &entry.owner;
            let own = Triggers::OWN.with(Triggers::REFRESH);
            let beside = owner.work.triggers.without(own);
            let by_itself = beside.is_empty()
                && !owner.children.are_pending()
                && !owner.object.own_triggers(self.finalizer).is_empty();
            match (owner.work.attempts, by_itself) {
                (0, _) => self.evicted.work = true,
                (_, true) => self.evicted.failing_owners = true,
                (_, false) => self.evicted.failing_children = true,
            }
            self.remove(&key);
        } else {
            self.end_wait(&key);
        }
        true
    }

    /// Removes an entry that waits for its children.
    pub(in crate::queue) fn end_wait(&mut self, key: &ObjectKey) {
        self.evicted.waiting = true;
        if let Some(entry) = self.by_key.get(key) {
            let version = entry.owner.object.own_version;
            self.unshown.insert(version, self.limits.entries);
        }
        self.remove(key);
    }

    /// Drops what an owner that waits holds when the bound of those like it is exceeded. One that waits for a worker
    /// keeps its spec, of which one is admitted always.
    pub(in crate::queue) fn drop_specs(&mut self, key: &ObjectKey) {
        let Some(entry) = self.by_key.get_mut(key) else {
            return;
        };
        let (pool, bound, drop): (_, _, fn(&mut OwnerState)) = match entry.state {
            State::InFlight => return,
            State::Queued => (&mut self.queued_bytes, self.limits.spec_bytes, |owner| {
                owner.children.release()
            }),
            State::Delayed { .. } | State::Awaiting { .. } => (
                &mut self.waiting_bytes,
                self.limits.waiting_spec_bytes,
                OwnerState::drop_bodies,
            ),
        };
        if *pool > bound {
            *pool -= entry.owner.spec_bytes();
            drop(&mut entry.owner);
            *pool += entry.owner.spec_bytes();
        }
    }
}
