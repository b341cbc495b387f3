//! When each object is due.
//!
//! Guarantees: due times are absolute, so a late send never moves the next one (open loop).
//! Leaves to others: the sending (`generate`) and the clock; times here are offsets from the
//! start of the offer.

use std::sync::Arc;
use std::time::Duration;

use crate::spec::rate::{Phase, Rate};

/// A send that is later than this did not offer what was asked for.
pub const LATE_MS: f64 = 100.0;

/// How objects are offered.
#[derive(Debug, Clone, PartialEq)]
pub enum Pace {
    /// Everything is due at once and sent as fast as the server takes it. A slow server or
    /// subject then makes latencies longer, instead of making the offer quietly smaller.
    Burst,
    /// A fixed rate on an absolute timetable.
    Steady { per_s: f64 },
    /// A rate that changes, on an absolute timetable.
    Varying {
        phases: Arc<[Phase]>,
        /// After the last phase.
        last_per_s: f64,
    },
}

impl Pace {
    /// The part of a rate that one of so many shards offers; all at once without a rate.
    pub fn of_shards(rate: Option<&Rate>, shards: usize) -> Self {
        let Some(rate) = rate else {
            return Pace::Burst;
        };
        let last_per_s = rate.last_per_s() / shards as f64;
        let phases = rate.phases().iter();
        match rate.phases() {
            [] => Pace::Steady { per_s: last_per_s },
            _ => Pace::Varying {
                phases: phases.map(|phase| phase.of_shards(shards)).collect(),
                last_per_s,
            },
        }
    }

    /// When object `index` is due: when the integral of the rate is `index`.
    pub fn due(&self, index: usize) -> Duration {
        match self {
            Pace::Steady { per_s } if *per_s > 0.0 => Duration::from_secs_f64(index as f64 / per_s),
            Pace::Varying { phases, last_per_s } if *last_per_s > 0.0 => {
                Duration::from_secs_f64(due_s(phases, *last_per_s, index as f64))
            }
            Pace::Steady { .. } | Pace::Varying { .. } | Pace::Burst => Duration::ZERO,
        }
    }
}

fn due_s(phases: &[Phase], last_per_s: f64, objects: f64) -> f64 {
    let (mut begins_s, mut left) = (0.0, objects);
    for phase in phases {
        if left < phase.objects() {
            return begins_s + phase.seconds_until(left);
        }
        begins_s += phase.seconds;
        left -= phase.objects();
    }
    begins_s + left / last_per_s
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn phase() -> impl Strategy<Value = Phase> {
        // A rate that stays as often as one that changes.
        let ends = prop_oneof![
            (0.01f64..1_000.0).prop_map(|per_s| (per_s, per_s)),
            (0.0f64..1_000.0, 0.01f64..1_000.0),
        ];
        (ends, 0.1f64..100.0).prop_map(|((from_per_s, to_per_s), seconds)| Phase {
            from_per_s,
            to_per_s,
            seconds,
        })
    }

    /// The integral of the rate from the start to a time.
    fn objects_by(phases: &[Phase], last_per_s: f64, at_s: f64) -> f64 {
        let (mut left_s, mut objects) = (at_s, 0.0);
        for phase in phases {
            let within_s = left_s.min(phase.seconds);
            let slope = (phase.to_per_s - phase.from_per_s) / phase.seconds;
            objects += phase.from_per_s * within_s + slope * within_s * within_s / 2.0;
            left_s -= within_s;
        }
        objects + last_per_s * left_s
    }

    proptest! {
        #[test]
        fn due_times_are_evenly_spaced_however_late_a_send_was(per_s in 0.1f64..10_000.0, index in 0usize..100_000) {
            let pace = Pace::Steady { per_s };
            let due = pace.due(index).as_secs_f64();
            prop_assert!((due - index as f64 / per_s).abs() < 1e-6);
        }

        #[test]
        fn as_many_objects_are_due_by_a_time_as_the_integral_of_the_rate(
            phases in prop::collection::vec(phase(), 1..5),
            last_per_s in 0.01f64..1_000.0,
            index in 0usize..100_000,
        ) {
            let pace = Pace::Varying { phases: phases.clone().into(), last_per_s };
            let (due, next) = (pace.due(index), pace.due(index + 1));
            prop_assert!(due <= next, "{due:?} {next:?}");
            let by_then = objects_by(&phases, last_per_s, due.as_secs_f64());
            // Due times are whole nanoseconds.
            prop_assert!((by_then - index as f64).abs() < 1e-4, "{by_then} by {due:?}");
        }
    }

    #[test]
    fn a_burst_is_due_at_once() {
        assert_eq!(Pace::Burst.due(17), Duration::ZERO);
    }

    #[test]
    fn a_shard_has_its_part_of_every_rate_at_the_same_times() {
        let rate = Rate::parse("5..50/60s,20:30s,40").expect("a rate");
        let whole = Pace::of_shards(Some(&rate), 1);
        let shard = Pace::of_shards(Some(&rate), 4);
        for index in [0, 1, 100, 600, 2_000] {
            let (of_shard, of_all) = (shard.due(index), whole.due(4 * index));
            let apart_s = of_shard.as_secs_f64() - of_all.as_secs_f64();
            assert!(apart_s.abs() < 1e-6, "{of_shard:?} {of_all:?}");
        }
        let constant = Rate::parse("20").expect("a rate");
        let pace = Pace::of_shards(Some(&constant), 4);
        assert_eq!(pace, Pace::Steady { per_s: 5.0 });
        assert_eq!(Pace::of_shards(None, 4), Pace::Burst);
    }
}
