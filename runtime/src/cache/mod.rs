//! What is retained of idle owners: one trait, three modes.
//!
//! Guarantees: a mode decides what is retained and, by that, what has to be read. Correctness does not depend
//! on it: every write names the uid and resourceVersion that it was made for.
//! Leaves to others: owners with work (`queue`), finding what events missed (`relist`); both are the same in
//! every mode.
//!
//! What the reconcile of an idle owner reads (`tests/scenarios/cache_modes.rs` counts it); the writes are the
//! same:
//!
//! | | `none` | `metadata` | `pruned` |
//! |---|---|---|---|
//! | a new owner | nothing | the owner | nothing |
//! | a changed spec, a deletion with a finalizer | each child | the owner, each child | nothing |
//! | a status or metadata written by another client | each child | the owner, each child | nothing |
//! | a workload changed | the owner | the owner | nothing |
//! | another child changed | the owner | the owner, that child | nothing |
//! | a child vanished | the owner | the owner | the owner |
//! | restart and periodic relist | pages of whole objects | the same | the same |
//!
//! In `none` and `metadata` the owner is read for events of its children once a second at most. The other
//! children are not read as long as its status says ready: nothing says that they changed.

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
use crate::model::{ChildEvent, KindId, ObjectKey, OwnerState, Retention, Triggers, Uid};

/// A change of a child, with its owner.
pub struct ChildUpdate<'a> {
    /// The key of its owner.
    pub owner: &'a ObjectKey,
    /// The change.
    pub event: &'a mut ChildEvent,
    /// The event as it came.
    pub line: &'a [u8],
    /// Whether the owner is idle; if not, its entry in the queue gets the change as well.
    pub idle: bool,
}

/// A cache. Every call comes from the one task that runs the controller.
pub trait Cache: Send {
    /// What it retains.
    fn retention(&self) -> Retention;
    /// Owners of which it retains something.
    fn len(&self) -> usize;
    /// Whether it is empty.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// An owner was shown by a watch, or by a page of a relist; `page` then has the resourceVersions of the
    /// first page of each kind. A cache that retains specs takes its body. False: it is known to be gone.
    fn on_owner(&mut self, state: &mut OwnerState, page: Option<&[u64]>) -> bool;
    /// The kind of which more is known than a page shows that was read since, `page` as above: the server was
    /// restored from a backup. Before [`on_owner`](Self::on_owner).
    fn is_ahead_of(&self, _state: &OwnerState, _page: &[u64]) -> Option<KindId> {
        None
    }
    /// Whether the status, labels and annotations of an owner that a watch shows are those that are retained. Before
    /// [`on_owner`](Self::on_owner).
    fn knows_status_of(&self, _state: &OwnerState) -> bool {
        false
    }
    /// An owner was deleted.
    fn on_owner_gone(&mut self, uid: Uid);
    /// Whether events of this kind of child show whole objects.
    fn sees_whole(&self, _kind: KindId) -> bool {
        true
    }
    /// A child changed. Returns the work if its owner is idle; `None` where there is none. A cache that knows the plan
    /// says in the event how the child is to be looked at.
    fn on_child_event(&mut self, update: ChildUpdate<'_>) -> Option<OwnerState>;
    /// A worker is about to take `state`: fills in what is retained.
    fn complete(&self, state: &mut OwnerState);
    /// A worker returned `state`: retains what it found.
    fn record(&mut self, state: &mut OwnerState);
    /// A relist begins: the owners that it shows exist.
    fn relist_began(&mut self);
    /// A relist ended. `whole`: it has shown all owners, so that the others are gone.
    fn relist_ended(&mut self, whole: bool);
    /// resourceVersions start over: nothing that is retained can be compared.
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
    fn is_ahead_of(&self, state: &OwnerState, page: &[u64]) -> Option<KindId> {
        (**self).is_ahead_of(state, page)
    }
    fn knows_status_of(&self, state: &OwnerState) -> bool {
        (**self).knows_status_of(state)
    }
    fn on_owner_gone(&mut self, uid: Uid) {
        (**self).on_owner_gone(uid);
    }
    fn sees_whole(&self, kind: KindId) -> bool {
        (**self).sees_whole(kind)
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

/// The work for a change of a child whose owner is not known: a read of the owner.
fn unknown(event: &ChildEvent) -> OwnerState {
    let triggers = Triggers::REFRESH.with(Triggers::CHILD);
    OwnerState::unread(event.owner_uid.unwrap_or_default(), triggers)
}

/// What is retained, as `--cache` names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// Nothing.
    #[default]
    None,
    /// Which owners there are, by metadata-only watches.
    Metadata,
    /// Specs and records of children.
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
