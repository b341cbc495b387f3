//! Objects that cannot become healthy: their children are rejected, or never become ready.
//!
//! Guarantees: every object exists before the time counts; requests are counted in windows, so that
//! a short burst of retries shows. Leaves to others: what makes the objects unhealthy (`session`).

use std::time::{Duration, Instant};

use crate::engine::load::{Goal, Wave, wave};
use crate::engine::session::{Reason, Session};
use crate::engine::snapshot::Snapshot;
use crate::engine::step::objects;
use crate::load::generator::Act;
use crate::load::timetable::Pace;
use crate::record::FaultResponse;

/// Requests are counted over this long.
const WINDOW: Duration = Duration::from_secs(5);

/// Creates them, and counts what the subject does about them for `held`.
pub async fn run(session: &mut Session<'_>, held: Duration) -> Result<(), Reason> {
    let before = Snapshot::take(session).await;
    session.reset_peak();
    session.work().await;
    let objects = objects::all(&session.load);
    let offered = Wave::once(Act::Create, objects.clone(), Pace::Burst, Goal::Answered);
    let ended = wave(session, offered).await?;
    let accepted = session.load.journal.timeline().progress().acked as usize;
    if accepted < objects.len() {
        let (of, why) = (objects.len(), ended.words());
        return Err(format!("only {accepted} of {of} objects were created{why}"));
    }
    let mut windows = Vec::new();
    let until = Instant::now() + held;
    let mut last = Snapshot::take(session).await;
    while Instant::now() < until {
        let what = format!(
            "unhealthy for {} s more",
            (until - Instant::now()).as_secs()
        );
        session.load.say(&what);
        tokio::time::sleep(WINDOW).await;
        session.check_alive()?;
        let now = Snapshot::take(session).await;
        let counted = now.requests_since(&last);
        windows.extend(counted.map(|l| per_s(l.writes() + l.reads(), last.at, now.at)));
        last = now;
    }
    session.run.memory.burst = session.sampled();
    session.run.memory.settled = session.sampled();
    session.run.converge_cpu_s = last.cpu_s_since(&before);
    session.run.requests = last.requests_since(&before);
    session.run.fault_response = response(
        held,
        &windows,
        session.load.journal.timeline().progress().ready,
    );
    Ok(())
}

/// A busy machine wakes up late: what was counted is of all the time between the two counts.
fn per_s(requests: u64, from: Instant, to: Instant) -> f64 {
    requests as f64 / (to - from).as_secs_f64().max(f64::MIN_POSITIVE)
}

/// `None` where the server counts no requests.
fn response(held: Duration, windows: &[f64], ready: u64) -> Option<FaultResponse> {
    Some(FaultResponse {
        held_s: held.as_secs_f64(),
        most_requests_per_s: windows.iter().copied().reduce(f64::max)?,
        last_requests_per_s: *windows.last()?,
        ready,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_is_as_long_as_it_was() {
        let from = Instant::now();
        let to = from + Duration::from_secs(6);
        assert_eq!(per_s(120, from, to), 20.0, "not 24, as in five seconds");
    }

    #[test]
    fn the_worst_window_and_the_last_one_are_kept() {
        let held = Duration::from_secs(15);
        let told = response(held, &[40.0, 90.0, 5.0], 0).expect("counted");
        assert_eq!(told.most_requests_per_s, 90.0);
        assert_eq!(told.last_requests_per_s, 5.0);
        assert!(response(held, &[], 0).is_none(), "nobody counted");
    }
}
