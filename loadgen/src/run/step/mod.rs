//! Running the steps of a session: one `match` over [`Step`].
//!
//! Guarantees: memory is sampled at the end of each step; what fails leaves the figures of the
//! steps before it. Leaves to others: which steps a cell has (`model::step`), and what a figure
//! means next to another (`report`).

pub mod create;
pub mod deletion;
pub mod restart;
pub mod restart_server;
pub mod scrape;
pub mod settle;
pub mod soak;
pub mod unhealthy;
pub mod update_at;
pub mod update_storm;

use std::time::Duration;

use crate::load::generator::Act;
use crate::load::timeout::Ended;
use crate::load::timetable::Pace;
use crate::measure::machine_use::MachineWatch;
use crate::measure::settle::Rule;
use crate::model::record::Sampled;
use crate::model::step::{Quiet, Step};
use crate::run::bystanders;
use crate::run::cpu_trace::CpuTrace;
use crate::run::ready;
use crate::run::session::{Reason, Session};
use crate::run::snapshot::Snapshot;
use crate::run::step::settle::settle;

/// Runs one step and records what it measured.
pub async fn run(session: &mut Session<'_>, step: Step) -> Result<(), Reason> {
    match step {
        Step::Start => start(session).await,
        Step::Empty(quiet) => empty(session, quiet).await,
        Step::Create { per_s } => {
            let pace = per_s.map_or(Pace::Burst, |per_s| Pace::Steady {
                per_s: f64::from(per_s),
            });
            create::run(session, pace).await
        }
        Step::Settle { quiet, idle_s } => {
            let idle = Duration::from_secs(idle_s);
            settle::run(session, quiet, idle).await?;
            scrape::run(session).await
        }
        Step::WindDown => {
            settle(session, step.name(), Rule::of(Quiet::of(1))).await?;
            let end = Snapshot::take(session).await;
            settle::record(session, &end);
            scrape::run(session).await
        }
        Step::Churn => churn(session).await,
        Step::Soak { events, quiet } => soak::run(session, events, quiet).await,
        Step::Restart { times, quiet } => restart::run(session, times, quiet).await,
        Step::RestartServer(quiet) => restart_server::run(session, quiet).await,
        Step::Search { wait_s } => bystanders::search(session, Duration::from_secs(wait_s)).await,
        Step::ChangeBystanders => bystanders::change(session).await,
        Step::WithoutBystanders(quiet) => bystanders::without(session, quiet).await,
        Step::Delete(quiet) => delete(session, quiet).await,
        Step::Deletion => deletion::run(session).await,
        Step::Fault { hold_s } => unhealthy::run(session, Duration::from_secs(hold_s)).await,
        Step::UpdateStorm => update_storm::run(session).await,
        Step::UpdateAt { per_s, seconds } => update_at::run(session, per_s, seconds).await,
    }
}

/// From the spawn until the canary, which was created before it, is observed and the subject says that it is ready.
async fn start(session: &mut Session<'_>) -> Result<(), Reason> {
    session.say(Step::Start.name());
    let within = session.setting.start_deadline();
    let started = ready::started(session, within).await?;
    session.run.spawn_to_canary_ms = Some(started.working_s * 1_000.0);
    Ok(())
}

async fn empty(session: &mut Session<'_>, quiet: Quiet) -> Result<(), Reason> {
    settle(session, Step::Empty(quiet).name(), Rule::of(quiet)).await?;
    session.run.memory.empty = session.sampled().map(|sampled| Sampled {
        peak_bytes: None,
        ..sampled
    });
    // The turn comes before the first counter is read: while other runs work, time passes and
    // even idle servers use CPU.
    session.work().await;
    if session.cell.kind.is_timed() {
        session.machine_watch = Some(MachineWatch::begin().await);
    }
    let baseline = Snapshot::take(session).await;
    session.trace = Some(CpuTrace::new(baseline.cpu));
    session.baseline = Some(baseline);
    session.page_before = scrape::page(session).await;
    Ok(())
}

async fn churn(session: &mut Session<'_>) -> Result<(), Reason> {
    session.journal.timeline().begin_wave();
    let converged = create::offer(
        session,
        Act::Update(1),
        Pace::Burst,
        Step::Churn.name(),
        |t| t.all(|p| p.ready),
    );
    let ended = converged.await?;
    if ended != Ended::Converged {
        let why = ended.words();
        return Err(format!("churn: not every object converged again{why}"));
    }
    session.run.memory.churn = session.sampled();
    Ok(())
}

async fn delete(session: &mut Session<'_>, quiet: Quiet) -> Result<(), Reason> {
    let name = Step::Delete(quiet).name();
    let gone = create::offer(session, Act::Delete, Pace::Burst, name, |t| {
        t.all(|p| p.gone)
    });
    let ended = gone.await?;
    if ended != Ended::Converged {
        let why = ended.words();
        return Err(format!("not every object was gone after its deletion{why}"));
    }
    let waited = settle(session, "settling after the deletion", Rule::of(quiet)).await?;
    session.run.memory.deleted = session.settled(quiet, waited.settled);
    Ok(())
}
