//! How many owners are reconciled at once: as many as allowed, and fewer while one after the other is rejected.
//!
//! Guarantees: pure, time comes in as milliseconds. One success, or one failure that took long, restores the
//! full number, so that requests that hang delay nobody else. Leaves to others: when a failed owner is retried
//! (`queue`).

use crate::queue::Outcome;

/// A failure that took less was an answer and not a deadline, ms.
const AT_ONCE_MS: u64 = 1_000;

/// How long after a failure no status yields, ms.
const FAILED_LATELY_MS: u64 = 60_000;

/// The part of the workers that is used while owners are rejected. With 5,000 owners whose children are
/// rejected, 16 workers hold 1.7 MB more than healthy owners leave, 4 hold 0.95: each busy connection has
/// buffers of about 50 KB. The throughput is the same, because a rejection takes the server milliseconds and
/// the back-off takes minutes.
const REDUCED: usize = 4;

/// The number of owners that are reconciled at once.
#[derive(Debug)]
pub(crate) struct Concurrency {
    most: usize,
    rejected_in_a_row: usize,
    /// When an owner last failed, ms.
    failed_ms: Option<u64>,
}

impl Concurrency {
    /// At most `most`.
    pub fn of(most: usize) -> Self {
        Self {
            most,
            rejected_in_a_row: 0,
            failed_ms: None,
        }
    }

    /// How many owners may be reconciled at once.
    pub fn now(&self) -> usize {
        match self.is_reduced() {
            false => self.most,
            true => self.most.div_ceil(REDUCED),
        }
    }

    /// Whether one owner after the other was rejected, or failed at once for any other cause.
    pub fn is_reduced(&self) -> bool {
        self.rejected_in_a_row >= self.most
    }

    /// Whether an owner failed lately. The clock is read only where one failed at all.
    pub fn failed_lately(&self, now_ms: impl Fn() -> u64) -> bool {
        let failed_ms = self.failed_ms;
        failed_ms.is_some_and(|at_ms| now_ms() < at_ms + FAILED_LATELY_MS)
    }

    /// A reconcile ended after `took_ms`.
    pub fn ended(&mut self, outcome: Outcome, took_ms: u64, now_ms: u64) {
        if matches!(outcome, Outcome::Failed { .. } | Outcome::Stuck) {
            self.failed_ms = Some(now_ms);
        }
        self.rejected_in_a_row = match outcome {
            Outcome::Failed { .. } | Outcome::Stuck if took_ms < AT_ONCE_MS => {
                self.rejected_in_a_row.saturating_add(1)
            }
            // It says nothing about the next one.
            Outcome::Gone | Outcome::Again | Outcome::Waits { .. } => self.rejected_in_a_row,
            Outcome::Written { .. }
            | Outcome::Yielded
            | Outcome::Failed { .. }
            | Outcome::Stuck => 0,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REJECTED: (Outcome, u64) = (Outcome::Failed { base_ms: None }, 5);
    const LATE: (Outcome, u64) = (Outcome::Failed { base_ms: None }, 10_000);
    const AGAIN: (Outcome, u64) = (Outcome::Again, 5);
    /// As in a mass deletion: the children are deleted first.
    const WAITS: (Outcome, u64) = (Outcome::Waits { base_ms: 10_000 }, 5);
    const DONE: (Outcome, u64) = (
        Outcome::Written {
            ready: true,
            requeue_after: None,
        },
        5,
    );

    #[test]
    fn it_is_reduced_while_one_after_the_other_is_rejected() {
        let rejected = [REJECTED; 16];
        let then = |more: (Outcome, u64)| [&rejected[..], &[more]].concat();
        for (ended, want) in [
            (vec![], 16),
            (vec![REJECTED; 15], 16),
            (vec![REJECTED; 16], 4),
            (vec![REJECTED; 5_000], 4),
            (vec![LATE; 5_000], 16),
            (vec![WAITS; 5_000], 16),
            ([REJECTED, DONE].repeat(100), 16),
            (then(AGAIN), 4),
            (then(WAITS), 4),
            (then(DONE), 16),
            (then(LATE), 16),
        ] {
            let mut concurrency = Concurrency::of(16);
            for (outcome, took_ms) in &ended {
                concurrency.ended(*outcome, *took_ms, 0);
            }
            assert_eq!(concurrency.now(), want, "{} ended", ended.len());
        }
    }

    #[test]
    fn one_worker_is_left_always() {
        for most in 1..=4 {
            let mut concurrency = Concurrency::of(most);
            for _ in 0..100 {
                concurrency.ended(REJECTED.0, REJECTED.1, 0);
            }
            assert_eq!(concurrency.now(), 1, "of {most}");
        }
    }
}
