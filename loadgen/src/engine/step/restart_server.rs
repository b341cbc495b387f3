//! Restarting the API server while the objects exist, as a roll-out of the control plane does.
//!
//! Guarantees: the subject runs on; each time it has to find the server again, and to observe an object that is created
//! afterwards; memory is sampled where it is waited for. Leaves to others: what it costs the server.

use std::time::Instant;

use crate::engine::ready;
use crate::engine::session::{Reason, Session};
use crate::engine::step::settle::settle;
use crate::record::ServerRestart;
use crate::spec::step::{Quiet, Step};
use crate::watch::settle::Rule;

/// The figures are those of the last time.
pub async fn run(
    session: &mut Session<'_>,
    times: u64,
    quiet: Option<Quiet>,
) -> Result<(), Reason> {
    session.work().await;
    let name = Step::RestartServer { times: 1, quiet }.name();
    for n in 1..=times {
        let name = match times {
            1 => name.clone(),
            _ => format!("{name}, {n} of {times}"),
        };
        session.load.say(&name);
        let restarted = restart(session, &name, quiet).await;
        let restarted = restarted.map_err(|reason| format!("{name}: {reason}"))?;
        session.run.server_restart = Some(restarted);
    }
    Ok(())
}

async fn restart(
    session: &mut Session<'_>,
    name: &str,
    quiet: Option<Quiet>,
) -> Result<ServerRestart, Reason> {
    session.reset_peak();
    let cpu_s = session.running.tree().cpu_seconds().ok();
    let began = Instant::now();
    session.server.restart().await?;
    let back_s = began.elapsed().as_secs_f64();
    ready::offer_canary(session).await?;
    let within = session.load.patience();
    ready::started(session, within).await?;
    let working_s = began.elapsed().as_secs_f64();
    if let Some(quiet) = quiet {
        let waited = settle(session, name, Rule::of(quiet)).await?;
        session.run.memory.server_restart = session.settled(quiet, waited.settled);
    }
    let spent = session.running.tree().cpu_seconds().ok().zip(cpu_s);
    Ok(ServerRestart {
        back_s,
        working_s,
        cpu_s: spent.map(|(now, before)| now - before),
    })
}
