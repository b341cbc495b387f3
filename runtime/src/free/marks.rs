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

    /// Removes the marks that were due before `began_ms`: a list that began then has not shown their objects.
    pub fn listed(&mut self, began_ms: u64) {
        self.marks.retain(|_, mark| mark.due_ms() >= began_ms);
        // After a wave of requeues the table is nearly empty.
        if self.marks.len() < self.marks.capacity() / 4 {
            self.marks.shrink_to_fit();
        }
        self.first_due_ms = self.marks.values().map(|mark| mark.due_ms()).min();
    }

    /// The latest of some times from `now_ms` on by which at most `count` objects are due.
    pub fn until_ms(&self, now_ms: u64, count: usize) -> u64 {
        const STEP_MS: u64 = 5_000;
        const STEPS: usize = 12;
        let mut due = [0usize; STEPS + 1];
        for mark in self.marks.values() {
            let step = mark.due_ms().saturating_sub(now_ms).div_ceil(STEP_MS);
            if let Some(step) = due.get_mut(usize::try_from(step).unwrap_or(usize::MAX)) {
                *step += 1;
            }
        }
        let mut sum = 0;
        let fits = due.iter().take_while(|step| {
            sum += **step;
            sum <= count
        });
        let steps = u64::try_from(fits.count()).unwrap_or(0).saturating_sub(1);
        now_ms + steps * STEP_MS
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
        marks.listed(100);
        assert_eq!((marks.len(), marks.first_due_ms()), (1, Some(100)));
    }

    #[test]
    fn a_list_takes_as_many_as_there_is_room_for() {
        let mut marks = Marks::default();
        for n in 0..10 {
            marks.add(&key(n), Mark::new(n as u64 * 5_000, 0));
        }
        // Due at 0, 5, 10 s.
        assert_eq!(marks.until_ms(0, 3), 10_000);
        assert_eq!(marks.until_ms(10_000, 3), 10_000);
        assert_eq!(marks.until_ms(0, 0), 0);
        assert_eq!(marks.until_ms(0, 100), 60_000);
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
