//! Owners that were deleted a short time ago, whose children the garbage collector is still deleting.
//!
//! Without it every child that goes after its owner would cost a read of an owner that is gone.
//!
//! Guarantees: pure, time comes in as milliseconds. An event is of a departed owner only if it names the very
//! object (uid) whose deletion was shown, and no owner of this name was shown since: a new owner of the same
//! name waits for the children of the old one to go. Bounded in number and in time; past the bounds the
//! owner is read. Leaves to others: the read (`reconcile`).

use std::collections::HashMap;

use crate::model::{ObjectKey, Uid, hash64};

/// Most owners of one period; twice as many are remembered at most, about 200 KB.
const MOST: usize = 4_096;

/// How long an owner is remembered at least, where there are not too many, ms. kube-controller-manager deletes
/// the children of 5,000 owners in less.
const PERIOD_MS: u64 = 60_000;

/// Owners by the hash of their key. A collision forgets one of them, and no more.
#[derive(Debug, Default)]
pub(crate) struct Departed {
    recent: HashMap<u64, Uid>,
    older: HashMap<u64, Uid>,
    /// When `recent` began, ms.
    since_ms: u64,
}

impl Departed {
    /// The owner was deleted.
    pub fn insert(&mut self, key: &ObjectKey, uid: Uid, now_ms: u64) {
        self.expire(now_ms);
        if self.recent.len() >= MOST {
            self.turn(now_ms);
        }
        if self.recent.is_empty() {
            self.since_ms = now_ms;
        }
        self.recent.insert(hash(key), uid);
    }

    /// An owner of this name was shown.
    pub fn remove(&mut self, key: &ObjectKey) {
        if !self.is_empty() {
            let hash = hash(key);
            self.recent.remove(&hash);
            self.older.remove(&hash);
        }
    }

    /// Whether this owner was deleted, and no other of its name was shown since.
    pub fn contains(&self, key: &ObjectKey, uid: Uid) -> bool {
        if self.is_empty() {
            return false;
        }
        let hash = hash(key);
        [&self.recent, &self.older]
            .into_iter()
            .any(|period| period.get(&hash) == Some(&uid))
    }

    /// When something is to be forgotten, ms.
    pub fn due_ms(&self) -> Option<u64> {
        (!self.is_empty()).then(|| self.since_ms + PERIOD_MS)
    }

    /// Forgets what is old.
    pub fn expire(&mut self, now_ms: u64) {
        if self.due_ms().is_some_and(|due_ms| due_ms <= now_ms) {
            self.turn(now_ms);
        }
    }

    fn turn(&mut self, now_ms: u64) {
        self.older = std::mem::take(&mut self.recent);
        self.since_ms = now_ms;
    }

    fn is_empty(&self) -> bool {
        self.recent.is_empty() && self.older.is_empty()
    }
}

fn hash(key: &ObjectKey) -> u64 {
    hash64(key.as_str().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uid(n: usize) -> Uid {
        Uid::parse(&format!("00000000-0000-4000-8000-{n:012x}")).expect("well-formed")
    }

    fn key(name: &str) -> ObjectKey {
        ObjectKey::new("default", name)
    }

    #[test]
    fn a_departed_owner_is_known_by_name_and_uid_until_another_is_shown() {
        let (old, new) = (uid(1), uid(2));
        let mut departed = Departed::default();
        assert!(!departed.contains(&key("a"), old), "nothing was deleted");
        departed.insert(&key("a"), old, 0);
        assert!(departed.contains(&key("a"), old));
        assert!(!departed.contains(&key("a"), new), "another object");
        assert!(!departed.contains(&key("b"), old), "another name");
        departed.remove(&key("a"));
        assert!(!departed.contains(&key("a"), old), "a new owner was shown");
    }

    #[test]
    fn what_is_remembered_is_bounded_in_time() {
        let uid = uid(1);
        let mut departed = Departed::default();
        assert_eq!(departed.due_ms(), None);
        departed.insert(&key("a"), uid, 1_000);
        assert_eq!(departed.due_ms(), Some(1_000 + PERIOD_MS));
        departed.expire(PERIOD_MS);
        assert!(departed.contains(&key("a"), uid), "not yet");
        departed.expire(1_000 + PERIOD_MS);
        assert!(departed.contains(&key("a"), uid), "at least one period");
        departed.expire(1_000 + 2 * PERIOD_MS);
        assert!(!departed.contains(&key("a"), uid));
        assert_eq!(departed.due_ms(), None, "nothing is left to forget");
    }

    #[test]
    fn what_is_remembered_is_bounded_in_number() {
        let mut departed = Departed::default();
        for n in 0..3 * MOST {
            departed.insert(&key(&n.to_string()), uid(n), 0);
        }
        let known = (0..3 * MOST)
            .filter(|n| departed.contains(&key(&n.to_string()), uid(*n)))
            .count();
        assert!((MOST..=2 * MOST).contains(&known), "{known}");
        let last = 3 * MOST - 1;
        assert!(departed.contains(&key(&last.to_string()), uid(last)));
    }
}
