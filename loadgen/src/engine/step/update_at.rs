//! Updates at a rate, for so long: the highest rate that a subject keeps up with.
//!
//! Guarantees: requests keep to their timetable; where more are due than there are objects, each object has its turn
//! again, and has to converge to its last content; the record of convergence is that of the last turn of each. Leaves to
//! others: whether the rate was too much (`record::envelope`).

use crate::engine::convergence::offer_of;
use crate::engine::load::{Goal, Wave, wave};
use crate::engine::session::{Reason, Session};
use crate::load::timeout::Ended;
use crate::metric::convergence::convergence;

/// Updates as many objects as are due in `seconds`, and waits until all are ready again.
pub async fn run(session: &mut Session<'_>, per_s: u32, seconds: u32) -> Result<(), Reason> {
    session.work().await;
    let due = per_s as usize * seconds as usize;
    let updated = due.min(session.cell.objects);
    let pace = session.load.pace(Some(f64::from(per_s)));
    let update = Wave {
        requests: due,
        ..Wave::once(
            session.load.next_update(),
            0..updated,
            pace.clone(),
            Goal::Ready,
        )
    };
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
