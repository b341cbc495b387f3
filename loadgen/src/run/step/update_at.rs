//! Updates at a rate: the highest churn that a subject keeps up with.
//!
//! Guarantees: each object is updated once at most, on the timetable; the record of convergence is that of the
//! updates from here on. Leaves to others: whether the rate was too much (`model::envelope`).

use crate::load::generator::Act;
use crate::load::timeout::Ended;
use crate::load::timetable::Pace;
use crate::metric::convergence::convergence;
use crate::model::step::Step;
use crate::run::convergence::offer_of;
use crate::run::session::{Reason, Session};
use crate::run::step::create::offer;

/// Updates as many objects as are due in `seconds`, and waits until all are ready again.
pub async fn run(session: &mut Session<'_>, per_s: u32, seconds: u32) -> Result<(), Reason> {
    let due = per_s as usize * seconds as usize;
    let updated = due.min(session.cell.objects);
    session.journal.timeline().begin_wave_of(0..updated);
    let pace = Pace::Steady {
        per_s: f64::from(per_s),
    };
    let name = Step::UpdateAt { per_s, seconds }.name();
    let ended = offer(session, Act::Update(1), pace.clone(), name, |t| {
        t.all(|p| p.ready)
    })
    .await?;
    session.run.memory.burst = session.sampled();
    let convergence = convergence(session.journal.timeline().end_wave(), offer_of(&pace));
    let censored = convergence.censored;
    session.run.convergence = Some(convergence);
    match ended {
        Ended::Converged => Ok(()),
        _ => Err(format!(
            "{censored} of {updated} objects were not ready again after their update{}",
            ended.words()
        )),
    }
}
