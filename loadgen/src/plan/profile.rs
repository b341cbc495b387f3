//! The profiles: how long a subject is idle in each step before its memory is sampled.
//!
//! Guarantees: the same times for every subject; what each profile leaves out is said by
//! [`Timing::says`]. Leaves to others: waiting and sampling (`engine::step`).

use crate::spec::step::{Quiet, TWO_COLLECTIONS_S};
use serde::{Deserialize, Serialize};

/// Most objects in an update storm.
pub const UPDATE_OBJECTS: usize = 500;
/// How thorough a bench is: how long it leaves a subject idle before it samples memory.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema, clap::ValueEnum,
)]
#[serde(rename_all = "lowercase")]
pub enum Profile {
    /// Sample after 10 s without events
    Quick,
    /// As full, with an update of all objects and a deletion in the first repeat only
    Standard,
    /// Sample after 240 s without events and less than 1 % change in 30 s
    Full,
}

impl Profile {
    /// As in `--profile`.
    pub fn name(self) -> &'static str {
        match self {
            Profile::Quick => "quick",
            Profile::Standard => "standard",
            Profile::Full => "full",
        }
    }
}

/// The times of one profile, in seconds without events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    pub empty_s: u64,
    /// Before the first object of a timed run.
    pub timed_empty_s: u64,
    pub settled_s: u64,
    /// Anonymous bytes must also change by less than 1 % over this long.
    pub steady_s: Option<u64>,
    /// How long idling is watched in the memory runs of `idle`; elsewhere it lasts as long as settling.
    pub idle_s: u64,
    pub idle: Extent,
    pub restart_s: u64,
    /// After a restart in a timed run.
    pub timed_restart_s: u64,
    pub deleted_s: u64,
    /// How long the subject writes nothing until the API server counts as quiet.
    pub unwritten_s: u64,
    /// How many objects are offered at each rate.
    pub at_rate: AtRate,
    /// How long objects that cannot become healthy are watched.
    pub unhealthy_s: u64,
    pub update: Extent,
    pub deletion: Extent,
}

/// How many objects are offered at each rate of the sweep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AtRate {
    Objects(usize),
    /// As many as are due within this long.
    Seconds(u32),
}

impl AtRate {
    pub fn objects(self, per_s: u32) -> usize {
        match self {
            AtRate::Objects(objects) => objects,
            AtRate::Seconds(seconds) => (per_s * seconds) as usize,
        }
    }
}

/// In which memory runs at the largest size a phase is measured.
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
                timed_empty_s: 1,
                settled_s: 10,
                steady_s: None,
                idle_s: 0,
                idle: Extent::Nowhere,
                restart_s: 4,
                timed_restart_s: 1,
                deleted_s: 2,
                unwritten_s: 2,
                // Five rates within 20 s for each subject, of the 3 minutes in all.
                at_rate: AtRate::Seconds(3),
                unhealthy_s: 30,
                update: Extent::Nowhere,
                // With 5,000 it takes 10 to 25 s per subject on 2 cores, of the 3 minutes in all.
                deletion: Extent::UpTo(1_000),
            },
            Profile::Standard => Self {
                update: Extent::FirstRepeat,
                deletion: Extent::FirstRepeat,
                ..Self::of(Profile::Full)
            },
            Profile::Full => Self {
                empty_s: 10,
                timed_empty_s: 5,
                settled_s: TWO_COLLECTIONS_S,
                steady_s: Some(30),
                idle_s: 60,
                idle: Extent::Everywhere,
                restart_s: TWO_COLLECTIONS_S,
                timed_restart_s: 5,
                deleted_s: TWO_COLLECTIONS_S,
                unwritten_s: 5,
                at_rate: AtRate::Objects(500),
                unhealthy_s: 120,
                update: Extent::Everywhere,
                deletion: Extent::Everywhere,
            },
        }
    }

    /// The same without update and deletion.
    pub const fn bursts_only(self) -> Self {
        Self {
            update: Extent::Nowhere,
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

    /// The same after a restart.
    pub const fn restarted(&self) -> Quiet {
        Quiet {
            quiet_s: self.restart_s,
            steady_s: self.steady_s,
        }
    }

    /// What a reader must know about a mode that waits for less than the full time.
    pub const fn says(settle: Profile) -> Option<&'static str> {
        match settle {
            Profile::Quick => Some(
                "profile quick: memory is sampled after 10 s without events (1 s at start, 4 s after a restart, 2 s after deletion), not after 240 s; caches and allocators may release memory later, and a subject in Go counts as not settled, because its collector runs every 2 minutes (V8 and the JVM collect when they allocate, so what they settle at is partly chance); each rate is offered for 3 s, not with 500 objects",
            ),
            Profile::Standard => Some(
                "profile standard: an update of all objects and their deletion are measured only in the first repeat at the largest size",
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
            assert!(less.idle_s <= more.idle_s && less.timed_empty_s <= more.timed_empty_s);
            for per_s in [5, 80] {
                assert!(less.at_rate.objects(per_s) <= more.at_rate.objects(per_s));
            }
        }
    }

    #[test]
    fn a_campaign_waits_for_two_collections_of_go() {
        for profile in [Profile::Standard, Profile::Full] {
            let timing = Timing::of(profile);
            for s in [timing.settled_s, timing.restart_s, timing.deleted_s] {
                assert!(s >= TWO_COLLECTIONS_S, "{profile:?}");
            }
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
