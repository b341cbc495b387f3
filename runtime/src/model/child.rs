//! What is known of one child: one value, with a version.
//!
//! Guarantees: pure. Whatever says something of a child (an event, a page, an answer) goes through
//! [`SeenChild::update`]: the newer version wins, and what is newer and neither held nor known to be as recorded is
//! unread. Leaves to others: which children an owner has (`owner_state`), reading and comparing (`reconcile`).

use crate::model::{ChildState, KindId, Uid};

/// A child, as the newest that was said of it shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenChild {
    /// Its kind.
    pub kind: KindId,
    /// Hash of its name.
    pub name_hash: u32,
    /// Hash of its uid: tells it from another object of its name.
    pub uid_hash: u32,
    /// resourceVersion of what was said last.
    pub resource_version: u64,
    /// Its progress.
    pub state: ChildState,
    /// Digest of its labels and annotations.
    pub marks: u32,
    /// What the plan of its owner may rely on.
    pub content: Content,
}

/// How the content of a child is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// It was compared or written at this version. With the planned body that it then satisfied, in cache modes that
    /// retain that.
    Recorded(Option<Box<LastApplied>>),
    /// By its generation and its marks, which an event shows: where they are those that are recorded, so is its spec.
    ByGeneration,
    /// By this JSON, as the event showed it. It spares a read.
    Held(Box<str>),
    /// It is not: the child is read before it is relied on.
    Unread,
    /// It was deleted, or it no longer matches the selector of the watch.
    Gone,
}

/// The planned body that a child was found to satisfy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastApplied {
    /// Identity of the child.
    pub uid: Uid,
    /// Digest of the planned body.
    pub body_digest: u64,
}

/// A change of a child, from its watch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChildEvent {
    /// The owner's uid, where the child has a controller reference.
    pub owner_uid: Option<Uid>,
    /// The child.
    pub child: SeenChild,
}

/// What something that was said of a child changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// Nothing: it is not newer, or nothing of it matters.
    Nothing,
    /// Its progress. Its spec is as recorded.
    Progress,
    /// It may differ from its plan: it is to be looked at.
    Unclear,
    /// It is gone.
    Gone,
}

impl Content {
    /// Whether the owner's plan may not rely on the child yet.
    pub fn is_pending(&self) -> bool {
        !matches!(self, Self::Recorded(_))
    }

    /// Bytes that are held.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Held(json) => json.len(),
            _ => 0,
        }
    }

    /// The planned body that the child satisfies, where that is retained.
    pub fn last_applied(&self) -> Option<&LastApplied> {
        match self {
            Self::Recorded(applied) => applied.as_deref(),
            _ => None,
        }
    }

    /// Drops what is held: it can be read.
    pub fn release(&mut self) {
        if matches!(self, Self::Held(_)) {
            *self = Self::Unread;
        }
    }
}

impl SeenChild {
    /// Whether this is the same child, whatever object has its name.
    pub fn is(&self, kind: KindId, name_hash: u32) -> bool {
        (self.kind, self.name_hash) == (kind, name_hash)
    }

    /// Whether both speak of the same child, whatever object has its name.
    pub fn is_same(&self, other: &Self) -> bool {
        self.is(other.kind, other.name_hash)
    }

    /// Takes over what was said of this child later. What is not newer changes nothing. `hold`: what becomes of the
    /// content where the child is to be looked at.
    pub fn update(&mut self, newer: Self, hold: &dyn Fn() -> Content) -> Change {
        if newer.resource_version <= self.resource_version {
            return Change::Nothing;
        }
        let same_spec = self.uid_hash == newer.uid_hash
            && self.state.generation == newer.state.generation
            && (self.marks == newer.marks || mutant!(UnclearIsUnchanged));
        let before = std::mem::replace(&mut self.content, Content::Unread);
        self.content = match (before, newer.content) {
            (_, Content::Gone) => Content::Gone,
            (known @ (Content::Recorded(_) | Content::ByGeneration), Content::ByGeneration)
                if same_spec =>
            {
                known
            }
            (Content::Recorded(_) | Content::ByGeneration, compared @ Content::Recorded(_))
                if same_spec =>
            {
                compared
            }
            (older @ Content::Held(_), _) if mutant!(OlderContentKept) => older,
            (Content::Gone, _) if mutant!(GoneOutlivesRecreation) => Content::Gone,
            (_, held @ Content::Held(_)) => held,
            (_, Content::Recorded(_) | Content::ByGeneration | Content::Unread) => hold(),
        };
        self.resource_version = newer.resource_version;
        (self.uid_hash, self.marks) = (newer.uid_hash, newer.marks);
        let before = std::mem::replace(&mut self.state, newer.state);
        match self.content {
            Content::Gone => Change::Gone,
            Content::Held(_) | Content::Unread => Change::Unclear,
            Content::Recorded(_) | Content::ByGeneration if before == self.state => Change::Nothing,
            Content::Recorded(_) | Content::ByGeneration if mutant!(ReadinessIgnored) => {
                Change::Nothing
            }
            Content::Recorded(_) | Content::ByGeneration => Change::Progress,
        }
    }
}

impl ChildEvent {
    /// Whether the child belongs to another owner than the one with this uid. A deletion says that a name is free.
    pub fn is_of_another(&self, owner: Uid) -> bool {
        let another = |uid| uid != owner && owner != Uid::default();
        self.child.content != Content::Gone && self.owner_uid.is_some_and(another)
    }
}
