//! Objects that cannot become healthy: their children are refused, or never become ready.
//!
//! Guarantees: every object is there before the time counts; requests are counted in windows, so that
//! a storm shows however short it is. Leaves to others: what makes them unhealthy (`run`), and what a
//! healthy object weighs (`phases`).

use std::time::{Duration, Instant};


use crate::load::generator::Act;
use crate::load::timetable::Pace;
use crate::model::record::FaultResponse;
use crate::run::session::{Reason, Session};
use crate::run::step::settle::Snapshot;
use crate::run::step::{offer, reset_peak, sample_peak};

/// Requests are counted over this long.
const WINDOW: Duration = Duration::from_secs(5);

/// Offers them, and watches what the subject does about them for `held`.
pub async fn all(session: &mut Session<'_>, held: Duration) -> Result<(), Reason> {
    let before = Snapshot::take(session).await;
    reset_peak(session);
    let offered = offer(session, Act::Create, Pace::Burst, "offered", |t| {
        t.all(|p| p.acked)
    });
    if !offered.await? {
        return Err("not every object was created".into());
    }
    let mut windows = Vec::new();
    let until = Instant::now() + held;
    let mut last = Snapshot::take(session).await;
    while Instant::now() < until {
        let what = format!(
            "unhealthy for {} s more",
            (until - Instant::now()).as_secs()
        );
        session.setting.say_step(session.cell, &what);
        tokio::time::sleep(WINDOW).await;
        session.check_alive()?;
        let now = Snapshot::take(session).await;
        let counted = now.requests_since(&last);
        windows.extend(counted.map(|l| (l.writes() + l.reads()) as f64 / WINDOW.as_secs_f64()));
        last = now;
    }
    session.run.memory.burst = sample_peak(session);
    session.run.memory.settled = tare_procstat::memory(session.process.pid()).ok();
    session.run.converge_cpu_s = last.cpu_s_since(&before);
    session.run.requests = last.requests_since(&before);
    session.run.fault_response = fault(held, &windows, session.journal.timeline().progress().ready);
    Ok(())
}

/// `None` where the server counts no requests.
fn fault(held: Duration, windows: &[f64], ready: u64) -> Option<FaultResponse> {
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
    fn the_worst_window_and_the_last_one_are_kept() {
        let held = Duration::from_secs(15);
        let told = fault(held, &[40.0, 90.0, 5.0], 0).expect("counted");
        assert_eq!(told.most_requests_per_s, 90.0);
        assert_eq!(told.last_requests_per_s, 5.0);
        assert!(fault(held, &[], 0).is_none(), "nobody counted");
    }
}
