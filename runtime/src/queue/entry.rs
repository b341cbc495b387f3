//! One owner in flight: what is known of it while it has work, and the news that come meanwhile.
//!
//! Guarantees: pure data. Leaves to others: when an entry lives (`queue`), what its work is (`apply`).

use crate::model::object::{ChildState, Uid};

/// Why an owner is looked at; several reasons may hold at once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Triggers(u8);

impl Triggers {
    /// The spec was not observed yet, or the finalizer is missing.
    pub const SPEC: Self = Self(1);
    /// A child moved on; the status may follow.
    pub const STATUS: Self = Self(2);
    /// The children must be read and compared with the plan.
    pub const CHECK: Self = Self(4);
    /// The owner is being deleted.
    pub const DELETE: Self = Self(8);
    /// The owner itself must be read first.
    pub const REFRESH: Self = Self(16);
    /// A child of an owner without an entry changed.
    pub const CHILD: Self = Self(32);
    /// What is kept of the children is in doubt: each is read.
    pub const READ: Self = Self(64);

    /// Whether one of `other`'s reasons holds.
    pub fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
    /// Both.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
    /// All but `other`'s reasons.
    #[must_use]
    pub fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
    /// Whether there is nothing to do.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// The finalizers of an owner, as far as they matter.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Finalizers {
    /// Place of ours in the list, if it is there.
    pub ours: Option<u8>,
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
    /// Generation it speaks of.
    pub observed_generation: Option<i64>,
    /// Whether it said ready.
    pub ready: bool,
    /// Transition times of its conditions.
    pub transitions: Box<[Transition]>,
}

/// A child as it was last seen or written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChildRecord {
    /// Place of its kind in [`Operator::KINDS`](crate::api::Operator::KINDS).
    pub kind: u8,
    /// Hash of its name.
    pub name_hash: u32,
    /// resourceVersion of our last write or of the newest event seen.
    pub resource_version: u64,
    /// What it told.
    pub state: ChildState,
    /// What it was found to be like, in modes that keep that.
    pub last_applied: Option<Box<LastApplied>>,
}

/// A child was found to be as its plan said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastApplied {
    /// Which child.
    pub uid: Uid,
    /// Digest of the planned body.
    pub plan: u64,
    /// Digest of those of its fields that only a new object can change.
    pub fixed: u64,
}

/// A child as an event has shown it to an owner at rest: spares a read of the child.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChildSnapshot {
    /// Place of its kind in [`Operator::KINDS`](crate::api::Operator::KINDS).
    pub kind: u8,
    /// Hash of its name.
    pub name_hash: u32,
    /// What the event said.
    pub content: SnapshotContent,
}

/// What an event said of a child.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SnapshotContent {
    /// It looks like this, as JSON.
    Object(Box<str>),
    /// It changed, and how is not kept.
    Unread,
    /// It is gone, or no longer ours to see.
    Gone,
}

/// What is known of an owner. A worker takes it and gives it back.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OwnerState {
    /// Identity of the owner.
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
    /// Its status, while that is known.
    pub status: StatusRecord,
    /// Whether only its metadata were seen: its spec and status are not known.
    pub metadata_only: bool,
    /// Its children, as far as they are known.
    pub children: Vec<ChildRecord>,
    /// Whether these are all of its children.
    pub children_complete: bool,
    /// Children as events showed them since it came to rest.
    pub snapshots: Vec<ChildSnapshot>,
    /// What is to be done.
    pub triggers: Triggers,
    /// Failures in a row.
    pub attempts: u8,
    /// Times that a child was set back to its plan since the spec last changed.
    pub corrections: u8,
}

impl OwnerState {
    /// Bytes of the spec held, and of children that wait to be compared with it.
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

    /// Lets go of all that can be read again.
    pub fn drop_bodies(&mut self) {
        self.spec = None;
        for snapshot in &mut self.snapshots {
            if matches!(snapshot.content, SnapshotContent::Object(_)) {
                snapshot.content = SnapshotContent::Unread;
            }
        }
    }

    /// Takes in what else an event has shown of an owner at rest.
    pub fn merge_snapshots(&mut self, more: OwnerState) {
        self.triggers = self.triggers.with(more.triggers);
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

    /// Whether the first write is still to be made: that of the finalizer, where the operator has one.
    pub fn adopts(&self, finalizer: bool) -> bool {
        finalizer && self.finalizers.ours.is_none()
    }

    /// What an owner asks for by itself, by its generation, finalizer and deletion.
    pub fn own_triggers(&self, finalizer: bool) -> Triggers {
        if self.deleting {
            let ours = self.finalizers.ours.is_some();
            return if ours {
                Triggers::DELETE
            } else {
                Triggers::default()
            };
        }
        if self.adopts(finalizer) || self.status.observed_generation != Some(self.generation) {
            return Triggers::SPEC;
        }
        Triggers::default()
    }

    /// Takes over what a newer sight of the same owner says; what is known of children stays.
    pub fn refresh(&mut self, newer: OwnerState) {
        let spec_changed = self.generation != newer.generation;
        if spec_changed {
            self.corrections = 0;
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
            self.status = newer.status;
            self.metadata_only = false;
        }
    }

    /// What is known of a child.
    pub fn record(&mut self, kind: Option<u8>, name_hash: u32) -> Option<&mut ChildRecord> {
        let mut children = self.children.iter_mut();
        children.find(|record| Some(record.kind) == kind && record.name_hash == name_hash)
    }

    /// Notes what was seen of a child, whoever wrote it.
    pub fn record_child(&mut self, record: ChildRecord) {
        match self
            .children
            .iter_mut()
            .find(|s| (s.kind, s.name_hash) == (record.kind, record.name_hash))
        {
            Some(known) => *known = record,
            None => {
                self.children.reserve_exact(1);
                self.children.push(record);
            }
        }
    }

    /// Takes in one change of a child; says what has to be done about it.
    pub fn on_event(&mut self, event: &ChildEvent) -> Triggers {
        let place = self
            .children
            .iter()
            .position(|s| (s.kind, s.name_hash) == (event.kind, event.name_hash));
        let Some(place) = place else {
            // A child that is not known here: it appeared, or it vanished before we saw it. Where all
            // of them are known, it is one that we took down.
            return match event.deleted && self.children_complete {
                true => Triggers::default(),
                false => Triggers::CHECK,
            };
        };
        let known = &mut self.children[place];
        if event.resource_version <= known.resource_version {
            return Triggers::default();
        }
        if event.deleted {
            self.children.swap_remove(place);
            return Triggers::CHECK;
        }
        known.resource_version = event.resource_version;
        known.last_applied = None;
        let before = std::mem::replace(&mut known.state, event.state);
        if event.differs || before.generation != event.state.generation {
            Triggers::CHECK
        } else if before != event.state {
            Triggers::STATUS
        } else {
            Triggers::default()
        }
    }
}

/// A change of a child, from its watch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChildEvent {
    /// Place of its kind in [`Operator::KINDS`](crate::api::Operator::KINDS).
    pub kind: u8,
    /// Hash of its name.
    pub name_hash: u32,
    /// The owner's uid, where the child names one.
    pub owner_uid: Option<Uid>,
    /// resourceVersion of the change.
    pub resource_version: u64,
    /// Whether it is gone, or no longer ours to see.
    pub deleted: bool,
    /// What it tells.
    pub state: ChildState,
    /// Whether it was found to differ from its plan.
    pub differs: bool,
}
