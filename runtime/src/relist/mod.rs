//! Lists of owners and children, read as streams, merged in key order and compared: a restart, an expired
//! watch and dropped events all rest on this.
//!
//! Guarantees: a relist reports differences and writes nothing. Of a list, the first page is held, and then
//! only what was received and not compared. An
//! owner whose children differ from its plan, or that has work by itself, is found once; twice where a child behind the last
//! owner shows that the lists do not merge.
//! Where lists come in byte order of `namespace/name` (kube-apiserver on etcd and kine) and children are
//! named like their owner and where it is, one pass over all pages is enough. Both are checked for every object. Where one
//! does not hold, owners are taken in groups and their children are listed by label (`by_label`).
//! A kind of child that the server does not serve has no objects, and stops no other.
//! Leaves to others: when to run (`schedule`), what a difference is ([`Compare`]), the work (`reconcile`).

mod answer;
mod by_label;
#[cfg(test)]
mod hostile;
mod items;
mod merge;
pub(crate) mod pages;
pub(crate) mod pass;
pub mod schedule;

use crate::http::paths::Paths;
use crate::model::{KindId, ObjectKey, OwnerState, PartialObject, Triggers};

pub use crate::relist::merge::Relist;
pub use crate::relist::pages::ListError;

/// Compares owners with their children. A relist knows neither plans nor bodies of children.
pub trait Compare {
    /// A child as the comparison needs it.
    type Child;

    /// Decodes an owner.
    ///
    /// # Errors
    /// The object is not of the expected type.
    fn owner(&self, object: &PartialObject<'_>) -> Result<OwnerState, serde_json::Error>;

    /// Decodes a child; `None` where it cannot be decoded, or is not the one named `key`.
    fn child(&self, kind: KindId, raw: &str, key: Option<&ObjectKey>) -> Option<Self::Child>;

    /// Compares an owner with all of its children and records them in its state. `by_name`: the children
    /// were found by the owner's name.
    fn compare(
        &self,
        key: &ObjectKey,
        state: &mut OwnerState,
        children: &[(KindId, Self::Child)],
        by_name: bool,
    ) -> Comparison;

    /// The triggers of an owner for the queue: those that its children gave, and its own. `None` where it
    /// has no work and is of no use to the cache either.
    fn admit(
        &self,
        state: &mut OwnerState,
        triggers: Triggers,
        coverage: Coverage,
    ) -> Option<Triggers>;
}

/// The result of a comparison.
#[derive(Debug)]
pub enum Comparison {
    /// What the children ask for.
    Triggers(Triggers),
    /// A planned child is not named like its owner: this one. The lists cannot be merged by name.
    NotByName(String),
}

/// Which collections a relist reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coverage {
    /// The owners, for those with work of their own: after events of owners were dropped.
    Owners,
    /// Owners and children.
    All,
}

impl Coverage {
    /// How many collections are listed, the owners' among them.
    pub fn kinds(self, paths: &Paths) -> usize {
        match self {
            Coverage::Owners => 1,
            Coverage::All => paths.len(),
        }
    }
}

/// What a relist found.
#[derive(Debug)]
pub enum Found {
    /// The first page of a kind is read: its watch can be opened from there.
    Opened {
        /// The kind.
        kind: KindId,
        /// resourceVersion of that page.
        resource_version: u64,
    },
    /// The server does not serve this kind of child: its CRD is not installed. The relist goes on without it.
    Missing {
        /// The kind.
        kind: KindId,
    },
    /// An owner with work, or, for a cache that retains owners, any owner.
    Owner {
        /// Its key.
        key: ObjectKey,
        /// Its state, from its page.
        state: Box<OwnerState>,
        /// Triggers beyond those that show on the owner itself.
        triggers: Triggers,
    },
    /// The relist is complete.
    Done {
        /// Owners that the list showed.
        owners: usize,
        /// An object could not be decoded: the same is listed again.
        skipped: bool,
    },
    /// A page could not be read.
    Failed(ListError),
}

#[cfg(test)]
mod tests;
