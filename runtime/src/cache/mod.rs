//! What is kept of owners between events: the seam between the cache modes.
//!
//! Guarantees: a mode decides only what is kept and, by that, what has to be read; what is right does
//! not depend on it: every write still names the uid and resourceVersion it was made for.
//! Leaves to others: the queue of owners with work, which every mode has; finding what events
//! missed, which is the join's in every mode.
//!
//! What the work on an owner at rest reads (`tests/scenarios/cache_modes.rs` counts it); the writes are the same:
//!
//! | | `none` | `metadata` | `pruned` |
//! |---|---|---|---|
//! | a new owner | nothing | the owner | nothing |
//! | a changed spec, a deletion | each child | the owner, each child | nothing |
//! | a workload changed | the owner | the owner | nothing |
//! | another child changed | the owner | the owner, that child | nothing |
//! | a child vanished | the owner | the owner | the owner |
//! | restart and resync | pages of whole objects | the same | the same |
//!
//! In `none` and `metadata` the owner is read for a child's event once a second at most, and the other
//! children are not, as long as its status says ready: nothing tells that they changed.

mod metadata;
mod none;
mod pruned;

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

pub use crate::cache::metadata::Identities;
pub use crate::cache::none::Storeless;
pub use crate::cache::pruned::Pruned;

use crate::api::Operator;
use crate::model::object::Uid;
use crate::queue::{ChildEvent, ChildSnapshot, OwnerState, SnapshotContent, Triggers};
use crate::reconcile::child;

/// How much a mode keeps, which is how much of an event it wants to see.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Retention {
    /// Nothing.
    Nothing,
    /// Which owners there are and what of them is done: watches show metadata only.
    Identities,
    /// Specs, statuses and what is known of children: work needs no reads.
    Specs,
}

/// One event of a child.
pub struct ChildUpdate<'a> {
    /// `namespace/name` of the owner.
    pub owner: &'a str,
    /// What it says.
    pub event: &'a mut ChildEvent,
    /// The event as it came.
    pub line: &'a [u8],
    /// Whether the owner is at rest; if not, its entry in the queue hears the news itself.
    pub idle: bool,
}

/// A cache mode at work. Every call comes from the one task that runs the loop.
pub trait Cache: Send {
    /// How much it keeps.
    fn retention(&self) -> Retention;
    /// Owners it keeps something of.
    fn len(&self) -> usize;
    /// Whether it keeps nothing at present.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// An owner was shown by a watch or a page; of a page, the revisions at which each kind's first
    /// one was read. A mode that keeps specs takes `work.spec` over. False: it is known to be gone.
    fn on_owner(&mut self, state: &mut OwnerState, page: Option<&[u64]>) -> bool;
    /// An owner is gone.
    fn on_owner_gone(&mut self, uid: Uid);
    /// A child changed. What is to be done if its owner is at rest; `None` when that is nothing.
    fn on_child_event(&mut self, update: ChildUpdate<'_>) -> Option<OwnerState>;
    /// A worker is about to take `work`: fills in what is kept here.
    fn complete(&self, state: &mut OwnerState);
    /// A worker gave `work` back: keeps what it learned.
    fn record(&mut self, state: &mut OwnerState);
    /// A join begins: what it shows from now on is there.
    fn relist_began(&mut self);
    /// The join is through; `whole`: all owners were shown, so the others are gone.
    fn relist_ended(&mut self, whole: bool);
    /// Revisions start over: nothing that is kept compares with what comes.
    fn clear(&mut self);
}

impl<C: Cache + ?Sized> Cache for Box<C> {
    fn retention(&self) -> Retention {
        (**self).retention()
    }
    fn len(&self) -> usize {
        (**self).len()
    }
    fn on_owner(&mut self, state: &mut OwnerState, page: Option<&[u64]>) -> bool {
        (**self).on_owner(state, page)
    }
    fn on_owner_gone(&mut self, uid: Uid) {
        (**self).on_owner_gone(uid);
    }
    fn on_child_event(&mut self, update: ChildUpdate<'_>) -> Option<OwnerState> {
        (**self).on_child_event(update)
    }
    fn complete(&self, state: &mut OwnerState) {
        (**self).complete(state);
    }
    fn record(&mut self, state: &mut OwnerState) {
        (**self).record(state);
    }
    fn relist_began(&mut self) {
        (**self).relist_began();
    }
    fn relist_ended(&mut self, whole: bool) {
        (**self).relist_ended(whole);
    }
    fn clear(&mut self) {
        (**self).clear();
    }
}

/// The work that a child's event asks for where nothing is known of its owner: a read of the owner.
/// What a `whole` event shows spares a read of the child.
fn unknown(update: &ChildUpdate<'_>, whole: bool) -> OwnerState {
    let snapshot = match (update.event.deleted, whole) {
        (true, _) => SnapshotContent::Gone,
        (false, true) => child::snapshot(update.line),
        (false, false) => SnapshotContent::Unread,
    };
    OwnerState {
        triggers: Triggers::REFRESH.with(Triggers::CHILD),
        snapshots: vec![snapshot_of(update.event, snapshot)],
        ..OwnerState::default()
    }
}

fn snapshot_of(event: &ChildEvent, snapshot: SnapshotContent) -> ChildSnapshot {
    ChildSnapshot {
        kind: event.kind,
        name_hash: event.name_hash,
        content: snapshot,
    }
}

/// How much is kept, as `--cache` names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// Nothing.
    #[default]
    None,
    /// Which owners there are, by metadata-only watches.
    Metadata,
    /// Specs and what is known of children.
    Pruned,
}

impl Mode {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::None, Self::Metadata, Self::Pruned];

    /// An empty cache of this mode.
    pub fn cache<O: Operator>(self, operator: &Arc<O>) -> Box<dyn Cache> {
        match self {
            Self::None => Box::new(Storeless),
            Self::Metadata => Box::new(Identities::of::<O>()),
            Self::Pruned => Box::new(Pruned::new(Arc::clone(operator))),
        }
    }
}

/// There is no such mode.
#[derive(Debug, thiserror::Error)]
#[error("unknown cache mode {0:?}; there are none, metadata and pruned")]
pub struct UnknownMode(String);

impl FromStr for Mode {
    type Err = UnknownMode;

    fn from_str(text: &str) -> Result<Self, UnknownMode> {
        Self::ALL
            .into_iter()
            .find(|mode| mode.to_string() == text)
            .ok_or_else(|| UnknownMode(text.to_owned()))
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "none",
            Self::Metadata => "metadata",
            Self::Pruned => "pruned",
        })
    }
}

#[cfg(test)]
mod tests;
