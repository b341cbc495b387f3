//! Our own writes of owners whose entries left before the watch has shown them.
//!
//! Guarantees: pure and bounded; where there are more, the oldest are forgotten, and the event of such a write counts as
//! that of another client. It is no part of `Versions`, whose newest answer does not tell our write from one by somebody
//! else before it. Leaves to others: what that means (`owner`).

use std::collections::BTreeSet;

/// resourceVersions that the watch of the owners is still to show. Each is of one write.
#[derive(Debug, Default)]
pub(super) struct Unshown(BTreeSet<u64>);

impl Unshown {
    /// An owner whose last write is this one, 0 for none, has no entry any more. At most `most` are kept.
    pub(super) fn insert(&mut self, resource_version: u64, most: usize) {
        if resource_version == 0 {
            return;
        }
        self.0.insert(resource_version);
        if self.0.len() > most {
            self.0.pop_first();
        }
    }

    /// The watch shows an owner at this resourceVersion, after all that are lower. Whether it is one of these writes.
    pub(super) fn shows(&mut self, resource_version: u64) -> bool {
        if self.0.is_empty() {
            return false;
        }
        let later = self.0.split_off(&(resource_version + 1));
        let shown = std::mem::replace(&mut self.0, later);
        shown.contains(&resource_version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_is_known_until_the_watch_is_past_it() {
        let mut unshown = Unshown::default();
        for version in [0, 5, 7] {
            unshown.insert(version, 2);
        }
        assert!(!unshown.shows(0) && !unshown.shows(4));
        assert!(unshown.shows(7) && !unshown.shows(7));
        assert!(!unshown.shows(5), "the watch was past it");
        for version in [11, 12, 13] {
            unshown.insert(version, 2);
        }
        assert!(!unshown.shows(11), "the oldest of more than fit");
    }
}
