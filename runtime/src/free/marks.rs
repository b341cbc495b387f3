//! When objects without an entry in the queue are due, at a few bytes each.
//!
//! Guarantees: an object is known by a hash of its key, which a list of the collection resolves; of two times the earlier
//! one stays. Leaves to others: listing (`pass`), what has an entry (`queue`).

use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, Hasher, RandomState};

use crate::model::ObjectKey;

/// A due time in ms, and failures in a row in the lowest byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Mark(u64);

impl Mark {
    pub fn new(due_ms: u64, failures: u8) -> Self {
        // 2^56 ms are two million years.
        Self(due_ms.min(u64::MAX >> 8) << 8 | u64::from(failures))
    }

    pub fn due_ms(self) -> u64 {
        self.0 >> 8
    }

    pub fn failures(self) -> u8 {
        self.0 as u8
    }
}

/// The hash of a key is its own hash.
#[derive(Default)]
struct AsIs(u64);

impl Hasher for AsIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {}

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

/// The objects that are due at some time: 17 bytes for each slot of a table that is at least half full when it grows.
#[derive(Default)]
pub(super) struct Marks {
    keys: RandomState,
    marks: HashMap<u64, Mark, BuildHasherDefault<AsIs>>,
    /// No mark is due before that.
    first_due_ms: Option<u64>,
}

impl Marks {
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.marks.len()
    }

    /// A time before which nothing is due; `None` where there is no mark.
    pub fn first_due_ms(&self) -> Option<u64> {
        self.first_due_ms
    }

    /// The object is due at the earlier one of this time and the one that it has.
    pub fn add(&mut self, key: &ObjectKey, mark: Mark) {
        let hash = self.keys.hash_one(key.as_str());
        let known = self.marks.entry(hash).or_insert(mark);
        *known = mark.min(*known);
        let due_ms = known.due_ms();
        self.first_due_ms = Some(self.first_due_ms.map_or(due_ms, |first| first.min(due_ms)));
    }

    /// Takes the mark of an object that is due by `until_ms`.
    pub fn take(&mut self, key: &ObjectKey, until_ms: u64) -> Option<Mark> {
        if self.marks.is_empty() {
            return None;
        }
        let hash = self.keys.hash_one(key.as_str());
        let mark = *self.marks.get(&hash)?;
        (mark.due_ms() <= until_ms).then(|| {
            self.marks.remove(&hash);
            mark
        })
    }

    /// A list that began at `began_ms` has shown every object: what was due by then and by `until_ms`, and still has its
    /// mark, is gone.
    pub fn listed(&mut self, began_ms: u64, until_ms: u64) {
        let is_shown = |mark: Mark| mark.due_ms() < began_ms && mark.due_ms() <= until_ms;
        self.marks.retain(|_, mark| !is_shown(*mark));
        // After a wave of requeues the table is nearly empty.
        if self.marks.len() < self.marks.capacity() / 4 {
            self.marks.shrink_to_fit();
        }
        self.first_due_ms = self.marks.values().map(|mark| mark.due_ms()).min();
    }

    /// The time by which a list that begins now resolves marks. Of more than `overdue` that are due the first so many (and
    /// what is due at the same time as the last of them); else also what is due soon, up to `ahead`.
    pub fn until_ms(&self, now_ms: u64, overdue: usize, ahead: usize) -> u64 {
        match self.due_by(now_ms) > overdue {
            true => self.first_of(overdue, now_ms),
            false => self.ahead_ms(now_ms, ahead),
        }
    }

    fn due_by(&self, at_ms: u64) -> usize {
        let due = self.marks.values().filter(|mark| mark.due_ms() <= at_ms);
        due.count()
    }

    /// The earliest time by which `count` are due, where that is before `now_ms`.
    fn first_of(&self, count: usize, now_ms: u64) -> u64 {
        // Some 20 times through the table, rather than a sorted copy of it.
        let (mut low_ms, mut high_ms) = (self.first_due_ms.unwrap_or(0), now_ms);
        while low_ms < high_ms {
            let middle_ms = low_ms.midpoint(high_ms);
            match self.due_by(middle_ms) >= count {
                true => high_ms = middle_ms,
                false => low_ms = middle_ms + 1,
            }
        }
        high_ms
    }

    /// The latest of some times from `now_ms` on by which at most `count` are due.
    fn ahead_ms(&self, now_ms: u64, count: usize) -> u64 {
        const STEP_MS: u64 = 5_000;
        const STEPS: u64 = 12;
        let times = (0..=STEPS).map(|step| now_ms + step * STEP_MS);
        let fits = times.take_while(|at_ms| self.due_by(*at_ms) <= count);
        fits.last().unwrap_or(now_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(n: usize) -> ObjectKey {
        ObjectKey::new("shop", &format!("app-{n}"))
    }

    #[test]
    fn of_two_times_the_earlier_one_stays() {
        let mut marks = Marks::default();
        for due_ms in [900, 300, 600] {
            marks.add(&key(1), Mark::new(due_ms, 2));
        }
        assert_eq!((marks.len(), marks.first_due_ms()), (1, Some(300)));
        assert_eq!(marks.take(&key(1), 299), None);
        assert_eq!(marks.take(&key(2), 300), None);
        let mark = marks.take(&key(1), 300).expect("it is due");
        assert_eq!((mark.due_ms(), mark.failures()), (300, 2));
        assert_eq!(marks.len(), 0);
    }

    #[test]
    fn what_a_list_does_not_show_is_gone_if_it_was_due_before_the_list_began() {
        let mut marks = Marks::default();
        marks.add(&key(1), Mark::new(99, 0));
        marks.add(&key(2), Mark::new(100, 0));
        marks.listed(100, 100);
        assert_eq!((marks.len(), marks.first_due_ms()), (1, Some(100)));
    }

    #[test]
    fn what_a_list_was_not_to_resolve_stays() {
        let mut marks = Marks::default();
        for due_ms in [10, 20, 30] {
            marks.add(&key(due_ms), Mark::new(due_ms as u64, 0));
        }
        marks.listed(100, 20);
        assert_eq!((marks.len(), marks.first_due_ms()), (1, Some(30)));
    }

    #[test]
    fn a_list_takes_as_many_as_there_is_room_for() {
        let mut marks = Marks::default();
        for n in 0..10 {
            marks.add(&key(n), Mark::new(n as u64 * 5_000, 0));
        }
        // Due at 0, 5, 10 s.
        assert_eq!(marks.until_ms(0, 9, 3), 10_000);
        assert_eq!(marks.until_ms(10_000, 9, 3), 10_000);
        assert_eq!(marks.until_ms(0, 9, 0), 0);
        assert_eq!(marks.until_ms(0, 9, 100), 60_000);
    }

    #[test]
    fn of_more_than_can_be_done_a_list_takes_what_is_due_first() {
        let mut marks = Marks::default();
        for n in 0..10 {
            marks.add(&key(n), Mark::new(n as u64 * 1_000, 0));
        }
        // Due at 0, 1, 2, 3 s.
        assert_eq!(marks.until_ms(20_000, 4, 1), 3_000);
        assert_eq!(marks.until_ms(20_000, 10, 100), 80_000);
        let mut at_once = Marks::default();
        for n in 0..10 {
            at_once.add(&key(n), Mark::new(500, 0));
        }
        assert_eq!(at_once.until_ms(20_000, 4, 1), 500);
    }

    #[test]
    fn a_hundred_thousand_take_a_few_megabytes() {
        let mut marks = Marks::default();
        for n in 0..100_000 {
            marks.add(&key(n), Mark::new(300_000, 0));
        }
        assert_eq!(marks.len(), 100_000);
        // 16 bytes for a slot and one of the table's own.
        let slots = marks.marks.capacity() * 8 / 7;
        assert!(slots * 17 <= 2_400_000, "{slots} slots");
    }
}
