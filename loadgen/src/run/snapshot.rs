//! Counters of the subject, the API server and the datastore at one moment.
//!
//! Guarantees: what this machine or server does not tell is `None`. Leaves to others: when it is
//! taken, and what a difference means.

use std::time::Instant;

use crate::load::journal::Journal;
use crate::model::record::Idle;
use crate::model::request_counts::RequestCounts;
use crate::run::cpu_trace::CpuSample;
use crate::run::session::Session;
use crate::target::{Revision, SUBJECT};

pub struct Snapshot {
    pub at: Instant,
    cpu_s: Option<f64>,
    context_switches: Option<u64>,
    server_cpu_s: Option<f64>,
    controllers_cpu_s: Option<f64>,
    datastore_written_bytes: Option<u64>,
    revision: Option<Revision>,
    request_counts: Option<RequestCounts>,
}

impl Snapshot {
    pub async fn take(session: &Session<'_>) -> Self {
        let pid = session.running.process.pid();
        Self {
            at: Instant::now(),
            cpu_s: tare_procstat::cpu_seconds(pid).ok(),
            context_switches: tare_procstat::context_switches(pid).ok(),
            server_cpu_s: session.server.cpu_s(),
            controllers_cpu_s: session.server.controllers_cpu_s(),
            datastore_written_bytes: session.server.datastore_written_bytes(),
            revision: session.server.revision(&session.cluster).await,
            request_counts: session.server.request_counts(&session.cluster).await,
        }
    }

    /// What had been spent by then, on the clock of a run.
    pub fn cpu(&self, journal: &Journal) -> CpuSample {
        CpuSample {
            at_ns: journal.ns(self.at),
            cpu_s: self.cpu_s,
            server_cpu_s: self.server_cpu_s,
            controllers_cpu_s: self.controllers_cpu_s,
        }
    }

    pub fn cpu_s_since(&self, earlier: &Snapshot) -> Option<f64> {
        Some(self.cpu_s? - earlier.cpu_s?)
    }

    pub fn datastore_written_bytes_since(&self, earlier: &Snapshot) -> Option<u64> {
        self.datastore_written_bytes?
            .checked_sub(earlier.datastore_written_bytes?)
    }

    /// Revisions of the datastore, less those of the harness, which created `objects`.
    pub fn revisions_since(&self, earlier: &Snapshot, objects: u64) -> Option<u64> {
        self.revision?
            .since(earlier.revision?)?
            .checked_sub(objects)
    }

    /// The subject's requests.
    pub fn requests_since(&self, earlier: &Snapshot) -> Option<RequestCounts> {
        let (now, then) = (
            self.request_counts.as_ref()?,
            earlier.request_counts.as_ref()?,
        );
        Some(now.since(then).of(SUBJECT))
    }

    /// What the subject cost while it was idle since then.
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
