//! Objects that cannot become healthy: their children are refused, or never become ready.
//!
//! Guarantees: every object is there before the time counts; requests are counted in windows, so that
//! a storm shows however short it is. Leaves to others: what makes them unhealthy (`run`), and what a
//! healthy object weighs (`phases`).

use std::time::{Duration, Instant};

use tare_procstat::weigh;

use crate::load::generator::Act;
use crate::load::timetable::Pace;
use crate::model::record::Fault;
use crate::run::phases::{offer, reset_peak, weigh_peak};
use crate::run::quiet::Snapshot;
use crate::run::run::{Reason, Stage};

/// Requests are counted over this long.
const WINDOW: Duration = Duration::from_secs(5);

/// Offers them, and watches what the subject does about them for `held`.
pub async fn all(stage: &mut Stage<'_>, held: Duration) -> Result<(), Reason> {
    let before = Snapshot::take(stage).await;
    reset_peak(stage);
    let offered = offer(stage, Act::Create, Pace::Burst, "offered", |t| {
        t.all(|p| p.acked)
    });
    if !offered.await? {
        return Err("not every object was created".into());
    }
    let mut windows = Vec::new();
    let until = Instant::now() + held;
    let mut last = Snapshot::take(stage).await;
    while Instant::now() < until {
        let what = format!(
            "unhealthy for {} s more",
            (until - Instant::now()).as_secs()
        );
        stage.setting.say_step(stage.cell, &what);
        tokio::time::sleep(WINDOW).await;
        stage.check_alive()?;
        let now = Snapshot::take(stage).await;
        let counted = now.requests_since(&last);
        windows.extend(counted.map(|l| (l.writes() + l.reads()) as f64 / WINDOW.as_secs_f64()));
        last = now;
    }
    stage.run.memory.burst = weigh_peak(stage);
    stage.run.memory.settled = weigh::memory(stage.process.pid()).ok();
    stage.run.converge_cpu_s = last.cpu_s_since(&before);
    stage.run.requests = last.requests_since(&before);
    stage.run.fault = trouble(held, &windows, stage.journal.timeline().progress().ready);
    Ok(())
}

/// `None` where the server counts no requests.
fn trouble(held: Duration, windows: &[f64], ready: u64) -> Option<Fault> {
    Some(Fault {
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
        let told = trouble(held, &[40.0, 90.0, 5.0], 0).expect("counted");
        assert_eq!(told.most_requests_per_s, 90.0);
        assert_eq!(told.last_requests_per_s, 5.0);
        assert!(trouble(held, &[], 0).is_none(), "nobody counted");
    }
}
