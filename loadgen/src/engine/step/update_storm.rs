//! An update storm: every object changes twice a second for a minute, faster than a subject may be
//! able to follow. It measures how far the subject falls behind, and what it spends.
//!
//! Guarantees: updates keep to their timetable whatever the subject does; how far each object is
//! behind is sampled once per round. Leaves to others: comparing.

use std::time::{Duration, Instant};

use crate::engine::session::{Reason, Session};
use crate::engine::snapshot::Snapshot;
use crate::engine::step::{objects, require};
use crate::load::object::Object;
use crate::load::timetable::Pace;
use crate::record::UpdateStorm;
use crate::spec::step::{UPDATE_EVERY as EVERY, UPDATE_ROUNDS as ROUNDS};

/// Between two looks.
const POLL: Duration = Duration::from_millis(20);

/// Creates the objects, then updates all of them [`ROUNDS`] times.
pub async fn run(session: &mut Session<'_>) -> Result<(), Reason> {
    let objects = session.cell.objects;
    session.reset_peak();
    session.work().await;
    let created = objects::create(session, 0..objects, Pace::Burst).await?;
    require(created, "update storm, creation")?;
    let before = Snapshot::take(session).await;
    let started = Instant::now();
    let (mut behind, mut updates) = (Vec::new(), 0);
    for round in 1..=ROUNDS {
        let what = format!("update storm, round {round} of {ROUNDS}");
        session.load.say(&what);
        session.check_alive()?;
        update_all(session).await;
        updates += accepted(session.load.journal.timeline().objects());
        behind.push(furthest_behind(session));
    }
    let (ended, seconds) = (Instant::now(), started.elapsed().as_secs_f64());
    let within = session.load.patience();
    let caught_up_ms = caught_up(session, ended, within).await?;
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

async fn update_all(session: &Session<'_>) {
    let objects = objects::all(&session.load);
    let pace = Pace::Steady {
        per_s: objects.len() as f64 / EVERY.as_secs_f64(),
    };
    let update = session.load.next_update();
    session
        .load
        .journal
        .timeline()
        .begin(update, objects.clone());
    session.load.generator(update, objects, pace).send().await;
}

/// How long after `since` every object was observed as it is by now; `None` where that did not come in time.
async fn caught_up(
    session: &mut Session<'_>,
    since: Instant,
    within: Duration,
) -> Result<Option<f64>, Reason> {
    while since.elapsed() <= within {
        if session.load.journal.timeline().all(|it| it.observed) {
            return Ok(Some(since.elapsed().as_secs_f64() * 1e3));
        }
        session.check_alive()?;
        tokio::time::sleep(POLL).await;
    }
    Ok(None)
}

/// Updates of the wave at hand that the server has accepted.
fn accepted(objects: &[Object]) -> u64 {
    let accepted = objects.iter().filter(|object| object.acked_ns.is_some());
    accepted.count() as u64
}

/// Generations that the object which is furthest behind was not yet observed at.
fn furthest_behind(session: &Session<'_>) -> u64 {
    let timeline = session.load.journal.timeline();
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
