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
use crate::load::timetable::{LATE_MS, Pace};
use crate::metric::convergence::convergence;
use crate::record::Convergence;
use crate::spec::step::Step;

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
    let late = late_because(&convergence);
    session.run.invalid_because.extend(late);
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

/// Why the times of these objects are the generator's and not the operator's. A server that leaves no connection free is
/// slow, and that is a result.
fn late_because(convergence: &Convergence) -> Option<String> {
    let p99_late_ms = convergence.late.quantiles()?.p99_ms;
    (p99_late_ms > LATE_MS).then(|| {
        format!(
            "the generator was late: 1 % of the sends by more than {p99_late_ms:.0} ms (bound {LATE_MS} ms)"
        )
    })
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Arrival;
    use crate::record::samples::Sample;
    use crate::target::cluster::CONNECTIONS;

    /// 500 objects, one due each millisecond; sent when they are due, the generator has begun to send and a connection is
    /// free, and answered so much later.
    fn offered(begins_ms: u64, answered_after_ms: u64) -> Convergence {
        let mut answered_ms: Vec<u64> = Vec::new();
        let sample = |due_ms: u64| {
            let before = answered_ms.len().checked_sub(CONNECTIONS);
            let free_ms = before.map_or(0, |nth| answered_ms[nth]);
            let sent_ms = due_ms.max(begins_ms).max(free_ms);
            let done_ms = sent_ms + answered_after_ms;
            answered_ms.push(done_ms);
            Sample {
                intended_us: Some(due_ms * 1_000),
                sent_us: Some(sent_ms * 1_000),
                acked_us: Some(done_ms * 1_000),
                observed_us: Some(done_ms * 1_000),
                ready_us: Some(done_ms * 1_000),
            }
        };
        let samples: Vec<Sample> = (0..500).map(sample).collect();
        convergence(&samples, Arrival::AtRate)
    }

    #[test]
    fn a_saturated_server_is_a_result_and_a_late_generator_is_none() {
        let slow_server = offered(0, 100);
        assert!(slow_server.saturated);
        let late = "the generator was late: 1 % of the sends by more than 395 ms (bound 100 ms)";
        for (name, convergence, want) in [
            ("in time", offered(0, 1), None),
            ("the server answers after 100 ms", slow_server, None),
            (
                "the generator begins after 400 ms",
                offered(400, 0),
                Some(late),
            ),
        ] {
            assert_eq!(late_because(&convergence).as_deref(), want, "{name}");
        }
    }
}
