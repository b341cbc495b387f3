//! Waiting until a subject has settled, and what it cost to converge and to idle.
//!
//! Guarantees: bounded by the rule. What is counted before the quiet belongs to converging, what
//! is counted in it to idling. While a subject is quiet, another run may work. Leaves to others:
//! the rule (`measure::settle`).

use std::time::{Duration, Instant};

use crate::measure::settle::{Rule, Sample, SettleDetector, SettleState};
use crate::model::record::Datastore;
use crate::model::step::Quiet;
use crate::run::session::{Reason, Session};
use crate::run::snapshot::Snapshot;

/// Work within this time after the last event still belongs to converging.
const AFTERMATH: Duration = Duration::from_secs(2);
/// Between two samples.
const POLL: Duration = Duration::from_millis(500);

/// Settles, samples memory, and goes on idling until `idle` has passed since the quiet began.
pub async fn run(session: &mut Session<'_>, quiet: Quiet, idle: Duration) -> Result<(), Reason> {
    let begin = settle(session, "settling", Rule::of(quiet)).await?;
    session.run.memory.settled = session.memory();
    let end = Snapshot::take(session).await;
    record(session, begin.as_ref().unwrap_or(&end));
    let Some(begin) = begin else {
        return Ok(());
    };
    session.say("idling");
    while begin.at.elapsed() < idle {
        let left = idle.saturating_sub(begin.at.elapsed());
        tokio::time::sleep(left.min(POLL)).await;
        session.check_alive()?;
    }
    session.run.idle = Snapshot::take(session).await.idle_since(&begin);
    Ok(())
}

/// Records what the objects cost, from the session's baseline to `end`.
pub fn record(session: &mut Session<'_>, end: &Snapshot) {
    let Some(before) = session.baseline.take().filter(|_| session.cell.objects > 0) else {
        return;
    };
    session.run.converge_cpu_s = end.cpu_s_since(&before);
    session.run.api_server_cpu_s = end.server_cpu_s_since(&before);
    session.run.requests = end.requests_since(&before);
    session.run.write_spans = session.server.write_spans();
    let datastore = Datastore {
        written_bytes: end.datastore_written_bytes_since(&before),
        size_bytes: session.server.datastore_size_bytes(),
    };
    let known = datastore.written_bytes.is_some() || datastore.size_bytes.is_some();
    session.run.datastore = known.then_some(datastore);
}

/// Waits until the subject has settled. Returns the counters at the begin of its quiet; `None`
/// when it was never quiet for longer than [`AFTERMATH`].
pub async fn settle(
    session: &mut Session<'_>,
    what: &str,
    rule: Rule,
) -> Result<Option<Snapshot>, Reason> {
    session.say(what);
    let started = Instant::now();
    let mut detector = SettleDetector::new(rule, sample(session, started));
    let mut begin = None;
    loop {
        tokio::time::sleep(POLL).await;
        session.check_alive()?;
        let state = detector.add(sample(session, started));
        match detector.quiet_for() {
            quiet if quiet < AFTERMATH => begin = None,
            _ if begin.is_none() => {
                begin = Some(Snapshot::take(session).await);
                session.rest();
            }
            _ => {}
        }
        match state {
            SettleState::Busy => {}
            SettleState::Settled => return Ok(begin),
            SettleState::GaveUp => {
                let s = rule.at_most.as_secs();
                session.run.warnings.push(format!(
                    "{what}: did not settle within {s} s; sampled anyway"
                ));
                return Ok(None);
            }
        }
    }
}

fn sample(session: &Session<'_>, started: Instant) -> Sample {
    let pid = session.process.pid();
    Sample {
        at: started.elapsed(),
        events: session.journal.timeline().events,
        // Where CPU and memory cannot be read, events alone decide: a constant never changes.
        cpu_s: tare_procstat::cpu_seconds(pid).unwrap_or_default(),
        anon_bytes: tare_procstat::memory(pid).map_or(0, |memory| memory.anon_bytes),
    }
}
