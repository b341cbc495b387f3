//! Doing the steps of a bench: one `match` over [`Step`].
//!
//! Guarantees: what fails leaves the figures of the steps before it. Leaves to others: which steps a cell has
//! (`plan::course`), what is done to objects in every command (`objects`), and what a figure means next to another
//! (`metric`).

pub mod children;
pub mod create;
pub mod delete;
pub mod objects;
pub mod restart;
pub mod restart_server;
pub mod scrape;
pub mod settle;
pub mod soak;
pub mod unhealthy;
pub mod until_quiet;
pub mod update_at;
pub mod update_storm;

use std::time::Duration;

use crate::engine::bystanders;
use crate::engine::cpu_trace::CpuTrace;
use crate::engine::ready;
use crate::engine::session::{Reason, Session};
use crate::engine::snapshot::Snapshot;
use crate::engine::step::settle::settle;
use crate::load::timeout::Ended;
use crate::record::Sampled;
use crate::spec::step::{Quiet, Step};
use crate::watch::machine_use::MachineWatch;
use crate::watch::settle::Rule;

/// Does one step and records what it measured.
pub async fn run(session: &mut Session<'_>, step: &Step) -> Result<(), Reason> {
    let name = step.name();
    session.load.say(&name);
    match *step {
        Step::Start => start(session).await,
        Step::Empty(quiet) => empty(session, quiet).await,
        Step::Create { .. } if session.run.convergence.is_none() => {
            create::run(session, step).await
        }
        Step::Settle { quiet, idle_s } => {
            settle::run(session, quiet, Duration::from_secs(idle_s)).await?;
            scrape::run(session).await
        }
        Step::WindDown => {
            settle(session, &name, Rule::of(Quiet::of(1))).await?;
            let end = Snapshot::take(session).await;
            settle::record(session, &end);
            until_quiet::run(session).await?;
            scrape::run(session).await
        }
        Step::Soak { events, quiet } => soak::run(session, events, quiet).await,
        Step::Restart {
            times,
            quiet: Some(quiet),
        } => restart::run(session, times, quiet).await,
        Step::RestartServer { times, quiet } => restart_server::run(session, times, quiet).await,
        Step::Search { wait_s } => bystanders::search(session, Duration::from_secs(wait_s)).await,
        Step::ChangeBystanders => bystanders::change(session).await,
        Step::WithoutBystanders(quiet) => bystanders::without(session, quiet).await,
        // Memory after a deletion waits for nobody's children: it settles.
        Step::Delete { .. } if session.cell.kind.is_timed() => delete::run(session, step).await,
        Step::SettleDeleted(quiet) => {
            let waited = settle(session, &name, Rule::of(quiet)).await?;
            session.run.memory.deleted = session.settled(quiet, waited.settled);
            Ok(())
        }
        Step::Unhealthy { hold_s } => unhealthy::run(session, Duration::from_secs(hold_s)).await,
        Step::UpdateStorm => update_storm::run(session).await,
        Step::UpdateAt { per_s, seconds } => update_at::run(session, per_s, seconds).await,
        Step::Update { .. } if !session.cell.kind.is_timed() => {
            on_objects(session, step).await?;
            session.run.memory.update = session.sampled();
            Ok(())
        }
        Step::Create { .. }
        | Step::Update { .. }
        | Step::Scale { .. }
        | Step::Recreate { .. }
        | Step::Delete { .. }
        | Step::DeleteChildren {}
        | Step::Fault { .. }
        | Step::Restart { quiet: None, .. }
        | Step::Bystanders { .. }
        | Step::Idle { .. } => on_objects(session, step).await,
    }
}

/// What is done to objects in every command; here all have to come to the end of it.
async fn on_objects(session: &mut Session<'_>, step: &Step) -> Result<(), Reason> {
    session.work().await;
    let ended = objects::run(session, step).await;
    let ended = ended.map_err(|reason| format!("{}: {reason}", step.name()))?;
    require(ended, &step.name())
}

/// # Errors
/// Not every object has come to the end of `what`.
pub fn require(ended: Ended, what: &str) -> Result<(), Reason> {
    match ended {
        Ended::Converged => Ok(()),
        _ => Err(format!(
            "{what}: not every object came to its end{}",
            ended.words()
        )),
    }
}

/// From the spawn until the canary, which was created before it, is observed and the subject says that it is ready.
async fn start(session: &mut Session<'_>) -> Result<(), Reason> {
    let within = session.setting.start_deadline();
    let started = ready::started(session, within).await?;
    session.run.spawn_to_canary_ms = Some(started.working_s * 1_000.0);
    Ok(())
}

async fn empty(session: &mut Session<'_>, quiet: Quiet) -> Result<(), Reason> {
    settle(session, &Step::Empty(quiet).name(), Rule::of(quiet)).await?;
    session.run.memory.empty = session.sampled().map(|sampled| Sampled {
        peak_bytes: None,
        ..sampled
    });
    // The turn comes before the first counter is read: while other runs work, time passes and
    // even idle servers use CPU.
    session.work().await;
    if session.cell.kind.is_timed() {
        session.machine_watch = Some(MachineWatch::begin().await);
        until_quiet::begin(session).await;
    }
    let baseline = Snapshot::take(session).await;
    session.trace = Some(CpuTrace::new(baseline.cpu));
    session.baseline = Some(baseline);
    session.page_before = scrape::page(session).await;
    Ok(())
}
