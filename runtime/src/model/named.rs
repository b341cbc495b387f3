//! What objects were seen to name, as hashes.
//!
//! Guarantees: what was named is found again; what is no longer named stays, and costs a list when it changes.
//! Leaves to others: who names it, which a list of the owners says.

use std::collections::HashSet;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;

use crate::model::ObjectKey;

/// All that objects were seen to name, as hashes.
#[derive(Default)]
pub(crate) struct Named {
    keys: RandomState,
    hashes: HashSet<u64>,
}

impl Named {
    /// An object names this one, of the collection with this index.
    pub fn add(&mut self, collection: usize, key: &ObjectKey) {
        self.hashes.insert(self.hash(collection, key));
    }

    /// Whether one may name this.
    pub fn has(&self, collection: usize, key: &ObjectKey) -> bool {
        self.hashes.contains(&self.hash(collection, key))
    }

    /// Whether nothing is named.
    pub fn is_empty(&self) -> bool {
        self.hashes.is_empty()
    }

    fn hash(&self, collection: usize, key: &ObjectKey) -> u64 {
        self.keys.hash_one((collection, key.as_str()))
    }
}
