//! The profiles: how long a subject is idle in each step before its memory is sampled.
//!
//! Guarantees: the same times for every subject; what each profile leaves out is said by
//! [`Timing::says`]. Leaves to others: waiting and sampling (`run::step`).

use std::time::Duration;

use crate::model::step::Quiet;
use serde::{Deserialize, Serialize};

/// In an update storm every object changes once in this long.
pub const UPDATE_EVERY: Duration = Duration::from_millis(500);
/// Most objects in an update storm.
pub const UPDATE_OBJECTS: usize = 500;
/// How often every object changes in an update storm: for a minute.
pub const UPDATE_ROUNDS: u64 = 120;

/// How thorough a bench is: how long it leaves a subject idle before it samples memory.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema, clap::ValueEnum,
)]
#[serde(rename_all = "lowercase")]
pub enum Profile {
    /// Sample after 10 s without events
    Quick,
    /// As full, with churn and deletion in the first repeat only
    Standard,
    /// Sample after 150 s without events and less than 1 % change in 30 s
    Full,
}

/// The times of one profile, in seconds without events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    pub empty_s: u64,
    pub settled_s: u64,
    /// Anonymous bytes must also change by less than 1 % over this long.
    pub steady_s: Option<u64>,
    /// How long idling is watched in the bursts of `idle`; elsewhere it lasts as long as settling.
    pub idle_s: u64,
    pub idle: Extent,
    pub restart_s: u64,
    pub deleted_s: u64,
    /// How long objects are offered at a steady rate.
    pub offer_s: u64,
    /// How long objects that cannot become healthy are watched.
    pub unhealthy_s: u64,
    pub churn: Extent,
    pub deletion: Extent,
    pub steady_settles: bool,
}

/// In which bursts at the largest size a phase is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    Nowhere,
    /// Only with at most this many objects.
    UpTo(usize),
    FirstRepeat,
    Everywhere,
}

impl Extent {
    pub fn includes(self, objects: usize, repeat: u32) -> bool {
        match self {
            Extent::Nowhere => false,
            Extent::UpTo(most) => objects <= most,
            Extent::FirstRepeat => repeat == 1,
            Extent::Everywhere => true,
        }
    }
}

impl Timing {
    pub const fn of(settle: Profile) -> Self {
        match settle {
            Profile::Quick => Self {
                empty_s: 1,
                settled_s: 10,
                steady_s: None,
                idle_s: 0,
                idle: Extent::Nowhere,
                restart_s: 4,
                deleted_s: 2,
                offer_s: 4,
                unhealthy_s: 30,
                churn: Extent::Nowhere,
                // With 5,000 it takes 10 to 25 s per subject on 2 cores, of the 3 minutes in all.
                deletion: Extent::UpTo(1_000),
                steady_settles: false,
            },
            // Go's runtime forces a collection only every two minutes: sooner would be too early for
            // it to have given memory back.
            Profile::Standard => Self {
                offer_s: 30,
                churn: Extent::FirstRepeat,
                deletion: Extent::FirstRepeat,
                steady_settles: false,
                ..Self::of(Profile::Full)
            },
            Profile::Full => Self {
                empty_s: 10,
                settled_s: 150,
                steady_s: Some(30),
                idle_s: 60,
                idle: Extent::Everywhere,
                restart_s: 60,
                deleted_s: 30,
                offer_s: 60,
                unhealthy_s: 120,
                churn: Extent::Everywhere,
                deletion: Extent::Everywhere,
                steady_settles: true,
            },
        }
    }

    /// The same without churn and deletion.
    pub const fn bursts_only(self) -> Self {
        Self {
            churn: Extent::Nowhere,
            deletion: Extent::Nowhere,
            ..self
        }
    }

    /// The condition under which memory counts as settled.
    pub const fn settled(&self) -> Quiet {
        Quiet {
            quiet_s: self.settled_s,
            steady_s: self.steady_s,
        }
    }

    /// What a reader must know about a mode that waits for less than the full time.
    pub const fn says(settle: Profile) -> Option<&'static str> {
        match settle {
            Profile::Quick => Some(
                "profile quick: memory is sampled after 10 s without events (1 s at start, 4 s after a restart, 2 s after deletion), not after 150 s; caches and allocators may release memory later",
            ),
            Profile::Standard => Some(
                "profile standard: churn and deletion are measured only in the first repeat at the largest size; memory is not sampled at a steady rate",
            ),
            Profile::Full => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_longer_profile_never_waits_less() {
        let [quick, standard, full] =
            [Profile::Quick, Profile::Standard, Profile::Full].map(Timing::of);
        for (less, more) in [(quick, standard), (standard, full)] {
            assert!(less.empty_s <= more.empty_s && less.settled_s <= more.settled_s);
            assert!(less.restart_s <= more.restart_s && less.deleted_s <= more.deleted_s);
            assert!(less.idle_s <= more.idle_s && less.offer_s <= more.offer_s);
        }
    }

    #[test]
    fn extents() {
        for (extent, objects, repeat, want) in [
            (Extent::Nowhere, 10, 1, false),
            (Extent::UpTo(1_000), 1_000, 4, true),
            (Extent::UpTo(1_000), 1_001, 1, false),
            (Extent::FirstRepeat, 5_000, 1, true),
            (Extent::FirstRepeat, 5_000, 2, false),
            (Extent::Everywhere, 5_000, 5, true),
        ] {
            assert_eq!(
                extent.includes(objects, repeat),
                want,
                "{extent:?} {objects} {repeat}"
            );
        }
    }
}
