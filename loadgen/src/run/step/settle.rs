//! Leaving a subject alone until it has settled, and the counters around that time.
//!
//! Guarantees: bounded by the rule; what is counted before the quiet belongs to the work, what is
//! counted in it to idling; while a subject is quiet another run may work. Leaves to others: the
//! rule (`settle`).

use std::time::{Duration, Instant};


use crate::load::journal::Journal;
use crate::measure::settle::{Rule, Sample, SettleDetector, Verdict};
use crate::model::ledger::Ledger;
use crate::model::record::Idle;
use crate::run::session::{Reason, Session};
use crate::target::SUBJECT;

/// Work that follows the last event for this long still belongs to converging, not to idling.
const AFTERMATH: Duration = Duration::from_secs(2);

/// Counters at one moment; `None` for what this machine or server does not say.
pub struct Snapshot {
    at: Instant,
    cpu_s: Option<f64>,
    context_switches: Option<u64>,
    server_cpu_s: Option<f64>,
    datastore_written_bytes: Option<u64>,
    ledger: Option<Ledger>,
}

/// Goes on leaving the subject alone until `window` has passed since `begin`, whatever it does.
pub async fn linger(
    session: &mut Session<'_>,
    what: &str,
    begin: &Snapshot,
    window: Duration,
) -> Result<(), Reason> {
    session.setting.say_step(session.cell, what);
    while begin.at.elapsed() < window {
        let left = window.saturating_sub(begin.at.elapsed());
        tokio::time::sleep(left.min(Duration::from_millis(500))).await;
        session.check_alive()?;
    }
    Ok(())
}

/// Waits until the subject has settled; the counters at the beginning of its quiet, or `None`
/// when it never was quiet for longer than [`AFTERMATH`].
pub async fn settle(
    session: &mut Session<'_>,
    what: &str,
    rule: Rule,
) -> Result<Option<Snapshot>, Reason> {
    session.setting.say_step(session.cell, what);
    let started = Instant::now();
    let pid = session.process.pid();
    let mut detector = SettleDetector::new(rule, look(pid, &session.journal, started));
    let mut begin = None;
    loop {
        tokio::time::sleep(Duration::from_millis(500)).await;
        session.check_alive()?;
        let verdict = detector.look(look(pid, &session.journal, started));
        match detector.quiet_for() {
            quiet if quiet < AFTERMATH => begin = None,
            _ if begin.is_none() => {
                begin = Some(Snapshot::take(session).await);
                session.rest();
            }
            _ => {}
        }
        match verdict {
            Verdict::Restless => {}
            Verdict::Settled => return Ok(begin),
            Verdict::GaveUp => {
                let s = rule.at_most.as_secs();
                session.run.warnings.push(format!(
                    "{what}: still at work after {s} s, weighed as it was"
                ));
                return Ok(None);
            }
        }
    }
}

/// One look at a process and at the events of the objects.
pub fn look(pid: u32, journal: &Journal, started: Instant) -> Sample {
    Sample {
        at: started.elapsed(),
        events: journal.timeline().events,
        // Where CPU and memory cannot be read, events alone decide: a constant never changes.
        cpu_s: tare_procstat::cpu_seconds(pid).unwrap_or_default(),
        anon_bytes: tare_procstat::memory(pid).map_or(0, |memory| memory.anon_bytes),
    }
}

impl Snapshot {
    pub async fn take(session: &Session<'_>) -> Self {
        let pid = session.process.pid();
        Self {
            at: Instant::now(),
            cpu_s: tare_procstat::cpu_seconds(pid).ok(),
            context_switches: tare_procstat::context_switches(pid).ok(),
            server_cpu_s: session.server.cpu_s(),
            datastore_written_bytes: session.server.datastore_written_bytes(),
            ledger: session.server.ledger(&session.cluster).await,
        }
    }

    pub fn cpu_s_since(&self, earlier: &Snapshot) -> Option<f64> {
        Some(self.cpu_s? - earlier.cpu_s?)
    }

    pub fn server_cpu_s_since(&self, earlier: &Snapshot) -> Option<f64> {
        Some(self.server_cpu_s? - earlier.server_cpu_s?)
    }

    pub fn datastore_written_bytes_since(&self, earlier: &Snapshot) -> Option<u64> {
        self.datastore_written_bytes?
            .checked_sub(earlier.datastore_written_bytes?)
    }

    /// The subject's requests.
    pub fn requests_since(&self, earlier: &Snapshot) -> Option<Ledger> {
        let (now, then) = (self.ledger.as_ref()?, earlier.ledger.as_ref()?);
        Some(now.since(then).of(SUBJECT))
    }

    /// What it cost to do nothing since then.
    pub fn idle_since(&self, begin: &Snapshot) -> Option<Idle> {
        let switches = self.context_switches.zip(begin.context_switches);
        Some(Idle {
            window_s: (self.at - begin.at).as_secs_f64(),
            cpu_s: self.cpu_s_since(begin)?,
            context_switches: switches.and_then(|(end, begin)| end.checked_sub(begin)),
            requests: self.requests_since(begin),
        })
    }
}
