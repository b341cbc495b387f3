//! What the runtime knows of one child: its record, a change of it, and a snapshot from an event.

use crate::model::{ChildState, KindId, Triggers, Uid};

/// A child as it was last seen or written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChildRecord {
    /// Its kind.
    pub kind: KindId,
    /// Hash of its name.
    pub name_hash: u32,
    /// resourceVersion of our last write or of the newest event, whichever is newer.
    pub resource_version: u64,
    /// Its progress.
    pub state: ChildState,
    /// Digest of its labels and annotations.
    pub marks: u32,
    /// The planned body that it satisfies, in cache modes that retain that.
    pub last_applied: Option<Box<LastApplied>>,
}

/// The planned body that a child was found to satisfy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastApplied {
    /// Identity of the child.
    pub uid: Uid,
    /// Digest of the planned body.
    pub body_digest: u64,
}

/// A child as an event showed it while its owner was idle. It spares a read of the child.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChildSnapshot {
    /// Its kind.
    pub kind: KindId,
    /// Hash of its name.
    pub name_hash: u32,
    /// What the event said.
    pub content: SnapshotContent,
}

/// What an event said of a child.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SnapshotContent {
    /// The whole child, as JSON.
    Object(Box<str>),
    /// The child changed. Its content is not kept and has to be read.
    Unread,
    /// The child was deleted, or it no longer matches the selector of the watch.
    Gone,
}

/// A change of a child, from its watch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChildEvent {
    /// Its kind.
    pub kind: KindId,
    /// Hash of its name.
    pub name_hash: u32,
    /// The owner's uid, where the child has a controller reference.
    pub owner_uid: Option<Uid>,
    /// resourceVersion of the change.
    pub resource_version: u64,
    /// Whether the child was deleted, or no longer matches the selector of the watch.
    pub deleted: bool,
    /// Its progress.
    pub state: ChildState,
    /// Digest of its labels and annotations.
    pub marks: u32,
    /// Whether it was compared with its plan as it came in.
    pub compared: Compared,
}

/// What a comparison of a change with the plan has found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Compared {
    /// It was not compared: only its generation, where its kind has one, tells whether its spec changed.
    #[default]
    NotYet,
    /// It is as planned.
    AsPlanned,
    /// It differs from its plan.
    Differs,
}

impl ChildEvent {
    /// Whether the child belongs to another owner than the one with this uid. A deletion says that a name is free.
    pub fn is_of_another(&self, owner: Uid) -> bool {
        let another = |uid| uid != owner && owner != Uid::default();
        !self.deleted && self.owner_uid.is_some_and(another)
    }

    /// What a difference asks for. Of a child without a controller of ours a cache that retains children is not told.
    pub fn check(&self) -> Triggers {
        match self.owner_uid {
            Some(_) => Triggers::CHECK,
            None => Triggers::CHECK.with(Triggers::READ),
        }
    }

    /// Whether the child may differ from its plan, although nothing in the event says so: it was not compared,
    /// and its kind has no generation (Service, ConfigMap, Secret).
    pub fn is_unclear(&self) -> bool {
        let is_unclear = self.compared == Compared::NotYet && self.state.generation == 0;
        !self.deleted && is_unclear && !mutant!(UnclearIsUnchanged)
    }

    /// Whether it is the child of `record` with other labels or annotations, which were not compared: no generation
    /// tells of them.
    pub fn is_relabelled(&self, record: &ChildRecord) -> bool {
        let same_spec = self.state.generation == record.state.generation;
        let unknown = !self.deleted && self.compared == Compared::NotYet;
        unknown && same_spec && self.marks != record.marks && !mutant!(UnclearIsUnchanged)
    }
}
