//! When each object is due.
//!
//! Guarantees: due times are absolute, so a late send never moves the next one (open loop).
//! Leaves to others: the sending (`generate`) and the clock; times here are offsets from the
//! start of the offer.

use std::time::Duration;

/// How objects are offered.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Pace {
    /// Everything is due at once and sent as fast as the server takes it. A slow server or
    /// subject then makes latencies longer, instead of making the offer quietly smaller.
    Burst,
    /// A fixed rate on an absolute timetable.
    Steady { per_s: f64 },
}

impl Pace {
    /// When object `index` is due.
    pub fn due(self, index: usize) -> Duration {
        match self {
            Pace::Steady { per_s } if per_s > 0.0 => Duration::from_secs_f64(index as f64 / per_s),
            Pace::Steady { .. } | Pace::Burst => Duration::ZERO,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn due_times_are_evenly_spaced_however_late_a_send_was(per_s in 0.1f64..10_000.0, index in 0usize..100_000) {
            let pace = Pace::Steady { per_s };
            let due = pace.due(index).as_secs_f64();
            prop_assert!((due - index as f64 / per_s).abs() < 1e-6);
        }
    }

    #[test]
    fn a_burst_is_due_at_once() {
        assert_eq!(Pace::Burst.due(17), Duration::ZERO);
    }
}
