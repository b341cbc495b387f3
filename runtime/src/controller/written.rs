//! Owners that were written while a relist runs: a page may be older than that.
//!
//! Guarantees: exact, by uid and resourceVersion; bounded. An owner that does not fit is looked at once more,
//! which costs requests and loses nothing.
//! Leaves to others: what a page says of the children.

use std::collections::HashMap;

use crate::model::Uid;

/// Owners that are remembered, about 30 bytes each.
const MOST: usize = 4_096;

/// The owners whose reconcile ended since the running relist began.
#[derive(Debug, Default)]
pub(crate) struct Written {
    versions: HashMap<[u64; 2], u64>,
}

impl Written {
    /// All work of an owner was done, the last of it at `resource_version`.
    pub fn done(&mut self, uid: Uid, resource_version: u64) {
        if resource_version > 0 && self.versions.len() < MOST {
            self.versions.insert(uid.halves(), resource_version);
        }
    }

    /// Whether what is shown of an owner at `resource_version` was done since.
    pub fn is_past(&self, uid: Uid, resource_version: u64) -> bool {
        let done = self.versions.get(&uid.halves());
        done.is_some_and(|version| resource_version < *version)
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
        let mut written = Written::default();
        let (a, b) = (uid(1), uid(2));
        written.done(a, 20);
        written.done(b, 0);
        for (uid, shown, want) in [
            (a, 10, true),
            (a, 20, false),
            (a, 30, false),
            (b, 10, false),
        ] {
            assert_eq!(written.is_past(uid, shown), want, "{uid:?} at {shown}");
        }
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut written = Written::default();
        for n in 0..2 * MOST {
            written.done(uid(n), 7);
        }
        assert_eq!(written.versions.len(), MOST);
    }
}
