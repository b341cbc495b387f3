//! Waiting until a subject has settled, and what it cost to converge and to idle.
//!
//! Guarantees: bounded by the rule. CPU until the last write of an object belongs to converging, as
//! do requests until the quiet begins; what is counted in the quiet belongs to idling, and so is what a subject
//! does that never comes to rest. While a subject is quiet, another run may work. Leaves to others:
//! the rule (`watch::settle`).

use std::time::{Duration, Instant};

use crate::engine::server_counters;
use crate::engine::server_counters::ServerCounters;
use crate::engine::session::{Reason, Session};
use crate::engine::snapshot::Snapshot;
use crate::record::{Datastore, IdleServer};
use crate::spec::step::Quiet;
use crate::watch::settle::{Rule, Sample, SettleDetector, SettleState};

/// Work within this time after the last event still belongs to converging.
const AFTERMATH: Duration = Duration::from_secs(2);
/// What a subject that never comes to rest does is counted for so long: a hot loop shows in seconds.
const RESTLESS: Duration = Duration::from_secs(10);
/// What the API server does meanwhile is counted over at least this long.
const COUNTED: Duration = Duration::from_secs(30);
/// Between two samples.
const POLL: Duration = Duration::from_millis(500);

/// Settles, samples memory, and goes on idling until `idle` has passed since the quiet began.
pub async fn run(session: &mut Session<'_>, quiet: Quiet, idle: Duration) -> Result<(), Reason> {
    let Waited {
        begin,
        settled,
        restless,
    } = settle(session, "settle", Rule::of(quiet)).await?;
    session.run.memory.settled = session.settled(quiet, settled);
    let end = Snapshot::take(session).await;
    record(session, begin.as_ref().unwrap_or(&end));
    let begin = match begin {
        Some(begin) => begin,
        None if restless => {
            let begin = Snapshot::take(session).await;
            session.load.say("counting what it does without an end");
            tokio::time::sleep(RESTLESS).await;
            begin
        }
        None => return Ok(()),
    };
    session.load.say("idling");
    let (before, mut highest) = (ServerCounters::take(session).await, None);
    let watched = Instant::now();
    while begin.at.elapsed() < idle {
        let left = idle.saturating_sub(begin.at.elapsed());
        tokio::time::sleep(left.min(POLL)).await;
        session.check_alive()?;
        let memory = session.running.tree().memory().ok();
        highest = highest.max(memory.map(|memory| memory.rss_bytes));
    }
    let after = ServerCounters::take(session).await;
    session.run.idle = Snapshot::take(session).await.idle_since(&begin);
    // A rate over less than this is none.
    if let Some(idle) = session
        .run
        .idle
        .as_mut()
        .filter(|_| watched.elapsed() >= COUNTED)
    {
        idle.server = before.zip(after).map(|(before, after)| IdleServer {
            seconds: watched.elapsed().as_secs_f64(),
            used: after.since(&before),
        });
        idle.highest_rss_bytes = highest;
    }
    Ok(())
}

/// Records what the objects cost since the session's baseline: CPU until the last write that the
/// harness saw, requests and the datastore until `end`.
pub fn record(session: &mut Session<'_>, end: &Snapshot) {
    let Some(before) = session.baseline.take().filter(|_| session.cell.objects > 0) else {
        return;
    };
    session.trace_cpu();
    let last_write_ns = session.load.journal.timeline().last_event_ns;
    let booked = session.trace.take().map(|trace| trace.until(last_write_ns));
    session.run.converge_cpu_s = booked.and_then(|booked| booked.cpu_s);
    session.run.api_server_cpu_s = booked.and_then(|booked| booked.server_cpu_s);
    session.run.controllers_cpu_s = booked.and_then(|booked| booked.controllers_cpu_s);
    session.run.requests = end.requests_since(&before);
    session.run.write_spans = session.server.write_spans();
    let datastore = Datastore {
        written_bytes: end.datastore_written_bytes_since(&before),
        revisions: end.revisions_since(&before, session.cell.objects as u64),
        size_bytes: session.server.datastore_size_bytes(),
    };
    let known = [
        datastore.written_bytes,
        datastore.revisions,
        datastore.size_bytes,
    ];
    let known = known.iter().any(Option::is_some);
    session.run.datastore = known.then_some(datastore);
}

/// How a wait for a subject to settle ended.
pub struct Waited {
    /// Counters at the begin of its quiet; `None` when it was not quiet for longer than
    /// `AFTERMATH`.
    pub begin: Option<Snapshot>,
    /// Otherwise the rule gave up.
    pub settled: bool,
    /// The rule gave up on a subject that was at work until then.
    pub restless: bool,
}

/// Waits until the subject has settled, or the rule gives up.
pub async fn settle(session: &mut Session<'_>, what: &str, rule: Rule) -> Result<Waited, Reason> {
    session.load.say(what);
    let started = Instant::now();
    let mut detector = SettleDetector::new(rule, sample(session, started));
    let (mut begin, mut writes) = (None, None);
    loop {
        tokio::time::sleep(POLL).await;
        session.check_alive()?;
        session.trace_cpu();
        let state = detector.add(sample(session, started));
        match detector.quiet_for() {
            quiet if quiet < AFTERMATH => begin = None,
            _ if begin.is_none() => {
                begin = Some(Snapshot::take(session).await);
                writes = server_counters::writes(session).await;
                session.rest();
            }
            _ => {}
        }
        match state {
            SettleState::Busy => {}
            // What it writes costs it no CPU that counts, and is work all the same. A quiet that is shorter than the
            // aftermath has no counters at its begin.
            SettleState::Settled
                if writes.is_some() && writes != server_counters::writes(session).await =>
            {
                detector.disturbed();
                (begin, writes) = (None, None);
            }
            SettleState::Settled => {
                return Ok(Waited {
                    begin,
                    settled: true,
                    restless: false,
                });
            }
            SettleState::GaveUp => {
                let s = rule.at_most.as_secs();
                session.run.warnings.push(format!(
                    "{what}: did not settle within {s} s; sampled anyway"
                ));
                return Ok(Waited {
                    restless: begin.is_none(),
                    begin: None,
                    settled: false,
                });
            }
        }
    }
}

fn sample(session: &Session<'_>, started: Instant) -> Sample {
    let tree = session.running.tree();
    Sample {
        at: started.elapsed(),
        events: session.load.journal.timeline().events,
        // Where CPU and memory cannot be read, events alone decide: a constant never changes.
        cpu_s: tree.cpu_seconds().unwrap_or_default(),
        anon_bytes: tree.memory().map_or(0, |memory| memory.anon_bytes),
    }
}
