//! How far the server was when it last answered a write.
//!
//! Guarantees: per kind, and never behind what was noted. Clones share it.
//! Leaves to others: what follows from a list that is older (`watch`, `controller`).

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use crate::model::{KindId, OwnerState};

/// The newest resourceVersion of each kind that an answer has named. A watch may not have shown it yet.
#[derive(Debug, Clone)]
pub(crate) struct AnsweredVersions(Arc<[AtomicU64]>);

impl AnsweredVersions {
    /// Of so many kinds, the owners among them; nothing was answered.
    pub fn new(kinds: usize) -> Self {
        Self((0..kinds).map(|_| AtomicU64::new(0)).collect())
    }

    /// Notes what a worker knows of an owner and its children.
    pub fn note(&self, owner: &OwnerState) {
        self.raise(KindId::OWNER, owner.own_version);
        for child in &owner.children {
            self.raise(child.kind, child.resource_version);
        }
    }

    fn raise(&self, kind: KindId, resource_version: u64) {
        if let Some(known) = self.0.get(kind.index()) {
            known.fetch_max(resource_version, Relaxed);
        }
    }

    /// The newest resourceVersion of `kind`; 0 where none is known.
    pub fn newest(&self, kind: KindId) -> u64 {
        let known = self.0.get(kind.index());
        known.map_or(0, |known| known.load(Relaxed))
    }

    /// resourceVersions start over because the server was restored.
    pub fn forget(&self) {
        for known in &*self.0 {
            known.store(0, Relaxed);
        }
    }
}
