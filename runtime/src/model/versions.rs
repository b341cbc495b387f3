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

#[derive(Debug)]
struct Newest {
    /// By index of the part: its watch has shown everything up to it.
    shown: Vec<AtomicU64>,
    /// An answer has named it. The watch may not have shown it yet.
    answered: AtomicU64,
}

impl Versions {
    /// Of so many kinds, the owners among them, each in one part; nothing was said.
    pub fn new(kinds: usize) -> Self {
        Self::of(std::iter::repeat_n(1, kinds))
    }

    /// Of kinds that are in so many parts each, the owners first.
    pub fn of(parts: impl Iterator<Item = usize>) -> Self {
        let newest = parts.map(|parts| Newest {
            shown: (0..parts).map(|_| AtomicU64::default()).collect(),
            answered: AtomicU64::default(),
        });
        Self(newest.collect())
    }

    /// The watch of this part of `kind` has shown everything up to `resource_version`.
    pub fn advance(&self, kind: KindId, part: usize, resource_version: u64) {
        let newest = self.0.get(kind.index());
        if let Some(shown) = newest.and_then(|newest| newest.shown.get(part)) {
            shown.fetch_max(resource_version, Relaxed);
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

    /// Whether the watches of `kind` have shown everything up to `resource_version`. One of a part in which nothing happens
    /// says so about once a minute.
    pub(crate) fn have_shown(&self, kind: KindId, resource_version: u64) -> bool {
        let newest = self.0.get(kind.index());
        let has_shown = |shown: &AtomicU64| shown.load(Relaxed) >= resource_version;
        newest.is_some_and(|newest| newest.shown.iter().all(has_shown))
    }

    /// The newest that an answer has named; 0 where there is none.
    pub(crate) fn answered(&self, kind: KindId) -> u64 {
        let newest = self.0.get(kind.index());
        newest.map_or(0, |newest| newest.answered.load(Relaxed))
    }

    /// How far the server is, by watches and answers, by index of the kind.
    pub(crate) fn newest(&self) -> Vec<u64> {
        let newest = |of: &Newest| {
            let all = of.shown.iter().chain([&of.answered]);
            all.map(|one| one.load(Relaxed)).max().unwrap_or_default()
        };
        self.0.iter().map(newest).collect()
    }

    /// resourceVersions start over because the server was restored.
    pub(crate) fn forget(&self) {
        for newest in &*self.0 {
            let all = newest.shown.iter().chain([&newest.answered]);
            all.for_each(|one| one.store(0, Relaxed));
        }
    }
}
