//! How far the server is, by what it has said.
//!
//! Guarantees: per kind, and never behind what was noted. Clones share it.
//! Leaves to others: what follows from a list that is older (`watch`, `controller`), whether a write of ours is confirmed
//! (`queue`).

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use crate::model::{KindId, OwnerState};

/// The newest resourceVersions of each kind.
#[derive(Debug, Clone)]
pub struct Versions(Arc<[Newest]>);

#[derive(Debug, Default)]
struct Newest {
    /// The watch has shown everything up to it.
    shown: AtomicU64,
    /// An answer has named it. The watch may not have shown it yet.
    answered: AtomicU64,
}

impl Versions {
    /// Of so many kinds, the owners among them; nothing was said.
    pub fn new(kinds: usize) -> Self {
        Self((0..kinds).map(|_| Newest::default()).collect())
    }

    /// The watch of `kind` has shown everything up to `resource_version`.
    pub fn advance(&self, kind: KindId, resource_version: u64) {
        if let Some(newest) = self.0.get(kind.index()) {
            newest.shown.fetch_max(resource_version, Relaxed);
        }
    }

    /// Notes what a worker knows of an owner and its children.
    pub(crate) fn answer(&self, owner: &OwnerState) {
        let children = owner.children.iter();
        let children = children.map(|child| (child.kind, child.resource_version));
        for (kind, version) in children.chain([(KindId::OWNER, owner.object.own_version)]) {
            if let Some(newest) = self.0.get(kind.index()) {
                newest.answered.fetch_max(version, Relaxed);
            }
        }
    }

    /// Whether the watch of `kind` has shown everything up to `resource_version`.
    pub(crate) fn have_shown(&self, kind: KindId, resource_version: u64) -> bool {
        let newest = self.0.get(kind.index());
        newest.is_some_and(|newest| newest.shown.load(Relaxed) >= resource_version)
    }

    /// The newest that an answer has named; 0 where there is none.
    pub(crate) fn answered(&self, kind: KindId) -> u64 {
        let newest = self.0.get(kind.index());
        newest.map_or(0, |newest| newest.answered.load(Relaxed))
    }

    /// How far the server is, by watches and answers, by index of the kind.
    pub(crate) fn newest(&self) -> Vec<u64> {
        let newest = |of: &Newest| of.shown.load(Relaxed).max(of.answered.load(Relaxed));
        self.0.iter().map(newest).collect()
    }

    /// resourceVersions start over because the server was restored.
    pub(crate) fn forget(&self) {
        for newest in &*self.0 {
            newest.shown.store(0, Relaxed);
            newest.answered.store(0, Relaxed);
        }
    }
}
