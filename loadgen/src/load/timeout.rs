//! The timeouts of a wait for convergence, and how it ended.
//!
//! Guarantees: pure; every wait ends, and one without progress ends sooner. Leaves to others: the
//! condition that is waited for.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::load::timetable::Pace;

/// Longest wait without progress where the user chose no shorter deadline. kube-apiserver answers 504
/// after one minute (`--request-timeout`), so an operator on an overloaded server may stand still for
/// that long, twice in a row, and its client pauses before it tries again.
const STALL: Duration = Duration::from_secs(150);

/// Why a wait is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ended {
    /// Every object that was acknowledged is what was waited for: Ready, or gone.
    Converged,
    /// Not all are, and the deadline has passed.
    OutOfTime { after: Duration },
    /// Not all are, and there was no progress for `since`.
    Stalled { since: Duration },
    /// The user pressed Ctrl-C.
    Stopped,
}

impl Ended {
    /// How several waits ended: as the first that did not converge.
    pub fn of_all(ends: impl IntoIterator<Item = Self>) -> Self {
        let mut ends = ends.into_iter();
        ends.find(|ended| *ended != Self::Converged)
            .unwrap_or(Self::Converged)
    }

    /// Why not all converged, to follow the words that say so: ` within 60 s (--deadline-s)`.
    pub fn words(self) -> String {
        match self {
            Self::Converged => String::new(),
            Self::OutOfTime { after } => format!(" within {} s (--deadline-s)", after.as_secs()),
            Self::Stalled { since } => format!(": no progress for {} s", since.as_secs()),
            Self::Stopped => ": stopped".into(),
        }
    }
}

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
    /// Without progress the wait ends sooner.
    pub fn of(objects: usize, pace: &Pace, chosen: Option<Duration>) -> Self {
        let minute = Duration::from_secs(60);
        let timeout = minute + Duration::from_millis(200) * objects as u32;
        Self {
            deadline: pace.due(objects) + chosen.unwrap_or(timeout),
            stall: chosen.unwrap_or(STALL).min(STALL),
        }
    }

    /// Whether a wait that has lasted for `waited`, and seen no progress for `still`, is over.
    pub fn is_over(&self, waited: Duration, still: Duration) -> Option<Ended> {
        if waited > self.deadline {
            let after = self.deadline;
            return Some(Ended::OutOfTime { after });
        }
        let since = self.stall;
        (still > since).then_some(Ended::Stalled { since })
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
            ("a burst", 5_000, &Pace::Burst, None, (s(1_060), s(150))),
            ("a rate", 5_000, steady, None, (s(1_560), s(150))),
            ("chosen", 5_000, steady, Some(s(3)), (s(503), s(3))),
            ("long", 1, &Pace::Burst, Some(s(300)), (s(300), s(150))),
        ] {
            let timeout = Timeout::of(objects, pace, chosen);
            assert_eq!((timeout.deadline, timeout.stall), want, "{name}");
        }
    }

    #[test]
    fn the_end_of_a_wait_says_what_ended_it() {
        let s = Duration::from_secs;
        let timeout = Timeout::of(0, &Pace::Burst, Some(s(300)));
        for (waited, still, want) in [
            (s(299), s(149), None),
            (s(301), s(1), Some(" within 300 s (--deadline-s)")),
            (s(200), s(151), Some(": no progress for 150 s")),
            (s(301), s(151), Some(" within 300 s (--deadline-s)")),
        ] {
            let words = timeout.is_over(waited, still).map(Ended::words);
            assert_eq!(words.as_deref(), want, "{waited:?} {still:?}");
        }
    }
}
