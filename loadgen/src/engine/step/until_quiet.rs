//! What objects cost the subject and the API server from before the first one until the server is quiet.
//!
//! Guarantees: CPU and requests are of the same time, of every timed run, and by the server's own counters. Leaves to others:
//! what they are compared with (`metric`).

use std::time::{Duration, Instant};

use crate::engine::server_counters;
use crate::engine::server_counters::ServerCounters;
use crate::engine::session::{Reason, Session};
use crate::plan::profile::Timing;
use crate::record::UntilQuiet;

/// What a subject does without an end is counted for so long.
const AT_MOST: Duration = Duration::from_secs(120);
/// Between two looks at the subject.
const POLL: Duration = Duration::from_millis(500);

/// From here on it counts.
pub async fn begin(session: &mut Session<'_>) {
    let counters = ServerCounters::take(session).await;
    let cpu_s = session.running.tree().cpu_seconds().ok();
    session.before_objects = counters.map(|counters| (Instant::now(), cpu_s, counters));
}

/// Waits until the server is quiet, and records what was spent.
pub async fn run(session: &mut Session<'_>) -> Result<(), Reason> {
    let Some((began, cpu_before_s, before)) = session.before_objects.take() else {
        return Ok(());
    };
    if session.cell.objects == 0 {
        return Ok(());
    }
    session.load.say("until the API server is quiet");
    let quiet = Duration::from_secs(Timing::of(session.setting.profile).unwritten_s);
    let waited = Instant::now();
    // The server works for each look at its counters: one at each end of the quiet.
    let mut writes = server_counters::writes(session).await;
    while writes.is_some() {
        let began = Instant::now();
        while began.elapsed() < quiet {
            tokio::time::sleep(POLL).await;
            session.check_alive()?;
        }
        let before = std::mem::replace(&mut writes, server_counters::writes(session).await);
        if before == writes {
            break;
        }
        if waited.elapsed() > AT_MOST {
            let s = AT_MOST.as_secs();
            session.run.warnings.push(format!(
                "it still writes {s} s after the last object was ready: what it costs until the API server is quiet is more"
            ));
            break;
        }
    }
    let cpu_s = session.running.tree().cpu_seconds().ok();
    if let Some(after) = ServerCounters::take(session).await {
        session.run.until_quiet = Some(UntilQuiet {
            seconds: began.elapsed().as_secs_f64(),
            cpu_s: cpu_s.zip(cpu_before_s).map(|(now, then)| now - then),
            server: after.since(&before),
        });
    }
    Ok(())
}
