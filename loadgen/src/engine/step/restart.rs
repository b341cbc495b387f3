//! Restarting the subject on the objects that exist.
//!
//! Guarantees: each restart is ended with SIGTERM, waited for until it is ready, works and is quiet, and
//! recorded by itself; memory is sampled in memory runs only, which wait until it has settled; what the API server did is counted from before the start until then. Leaves
//! to others: medians (`report`).

use crate::engine::ready;
use crate::engine::ready::Started;
use crate::engine::server_counters::ServerCounters;
use crate::engine::session::{Reason, Session};
use crate::engine::step::settle::settle;
use crate::record::Restart;
use crate::spec::step::Quiet;
use crate::watch::settle::Rule;

pub async fn run(session: &mut Session<'_>, times: u64, quiet: Quiet) -> Result<(), Reason> {
    for n in 1..=times {
        if times > 1 {
            session.load.say(&format!("restart {n} of {times}"));
        }
        let restart = restart(session, quiet).await;
        let restart = restart.map_err(|reason| match times {
            1 => reason,
            _ => format!("restart {n}: {reason}"),
        })?;
        session.run.restarts.push(restart);
    }
    Ok(())
}

/// Ends the subject, and starts it again until it works.
pub async fn once(session: &mut Session<'_>) -> Result<Started, Reason> {
    session.work().await;
    session.stop_subject().await?;
    ready::offer_canary(session).await?;
    start(session).await
}

/// Starts the subject, for which there is an object to observe, until it works.
pub async fn start(session: &mut Session<'_>) -> Result<Started, Reason> {
    session.start_subject().await?;
    let within = session.load.patience();
    ready::started(session, within).await
}

async fn restart(session: &mut Session<'_>, quiet: Quiet) -> Result<Restart, Reason> {
    session.work().await;
    session.stop_subject().await?;
    ready::offer_canary(session).await?;
    let before = ServerCounters::take(session).await;
    let events = session.load.journal.timeline().events_of_objects();
    let Started { ready_s, working_s } = start(session).await?;
    let waited = settle(session, "settling after the restart", Rule::of(quiet)).await?;
    let timed = session.cell.kind.is_timed();
    let memory = match timed {
        true => None,
        false => session.settled(quiet, waited.settled),
    };
    let cpu_s = session.running.tree().cpu_seconds().ok();
    let after = ServerCounters::take(session).await;
    Ok(Restart {
        ready_s: ready_s.unwrap_or(working_s),
        working_s: Some(working_s),
        settled: waited.settled,
        memory,
        cpu_s,
        events: session.load.journal.timeline().events_of_objects() - events,
        server: before
            .zip(after)
            .map(|(before, after)| after.since(&before)),
    })
}
