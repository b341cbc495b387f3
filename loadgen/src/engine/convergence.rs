//! From a timeline to how a run converged.
//!
//! Guarantees: what follows from the samples of the wave, and from nothing else. Leaves to others:
//! the figures (`metric::convergence`).

use crate::load::timeline::Timeline;
use crate::load::timetable::Pace;
use crate::metric::convergence;
use crate::metric::convergence::Timetable;
use crate::record::Convergence;

/// The wave that is under way.
pub fn convergence(timeline: &Timeline, pace: &Pace) -> Convergence {
    convergence::convergence(&timeline.wave(), offer_of(pace))
}

pub fn offer_of(pace: &Pace) -> Timetable {
    match pace {
        Pace::Burst => Timetable::AtOnce,
        Pace::Steady { .. } | Pace::Varying { .. } => Timetable::AtRate,
    }
}
