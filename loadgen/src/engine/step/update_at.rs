//! Updates at a rate, for so long: the highest rate that a subject keeps up with.
//!
//! Guarantees: requests keep to their timetable; where more are due than there are objects, each object has its turn
//! again, and has to converge to its last content; the record of convergence is that of the last turn of each. Leaves to
//! others: whether the rate was too much (`record::envelope`).

use crate::engine::convergence::offer_of;
use crate::engine::load::{Goal, Wave, wave};
use crate::engine::session::{Reason, Session};
use crate::load::generator::Act;
use crate::load::timeout::Ended;
use crate::load::timetable::Pace;
use crate::metric::convergence::convergence;

/// Updates as many objects as are due in `seconds`, and waits until all are ready again.
pub async fn run(session: &mut Session<'_>, per_s: u32, seconds: u32) -> Result<(), Reason> {
    session.work().await;
    let due = per_s as usize * seconds as usize;
    let pace = session.load.pace(Some(f64::from(per_s)));
    let act = session.load.next_update();
    let update = update(act, due, session.cell.objects, pace.clone());
    let updated = update.objects.len();
    let ended = wave(session, update).await?;
    session.run.memory.burst = session.sampled();
    let convergence = convergence(session.load.journal.timeline().end_wave(), offer_of(&pace));
    let censored = convergence.censored;
    session.run.convergence = Some(convergence);
    match ended {
        Ended::Converged if censored == 0 => Ok(()),
        _ => Err(format!(
            "{censored} of {updated} objects were not ready again after their update{}",
            ended.words()
        )),
    }
}

/// So many requests, for as many of the objects as have a turn.
fn update(act: Act, due: usize, objects: usize, pace: Pace) -> Wave {
    Wave {
        requests: due,
        ..Wave::once(act, 0..due.min(objects), pace, Goal::Ready)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn updates_that_are_due_are_not_limited_by_the_number_of_objects() {
        for (name, due, objects, want) in [
            ("more than objects", 10, 4, (10, 0..4)),
            ("fewer", 3, 4, (3, 0..3)),
        ] {
            let wave = update(Act::Update(1), due, objects, Pace::Burst);
            assert_eq!((wave.requests, wave.objects), want, "{name}");
        }
    }
}
