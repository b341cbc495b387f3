//! Which objects owners have selected when they were last read, as hashes.
//!
//! Guarantees: the owners that have read an object are found by it, also where its change was shown while it was read. About 24 bytes
//! for each object and each owner that has read it, until the object is deleted.
//! Leaves to others: who selects an object now (`selector`).

use std::collections::hash_map::RandomState;
use std::collections::{BTreeSet, HashSet};
use std::hash::BuildHasher;

use crate::model::ObjectKey;

/// Changes that are kept at most while something is read; with more, all that is read counts as changed.
const SHOWN: usize = 10_000;

/// Which objects owners have read.
#[derive(Default)]
pub(crate) struct Selected {
    keys: RandomState,
    /// Hashes of an object and of an owner that has read it.
    read: BTreeSet<(u64, u64)>,
    /// A list has begun.
    is_used: bool,
    /// Lists that are being read now.
    reading: usize,
    /// What has changed since the first of them began.
    shown: HashSet<u64>,
    /// Owners that have read what has changed meanwhile: what they have may be older.
    outdated: HashSet<u64>,
}

impl Selected {
    /// The hash of an owner.
    pub fn owner(&self, key: &ObjectKey) -> u64 {
        self.keys.hash_one(key.as_str())
    }

    /// Whether a list was ever read.
    pub fn is_used(&self) -> bool {
        self.is_used
    }

    /// A list begins.
    pub fn begin(&mut self) {
        self.is_used = true;
        self.reading += 1;
    }

    /// A list ends.
    pub fn end(&mut self) {
        self.reading -= 1;
        if self.reading == 0 {
            self.shown = HashSet::new();
        }
    }

    /// An owner has read an object, of the collection with this index, while a list of it goes on.
    pub fn read(&mut self, owner: u64, collection: usize, key: &ObjectKey) {
        let object = self.hash(collection, key);
        self.read.insert((object, owner));
        if self.shown.contains(&object) || self.shown.len() >= SHOWN {
            self.outdated.insert(owner);
        }
    }

    /// The watch shows an object; the owners that have read it, who are forgotten where it is deleted.
    pub fn shown(&mut self, collection: usize, key: &ObjectKey, is_deleted: bool) -> Vec<u64> {
        let object = self.hash(collection, key);
        if self.reading > 0 && self.shown.len() < SHOWN {
            self.shown.insert(object);
        }
        let readers = self.read.range((object, 0)..=(object, u64::MAX));
        let readers: Vec<u64> = readers.map(|(_, owner)| *owner).collect();
        if is_deleted {
            readers.iter().for_each(|owner| {
                self.read.remove(&(object, *owner));
            });
        }
        readers
    }

    /// The owners that have read what may be older than what was shown meanwhile.
    pub fn take_outdated(&mut self) -> HashSet<u64> {
        std::mem::take(&mut self.outdated)
    }

    fn hash(&self, collection: usize, key: &ObjectKey) -> u64 {
        self.keys.hash_one((collection, key.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> ObjectKey {
        ObjectKey::new("a", name)
    }

    #[test]
    fn the_owners_that_have_read_an_object_are_found_until_it_is_deleted() {
        let mut selected = Selected::default();
        let [x, y] = ["x", "y"].map(|owner| selected.owner(&key(owner)));
        for (owner, object) in [(x, "one"), (x, "two"), (y, "two")] {
            selected.begin();
            selected.read(owner, 0, &key(object));
            selected.end();
        }
        let found = |selected: &mut Selected, object, is_deleted| {
            let found = selected.shown(0, &key(object), is_deleted);
            HashSet::<u64>::from_iter(found)
        };
        assert_eq!(found(&mut selected, "one", false), [x].into());
        assert_eq!(found(&mut selected, "two", true), [x, y].into());
        assert_eq!(found(&mut selected, "two", true), [].into());
        assert!(selected.shown(1, &key("one"), false).is_empty());
        assert!(selected.take_outdated().is_empty());
    }

    #[test]
    fn a_change_that_is_shown_while_its_object_is_read_is_not_missed() {
        let mut selected = Selected::default();
        let [x, y] = ["x", "y"].map(|owner| selected.owner(&key(owner)));
        selected.begin();
        assert!(selected.shown(0, &key("one"), false).is_empty());
        selected.read(x, 0, &key("one"));
        selected.read(x, 0, &key("two"));
        selected.end();
        assert_eq!(selected.take_outdated(), [x].into());
        // A list that began after the change has it.
        selected.begin();
        selected.read(y, 0, &key("one"));
        selected.end();
        assert!(selected.take_outdated().is_empty());
    }

    #[test]
    fn where_too_much_changes_meanwhile_all_that_is_read_may_be_older() {
        let mut selected = Selected::default();
        selected.begin();
        for n in 0..=SHOWN {
            selected.shown(0, &key(&n.to_string()), false);
        }
        let owner = selected.owner(&key("x"));
        selected.read(owner, 0, &key("unseen"));
        assert_eq!(selected.take_outdated(), [owner].into());
    }
}
