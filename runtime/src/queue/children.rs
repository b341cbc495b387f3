//! Changes of children: to an owner with an entry they are news, to one at rest they may be work.
//!
//! Guarantees: changes that come while a worker has the owner are kept, one for each child; those of
//! an owner at rest merge for a while; a key that backs off is not hurried by what changes nothing.
//! Leaves to others: what a change asks for of an owner at rest (`cache`).

use std::sync::Arc;

use crate::queue::admission::pool;
use crate::queue::{Admission, ChildEvent, OwnerState, Queue, State, Triggers, Uid};

impl Queue {
    /// Whether the owner `key` has no entry, or only one in which changes of its children merge.
    pub fn is_idle(&self, key: &str) -> bool {
        self.entries.get(key).is_none_or(|entry| {
            matches!(entry.state, State::Delayed { .. })
                && entry.owner.triggers.has(Triggers::CHILD)
                && entry.owner.attempts == 0
        })
    }

    /// A change of a child asks for work on an owner at rest; more of them merge for a while.
    pub fn admit_idle(&mut self, key: &str, owner: OwnerState, now_ms: u64) -> Admission {
        let admission = match self.entries.get_mut(key) {
            None => {
                let due_ms = now_ms + self.limits.merge_ms;
                self.insert(key, owner, State::Delayed { due_ms })
            }
            Some(entry) => {
                let pool = pool(entry.state, &mut self.queued_bytes, &mut self.waiting_bytes);
                *pool -= entry.owner.spec_bytes();
                entry.owner.merge_snapshots(owner);
                *pool += entry.owner.spec_bytes();
                Admission::Accepted
            }
        };
        self.drop_specs(key);
        admission
    }

    /// A kind of child was listed, and its watch begins at that list: what changed before it comes as
    /// no event. A join compares the owners as they were at `owners_version`; those that were
    /// written or seen since then, and those at work, have their children read.
    pub fn relisted(&mut self, owners_version: u64) {
        let doubt = Triggers::CHECK.with(Triggers::READ);
        let mut must_recheck = Vec::new();
        for (key, entry) in &mut self.entries {
            if entry.state == State::InFlight {
                entry.must_recheck = true;
            } else if entry.owner.own_version.max(entry.owner.resource_version) > owners_version {
                entry.owner.triggers = entry.owner.triggers.with(doubt);
                if matches!(entry.state, State::Awaiting { .. }) {
                    must_recheck.push(Arc::clone(key));
                }
            }
        }
        for key in must_recheck {
            self.enqueue(&key);
        }
    }

    /// A child of the owner `key`, which has an entry, changed.
    pub fn admit_child(&mut self, key: &str, event: ChildEvent) -> Admission {
        let Some(entry) = self.entries.get_mut(key) else {
            return Admission::Idle;
        };
        let stranger = event
            .owner_uid
            .is_some_and(|uid| uid != entry.owner.uid && entry.owner.uid != Uid::default());
        if stranger && !event.deleted {
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
                // A key that backs off stays where it is, unless the world moved under its feet.
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
