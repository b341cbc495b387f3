//! Restarting the subject on the objects that exist.
//!
//! Guarantees: each restart is ended with SIGTERM, waited for until it is ready, works and is quiet, and
//! recorded by itself; memory is sampled in memory runs only, which wait until it has settled; what the API server did is counted from before the start until then. Leaves
//! to others: medians (`report`).

use crate::load::timetable::Pace;
use crate::measure::settle::Rule;
use crate::model::record::Restart;
use crate::model::step::{Quiet, Step};
use crate::run::ready;
use crate::run::ready::Started;
use crate::run::server_counters::ServerCounters;
use crate::run::session::{Reason, Session};
use crate::run::step::settle::settle;

pub async fn run(session: &mut Session<'_>, times: u32, quiet: Quiet) -> Result<(), Reason> {
    for n in 1..=times {
        session.work().await;
        let name = Step::Restart { times, quiet }.name();
        session.say(&match times {
            1 => name.to_owned(),
            _ => format!("{name}, {n} of {times}"),
        });
        let restart = restart(session, quiet).await;
        let restart = restart.map_err(|reason| match times {
            1 => reason,
            _ => format!("restart {n}: {reason}"),
        })?;
        session.run.restarts.push(restart);
    }
    Ok(())
}

async fn restart(session: &mut Session<'_>, quiet: Quiet) -> Result<Restart, Reason> {
    session.stop_subject().await?;
    ready::offer_canary(session).await?;
    let before = ServerCounters::take(session).await;
    let events = session.journal.timeline().events_of_objects();
    session.start_subject().await?;
    let timeout = session.setting.timeout(session.cell.objects, &Pace::Burst);
    let Started { ready_s, working_s } = ready::started(session, timeout.deadline).await?;
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
        events: session.journal.timeline().events_of_objects() - events,
        server: before
            .zip(after)
            .map(|(before, after)| after.since(&before)),
    })
}
