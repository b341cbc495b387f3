//! Creating all objects and waiting until they converge.
//!
//! Guarantees: a wait ends at its deadline, and sooner when nothing moves; what did not converge is
//! counted (censored) and fails the run. Leaves to others: sending (`load::generator`).

use std::time::{Duration, Instant};

use crate::load::generator::Act;
use crate::load::look;
use crate::load::timeline::Timeline;
use crate::load::timeout::Ended;
use crate::load::timetable::Pace;
use crate::metric::convergence::convergence;
use crate::model::step::Step;
use crate::run::convergence::offer_of;
use crate::run::session::{Reason, Session};

/// A run at a rate is invalid when more than 1 % of its sends were later than this.
const LATE_MS: f64 = 100.0;

pub async fn run(session: &mut Session<'_>, pace: Pace) -> Result<(), Reason> {
    let objects = session.cell.objects;
    let own_before = tare_procstat::cpu_seconds(std::process::id()).ok();
    let started = Instant::now();
    session.reset_peak();
    let name = Step::Create { per_s: None }.name();
    let converged = offer(session, Act::Create, pace.clone(), name, |t| {
        t.all(|p| p.ready)
    });
    let ended = converged.await?;
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
    let convergence = convergence(session.journal.timeline().end_wave(), offer_of(&pace));
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
    if ended != Ended::Converged {
        let what = match ready {
            0 => "no object".to_owned(),
            _ => format!("{} of {objects}", objects as u64 - censored),
        };
        let index = look::first(&session.journal.timeline());
        let scenario = session.setting.scenario_of(session.subject);
        let convergence = &session.subject.convergence;
        let looked = look::lines(&session.cluster, &scenario, convergence, index).await;
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
    let timeline = session.journal.timeline();
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

/// Does something to all objects and waits until `done`, at most until the deadline, and for no longer
/// than the stall timeout where nothing moves.
pub async fn offer(
    session: &mut Session<'_>,
    act: Act,
    pace: Pace,
    what: &str,
    done: impl Fn(&Timeline) -> bool,
) -> Result<Ended, Reason> {
    let objects = session.journal.timeline().in_wave().len();
    session.work().await;
    let timeout = session.setting.timeout(objects, &pace);
    let started = Instant::now();
    let mut sending = tokio::task::JoinSet::new();
    sending.spawn(session.offer(act, pace).send());
    let (mut last, mut moved_at) = (Default::default(), started);
    loop {
        let next_poll = Instant::now() + Duration::from_millis(100);
        if session.wait_until(next_poll, &done).await? {
            return Ok(Ended::Converged);
        }
        session.trace_cpu();
        let progress = session.journal.timeline().progress();
        let count = match act {
            Act::Delete => progress.gone,
            Act::Create | Act::Update(_) | Act::Child(_) => progress.ready,
        };
        session
            .setting
            .say_count(session.cell, what, count, objects);
        if progress != last {
            (last, moved_at) = (progress, Instant::now());
        }
        if let Some(ended) = timeout.is_over(started.elapsed(), moved_at.elapsed()) {
            return Ok(ended);
        }
    }
}
