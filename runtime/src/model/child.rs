//! What is known of one child: one value, with a version; and of all children of an owner.
//!
//! Guarantees: pure. Whatever says something of a child (an event, a page, an answer) goes through
//! [`SeenChild::update`]: the newer version wins, and what is newer and neither held nor known to be as recorded is
//! unread. Leaves to others: what follows for the owner (`owner_state`), reading and comparing (`reconcile`).

use std::ops::{Deref, DerefMut};

use crate::model::{ChildState, KindId, Triggers, Uid};

/// A child of an owner: its kind and the hash of its place.
pub type ChildId = (KindId, u32);

/// A child, as the newest that was said of it shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenChild {
    /// Its kind.
    pub kind: KindId,
    /// Hash of its place: its name, and its namespace where that is not the owner's.
    pub place_hash: u32,
    /// Hash of its uid: tells it from another object of its name.
    pub uid_hash: u32,
    /// resourceVersion of what was said last.
    pub resource_version: u64,
    /// Its progress.
    pub state: ChildState,
    /// Digest of its labels, its annotations and its controller.
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

    /// The planned body that the child satisfies, where that is retained.
    pub fn last_applied(&self) -> Option<&LastApplied> {
        match self {
            Self::Recorded(applied) => applied.as_deref(),
            _ => None,
        }
    }
}

impl SeenChild {
    /// Which child this is, whatever object is in its place.
    pub fn id(&self) -> ChildId {
        (self.kind, self.place_hash)
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

/// What is known of the children of an owner.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SeenChildren {
    /// One for each kind and place.
    all: Vec<SeenChild>,
    /// Whether these are all of its children.
    pub complete: bool,
}

impl Deref for SeenChildren {
    type Target = [SeenChild];

    fn deref(&self) -> &[SeenChild] {
        &self.all
    }
}

impl DerefMut for SeenChildren {
    fn deref_mut(&mut self) -> &mut [SeenChild] {
        &mut self.all
    }
}

impl IntoIterator for SeenChildren {
    type Item = SeenChild;
    type IntoIter = std::vec::IntoIter<SeenChild>;

    fn into_iter(self) -> Self::IntoIter {
        self.all.into_iter()
    }
}

impl FromIterator<SeenChild> for SeenChildren {
    /// All children of an owner.
    fn from_iter<I: IntoIterator<Item = SeenChild>>(all: I) -> Self {
        Self {
            all: all.into_iter().collect(),
            complete: true,
        }
    }
}

impl SeenChildren {
    /// Bytes that are held.
    pub fn bytes(&self) -> usize {
        let held = self.all.iter().map(|child| match &child.content {
            Content::Held(json) => json.len(),
            _ => 0,
        });
        held.sum()
    }

    /// Whether one is to be looked at.
    pub fn are_pending(&self) -> bool {
        self.all.iter().any(|child| child.content.is_pending())
    }

    /// Drops what is held: it is read.
    pub fn release(&mut self) {
        for child in &mut self.all {
            if matches!(child.content, Content::Held(_)) {
                child.content = Content::Unread;
            }
        }
    }

    /// All planned children were looked at. What is left was said of objects that are gone, or no children of this
    /// owner.
    pub fn settle(&mut self) {
        self.retain(|child| !child.content.is_pending());
    }

    /// One of them.
    pub fn get_mut(&mut self, id: ChildId) -> Option<&mut SeenChild> {
        self.all.iter_mut().find(|known| known.id() == id)
    }

    /// Whether something is known of this one.
    pub fn has(&self, id: ChildId) -> bool {
        self.all.iter().any(|known| known.id() == id)
    }

    /// Keeps those of which this holds.
    pub fn retain(&mut self, keep: impl FnMut(&SeenChild) -> bool) {
        self.all.retain(keep);
    }

    /// Replaces what is known of a child: it was read, written or compared.
    pub fn record(&mut self, child: SeenChild) {
        match self.get_mut(child.id()) {
            Some(known) => *known = child,
            None => {
                self.all.reserve_exact(1);
                self.all.push(child);
            }
        }
    }

    /// Takes over what is said of a child, and says what follows beside a look at it.
    pub fn observe(
        &mut self,
        mut seen: SeenChild,
        hold: &dyn Fn() -> Content,
    ) -> (Change, Triggers) {
        let none = Triggers::default();
        if let Some(known) = self.get_mut(seen.id()) {
            return match known.update(seen, hold) {
                Change::Progress => (Change::Progress, Triggers::STATUS),
                change => (change, none),
            };
        }
        let found = match seen.content {
            // It is one that we have deleted.
            Content::Gone if self.complete => return (Change::Nothing, none),
            Content::Gone => (Change::Gone, none),
            Content::Held(_) => (Change::Unclear, none),
            Content::ByGeneration | Content::Unread => {
                seen.content = hold();
                (Change::Unclear, none)
            }
            // A cache has compared it, and only a comparison of all children tells what the status says.
            Content::Recorded(_) => (Change::Progress, Triggers::CHECK),
        };
        self.record(seen);
        found
    }
}
