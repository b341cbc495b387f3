//! How many owners a schedule has, and how many of them the operator's queue and workers have room for.
//!
//! Guarantees: pure. Leaves to others: what happens to the owners (`schedule`, `storm`).

use tare_runtime::controller::Limits;

/// Seconds that a worker takes for an owner at most, where nothing fails.
const EACH_S: u64 = 2;

/// The room of a schedule.
#[derive(Clone, Copy, Debug)]
pub enum Room {
    /// Every owner fits, and each has a worker.
    Wide,
    /// A few owners, of which not all fit.
    Tight,
    /// Many owners and few workers: most entries wait for long.
    Long {
        owners: u16,
        workers: u8,
        entries: u16,
    },
}

impl Room {
    pub fn owners(self) -> u16 {
        match self {
            Room::Wide => 3,
            Room::Tight => 6,
            Room::Long { owners, .. } => owners,
        }
    }

    pub fn workers(self) -> usize {
        match self {
            Room::Wide => 16,
            Room::Tight => 2,
            Room::Long { workers, .. } => workers.into(),
        }
    }

    pub fn limits(self) -> Limits {
        match self {
            Room::Wide => Limits::default(),
            Room::Tight => Limits {
                entries: 4,
                spec_bytes: 600,
                waiting_spec_bytes: 300,
                ..Limits::default()
            },
            Room::Long { entries, .. } => Limits {
                entries: entries.into(),
                ..Limits::default()
            },
        }
    }

    /// Whether there may be more owners with work than fit.
    pub fn is_tight(self) -> bool {
        usize::from(self.owners()) > self.limits().entries / 2
    }

    /// In how many seconds all of its owners are worked on once.
    pub fn drain_s(self) -> u64 {
        match self {
            Room::Wide | Room::Tight => 0,
            Room::Long {
                owners, workers, ..
            } => EACH_S * u64::from(owners) / u64::from(workers),
        }
    }
}
