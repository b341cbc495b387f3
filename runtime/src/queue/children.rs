//! Changes of children: they update the entry of their owner, or may be work for an idle owner.
//!
//! Guarantees: changes that arrive while a worker has the owner are kept, one for each child. Changes of an
//! idle owner are merged for a while. A key that backs off stays where it is unless something relevant
//! changed. Leaves to others: what a change of a child means to an idle owner (`cache`).

use crate::model::{ChildEvent, ObjectKey, OwnerState, Triggers, Uid};
use crate::queue::admission::pool;
use crate::queue::{Admission, Queue, State};

impl Queue {
    /// Whether the owner `key` has no entry, or one in which only changes of its children are merged.
    pub fn is_idle(&self, key: &ObjectKey) -> bool {
        self.entries.get(key).is_none_or(|entry| {
            matches!(entry.state, State::Delayed { .. })
                && entry.owner.triggers.has(Triggers::CHILD)
                && entry.owner.attempts == 0
        })
    }

    /// A change of a child is work for an idle owner; further changes are merged for a while.
    pub fn admit_idle(&mut self, key: &ObjectKey, owner: OwnerState, now_ms: u64) -> Admission {
        let admission = match self.entries.get_mut(key) {
            None => {
                let due_ms = now_ms + self.limits.merge_ms;
                self.insert(key, owner, State::Delayed { due_ms })
            }
            Some(entry) => {
                let pool = pool(entry.state, &mut self.queued_bytes, &mut self.waiting_bytes);
                *pool -= entry.owner.spec_bytes();
                entry.owner.merge(owner);
                *pool += entry.owner.spec_bytes();
                Admission::Accepted
            }
        };
        self.drop_specs(key);
        admission
    }

    /// A kind of child was listed and its watch begins at that list: what changed before comes as no event.
    /// The relist compares the owners as they were at `owners_version`. Owners that were written or shown
    /// since then, and those that a worker has, have their children read.
    pub fn relisted(&mut self, owners_version: u64) {
        let recheck = Triggers::CHECK.with(Triggers::READ);
        let mut waiting = Vec::new();
        for (key, entry) in &mut self.entries {
            if entry.state == State::InFlight {
                entry.must_recheck = true;
            } else if entry.owner.own_version.max(entry.owner.resource_version) > owners_version {
                entry.owner.triggers = entry.owner.triggers.with(recheck);
                if matches!(entry.state, State::Awaiting { .. }) {
                    waiting.push(key.clone());
                }
            }
        }
        for key in waiting {
            self.enqueue(&key);
        }
    }

    /// A child of the owner `key`, which has an entry, changed.
    pub fn admit_child(&mut self, key: &ObjectKey, event: ChildEvent) -> Admission {
        let Some(entry) = self.entries.get_mut(key) else {
            return Admission::Idle;
        };
        let of_another = event
            .owner_uid
            .is_some_and(|uid| uid != entry.owner.uid && entry.owner.uid != Uid::default());
        if of_another && !event.deleted {
            return Admission::Idle;
        }
        match entry.state {
            State::InFlight => {
                let record = entry
                    .child_events
                    .iter_mut()
                    .find(|n| (n.kind, n.name_hash) == (event.kind, event.name_hash));
                match record {
                    Some(known) if known.resource_version < event.resource_version => {
                        *known = event
                    }
                    Some(_) => {}
                    None => entry.child_events.push(event),
                }
                Admission::Accepted
            }
            State::Delayed { .. } | State::Queued => {
                let triggers = entry.owner.on_event(&event);
                // A key that backs off stays where it is, unless a child was deleted or progressed.
                let moved = event.deleted || triggers.has(Triggers::STATUS);
                entry.owner.triggers = entry.owner.triggers.with(triggers);
                if entry.owner.attempts > 0 && moved {
                    entry.owner.attempts = 0;
                    return self.enqueue(key);
                }
                Admission::Accepted
            }
            State::Awaiting { .. } => {
                let triggers = entry.owner.on_event(&event);
                entry.owner.triggers = entry.owner.triggers.with(triggers);
                self.requeue_or_settle(key)
            }
        }
    }
}
