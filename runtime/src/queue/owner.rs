//! What is said of an owner itself: by its watch, by a page, by its plan.
//!
//! Guarantees: an older state never undoes a newer one. The end of an owner ends no entry that the children of another one
//! of its name have made; where the watch of the owners, which may be behind, does not tell the two apart, the owner is
//! read. A status that another client has written is compared within a second; where that client writes again each time,
//! the pause before the next comparison doubles, up to about four minutes. A change of a child that only a page shows is
//! work also where the page's owner is past.
//! Leaves to others: what is said of a child (`observe`), what arrives while a worker has the owner (`arrivals`), what a
//! cache knows of a status (`cache`).

use crate::model::{ObjectKey, OwnerState, Triggers, Uid};
use crate::queue::entry::{Entry, State};
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
        let own = shown.object.own_triggers(self.entries.finalizer);
        let has_work = shown.object.deleting || !own.is_empty();
        match self.entries.get(key) {
            // What is shown meanwhile is told apart when the worker returns it.
            Some(entry) if entry.state == State::InFlight => {}
            Some(entry) => {
                let known = &entry.owner.object;
                if known.uid == shown.object.uid && known.is_marked_anew(&shown.object) {
                    let comparison = shown.object.comparison();
                    return self.admit_owner(key, shown, comparison);
                }
                let is_same = known.may_be(shown.object.uid);
                if is_same && !has_work && known.may_be_overwritten(&shown.object) {
                    return self.overwrite(key, shown, now_ms);
                }
            }
            None if has_work || is_known || is_own => {}
            None => return self.insert_overwritten(key, shown, now_ms),
        }
        self.admit_owner(key, shown, Triggers::default())
    }

    fn insert_overwritten(&mut self, key: &ObjectKey, shown: OwnerState, now_ms: u64) -> Admission {
        let mut owner = shown;
        owner.work.triggers = Triggers::CHECK;
        let due_ms = now_ms + pause_ms(&mut owner, self.entries.limits.merge_ms);
        let admission = self.entries.insert(key, owner, State::Delayed { due_ms });
        self.entries.drop_specs(key);
        admission
    }

    fn overwrite(&mut self, key: &ObjectKey, shown: OwnerState, now_ms: u64) -> Admission {
        self.entries.change(key, |entry| {
            entry.owner.work.request(shown.object.comparison());
            entry.owner.refresh(shown.object);
        });
        let merge_ms = self.entries.limits.merge_ms;
        if let Some(entry) = self.entries.get_mut(key)
            && matches!(entry.state, State::Awaiting { .. })
        {
            let due_ms = now_ms + pause_ms(&mut entry.owner, merge_ms);
            self.entries.delay(key, due_ms);
        }
        self.entries.drop_specs(key);
        Admission::Accepted
    }

    /// An owner as a watch or a relist shows it. `beyond`: triggers that do not show on the owner itself.
    pub(crate) fn admit_owner(
        &mut self,
        key: &ObjectKey,
        mut shown: OwnerState,
        beyond: Triggers,
    ) -> Admission {
        shown.work.triggers = shown
            .object
            .own_triggers(self.entries.finalizer)
            .with(beyond);
        let Some(entry) = self.entries.get_mut(key) else {
            return self.insert_with_work(key, shown);
        };
        let same = entry.owner.object.may_be(shown.object.uid);
        if entry.state == State::InFlight {
            if shown.object.large_bytes > 0 {
                // The worker has one copy already.
                shown.drop_bodies();
            }
            self.entries
                .change(key, |entry| entry.arrivals.on_owner(shown, beyond, same));
            return Admission::Accepted;
        }
        let newest = entry.owner.object.newest_version();
        if newest == 0 && entry.owner.object.uid != shown.object.uid {
            return self.admit_beside_children(key, shown.work.triggers);
        }
        if !same && shown.object.resource_version < newest {
            // A page from before the owner was created again.
            return Admission::Idle;
        }
        if !same {
            self.entries.remove(key);
            return self.insert_with_work(key, shown);
        }
        if shown.object.resource_version > newest {
            return self.admit_newer(key, shown, beyond);
        }
        // The entry knows a newer owner than the page does, but not what the page says of its children.
        let found = match shown.object.resource_version < newest {
            true if mutant!(FindingOfOlderPageDropped) => Triggers::default(),
            true => beyond.only(Triggers::CHILDREN),
            false => beyond,
        };
        if found.is_empty() {
            self.settle(key);
            return Admission::Idle;
        }
        entry.owner.work.request(found);
        self.go_on(key)
    }

    /// There is more to do for an owner that no worker has.
    fn go_on(&mut self, key: &ObjectKey) -> Admission {
        let waits = |entry: &Entry| matches!(entry.state, State::Delayed { .. });
        match self.entries.get(key) {
            // It failed, or changes are being merged: it stays due at the same time.
            Some(entry) if waits(entry) && !entry.is_overwritten() => Admission::Accepted,
            _ => self.entries.enqueue(key),
        }
    }

    pub(super) fn insert_with_work(&mut self, key: &ObjectKey, owner: OwnerState) -> Admission {
        match owner.work.triggers.is_empty() {
            true => Admission::Idle,
            false => self.entries.insert(key, owner, State::Queued),
        }
    }

    /// A newer state of an owner that no worker has.
    fn admit_newer(&mut self, key: &ObjectKey, shown: OwnerState, beyond: Triggers) -> Admission {
        let Some(entry) = self.entries.get(key) else {
            return Admission::Idle;
        };
        let known = entry.owner.object.newest_version() > 0;
        let changed = known && entry.owner.object.is_changed(&shown.object);
        // It failed, or events of its children are being merged.
        let waits = matches!(entry.state, State::Delayed { .. })
            && (known || shown.work.triggers.is_empty())
            && !changed
            && (!entry.is_overwritten() || beyond.is_empty());
        let finalizer = self.entries.finalizer;
        self.entries.change(key, |entry| {
            let owner = &mut entry.owner;
            owner.refresh(shown.object);
            // Computed again: metadata alone do not tell the observed generation.
            let own = owner.object.own_triggers(finalizer);
            owner.work.request(own.with(beyond));
            if !waits {
                owner.work.attempts = 0;
            }
        });
        if waits {
            // Nothing that matters changed: it stays due at the same time.
            self.entries.drop_specs(key);
            return Admission::Accepted;
        }
        self.requeue_or_settle(key)
    }

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
        if !entry.owner.object.may_be(shown.object.uid) {
            return Admission::Idle;
        }
        if entry.state == State::InFlight {
            entry.arrivals.request(Triggers::CHILDREN);
            return Admission::Accepted;
        }
        if shown.children.complete {
            self.entries.change(key, |entry| {
                entry.owner.observe_pages(&shown.children, revisions);
            });
        }
        let state = self.entries.get(key).map(|entry| entry.state);
        match state {
            // It failed, or changes are being merged: it stays due at the same time.
            Some(State::Delayed { .. }) => Admission::Accepted,
            _ => self.requeue_or_settle(key),
        }
    }

    /// An owner is to be read and compared, because its plan asked for that or an event could not be decoded.
    /// `triggers`: beside a comparison of the children.
    pub(super) fn admit_due(&mut self, key: &ObjectKey, uid: Uid, triggers: Triggers) -> Admission {
        let triggers = triggers.with(Triggers::CHECK);
        let Some(entry) = self.entries.get_mut(key) else {
            let owner = OwnerState::unread(uid, triggers);
            return self.entries.insert(key, owner, State::Queued);
        };
        entry.owner.work.request(triggers);
        if entry.state == State::InFlight {
            entry.arrivals.request(triggers.with(Triggers::CHILDREN));
            return Admission::Accepted;
        }
        self.go_on(key)
    }

    /// The owner was deleted at `resource_version`.
    pub(super) fn owner_gone(&mut self, key: &ObjectKey, uid: Uid, resource_version: u64) {
        let Some(entry) = self.entries.get(key) else {
            return;
        };
        if entry.state == State::InFlight {
            self.entries.change(key, |entry| {
                entry.arrivals.on_owner_gone(uid, resource_version);
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
        self.entries.change(key, |entry| {
            let owner = &mut entry.owner;
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

    /// Whether more is known of an owner than a list shows that was read since, at `list_version`: the server was
    /// restored from a backup.
    pub fn is_ahead_of(&self, key: &ObjectKey, shown: &OwnerState, list_version: u64) -> bool {
        self.entries.get(key).is_some_and(|entry| {
            let newest = entry.owner.object.newest_version();
            entry.owner.object.uid == shown.object.uid
                && newest > shown.object.resource_version
                && newest <= list_version
        })
    }
}

/// Another client has written the status once more: how long the owner waits before it is compared, ms.
pub(super) fn pause_ms(owner: &mut OwnerState, merge_ms: u64) -> u64 {
    let doublings = owner.work.overwritten.min(DOUBLINGS);
    owner.work.overwritten = owner.work.overwritten.saturating_add(1);
    merge_ms << doublings
}
