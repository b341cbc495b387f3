//! Owners whose plans asked to be computed again at a time of their own.
//!
//! Guarantees: time comes in as milliseconds. Bounded in number: where there are more, those that are due first
//! stay, and the log says once that the others wait for a relist. An owner has one time at most.
//! Leaves to others: the work (`queue`).

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use tracing::warn;

use crate::model::{ObjectKey, Uid, millis};

/// The shortest time after which a plan is computed again, ms.
const LEAST_MS: u64 = 1_000;

/// When which owner is due.
#[derive(Debug)]
pub(crate) struct Requeues {
    most: usize,
    by_key: HashMap<ObjectKey, (u64, Uid)>,
    due: BTreeSet<(u64, ObjectKey)>,
    /// One did not fit, and the log says so.
    told: bool,
}

impl Requeues {
    /// At most `most` owners.
    pub fn new(most: usize) -> Self {
        Self {
            most,
            by_key: HashMap::new(),
            due: BTreeSet::new(),
            told: false,
        }
    }

    /// The plan of the owner was computed: it is due after this time and at no other, or not at all. False where one,
    /// this one or another, does not fit: a relist has to compare it.
    pub fn set(&mut self, key: &ObjectKey, uid: Uid, after: Option<Duration>, now_ms: u64) -> bool {
        self.remove(key);
        after.is_none_or(|after| self.insert(key, uid, after, now_ms))
    }

    /// A relist has found that the plan of the owner wants that; a time that is known already stays. False as above.
    pub fn on_found(&mut self, key: &ObjectKey, uid: Uid, after: Duration, now_ms: u64) -> bool {
        self.by_key.contains_key(key) || self.insert(key, uid, after, now_ms)
    }

    fn insert(&mut self, key: &ObjectKey, uid: Uid, after: Duration, now_ms: u64) -> bool {
        let after_ms = millis(after);
        let due_ms = now_ms.saturating_add(after_ms.max(LEAST_MS));
        let fits = self.by_key.len() < self.most;
        if !fits {
            if !std::mem::replace(&mut self.told, true) {
                warn!(
                    most = self.most,
                    "more owners ask for a requeue than are kept; the others wait for relists, up to ten minutes each"
                );
            }
            match self.due.last() {
                Some((last_ms, _)) if *last_ms > due_ms => {
                    if let Some((_, last)) = self.due.pop_last() {
                        self.by_key.remove(&last);
                    }
                }
                _ => return false,
            }
        }
        self.by_key.insert(key.clone(), (due_ms, uid));
        self.due.insert((due_ms, key.clone()));
        fits
    }

    /// The owner has no such time any more.
    pub fn remove(&mut self, key: &ObjectKey) {
        if let Some((key, (due_ms, _))) = self.by_key.remove_entry(key) {
            self.due.remove(&(due_ms, key));
        }
        if self.by_key.is_empty() && self.by_key.capacity() > 0 {
            self.by_key = HashMap::new();
        }
    }

    /// The owner with this uid was deleted; another one of its name keeps its time.
    pub fn owner_gone(&mut self, key: &ObjectKey, uid: Uid) {
        if self.by_key.get(key).is_some_and(|(_, of)| *of == uid) {
            self.remove(key);
        }
    }

    /// When the first one is due, ms.
    pub fn first_due_ms(&self) -> Option<u64> {
        self.due.first().map(|(due_ms, _)| *due_ms)
    }

    /// An owner that is due.
    pub fn take_due(&mut self, now_ms: u64) -> Option<(ObjectKey, Uid)> {
        let key = match self.due.first() {
            Some((due_ms, key)) if *due_ms <= now_ms => key.clone(),
            _ => return None,
        };
        let uid = self.by_key.get(&key).map(|(_, uid)| *uid);
        self.remove(&key);
        Some((key, uid.unwrap_or_default()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(n: u64) -> ObjectKey {
        ObjectKey::new("a", &n.to_string())
    }

    fn after(seconds: u64) -> Option<Duration> {
        Some(Duration::from_secs(seconds))
    }

    fn due(requeues: &mut Requeues, now_ms: u64) -> Vec<ObjectKey> {
        let taken = std::iter::from_fn(|| requeues.take_due(now_ms));
        taken.map(|(key, _)| key).collect()
    }

    #[test]
    fn those_that_are_due_first_stay_where_there_are_too_many() {
        let mut requeues = Requeues::new(3);
        for (n, seconds) in [(1, 50), (2, 40), (3, 30)] {
            requeues.set(&key(n), Uid::default(), after(seconds), 0);
        }
        assert!(!requeues.told);
        requeues.set(&key(4), Uid::default(), after(60), 0);
        assert!(requeues.told);
        requeues.set(&key(5), Uid::default(), after(10), 0);
        assert_eq!(due(&mut requeues, 100_000), [key(5), key(3), key(2)]);
        assert_eq!(requeues.first_due_ms(), None);
    }

    #[test]
    fn an_owner_has_one_time_that_its_plan_moves_and_a_relist_does_not() {
        let mut requeues = Requeues::new(1);
        for seconds in [50, 70, 20] {
            requeues.set(&key(1), Uid::default(), after(seconds), 0);
        }
        requeues.on_found(&key(1), Uid::default(), Duration::from_secs(5), 0);
        assert!(!requeues.told);
        assert_eq!(requeues.first_due_ms(), Some(20_000));
        assert_eq!(due(&mut requeues, 19_999), []);
        assert_eq!(due(&mut requeues, 20_000), [key(1)]);
    }

    #[test]
    fn a_restart_learns_from_a_relist_and_an_owner_that_no_longer_asks_is_not_due() {
        let mut requeues = Requeues::new(1);
        requeues.on_found(&key(1), Uid::default(), Duration::ZERO, 500);
        assert_eq!(requeues.first_due_ms(), Some(1_500), "a second at least");
        requeues.set(&key(1), Uid::default(), None, 600);
        assert_eq!(requeues.first_due_ms(), None);
    }
    #[test]
    fn the_end_of_an_earlier_owner_leaves_the_time_of_the_next_one_of_its_name() {
        let uid = |n| Uid::parse(&format!("00000000-0000-0000-0000-00000000000{n}"));
        let [first, next] = [1, 2].map(|n| uid(n).unwrap_or_default());
        let mut requeues = Requeues::new(1);
        requeues.set(&key(1), next, after(50), 0);
        requeues.owner_gone(&key(1), first);
        assert_eq!(requeues.first_due_ms(), Some(50_000));
        requeues.owner_gone(&key(1), next);
        assert_eq!(requeues.first_due_ms(), None);
    }
}
