//! Creating all objects and waiting until they converge.
//!
//! Guarantees: what did not converge is counted (censored) and fails the run. Leaves to others: sending and waiting
//! (`engine::load`).

use std::time::Instant;

use crate::engine::convergence::offer_of;
use crate::engine::session::{Reason, Session};
use crate::engine::step::objects;
use crate::load::look;
use crate::load::timeout::Ended;
use crate::load::timetable::Pace;
use crate::metric::convergence::convergence;
use crate::spec::step::Step;

/// A run at a rate is invalid when more than 1 % of its sends were later than this.
const LATE_MS: f64 = 100.0;

pub async fn run(session: &mut Session<'_>, step: &Step) -> Result<(), Reason> {
    let objects = session.cell.objects;
    let pace = session.load.pace(step.per_s());
    session.work().await;
    let own_before = tare_procstat::cpu_seconds(std::process::id()).ok();
    let started = Instant::now();
    session.reset_peak();
    let ended = objects::create(session, 0..objects, pace.clone()).await?;
    if pace == Pace::Burst {
        session.run.memory.burst = session.sampled();
    }
    let wall_s = started.elapsed().as_secs_f64();
    if let (Some(before), Ok(after)) = (own_before, tare_procstat::cpu_seconds(std::process::id()))
    {
        session.run.generator_cpu_s = Some(after - before);
        judge_generator(session, (after - before) / wall_s);
    }
    // The record follows from the samples that the evidence keeps, and from nothing later.
    let convergence = convergence(session.load.journal.timeline().end_wave(), offer_of(&pace));
    let p99_late_ms = convergence.late.quantiles().map_or(0.0, |q| q.p99_ms);
    if p99_late_ms > LATE_MS {
        session.run.invalid_because.push(format!(
            "the generator was late: 1 % of the sends by more than {p99_late_ms:.0} ms (bound {LATE_MS} ms)"
        ));
    }
    let ready = convergence.ready_from_sent.count();
    let censored = convergence.censored;
    session.run.convergence = Some(convergence);
    warn(session);
    if ended != Ended::Converged || censored > 0 {
        let what = match ready {
            0 => "no object".to_owned(),
            _ => format!("{} of {objects}", objects as u64 - censored),
        };
        let index = look::first(&session.load.journal.timeline());
        let (load, convergence) = (&session.load, &session.subject.convergence);
        let looked = look::lines(&load.cluster, &load.scenario, convergence, index).await;
        let mut looked = looked.into_iter();
        let example = looked
            .next()
            .map_or(String::new(), |first| format!("; {first}"));
        session.run.warnings.extend(looked);
        return Err(format!(
            "{what} converged{}; {censored} censored{example}",
            ended.words(),
        ));
    }
    Ok(())
}

/// Creates that failed, and interruptions of the harness's own watch.
fn warn(session: &mut Session<'_>) {
    let objects = session.cell.objects;
    let timeline = session.load.journal.timeline();
    if let Some((message, times)) = timeline.failed() {
        session.run.invalid_because.push(format!(
            "{times} of {objects} creates were rejected, the first with: {message}"
        ));
    }
    if timeline.watch_restarts > 0 {
        let restarts = timeline.watch_restarts;
        session.run.warnings.push(format!(
            "the harness's watch was opened again {restarts} times"
        ));
    }
}

/// The generator must not be what is measured.
fn judge_generator(session: &mut Session<'_>, cores_used: f64) {
    let cores = std::thread::available_parallelism().map_or(1, usize::from) as f64;
    if cores_used > cores / 2.0 {
        session.run.invalid_because.push(format!(
            "the generator was the bottleneck: it used {cores_used:.2} of {cores:.0} cores (bound: half)"
        ));
    }
}
