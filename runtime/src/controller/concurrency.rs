//! How many owners are worked on at once: as many as allowed, and few while one after the other is
//! refused.
//!
//! Guarantees: pure, time comes in as milliseconds; a single success, or a failure that was waited for,
//! opens it again, so that what hangs holds up nobody else. Leaves to others: when a failed owner is
//! tried again (`queue`).

use crate::queue::Outcome;

/// A failure that took less was an answer, not a deadline.
const AT_ONCE_MS: u64 = 1_000;

/// With 5,000 owners whose children are refused, 16 workers hold 1.7 MB more than healthy owners leave,
/// 4 hold 0.95: each connection at work has buffers of about 50 KB. They get as much done, for a refusal
/// takes the server milliseconds and the back-off minutes.
const NARROWED: usize = 4;

#[derive(Debug)]
pub struct Concurrency {
    most: usize,
    refused_in_a_row: usize,
}

impl Concurrency {
    pub fn of(most: usize) -> Self {
        Self {
            most,
            refused_in_a_row: 0,
        }
    }

    /// How many at once.
    pub fn now(&self) -> usize {
        match self.refused_in_a_row < self.most {
            true => self.most,
            false => self.most.div_ceil(NARROWED),
        }
    }

    /// One ended after `took_ms`.
    pub fn worked(&mut self, outcome: Outcome, took_ms: u64) {
        self.refused_in_a_row = match outcome {
            Outcome::Failed { .. } | Outcome::Stuck if took_ms < AT_ONCE_MS => {
                self.refused_in_a_row.saturating_add(1)
            }
            // It says nothing about the next one.
            Outcome::Gone | Outcome::Again | Outcome::Waits { .. } => self.refused_in_a_row,
            Outcome::Written { .. } | Outcome::Failed { .. } | Outcome::Stuck => 0,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REFUSED: (Outcome, u64) = (Outcome::Failed { base_ms: None }, 5);
    const LATE: (Outcome, u64) = (Outcome::Failed { base_ms: None }, 10_000);
    const AGAIN: (Outcome, u64) = (Outcome::Again, 5);
    /// As in a mass deletion: its children have to go first.
    const WAITS: (Outcome, u64) = (Outcome::Waits { base_ms: 10_000 }, 5);
    const DONE: (Outcome, u64) = (
        Outcome::Written {
            ready: true,
            requeue_after: None,
        },
        5,
    );

    #[test]
    fn it_narrows_while_one_after_the_other_is_refused() {
        let refused = [REFUSED; 16];
        let then = |more: (Outcome, u64)| [&refused[..], &[more]].concat();
        for (ended, want) in [
            (vec![], 16),
            (vec![REFUSED; 15], 16),
            (vec![REFUSED; 16], 4),
            (vec![REFUSED; 5_000], 4),
            (vec![LATE; 5_000], 16),
            (vec![WAITS; 5_000], 16),
            ([REFUSED, DONE].repeat(100), 16),
            (then(AGAIN), 4),
            (then(WAITS), 4),
            (then(DONE), 16),
            (then(LATE), 16),
        ] {
            let mut concurrency = Concurrency::of(16);
            for (outcome, took_ms) in &ended {
                concurrency.worked(*outcome, *took_ms);
            }
            assert_eq!(concurrency.now(), want, "{} ended", ended.len());
        }
    }

    #[test]
    fn one_worker_is_left_always() {
        for most in 1..=4 {
            let mut concurrency = Concurrency::of(most);
            for _ in 0..100 {
                concurrency.worked(REFUSED.0, REFUSED.1);
            }
            assert_eq!(concurrency.now(), 1, "of {most}");
        }
    }
}
