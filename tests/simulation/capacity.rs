//! How many owners a schedule has, how many of them the operator's queue and workers have room for, and how long its
//! requests take.
//!
//! Guarantees: pure. Leaves to others: what happens to the owners (`schedule`, `storm`).

use tare_runtime::controller::Limits;

/// The longest that a request or its answer is on its way on a fast link, ms.
const LATENCY_MS: u64 = 12;
/// Requests that a worker sends for an owner, one after the other, at most, where nothing fails.
const REQUESTS: u64 = 12;

/// What a schedule's owners meet.
#[derive(Clone, Copy, Debug)]
pub enum Capacity {
    /// Every owner fits, and each has a worker.
    Wide,
    /// A few owners, of which not all fit.
    Tight,
    /// Many owners and few workers: most entries wait for long.
    Long {
        owners: u16,
        workers: u8,
        entries: u16,
        /// The longest that a request or its answer is on its way, ms.
        latency_ms: u16,
    },
}

impl Capacity {
    pub fn owners(self) -> u16 {
        match self {
            Capacity::Wide => 3,
            Capacity::Tight => 6,
            Capacity::Long { owners, .. } => owners,
        }
    }

    pub fn workers(self) -> usize {
        match self {
            Capacity::Wide => 16,
            Capacity::Tight => 2,
            Capacity::Long { workers, .. } => workers.into(),
        }
    }

    pub fn limits(self) -> Limits {
        match self {
            Capacity::Wide => Limits::default(),
            Capacity::Tight => Limits {
                entries: 4,
                spec_bytes: 600,
                waiting_spec_bytes: 300,
                ..Limits::default()
            },
            Capacity::Long { entries, .. } => Limits {
                entries: entries.into(),
                ..Limits::default()
            },
        }
    }

    /// Whether there may be more owners with work than fit.
    pub fn is_tight(self) -> bool {
        usize::from(self.owners()) > self.limits().entries / 2
    }

    /// How often a schedule that fails is run at most to find fewer steps that fail: one of many owners takes seconds.
    pub fn shrinks(self) -> usize {
        match self {
            Capacity::Wide | Capacity::Tight => usize::MAX,
            Capacity::Long { .. } => 40,
        }
    }

    pub fn latency_ms(self) -> u64 {
        match self {
            Capacity::Wide | Capacity::Tight => LATENCY_MS,
            Capacity::Long { latency_ms, .. } => latency_ms.into(),
        }
    }

    /// In how many seconds at most all of many owners are worked on once.
    pub fn drain_s(self) -> u64 {
        match self {
            Capacity::Wide | Capacity::Tight => 0,
            Capacity::Long {
                owners, workers, ..
            } => REQUESTS * self.latency_ms() * u64::from(owners) / u64::from(workers) / 1_000,
        }
    }
}
