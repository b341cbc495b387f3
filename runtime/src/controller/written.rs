//! Owners that were written while a relist runs: a page may be older than that.
//!
//! Guarantees: exact, by uid and resourceVersion; bounded. An owner that does not fit is looked at once more,
//! which costs requests and loses nothing. It is no part of `Versions`, which know kinds and no owners: what was written
//! after a page was read says nothing of the others on it.
//! Leaves to others: what a page says of the children (`queue`).

use std::collections::HashMap;

use crate::model::{ObjectKey, Uid};

/// Owners that are remembered, about 30 bytes each.
const MOST: usize = 4_096;

/// What a page shows of an owner, compared with what was written since the relist began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PageAge {
    /// Nothing newer was written.
    Newest,
    /// The owner as it was before its work was done.
    Past,
    /// Either of them.
    Unknown,
}

/// The owners whose reconcile ended since the running relist began, and which it has not shown before that.
#[derive(Debug, Default)]
pub(crate) struct Written {
    versions: HashMap<Uid, u64>,
    /// The last of the owners that the relist has shown, in the order of keys: those up to it come no more, unless
    /// the server lists them in another order.
    position: Option<ObjectKey>,
    /// Owners did not fit.
    overflowed: bool,
}

impl Written {
    /// All work of an owner was done, the last of it at `resource_version`.
    pub fn done(&mut self, key: &ObjectKey, uid: Uid, resource_version: u64) {
        let was_shown = self.position.as_ref().is_some_and(|last| key <= last);
        if resource_version == 0 || was_shown {
            return;
        }
        if self.versions.len() < MOST || self.versions.contains_key(&uid) {
            self.versions.insert(uid, resource_version);
        } else {
            self.overflowed = true;
        }
    }

    /// The relist shows an owner at `resource_version`.
    pub fn shows(&mut self, key: &ObjectKey, uid: Uid, resource_version: u64) -> PageAge {
        let is_in_order = self.position.as_ref().is_none_or(|last| key > last);
        if is_in_order {
            self.position = Some(key.clone());
        }
        match self.versions.get(&uid) {
            Some(version) if resource_version < *version => PageAge::Past,
            None if self.overflowed || !is_in_order => PageAge::Unknown,
            Some(_) | None => PageAge::Newest,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uid(n: usize) -> Uid {
        Uid::parse(&format!("00000000-0000-4000-8000-{n:012x}")).expect("well-formed")
    }

    #[test]
    fn what_is_older_than_the_last_write_is_past() {
        for (shown, want) in [
            (10, PageAge::Past),
            (20, PageAge::Newest),
            (30, PageAge::Newest),
        ] {
            let mut written = Written::default();
            written.done(&"shop/a".into(), uid(1), 20);
            written.done(&"shop/b".into(), uid(2), 0);
            assert_eq!(written.shows(&"shop/a".into(), uid(1), shown), want);
            let unwritten = written.shows(&"shop/b".into(), uid(2), shown);
            assert_eq!(unwritten, PageAge::Newest);
        }
    }

    #[test]
    fn what_was_shown_before_it_was_written_is_not_remembered() {
        let mut written = Written::default();
        written.shows(&"shop/b".into(), uid(2), 5);
        for (key, n) in [("shop/a", 1), ("shop/b", 2), ("shop/c", 3)] {
            written.done(&key.into(), uid(n), 20);
        }
        assert_eq!(written.versions.len(), 1);
        assert_eq!(written.shows(&"shop/c".into(), uid(3), 5), PageAge::Past);
        // A server that lists in another order.
        assert_eq!(written.shows(&"shop/a".into(), uid(1), 5), PageAge::Unknown);
    }

    #[test]
    fn what_is_remembered_is_bounded_and_the_rest_is_unknown() {
        let mut written = Written::default();
        for n in 0..=MOST {
            written.done(&"shop/b".into(), uid(n), 7);
        }
        assert_eq!(written.versions.len(), MOST);
        written.done(&"shop/b".into(), uid(1), 9);
        assert_eq!(written.shows(&"shop/b".into(), uid(1), 8), PageAge::Past);
        assert_eq!(
            written.shows(&"shop/c".into(), uid(MOST), 5),
            PageAge::Unknown
        );
    }
}
