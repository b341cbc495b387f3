//! A second replica beside the first one, as a rollout without leader election has it: when it starts and ends.
//!
//! Guarantees: it follows from the seed alone and from how many steps there are. A schedule without it is the same as if
//! there were no such steps. Leaves to others: what the replica does (`keeper`, `world`).

use crate::rng::Rng;
use crate::step::Step;

/// One schedule in so many has two replicas.
const ONE_IN: u64 = 5;

/// Puts the start of a second replica and mostly its end among the steps, once or twice. They are numbered after all
/// others.
pub fn with_second_replica(seed: u64, mut steps: Vec<(usize, Step)>) -> Vec<(usize, Step)> {
    let mut rng = Rng::new(seed ^ 0x5ec0_0d00_0000);
    if !rng.one_in(ONE_IN) {
        return steps;
    }
    let mut from = 0;
    for _ in 0..1 + rng.below(2) {
        let number = steps.len();
        let starts = from + rng.below(1 + (number - from) as u64) as usize;
        steps.insert(starts, (number, Step::SecondStarts));
        if rng.one_in(3) {
            // Both work to the end.
            return steps;
        }
        let after = starts + 1;
        from = after + rng.below(1 + (steps.len() - after) as u64) as usize;
        steps.insert(from, (number + 1, Step::SecondEnds));
        from += 1;
    }
    steps
}
