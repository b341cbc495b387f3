//! The timeline of a run, shared between the generator, the watch and the harness.
//!
//! Guarantees: one monotonic clock for all times. Leaves to others: what the times mean.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::load::timeline::Timeline;

#[derive(Debug)]
pub struct Journal {
    epoch: Instant,
    timeline: Mutex<Timeline>,
}

impl Journal {
    pub fn of(objects: usize) -> Self {
        Self {
            epoch: Instant::now(),
            timeline: Mutex::new(Timeline::of(objects)),
        }
    }

    /// The timeline; held for a few instructions, never across an await.
    pub fn timeline(&self) -> MutexGuard<'_, Timeline> {
        // A panic elsewhere leaves plain counters behind, which are still the best there is.
        self.timeline.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// When the run began; times count from here.
    pub fn began(&self) -> Instant {
        self.epoch
    }

    pub fn now_ns(&self) -> u64 {
        self.ns(Instant::now())
    }

    /// 0 for what was before the run.
    pub fn ns(&self, at: Instant) -> u64 {
        at.saturating_duration_since(self.epoch).as_nanos() as u64
    }
}
