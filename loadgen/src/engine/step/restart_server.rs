//! Restarting the API server while the objects exist, as a roll-out of the control plane does.
//!
//! Guarantees: the subject runs on; it has to find the server again, and to observe an object that is created afterwards.
//! Leaves to others: what it costs the server.

use std::time::Instant;

use crate::engine::ready;
use crate::engine::session::{Reason, Session};
use crate::engine::step::settle::settle;
use crate::load::timetable::Pace;
use crate::record::ServerRestart;
use crate::spec::step::{Quiet, Step};
use crate::watch::settle::Rule;

pub async fn run(session: &mut Session<'_>, quiet: Quiet) -> Result<(), Reason> {
    session.work().await;
    let name = Step::RestartServer(quiet).name();
    session.reset_peak();
    let cpu_s = session.running.tree().cpu_seconds().ok();
    let began = Instant::now();
    let restarted = session.server.restart().await;
    restarted.map_err(|error| format!("{name}: {error}"))?;
    let back_s = began.elapsed().as_secs_f64();
    ready::offer_canary(session).await?;
    let within = session
        .load
        .timeout(session.cell.objects, &Pace::Burst)
        .deadline;
    let found_again = ready::started(session, within).await;
    found_again.map_err(|reason| format!("{name}: {reason}"))?;
    let working_s = began.elapsed().as_secs_f64();
    let waited = settle(session, &name, Rule::of(quiet)).await?;
    session.run.memory.server_restart = session.settled(quiet, waited.settled);
    let spent = session.running.tree().cpu_seconds().ok().zip(cpu_s);
    session.run.server_restart = Some(ServerRestart {
        back_s,
        working_s,
        cpu_s: spent.map(|(now, before)| now - before),
    });
    Ok(())
}
