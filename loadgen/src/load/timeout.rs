//! The timeouts of a wait for convergence.
//!
//! Guarantees: pure; every wait ends, and one without progress ends sooner. Leaves to others: the
//! condition that is waited for.

use std::time::Duration;

use crate::load::timetable::Pace;

/// Bounds of one wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeout {
    /// From the first due time on.
    pub deadline: Duration,
    /// Without any progress.
    pub stall: Duration,
}

impl Timeout {
    /// What the timetable takes, and then what the user chose, or else a minute and 200 ms for each
    /// object: several times what the slowest rival takes on a real server with two cores.
    /// After a minute without progress the wait ends.
    pub fn of(objects: usize, pace: &Pace, chosen: Option<Duration>) -> Self {
        let minute = Duration::from_secs(60);
        let timeout = minute + Duration::from_millis(200) * objects as u32;
        Self {
            deadline: pace.due(objects) + chosen.unwrap_or(timeout),
            stall: chosen.unwrap_or(minute).min(minute),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_timeout_follows_the_timetable_and_the_number() {
        let s = Duration::from_secs;
        let steady = &Pace::Steady { per_s: 10.0 };
        for (name, objects, pace, chosen, want) in [
            ("a burst", 5_000, &Pace::Burst, None, (s(1_060), s(60))),
            ("a rate", 5_000, steady, None, (s(1_560), s(60))),
            ("chosen", 5_000, steady, Some(s(3)), (s(503), s(3))),
            ("long", 1, &Pace::Burst, Some(s(300)), (s(300), s(60))),
        ] {
            let timeout = Timeout::of(objects, pace, chosen);
            assert_eq!((timeout.deadline, timeout.stall), want, "{name}");
        }
    }
}
