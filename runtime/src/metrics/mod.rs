//! Metrics of a running operator.
//!
//! Guarantees: constant memory; no label has values from outside; counting never blocks.
//! Leaves to others: the text that Prometheus reads (`text`), serving it (`app::admin`).

pub mod histogram;
mod process;
pub(crate) mod text;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use crate::api::Metric;
use crate::metrics::histogram::Histogram;
pub use crate::metrics::text::Build;

/// The verb of a request, as the audit log calls it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    /// Reads one object.
    Get,
    /// Reads a list.
    List,
    /// Opens a watch.
    Watch,
    /// Creates.
    Create,
    /// Patches.
    Patch,
    /// Deletes.
    Delete,
}

pub(crate) const VERBS: [&str; 6] = ["get", "list", "watch", "create", "patch", "delete"];

/// Counters and gauges of one program.
#[derive(Default)]
pub struct Metrics {
    /// Calls of the reconcile function.
    pub reconcile: Histogram,
    requests: [AtomicU64; VERBS.len()],
    errors: Mutex<BTreeMap<&'static str, u64>>,
    watch_restarts: Mutex<BTreeMap<&'static str, u64>>,
    /// Reads of an idle owner because one of its children changed.
    pub owner_reads_for_children: AtomicU64,
    /// Objects in watch events and lists that could not be decoded.
    pub undecodable: AtomicU64,
    /// Watch events that the workqueue did not admit.
    pub dropped_events: AtomicU64,
    /// Relists requested.
    pub relists_requested: AtomicU64,
    /// Relists completed.
    pub relists_completed: AtomicU64,
    /// Children that differed from their plan.
    pub drift: AtomicU64,
    /// Patches of children that changed nothing.
    pub noop_patches: AtomicU64,
    /// Events not written, to bound their rate.
    pub events_suppressed: AtomicU64,
    /// Owners that wait for a worker.
    pub queue_depth: AtomicU64,
    /// Owners that a worker reconciles.
    pub in_flight: AtomicU64,
    /// Owners with an entry: queued, in flight, in back-off or awaiting confirmation.
    pub entries: AtomicU64,
    /// Bytes of the specs in those entries.
    pub spec_bytes: AtomicU64,
    /// Owners of which the cache retains something.
    pub cached_owners: AtomicU64,
    /// Revision of the CRD in the cluster; -1 while it is not known.
    pub crd_revision: AtomicI64,
    /// Revision of the CRD in the binary; 0 where it has none.
    pub crd_revision_in_binary: AtomicI64,
    /// The author's own.
    authors: Mutex<Vec<&'static Metric>>,
    ready: AtomicBool,
    standby: AtomicBool,
    not_ready_because: Mutex<String>,
}

impl Metrics {
    /// Has the page show these too, under its prefix. Of two with one name it shows the first: Prometheus would refuse the page.
    pub fn show(&self, metrics: &[&'static Metric]) {
        let mut shown = lock(&self.authors);
        for metric in metrics {
            if shown.iter().all(|other| other.name != metric.name) {
                shown.push(metric);
            }
        }
    }

    /// Counts one request.
    pub fn request(&self, verb: Verb) {
        self.requests[verb as usize].fetch_add(1, Relaxed);
    }

    /// Requests sent so far with `verb`.
    pub fn requests(&self, verb: Verb) -> u64 {
        self.requests[verb as usize].load(Relaxed)
    }

    /// Counts one failed reconcile.
    pub fn error(&self, reason: &'static str) {
        count(&self.errors, reason);
    }

    /// Counts a watch stream that was reopened for another reason than its normal end.
    pub fn watch_restart(&self, reason: &'static str) {
        count(&self.watch_restarts, reason);
    }

    /// Watch streams reopened so far.
    pub fn watch_restarts(&self) -> u64 {
        lock(&self.watch_restarts).values().sum()
    }

    /// Failed reconciles so far.
    pub fn errors(&self) -> u64 {
        lock(&self.errors).values().sum()
    }

    /// The initial list is complete and the watch streams are open. Returns whether that was not so
    /// before.
    pub fn set_ready(&self) -> bool {
        !self.ready.swap(true, Relaxed)
    }

    /// Sets the reason, one line, why the operator is not ready.
    pub fn set_not_ready(&self, because: &str) {
        self.ready.store(false, Relaxed);
        let mut text = lock(&self.not_ready_because);
        text.clear();
        text.push_str(because);
    }

    /// Whether this replica waits for another one to end. A standby is ready to take over.
    pub fn set_standby(&self, standby: bool) {
        self.standby.store(standby, Relaxed);
    }

    /// Whether another replica works and this one waits.
    pub fn is_standby(&self) -> bool {
        self.standby.load(Relaxed)
    }

    /// `Ok` when ready, else why not.
    ///
    /// # Errors
    /// The reason, for `/readyz`.
    pub fn readiness(&self) -> Result<(), String> {
        if self.ready.load(Relaxed) {
            return Ok(());
        }
        let text = lock(&self.not_ready_because).clone();
        Err(if text.is_empty() {
            "initial list in progress".to_owned()
        } else {
            text
        })
    }

    /// Measures one reconcile until the guard is dropped.
    pub fn time_reconcile(&self) -> Timed<'_> {
        Timed {
            metrics: self,
            started: std::time::Instant::now(),
        }
    }

    /// All metrics as Prometheus text. Their names begin with the prefix of `build`.
    pub fn render(&self, build: &Build<'_>) -> String {
        self.render_own(build) + &of_process()
    }

    /// The same without what is of the process: for several in one.
    pub(crate) fn render_own(&self, build: &Build<'_>) -> String {
        text::render(self, build)
    }
}

/// What the process uses, as Prometheus text: once for a program, whatever runs in it.
pub(crate) fn of_process() -> String {
    let mut text = String::new();
    process::render(&mut text);
    text
}

/// Records the duration of a reconcile when it is dropped, on every path.
pub struct Timed<'a> {
    metrics: &'a Metrics,
    started: std::time::Instant,
}

impl Drop for Timed<'_> {
    fn drop(&mut self) {
        let taken: Duration = self.started.elapsed();
        self.metrics.reconcile.record(taken);
    }
}

fn count(map: &Mutex<BTreeMap<&'static str, u64>>, reason: &'static str) {
    *lock(map).entry(reason).or_default() += 1;
}

/// A panic of another holder leaves a count that is still right.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}
