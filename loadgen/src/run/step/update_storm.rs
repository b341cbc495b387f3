//! An update storm: every object changes twice a second for a minute, faster than a subject may be
//! able to follow. It measures how far the subject falls behind, and what it spends.
//!
//! Guarantees: updates keep to their timetable whatever the subject does; how far each object is
//! behind is sampled once per round. Leaves to others: comparing.

use std::time::Instant;

use crate::load::generator::Act;
use crate::load::object::Object;
use crate::load::timeout::Ended;
use crate::load::timetable::Pace;
use crate::model::profile::{UPDATE_EVERY as EVERY, UPDATE_ROUNDS as ROUNDS};
use crate::model::record::UpdateStorm;
use crate::run::session::{Reason, Session};
use crate::run::snapshot::Snapshot;
use crate::run::step::create::offer;

/// Creates the objects, then updates all of them [`ROUNDS`] times.
pub async fn run(session: &mut Session<'_>) -> Result<(), Reason> {
    let objects = session.cell.objects;
    session.reset_peak();
    let created = offer(session, Act::Create, Pace::Burst, "converged", |t| {
        t.all(|p| p.ready)
    });
    let ended = created.await?;
    if ended != Ended::Converged {
        let why = ended.words();
        return Err(format!(
            "update storm: not every object converged before it{why}"
        ));
    }
    let before = Snapshot::take(session).await;
    let started = Instant::now();
    let (mut behind, mut updates) = (Vec::new(), 0);
    for round in 1..=ROUNDS {
        let what = format!("update storm, round {round} of {ROUNDS}");
        session.say(&what);
        session.check_alive()?;
        session.journal.timeline().begin_wave();
        update_all(session, round).await;
        updates += accepted(session.journal.timeline().objects());
        behind.push(furthest_behind(session));
    }
    let (ended, seconds) = (Instant::now(), started.elapsed().as_secs_f64());
    let timeout = session.setting.timeout(objects, &Pace::Burst);
    let deadline = ended + timeout.deadline;
    let caught_up = session.wait_until(deadline, |t| t.all(|p| p.observed));
    let caught_up_ms = match caught_up.await? {
        true => Some(ended.elapsed().as_secs_f64() * 1e3),
        false => None,
    };
    let offered = ROUNDS * objects as u64;
    if updates < offered {
        let refused = offered - updates;
        session.run.warnings.push(format!(
            "update storm: {refused} of {offered} updates were not accepted"
        ));
    }
    let after = Snapshot::take(session).await;
    session.run.memory.burst = session.sampled();
    session.run.converge_cpu_s = after.cpu_s_since(&before);
    session.run.requests = after.requests_since(&before);
    session.run.update_storm = Some(UpdateStorm {
        rounds: ROUNDS,
        updates,
        seconds,
        typically_behind: middle(&mut behind),
        most_behind: behind.last().copied().unwrap_or(0),
        caught_up_ms,
    });
    match caught_up_ms {
        Some(_) => Ok(()),
        None => Err("the subject did not catch up after the update storm".into()),
    }
}

async fn update_all(session: &Session<'_>, round: u64) {
    let pace = Pace::Steady {
        per_s: session.cell.objects as f64 / EVERY.as_secs_f64(),
    };
    session.offer(Act::Update(round), pace).send().await;
}

/// Updates of the wave at hand that the server has accepted.
fn accepted(objects: &[Object]) -> u64 {
    let accepted = objects.iter().filter(|object| object.acked_ns.is_some());
    accepted.count() as u64
}

/// Generations that the object which is furthest behind was not yet observed at.
fn furthest_behind(session: &Session<'_>) -> u64 {
    let timeline = session.journal.timeline();
    let behind = timeline.objects().iter().map(|object| object.behind());
    behind.max().unwrap_or(0)
}

/// Sorts; the lower of two in the middle.
fn middle(of: &mut [u64]) -> u64 {
    of.sort_unstable();
    of.get(of.len().saturating_sub(1) / 2).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::object::Failed;

    #[test]
    fn an_update_that_was_rejected_does_not_count() {
        let [mut accepted_one, mut rejected] = [Object::default(), Object::default()];
        accepted_one.acknowledge(1, 2);
        rejected.failed = Some(Failed::Rejected);
        assert_eq!(accepted(&[accepted_one, rejected]), 1);
    }

    #[test]
    fn the_middle_of_a_few() {
        for (mut of, want) in [
            (vec![], 0),
            (vec![7], 7),
            (vec![9, 1], 1),
            (vec![5, 1, 3], 3),
        ] {
            assert_eq!(middle(&mut of), want, "{of:?}");
        }
    }
}
