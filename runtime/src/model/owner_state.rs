//! What the runtime knows of one owner while it has work.
//!
//! Guarantees: pure data; an older event never undoes a newer one.
//! Leaves to others: how long it is kept (`queue`), what the work is (`reconcile`).

use crate::model::{
    ChildEvent, ChildRecord, ChildSnapshot, Compared, Corrections, KindId, SnapshotContent,
    Triggers, Uid,
};

/// From this size on an object is large, bytes: a reconcile holds up to seven times as much, and only as many
/// large owners are reconciled at once as the bounds of the queue allow.
pub(crate) const LARGE_BYTES: usize = 32 << 10;

/// `bytes` where an object of that size is large, else 0.
pub(crate) fn large_bytes(bytes: usize) -> u32 {
    match bytes > LARGE_BYTES {
        true => u32::try_from(bytes).unwrap_or(u32::MAX),
        false => 0,
    }
}

/// The finalizers of an owner, as far as the runtime needs them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Finalizers {
    /// Index of ours in the list; `None` where it is missing.
    pub ours: Option<u8>,
    /// Index of the first one that the operator no longer uses.
    pub retired: Option<u8>,
    /// How many there are, ours and others'.
    pub count: u8,
    /// Whether the children must stay (`kubectl delete --cascade=orphan`).
    pub orphan: bool,
}

/// When a condition got its present status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transition {
    /// Hash of the condition's type.
    pub type_hash: u32,
    /// First letter of its status.
    pub status: u8,
    /// Seconds since 1970 (until 2106, which is later than any status written today).
    pub since_s: u32,
}

/// What is remembered of the status last written: enough to tell whether a new one differs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StatusRecord {
    /// Hash of the status without its transition times; 0 when there is none.
    pub digest: u64,
    /// The generation that it speaks of.
    pub observed_generation: Option<i64>,
    /// Whether it says ready.
    pub ready: bool,
    /// Transition times of its conditions.
    pub transitions: Box<[Transition]>,
}

/// What is known of an owner. A worker takes it and gives it back.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OwnerState {
    /// Identity of the owner; zero while it is not known. Where only its children were shown, as they name it.
    pub uid: Uid,
    /// Generation of its spec.
    pub generation: i64,
    /// Its newest known resourceVersion; 0 when it must be read first.
    pub resource_version: u64,
    /// resourceVersion of our own last write to it.
    pub own_version: u64,
    /// Whether it is being deleted.
    pub deleting: bool,
    /// Its finalizers.
    pub finalizers: Finalizers,
    /// Its spec as JSON, while it is kept.
    pub spec: Option<Box<str>>,
    /// Bytes of the object where it is known to be large, else 0; stays known where the spec is dropped.
    pub large_bytes: u32,
    /// Its status, while that is known.
    pub status: StatusRecord,
    /// Whether a write of its status had no clear answer since it was read: another status may be there.
    pub status_in_doubt: bool,
    /// Whether only its metadata were seen: its spec and status are not known.
    pub metadata_only: bool,
    /// Its children, as far as they are known.
    pub children: Vec<ChildRecord>,
    /// Whether these are all of its children.
    pub children_complete: bool,
    /// Children as events showed them since the owner became idle.
    pub snapshots: Vec<ChildSnapshot>,
    /// What is to be done.
    pub triggers: Triggers,
    /// Failures in a row.
    pub attempts: u8,
    /// Its children that were set back to their plan lately, since the spec last changed.
    pub corrections: Option<Box<Corrections>>,
    /// Whether its status has yielded to the work of others and is to be written now.
    pub status_yielded: bool,
    /// How often in a row its status was set back because another client had written it.
    pub overwritten: u8,
    /// After how many seconds its plan wants to be computed again, as a relist has found it; 0 where it does not.
    pub requeue_after_s: u32,
}

impl OwnerState {
    /// Bytes of the spec and of the snapshots of children.
    pub fn spec_bytes(&self) -> usize {
        let snapshots = self
            .snapshots
            .iter()
            .map(|snapshot| match &snapshot.content {
                SnapshotContent::Object(json) => json.len(),
                SnapshotContent::Unread | SnapshotContent::Gone => 0,
            });
        self.spec.as_ref().map_or(0, |spec| spec.len()) + snapshots.sum::<usize>()
    }

    /// Drops the bodies that can be read again.
    pub fn drop_bodies(&mut self) {
        self.spec = None;
        for snapshot in &mut self.snapshots {
            if matches!(snapshot.content, SnapshotContent::Object(_)) {
                snapshot.content = SnapshotContent::Unread;
            }
        }
    }

    /// Adds what a further event of an idle owner has shown; the newer snapshot of a child wins.
    pub fn merge(&mut self, more: Self) {
        self.triggers = self.triggers.with(more.triggers);
        if self.uid != more.uid {
            return self.doubt();
        }
        for new in more.snapshots {
            match self
                .snapshots
                .iter_mut()
                .find(|s| (s.kind, s.name_hash) == (new.kind, new.name_hash))
            {
                Some(known) => *known = new,
                None => self.snapshots.push(new),
            }
        }
    }

    /// A newer event shows the child: it is not gone any more.
    pub fn doubt_gone(&mut self, event: &ChildEvent) {
        for known in &mut self.snapshots {
            let is_same = (known.kind, known.name_hash) == (event.kind, event.name_hash);
            if is_same && known.content == SnapshotContent::Gone && !event.deleted {
                known.content = SnapshotContent::Unread;
            }
        }
    }

    /// The newest resourceVersion of the owner itself that is known; 0 where only its children were shown.
    pub fn newest_version(&self) -> u64 {
        self.own_version.max(self.resource_version)
    }

    /// Children of two owners of this name were shown, and no order of the watches tells which of the two is there
    /// now: it is read, with its children.
    pub fn doubt(&mut self) {
        self.forget_revisions();
        self.uid = Uid::default();
        self.corrections = None;
        let anew = Triggers::REFRESH.with(Triggers::CHILDREN);
        self.triggers = self.triggers.with(anew);
    }

    /// resourceVersions start over because the server was restored: everything is to be read again. Where something
    /// is to be done, the status follows from children that are read, and not from none.
    pub fn forget_revisions(&mut self) {
        if !self.triggers.is_empty() {
            self.triggers = self.triggers.with(Triggers::CHILDREN);
        }
        self.own_version = 0;
        self.resource_version = 0;
        self.children.clear();
        self.children_complete = false;
        self.snapshots.clear();
    }

    /// Whether the finalizer is still to be added, where the operator has one.
    pub fn lacks_finalizer(&self, finalizer: bool) -> bool {
        finalizer && self.finalizers.ours.is_none()
    }

    /// What the owner's own generation, finalizer and deletion ask for.
    pub fn own_triggers(&self, finalizer: bool) -> Triggers {
        if self.deleting {
            let ours = self.finalizers.ours.or(self.finalizers.retired);
            return ours.map_or(Triggers::default(), |_| Triggers::DELETE);
        }
        let retired = self.finalizers.retired;
        let retired = retired.map_or(Triggers::default(), |_| Triggers::RETIRED);
        if self.lacks_finalizer(finalizer)
            || self.status.observed_generation != Some(self.generation)
        {
            return retired.with(Triggers::SPEC);
        }
        retired
    }

    /// Takes over a newer state of the same owner; what is known of its children stays.
    pub fn refresh(&mut self, newer: Self) {
        let spec_changed = self.generation != newer.generation;
        if spec_changed {
            self.corrections = None;
        }
        self.uid = newer.uid;
        self.generation = newer.generation;
        self.resource_version = newer.resource_version;
        self.deleting = newer.deleting;
        self.finalizers = newer.finalizers;
        if newer.metadata_only {
            if spec_changed {
                self.spec = None;
            }
        } else {
            self.spec = newer.spec;
            self.large_bytes = newer.large_bytes;
            self.status = newer.status;
            self.status_in_doubt = false;
            self.metadata_only = false;
        }
    }

    /// Whether another client has written since and its status may be another now. Metadata do not tell.
    pub fn may_be_overwritten(&self, newer: &Self) -> bool {
        newer.resource_version > self.newest_version()
            && (newer.metadata_only || newer.status.digest != self.status.digest)
    }

    /// What compares the status that this shows with the plan. Metadata do not show it: it is read before.
    pub fn comparison(&self) -> Triggers {
        match self.metadata_only {
            true => Triggers::CHECK.with(Triggers::REFRESH),
            false => Triggers::CHECK,
        }
    }

    /// Takes over a newer state whose status another client may have written: it is compared.
    pub fn on_overwritten(&mut self, newer: Self) {
        let comparison = newer.comparison();
        self.refresh(newer);
        self.triggers = self.triggers.with(comparison);
    }

    /// The record of a child.
    pub fn child(&mut self, kind: Option<KindId>, name_hash: u32) -> Option<&mut ChildRecord> {
        let mut children = self.children.iter_mut();
        children.find(|record| Some(record.kind) == kind && record.name_hash == name_hash)
    }

    /// Replaces the record of a child.
    pub fn record_child(&mut self, record: ChildRecord) {
        match self
            .children
            .iter_mut()
            .find(|known| (known.kind, known.name_hash) == (record.kind, record.name_hash))
        {
            Some(known) => *known = record,
            None => {
                self.children.reserve_exact(1);
                self.children.push(record);
            }
        }
    }

    /// Updates the records with what the pages of a relist show of all children, each page as of its kind's of
    /// `revisions`; returns what has to be done about it.
    pub fn on_pages(&mut self, shown: &[ChildRecord], revisions: &[u64]) -> Triggers {
        let mut triggers = Triggers::default();
        let known = self.children.len();
        self.children.retain(|known| {
            let page = revisions.get(known.kind.index());
            let is_newer = page.is_none_or(|page| known.resource_version > *page);
            let mut shown = shown.iter();
            is_newer
                || shown.any(|shown| (shown.kind, shown.name_hash) == (known.kind, known.name_hash))
        });
        if self.children.len() < known {
            triggers = Triggers::CHECK.with(Triggers::REFRESH);
        }
        for record in shown {
            let found = match self.child(Some(record.kind), record.name_hash) {
                Some(known) if known.resource_version >= record.resource_version => continue,
                Some(known) if known.state.generation != record.state.generation => Triggers::CHECK,
                // A kind without a generation: nothing else tells whether it is as planned.
                Some(_) if record.state.generation == 0 => Triggers::CHECK,
                Some(known) if known.marks != record.marks => Triggers::CHECK,
                Some(known) if known.state != record.state => Triggers::STATUS,
                Some(_) => Triggers::default(),
                None => Triggers::CHECK,
            };
            triggers = triggers.with(found);
            self.record_child(record.clone());
        }
        triggers
    }

    /// Updates the records with a change of a child; returns what has to be done about it.
    pub fn on_event(&mut self, event: &ChildEvent) -> Triggers {
        let index = self
            .children
            .iter()
            .position(|known| (known.kind, known.name_hash) == (event.kind, event.name_hash));
        let check = event.check();
        let Some(index) = index else {
            // The child appeared, or it vanished before it was recorded. Where all children are
            // recorded, a deletion is our own.
            return match event.deleted && self.children_complete {
                true => Triggers::default(),
                false => check,
            };
        };
        let known = &mut self.children[index];
        if event.resource_version <= known.resource_version {
            return Triggers::default();
        }
        if event.deleted {
            self.children.swap_remove(index);
            // The owner may be gone too, and no child is made for one that is gone.
            return match self.deleting || mutant!(VanishedOwnerIgnored) {
                true => check,
                false => check.with(Triggers::REFRESH),
            };
        }
        let differs =
            event.compared == Compared::Differs || event.is_unclear() || event.is_relabelled(known);
        known.resource_version = event.resource_version;
        known.last_applied = None;
        known.marks = event.marks;
        let before = std::mem::replace(&mut known.state, event.state);
        if differs || before.generation != event.state.generation {
            check
        } else if before != event.state && !mutant!(ReadinessIgnored) {
            Triggers::STATUS
        } else {
            Triggers::default()
        }
    }
}
