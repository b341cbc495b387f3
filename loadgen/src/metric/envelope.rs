//! The largest size at which something holds: by doubling, then by bisection.
//!
//! Guarantees: pure; each size is asked for once; the answer lies within `precision` of the first size that does
//! not hold. What holds at a size is taken to hold at smaller ones. Leaves to others: trying a size.

/// A search in progress.
#[derive(Debug, Clone, PartialEq)]
pub struct Search {
    first: usize,
    most: usize,
    /// A part of the largest size that holds.
    precision: f64,
    /// The largest size that held, and the smallest that did not.
    held: Option<usize>,
    failed: Option<usize>,
}

impl Search {
    /// From `first` on; never above `most`.
    pub fn new(first: usize, most: usize, precision: f64) -> Self {
        Self {
            first: first.clamp(1, most.max(1)),
            most: most.max(1),
            precision,
            held: None,
            failed: None,
        }
    }

    /// The size to try; `None` once the answer is known.
    pub fn to_try(&self) -> Option<usize> {
        match (self.held, self.failed) {
            (None, None) => Some(self.first),
            (Some(held), None) => (held < self.most).then(|| (held * 2).min(self.most)),
            (None, Some(failed)) => (failed > 1).then_some(failed / 2),
            (Some(held), Some(failed)) => {
                let gap = failed.saturating_sub(held);
                let known = gap <= 1 || gap as f64 <= self.precision * held as f64;
                (!known).then_some(held + gap / 2)
            }
        }
    }

    /// What came of a try.
    pub fn note(&mut self, size: usize, held: bool) {
        match held {
            true => self.held = Some(self.held.map_or(size, |known| known.max(size))),
            false => self.failed = Some(self.failed.map_or(size, |known| known.min(size))),
        }
    }

    /// The largest size that held; `None` where none did.
    pub fn largest(&self) -> Option<usize> {
        self.held
    }

    /// Whether nothing failed up to the largest size that may be tried.
    pub fn is_open(&self) -> bool {
        self.failed.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The sizes that are tried until the answer is known.
    fn tried(search: &mut Search, bound: usize) -> Vec<usize> {
        let mut tried = Vec::new();
        while let Some(size) = search.to_try() {
            tried.push(size);
            assert!(tried.len() < 100, "it never ends: {tried:?}");
            search.note(size, size <= bound);
        }
        tried
    }

    #[test]
    fn a_bound_is_found_by_doubling_and_bisection() {
        let mut search = Search::new(100, 100_000, 0.1);
        assert_eq!(
            tried(&mut search, 1_234),
            [100, 200, 400, 800, 1_600, 1_200, 1_400, 1_300]
        );
        assert_eq!(search.largest(), Some(1_200));
        assert!(!search.is_open());
    }

    #[test]
    fn it_ends_at_the_most_that_may_be_tried() {
        let mut search = Search::new(100, 500, 0.1);
        assert_eq!(tried(&mut search, 9_999), [100, 200, 400, 500]);
        assert_eq!((search.largest(), search.is_open()), (Some(500), true));
    }

    #[test]
    fn a_first_size_that_fails_is_halved() {
        let mut search = Search::new(100, 500, 0.1);
        assert_eq!(tried(&mut search, 0), [100, 50, 25, 12, 6, 3, 1]);
        assert_eq!(search.largest(), None);
    }

    proptest! {
        #[test]
        fn the_answer_is_the_bound_or_just_below(bound in 1usize..50_000, first in 1usize..5_000) {
            let mut search = Search::new(first, 100_000, 0.05);
            let sizes = tried(&mut search, bound);
            let largest = search.largest().expect("1 holds");
            prop_assert!(largest <= bound);
            prop_assert!(bound as f64 <= largest as f64 * 1.05 + 1.0, "{largest} for {bound}: {sizes:?}");
            let mut once = sizes.clone();
            once.sort_unstable();
            once.dedup();
            prop_assert_eq!(once.len(), sizes.len(), "{:?}", sizes);
        }
    }
}
