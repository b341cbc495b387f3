//! From a timeline to how a run converged.
//!
//! Guarantees: what follows from the samples of the wave, and from nothing else. Leaves to others:
//! the figures (`metric::convergence`).

use crate::load::timeline::Timeline;
use crate::load::timetable::Pace;
use crate::metric::convergence;
use crate::record::Arrival;
use crate::record::Convergence;

/// The wave that is under way.
pub fn convergence(timeline: &Timeline, pace: &Pace) -> Convergence {
    convergence::convergence(&timeline.wave(), offer_of(pace))
}

pub fn offer_of(pace: &Pace) -> Arrival {
    match pace {
        Pace::Burst => Arrival::AtOnce,
        Pace::Steady { .. } | Pace::Varying { .. } => Arrival::AtRate,
    }
}
