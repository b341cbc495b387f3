//! One owner in flight: what is known of it while it has work, and the news that come meanwhile.
//!
//! Guarantees: pure data. Leaves to others: when an entry lives (`queue`), what its work is (`apply`).

use crate::model::object::{ChildState, Uid};

/// Why an owner is looked at; several reasons may hold at once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reasons(u8);

impl Reasons {
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
pub struct StatusMemory {
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
pub struct Slot {
    /// Place of its kind in [`Operator::KINDS`](crate::api::Operator::KINDS).
    pub kind: u8,
    /// Hash of its name.
    pub name_hash: u32,
    /// resourceVersion of our last write or of the newest event seen.
    pub resource_version: u64,
    /// What it told.
    pub state: ChildState,
    /// What it was found to be like, in modes that keep that.
    pub proof: Option<Box<Proof>>,
}

/// A child was found to be as its plan said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proof {
    /// Which child.
    pub uid: Uid,
    /// Digest of the planned body.
    pub plan: u64,
    /// Digest of those of its fields that only a new object can change.
    pub fixed: u64,
}

/// A child as an event has shown it to an owner at rest: spares a read of the child.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// Place of its kind in [`Operator::KINDS`](crate::api::Operator::KINDS).
    pub kind: u8,
    /// Hash of its name.
    pub name_hash: u32,
    /// What the event said.
    pub sight: Sight,
}

/// What an event said of a child.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sight {
    /// It looks like this, as JSON.
    Object(Box<str>),
    /// It changed, and how is not kept.
    Unread,
    /// It is gone, or no longer ours to see.
    Gone,
}

/// What is known of an owner. A worker takes it and gives it back.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Work {
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
    pub status: StatusMemory,
    /// Whether only its metadata were seen: its spec and status are not known.
    pub identity_only: bool,
    /// Its children, as far as they are known.
    pub slots: Vec<Slot>,
    /// Whether these are all of its children.
    pub slots_complete: bool,
    /// Children as events showed them since it came to rest.
    pub shown: Vec<Shown>,
    /// What is to be done.
    pub reasons: Reasons,
    /// Failures in a row.
    pub attempts: u8,
    /// Times that a child was set back to its plan since the spec last changed.
    pub mends: u8,
}

impl Work {
    /// Bytes of the spec held, and of children that wait to be compared with it.
    pub fn spec_bytes(&self) -> usize {
        let shown = self.shown.iter().map(|shown| match &shown.sight {
            Sight::Object(json) => json.len(),
            Sight::Unread | Sight::Gone => 0,
        });
        self.spec.as_ref().map_or(0, |spec| spec.len()) + shown.sum::<usize>()
    }

    /// Lets go of all that can be read again.
    pub fn spare(&mut self) {
        self.spec = None;
        for shown in &mut self.shown {
            if matches!(shown.sight, Sight::Object(_)) {
                shown.sight = Sight::Unread;
            }
        }
    }

    /// Takes in what else an event has shown of an owner at rest.
    pub fn show(&mut self, more: Work) {
        self.reasons = self.reasons.with(more.reasons);
        for new in more.shown {
            match self
                .shown
                .iter_mut()
                .find(|s| (s.kind, s.name_hash) == (new.kind, new.name_hash))
            {
                Some(known) => *known = new,
                None => self.shown.push(new),
            }
        }
    }

    /// Whether the first write is still to be made: that of the finalizer, where the operator has one.
    pub fn adopts(&self, finalizer: bool) -> bool {
        finalizer && self.finalizers.ours.is_none()
    }

    /// What an owner asks for by itself, by its generation, finalizer and deletion.
    pub fn own_reasons(&self, finalizer: bool) -> Reasons {
        if self.deleting {
            let ours = self.finalizers.ours.is_some();
            return if ours {
                Reasons::DELETE
            } else {
                Reasons::default()
            };
        }
        if self.adopts(finalizer) || self.status.observed_generation != Some(self.generation) {
            return Reasons::SPEC;
        }
        Reasons::default()
    }

    /// Takes over what a newer sight of the same owner says; what is known of children stays.
    pub fn refresh(&mut self, newer: Work) {
        let spec_changed = self.generation != newer.generation;
        if spec_changed {
            self.mends = 0;
        }
        self.uid = newer.uid;
        self.generation = newer.generation;
        self.resource_version = newer.resource_version;
        self.deleting = newer.deleting;
        self.finalizers = newer.finalizers;
        if newer.identity_only {
            if spec_changed {
                self.spec = None;
            }
        } else {
            self.spec = newer.spec;
            self.status = newer.status;
            self.identity_only = false;
        }
    }

    /// What is known of a child.
    pub fn slot(&mut self, kind: Option<u8>, name_hash: u32) -> Option<&mut Slot> {
        let mut slots = self.slots.iter_mut();
        slots.find(|slot| Some(slot.kind) == kind && slot.name_hash == name_hash)
    }

    /// Notes what was seen of a child, whoever wrote it.
    pub fn see(&mut self, slot: Slot) {
        match self
            .slots
            .iter_mut()
            .find(|s| (s.kind, s.name_hash) == (slot.kind, slot.name_hash))
        {
            Some(known) => *known = slot,
            None => {
                self.slots.reserve_exact(1);
                self.slots.push(slot);
            }
        }
    }

    /// Takes in one change of a child; says what has to be done about it.
    pub fn hear(&mut self, news: &ChildNews) -> Reasons {
        let place = self
            .slots
            .iter()
            .position(|s| (s.kind, s.name_hash) == (news.kind, news.name_hash));
        let Some(place) = place else {
            // A child that is not known here: it appeared, or it vanished before we saw it. Where all
            // of them are known, it is one that we took down.
            return match news.deleted && self.slots_complete {
                true => Reasons::default(),
                false => Reasons::CHECK,
            };
        };
        let known = &mut self.slots[place];
        if news.resource_version <= known.resource_version {
            return Reasons::default();
        }
        if news.deleted {
            self.slots.swap_remove(place);
            return Reasons::CHECK;
        }
        known.resource_version = news.resource_version;
        known.proof = None;
        let before = std::mem::replace(&mut known.state, news.state);
        if news.differs || before.generation != news.state.generation {
            Reasons::CHECK
        } else if before != news.state {
            Reasons::STATUS
        } else {
            Reasons::default()
        }
    }
}

/// A change of a child, from its watch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChildNews {
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
