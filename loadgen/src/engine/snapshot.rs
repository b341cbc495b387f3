//! Counters of the subject, the API server and the datastore at one moment.
//!
//! Guarantees: what this machine or server does not tell is `None`. Leaves to others: when it is
//! taken, and what a difference means.

use std::time::Instant;

use crate::engine::cpu_trace::CpuSample;
use crate::engine::session::Session;
use crate::record::Idle;
use crate::record::request_counts::RequestCounts;
use crate::target::{Revision, SUBJECT};

pub struct Snapshot {
    pub at: Instant,
    /// On the clock of the run.
    pub cpu: CpuSample,
    context_switches: Option<u64>,
    datastore_written_bytes: Option<u64>,
    revision: Option<Revision>,
    request_counts: Option<RequestCounts>,
}

impl Snapshot {
    pub async fn take(session: &Session<'_>) -> Self {
        Self {
            at: Instant::now(),
            cpu: session.cpu_sample(),
            context_switches: session.running.tree().context_switches().ok(),
            datastore_written_bytes: session.server.datastore_written_bytes(),
            revision: session.server.revision(&session.load.cluster).await,
            request_counts: session.server.request_counts(&session.load.cluster).await,
        }
    }

    pub fn cpu_s_since(&self, earlier: &Snapshot) -> Option<f64> {
        Some(self.cpu.cpu_s? - earlier.cpu.cpu_s?)
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
            server: None,
            highest_rss_bytes: None,
        })
    }
}
