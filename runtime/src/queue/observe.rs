//! The one entrance of the queue: what a watch, a page of a relist, or the clock says of an owner or of its children.
//!
//! Guarantees: whatever the state of the entry is, the newest that was said of the owner and of each child is in the entry,
//! or the caller is told to request a relist.
//! Leaves to others: how a newer state of an owner counts (`owner`), what is read and written
//! then (`reconcile`).

use crate::model::{Change, ChildEvent, Content, ObjectKey, OwnerState, Triggers, Uid};
use crate::queue::entry::State;
use crate::queue::{Admission, Queue};

/// What is said of an owner or of one of its children.
pub enum Observation<'a> {
    /// The watch of the owners shows it. `is_known`: its status is the one that the cache knows.
    Owner {
        /// The owner.
        shown: OwnerState,
        /// Whether its status is the one that the cache knows.
        is_known: bool,
    },
    /// The watch of the owners shows that the one with this uid was deleted at this resourceVersion.
    OwnerGone {
        /// Its identity.
        uid: Uid,
        /// When.
        resource_version: u64,
    },
    /// The watch of a kind of child shows a change.
    Child {
        /// The change.
        event: ChildEvent,
        /// The work that it is for an idle owner; `None` where the cache knows that it is none.
        idle: Option<OwnerState>,
        /// What becomes of its content where the child is to be looked at.
        hold: &'a dyn Fn() -> Content,
    },
    /// A relist shows the owner.
    Page {
        /// The owner.
        shown: OwnerState,
        /// Triggers that do not show on the owner itself.
        beyond: Triggers,
    },
    /// A relist shows the owner as it was before its work was done.
    PastPage {
        /// The owner, with its children.
        shown: OwnerState,
        /// The resourceVersions of the first pages, by index of the kind.
        revisions: &'a [u64],
    },
    /// Its plan asked for it, or an event could not be decoded: it is read and compared.
    Due {
        /// Identity of the owner.
        uid: Uid,
        /// Triggers beside a comparison of the children.
        triggers: Triggers,
    },
}

impl Queue {
    /// Takes over what was said. What it means in each state of the entry:
    ///
    /// | | no entry | queued | in flight | merging | backs off | yields | awaits |
    /// |---|---|---|---|---|---|---|---|
    /// | the owner, as known | nothing | nothing | nothing | nothing | nothing | nothing | confirmed |
    /// | the owner, with work | queued | newest kept | kept until it returns | queued | queued if its spec changed | queued | queued |
    /// | the owner, with another status | due in 1 s | newest kept | due after a pause | newest kept | newest kept | newest kept | due after a pause |
    /// | a child's progress | merged for 1 s | status is due | kept until it returns | status is due | queued | status is due | queued |
    /// | a child to look at | merged for 1 s | newest kept | kept until it returns | newest kept | newest kept | newest kept | merged for 1 s |
    /// | a child that is gone | merged for 1 s | newest kept | kept until it returns | newest kept | queued | newest kept | queued |
    /// | a child of another owner of this name | merged for 1 s | both are read | kept until it returns | both are read | both are read | both are read | both are read, merged for 1 s |
    /// | a page with a finding | queued | kept | done again | kept | kept | kept | queued |
    /// | due | queued | compared | done again | compared | compared | compared | queued |
    ///
    /// An entry *merges* where it waits for further changes of the children of an owner that was idle.
    pub fn observe(
        &mut self,
        key: &ObjectKey,
        observation: Observation<'_>,
        now_ms: u64,
    ) -> Admission {
        match observation {
            Observation::Owner { shown, is_known } => {
                self.admit_watched(key, shown, is_known, now_ms)
            }
            Observation::OwnerGone {
                uid,
                resource_version,
            } => {
                self.owner_gone(key, uid, resource_version);
                Admission::Idle
            }
            Observation::Child { event, idle, hold } => {
                self.admit_child(key, event, idle, hold, now_ms)
            }
            Observation::Page { shown, beyond } => self.admit_owner(key, shown, beyond),
            Observation::PastPage { shown, revisions } => self.admit_past(key, &shown, revisions),
            Observation::Due { uid, triggers } => self.admit_due(key, uid, triggers),
        }
    }

    /// Whether the owner `key` has no entry, or one in which only changes of its children are merged.
    pub fn is_idle(&self, key: &ObjectKey) -> bool {
        self.entries.get(key).is_none_or(|entry| entry.is_merging())
    }

    fn admit_child(
        &mut self,
        key: &ObjectKey,
        event: ChildEvent,
        idle: Option<OwnerState>,
        hold: &dyn Fn() -> Content,
        now_ms: u64,
    ) -> Admission {
        let due_ms = now_ms + self.entries.limits.merge_ms;
        let Some(entry) = self.entries.get_mut(key) else {
            let Some(mut owner) = idle else {
                return Admission::Idle;
            };
            owner.observe(event.child, hold);
            let admission = self.entries.insert(key, owner, State::Delayed { due_ms });
            self.entries.drop_specs(key);
            return admission;
        };
        if entry.state == State::InFlight {
            // The worker may have met a new owner of this name: whose child it is shows when it returns.
            if !(mutant!(RecreatedInFlightIgnored) && event.is_of_another(entry.owner.object.uid)) {
                entry.arrivals.on_child(event);
            }
            return Admission::Accepted;
        }
        let is_dropped = match entry.state {
            State::Queued => mutant!(ChildQueuedDropped),
            State::Delayed { .. } => mutant!(ChildDelayedDropped),
            State::Awaiting { .. } => mutant!(ChildAwaitingDropped),
            State::InFlight => false,
        };
        if is_dropped {
            return Admission::Accepted;
        }
        let awaits = matches!(entry.state, State::Awaiting { .. });
        if event.is_of_another(entry.owner.object.uid) {
            if mutant!(RecreatedInFlightIgnored) {
                return Admission::Idle;
            }
            self.entries.change(key, |entry| entry.owner.doubt());
            return match awaits {
                true => self.entries.delay(key, due_ms),
                false => Admission::Accepted,
            };
        }
        let of_idle = idle.filter(|_| entry.is_merging());
        let of_idle = of_idle.map_or(Triggers::default(), |owner| owner.work.triggers);
        let mut change = Change::Nothing;
        self.entries.change(key, |entry| {
            change = entry.owner.observe(event.child, hold);
            entry.owner.work.request(of_idle);
        });
        let admission = self.on_change(key, change, due_ms);
        self.entries.drop_specs(key);
        admission
    }

    /// A child of an owner that waits for something has changed.
    fn on_change(&mut self, key: &ObjectKey, change: Change, due_ms: u64) -> Admission {
        let Some(entry) = self.entries.get_mut(key) else {
            return Admission::Idle;
        };
        match (entry.state, change) {
            (State::Awaiting { .. }, Change::Unclear) => self.entries.delay(key, due_ms),
            (State::Awaiting { .. }, _) => self.requeue_or_settle(key),
            (State::Delayed { .. }, Change::Progress | Change::Gone) if entry.is_failing() => {
                entry.owner.work.attempts = 0;
                self.entries.enqueue(key)
            }
            (State::Delayed { due_ms: at_ms }, change)
                if entry.is_overwritten() && change != Change::Nothing && due_ms < at_ms =>
            {
                self.entries.delay(key, due_ms)
            }
            (State::Delayed { .. } | State::Queued | State::InFlight, _) => Admission::Accepted,
        }
    }
}
