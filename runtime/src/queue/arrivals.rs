//! What arrives about an owner while a worker has it.
//!
//! Guarantees: pure; of the owner the newest state is kept, of each child the newest change.
//! Leaves to others: where the entry goes when the worker returns the owner (`queue`).

use crate::model::{ChildEvent, Content, OwnerState, Triggers, Uid};

/// What arrived since a worker took the owner.
#[derive(Debug, Default)]
pub(super) struct Arrivals {
    /// The newest state of the owner.
    owner: Option<Box<OwnerState>>,
    /// The newest change of each child.
    children: Vec<ChildEvent>,
    /// The last owner of this name that was deleted, and when, as a resourceVersion.
    gone: Option<(Uid, u64)>,
    /// A child may have changed without an event: what the worker does is done again.
    again: Triggers,
}

/// What became of the owner while a worker had it.
#[derive(Debug)]
pub(super) enum Meanwhile {
    /// It was deleted.
    Deleted,
    /// It was deleted, and created again under the same name.
    Recreated(Box<OwnerState>),
    /// It is the same object; this is to be done because of its own changes.
    Same(Triggers),
    /// It is the same object, and its status may be what another client has written: this is to be done after a
    /// pause.
    Overwritten(Triggers),
}

impl Arrivals {
    /// Bytes of the spec that is kept here.
    pub(super) fn spec_bytes(&self) -> usize {
        self.owner.as_ref().map_or(0, |owner| owner.spec_bytes())
    }

    /// The owner changed, or a relist found more than shows on it. `same`: it is still the object that the
    /// worker has.
    pub(super) fn on_owner(&mut self, mut shown: OwnerState, found: Triggers, same: bool) {
        if mutant!(OwnerInFlightDropped) {
            return;
        }
        // What a page says of the children holds however old its owner is, also where the worker meets that owner first.
        if same && found.has(Triggers::CHILDREN) {
            self.request(Triggers::CHILDREN);
        }
        if let Some(known) = &mut self.owner
            && known.object.uid == shown.object.uid
        {
            let of_both = known.work.triggers.with(shown.work.triggers);
            let found = of_both.only(Triggers::CHILDREN);
            known.work.request(found);
            shown.work.request(found);
        }
        let known = self
            .owner
            .as_ref()
            .map(|known| known.object.resource_version);
        let gone = self.gone.map(|(_, resource_version)| resource_version);
        if known.max(gone) < Some(shown.object.resource_version) {
            self.gone = None;
            self.owner = Some(Box::new(shown));
        }
    }

    /// The owner with this uid was deleted at `resource_version`.
    pub(super) fn on_owner_gone(&mut self, uid: Uid, resource_version: u64) {
        self.owner.take_if(|known| known.object.uid == uid);
        self.gone = self.owner.is_none().then_some((uid, resource_version));
    }

    /// A child changed.
    pub(super) fn on_child(&mut self, event: ChildEvent) {
        if mutant!(ChildInFlightDropped) {
            return;
        }
        let mut known = self.children.iter_mut();
        match known.find(|known| known.child.id() == event.child.id()) {
            Some(known) if known.child.resource_version < event.child.resource_version => {
                known.owner_uid = event.owner_uid;
                // Also what came between counts: it is read.
                known.child.update(event.child, &|| Content::Unread);
            }
            Some(_) => {}
            None => self.children.push(event),
        }
    }

    /// What the worker does is done again, and this with it.
    pub(super) fn request(&mut self, triggers: Triggers) {
        self.again = self.again.with(triggers);
    }

    /// What has changed since the events may come as no event: all children are read, those that were shown to be gone, too.
    pub(super) fn recheck_children(&mut self) {
        self.request(Triggers::CHILDREN);
        if mutant!(GoneOutlivesLostWatch) {
            return;
        }
        for event in &mut self.children {
            event.child.content = Content::Unread;
        }
    }

    /// Forgets all that is told apart by resourceVersion.
    pub(super) fn forget_revisions(&mut self) {
        self.owner = None;
        self.gone = None;
        self.children.clear();
    }

    /// Brings the owner that the worker returns up to date with its own changes.
    pub(super) fn update_owner(&mut self, owner: &mut OwnerState, finalizer: bool) -> Meanwhile {
        let Some(shown) = self.owner.take() else {
            return match self.gone {
                Some((uid, resource_version)) if is_over(owner, uid, resource_version) => {
                    Meanwhile::Deleted
                }
                _ => Meanwhile::Same(Triggers::default()),
            };
        };
        let newest = owner.object.newest_version();
        if newest == 0 && shown.object.uid != owner.object.uid {
            // It could not be read, and this may be an earlier one.
            owner.doubt();
            return Meanwhile::Same(shown.work.triggers);
        }
        // Also of an earlier owner of this name: an old page.
        if shown.object.resource_version <= newest {
            let is_same = shown.object.uid == owner.object.uid;
            let found = shown.work.triggers.only(Triggers::CHILDREN);
            return Meanwhile::Same(if is_same { found } else { Triggers::default() });
        }
        if shown.object.uid != owner.object.uid {
            return Meanwhile::Recreated(shown);
        }
        let changed = owner.object.is_changed(&shown.object);
        let is_marked_anew = owner.object.is_marked_anew(&shown.object);
        let may_be_overwritten = owner.object.may_be_overwritten(&shown.object);
        let comparison = shown.object.comparison();
        let beyond = shown.work.triggers.without(Triggers::OWN);
        owner.refresh(shown.object);
        if changed {
            owner.work.attempts = 0;
        }
        let own = owner.object.own_triggers(finalizer);
        if is_marked_anew {
            return Meanwhile::Same(own.with(beyond).with(comparison));
        }
        if may_be_overwritten && own.is_empty() && !owner.object.deleting {
            return Meanwhile::Overwritten(beyond.with(comparison));
        }
        Meanwhile::Same(own.with(beyond))
    }

    /// What an owner that was created meanwhile is to do because of its children. A deletion says that a name is free,
    /// and the names of a new owner are taken to be.
    pub(super) fn of_children_of(&self, owner: Uid) -> Triggers {
        let is_its = |event: &ChildEvent| {
            event.child.content != Content::Gone && event.owner_uid == Some(owner)
        };
        match self.children.iter().any(is_its) {
            true => self.again.with(Triggers::CHILDREN),
            false => self.again,
        }
    }

    /// Tells the owner that the worker returns what was seen of its children, and what has to be done again.
    pub(super) fn update_children(self, owner: &mut OwnerState) {
        owner.work.request(self.again);
        if self.again.has(Triggers::READ) {
            owner.recheck();
        }
        let uid = owner.object.uid;
        for event in self.children {
            if !event.is_of_another(uid) {
                owner.observe(event.child, &|| Content::Unread);
            }
        }
    }
}

/// Whether `owner` is gone, as one of its name with this uid was deleted at `resource_version`. The worker may have
/// met the next owner of this name before a watch showed the end of the last one.
fn is_over(owner: &OwnerState, uid: Uid, resource_version: u64) -> bool {
    let newest = owner.object.newest_version();
    uid == owner.object.uid || (newest > 0 && resource_version > newest)
}
