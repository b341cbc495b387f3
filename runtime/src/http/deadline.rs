//! How long one request may take: shorter while requests hang and many owners wait behind them.
//!
//! Guarantees: a request has its full deadline as long as requests are answered, or nobody waits. Where several
//! have hung within a minute, those that follow share the time so that whoever waits has a turn within seconds.
//! Those that fail by it are tried again with back-off, which thins out the queue, so that on a slow link
//! deadlines grow again.
//! Leaves to others: when a failed owner is tried again (`queue`), lists and watches, which nobody waits behind.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// So many late answers within [`LATELY`] are a server that hangs and not an accident.
const HANGS_FROM: u32 = 4;
/// Late answers are forgotten after this time without another.
const LATELY: Duration = Duration::from_secs(60);
/// So many answers in a row end the suspicion. A worker gets a few before the request that hangs, and there are 16
/// by default.
const ANSWERS: u32 = 256;
/// Within this time every owner that waits is to begin, if each makes one request, ms.
const SHARED_MS: u64 = 3_000;
/// A healthy server answers in a fraction of this, also through a new connection, ms.
const LEAST_MS: u64 = 150;

/// The deadline of requests that owners wait for.
#[derive(Debug)]
pub(crate) struct Deadline {
    longest: Duration,
    /// The time that each request has while requests hang, ms.
    share_ms: AtomicU64,
    recent: Mutex<Recent>,
}

/// What became of the last requests.
#[derive(Debug, Default)]
struct Recent {
    late: u32,
    last_late: Option<Instant>,
    answered_in_a_row: u32,
}

impl Deadline {
    /// `longest` for every request that is not hurried.
    pub fn new(longest: Duration) -> Self {
        Self {
            longest,
            share_ms: AtomicU64::new(u64::MAX),
            recent: Mutex::default(),
        }
    }

    /// The longest that a request may take.
    pub fn longest(&self) -> Duration {
        self.longest
    }

    /// How many owners wait, behind how many workers.
    pub fn set_backlog(&self, waiting: usize, workers: usize) {
        let [waiting, workers] = [waiting, workers].map(|n| u64::try_from(n).unwrap_or(u64::MAX));
        let share_ms = SHARED_MS.saturating_mul(workers) / waiting.max(1);
        self.share_ms.store(share_ms.max(LEAST_MS), Relaxed);
    }

    /// How long a request that begins now may take.
    pub fn now(&self) -> Duration {
        match self.requests_hang() {
            true => Duration::from_millis(self.share_ms.load(Relaxed)).min(self.longest),
            false => self.longest,
        }
    }

    /// Whether several requests have hung lately.
    pub fn requests_hang(&self) -> bool {
        let recent = self.recent();
        let lately = recent.last_late.is_some_and(|at| at.elapsed() < LATELY);
        lately && recent.late >= HANGS_FROM
    }

    /// A request was answered, with success or not.
    pub fn answered(&self) {
        let mut recent = self.recent();
        recent.answered_in_a_row = recent.answered_in_a_row.saturating_add(1);
        if recent.answered_in_a_row >= ANSWERS {
            recent.late = 0;
        }
    }

    /// A request was not answered in time.
    pub fn late(&self) {
        let mut recent = self.recent();
        if recent.last_late.is_some_and(|at| at.elapsed() >= LATELY) {
            recent.late = 0;
        }
        recent.late = recent.late.saturating_add(1);
        recent.last_late = Some(Instant::now());
        recent.answered_in_a_row = 0;
    }

    fn recent(&self) -> MutexGuard<'_, Recent> {
        self.recent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FULL: Duration = Duration::from_secs(10);

    fn hanging(waiting: usize) -> Deadline {
        let deadline = Deadline::new(FULL);
        deadline.set_backlog(waiting, 16);
        for _ in 0..HANGS_FROM {
            assert_eq!(deadline.now(), FULL, "an accident");
            deadline.late();
        }
        deadline
    }

    #[tokio::test(start_paused = true)]
    async fn requests_share_the_time_while_some_hang_and_many_wait() {
        for (waiting, want_ms) in [(0, 10_000), (4, 10_000), (48, 1_000), (5_000, LEAST_MS)] {
            let want = Duration::from_millis(want_ms);
            assert_eq!(hanging(waiting).now(), want, "{waiting} wait");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn answers_or_a_minute_restore_the_full_deadline() {
        let deadline = hanging(5_000);
        for _ in 1..ANSWERS {
            deadline.answered();
        }
        deadline.late();
        for _ in 1..ANSWERS {
            deadline.answered();
        }
        assert!(deadline.requests_hang(), "not in a row");
        deadline.answered();
        assert_eq!(deadline.now(), FULL);

        let deadline = hanging(5_000);
        tokio::time::advance(LATELY).await;
        assert_eq!(deadline.now(), FULL);
        deadline.late();
        assert_eq!(deadline.now(), FULL, "counted anew");
    }
}
