//! Figures of the running operator, in the Prometheus text format.
//!
//! Guarantees: constant memory, no label takes values from outside; counting never waits.
//! Leaves to others: serving them (`admin`).

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use crate::metrics::histogram::Histogram;

/// What a request does, as the audit log calls it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    /// Reads one object.
    Get,
    /// Reads a page.
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

const VERBS: [&str; 6] = ["get", "list", "watch", "create", "patch", "delete"];

/// Counters and gauges; shared by reference.
#[derive(Default)]
pub struct Metrics {
    /// Calls of the reconcile function.
    pub reconcile: Histogram,
    requests: [AtomicU64; VERBS.len()],
    errors: Mutex<BTreeMap<&'static str, u64>>,
    watch_restarts: Mutex<BTreeMap<&'static str, u64>>,
    /// Reads of an owner because a child changed that had no entry.
    pub owner_reads_for_children: AtomicU64,
    /// Events and list items that could not be decoded.
    pub undecodable: AtomicU64,
    /// Events that found no room.
    pub dropped_events: AtomicU64,
    /// Joins that became necessary.
    pub relists_requested: AtomicU64,
    /// Joins that ran to their end.
    pub relists_completed: AtomicU64,
    /// Children that differed from their plan.
    pub drift: AtomicU64,
    /// Warning Events that were left out because there were too many.
    pub events_suppressed: AtomicU64,
    /// Owners that wait for a worker.
    pub queue_depth: AtomicU64,
    /// Owners that a worker has.
    pub in_flight: AtomicU64,
    /// Owners held for whatever reason.
    pub entries: AtomicU64,
    /// Bytes of specs held for work.
    pub spec_bytes: AtomicU64,
    /// Owners of which the cache keeps something.
    pub cached_owners: AtomicU64,
    /// Revision of the cluster's CRD; -1 while it is not known.
    pub crd_revision: AtomicI64,
    /// Revision of the CRD in the binary; 0 where it has none.
    pub crd_revision_in_binary: AtomicI64,
    ready: AtomicBool,
    not_ready_because: Mutex<String>,
}

impl Metrics {
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

    /// Counts a watch that had to be opened anew for another reason than its normal end.
    pub fn watch_restart(&self, reason: &'static str) {
        count(&self.watch_restarts, reason);
    }

    /// Watches that had to be opened anew so far.
    pub fn watch_restarts(&self) -> u64 {
        lock(&self.watch_restarts).values().sum()
    }

    /// Failed reconciles so far.
    pub fn errors(&self) -> u64 {
        lock(&self.errors).values().sum()
    }

    /// The first join is done and the watches are open. True when this is news.
    pub fn set_ready(&self) -> bool {
        !self.ready.swap(true, Relaxed)
    }

    /// Says in one line why the operator is not ready.
    pub fn set_not_ready(&self, because: &str) {
        self.ready.store(false, Relaxed);
        let mut text = lock(&self.not_ready_because);
        text.clear();
        text.push_str(because);
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
            "the first join is not done yet".to_owned()
        } else {
            text
        })
    }

    /// All of it as Prometheus text.
    pub fn render(&self) -> String {
        let mut out = String::with_capacity(6 << 10);
        self.reconcile.render(
            "tare_reconcile_duration_seconds",
            "Time of one call of the reconcile function.",
            &mut out,
        );
        family(
            &mut out,
            "tare_api_requests_total",
            "counter",
            "Requests to the API server by verb.",
        );
        for (verb, count) in VERBS.iter().zip(&self.requests) {
            line(
                &mut out,
                format_args!(
                    "tare_api_requests_total{{verb=\"{verb}\"}} {}",
                    count.load(Relaxed)
                ),
            );
        }
        labelled(
            &mut out,
            "tare_reconcile_errors_total",
            "Failed reconciles by reason.",
            &self.errors,
        );
        labelled(
            &mut out,
            "tare_watch_restarts_total",
            "Watches opened anew for another reason than their normal end.",
            &self.watch_restarts,
        );
        let counters = [
            (
                "tare_owner_reads_for_children_total",
                "Reads of an owner because of a child.",
                &self.owner_reads_for_children,
            ),
            (
                "tare_undecodable_total",
                "Events and list items that could not be decoded.",
                &self.undecodable,
            ),
            (
                "tare_dropped_events_total",
                "Events that found no room and are owed to a join.",
                &self.dropped_events,
            ),
            (
                "tare_relists_requested_total",
                "Joins that became necessary.",
                &self.relists_requested,
            ),
            (
                "tare_relists_completed_total",
                "Joins that ran to their end.",
                &self.relists_completed,
            ),
            (
                "tare_drift_total",
                "Children that differed from their plan.",
                &self.drift,
            ),
            (
                "tare_events_suppressed_total",
                "Warning Events left out to keep their rate bounded.",
                &self.events_suppressed,
            ),
        ];
        for (name, help, value) in counters {
            family(&mut out, name, "counter", help);
            line(&mut out, format_args!("{name} {}", value.load(Relaxed)));
        }
        let gauges = [
            (
                "tare_queue_depth",
                "Owners that wait for a worker.",
                &self.queue_depth,
            ),
            (
                "tare_in_flight",
                "Owners that a worker has.",
                &self.in_flight,
            ),
            (
                "tare_entries",
                "Owners held for whatever reason.",
                &self.entries,
            ),
            (
                "tare_spec_bytes",
                "Bytes of specs held for work.",
                &self.spec_bytes,
            ),
            (
                "tare_cached_owners",
                "Owners of which the cache keeps something.",
                &self.cached_owners,
            ),
        ];
        for (name, help, value) in gauges {
            family(&mut out, name, "gauge", help);
            line(&mut out, format_args!("{name} {}", value.load(Relaxed)));
        }
        family(
            &mut out,
            "tare_ready",
            "gauge",
            "1 once the first join is done and while the watches stand.",
        );
        line(
            &mut out,
            format_args!("tare_ready {}", u8::from(self.ready.load(Relaxed))),
        );
        family(
            &mut out,
            "tare_crd_revision",
            "gauge",
            "Revision of the CRD in the binary and in the cluster (-1: unknown).",
        );
        line(
            &mut out,
            format_args!(
                "tare_crd_revision{{where=\"binary\"}} {}",
                self.crd_revision_in_binary.load(Relaxed)
            ),
        );
        line(
            &mut out,
            format_args!(
                "tare_crd_revision{{where=\"cluster\"}} {}",
                self.crd_revision.load(Relaxed)
            ),
        );
        family(
            &mut out,
            "tare_build_info",
            "gauge",
            "1, with what this binary is as labels.",
        );
        line(
            &mut out,
            format_args!(
                "tare_build_info{{version=\"{}\",arch=\"{}\",allocator=\"{}\"}} 1",
                env!("CARGO_PKG_VERSION"),
                std::env::consts::ARCH,
                crate::app::allocator::NAME
            ),
        );
        process(&mut out);
        allocator(&mut out);
        out
    }
}

/// A guard that records the duration of a reconcile when it is dropped: no path forgets.
pub struct Timed<'a> {
    metrics: &'a Metrics,
    started: std::time::Instant,
}

impl Metrics {
    /// Starts the clock of one reconcile.
    pub fn time_reconcile(&self) -> Timed<'_> {
        Timed {
            metrics: self,
            started: std::time::Instant::now(),
        }
    }
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

/// A panic while counting must not end counting.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn family(out: &mut String, name: &str, kind: &str, help: &str) {
    line(
        out,
        format_args!("# HELP {name} {help}\n# TYPE {name} {kind}"),
    );
}

fn labelled(out: &mut String, name: &str, help: &str, map: &Mutex<BTreeMap<&'static str, u64>>) {
    family(out, name, "counter", help);
    for (reason, count) in lock(map).iter() {
        line(out, format_args!("{name}{{reason=\"{reason}\"}} {count}"));
    }
}

/// Writing to a `String` cannot fail.
fn line(out: &mut String, text: std::fmt::Arguments<'_>) {
    let _ = out.write_fmt(text);
    out.push('\n');
}

/// Figures of the process from `/proc`; left out where there is none.
fn process(out: &mut String) {
    if let Ok(statm) = std::fs::read_to_string("/proc/self/statm")
        && let Some(pages) = statm
            .split(' ')
            .nth(1)
            .and_then(|pages| pages.parse::<u64>().ok())
    {
        family(
            out,
            "process_resident_memory_bytes",
            "gauge",
            "Resident memory.",
        );
        line(
            out,
            format_args!("process_resident_memory_bytes {}", pages * page_bytes()),
        );
    }
    if let Ok(schedstat) = std::fs::read_to_string("/proc/self/schedstat")
        && let Some(ns) = schedstat
            .split(' ')
            .next()
            .and_then(|ns| ns.parse::<u64>().ok())
    {
        // Of the main thread, which is the only one: the runtime is `current_thread`.
        family(
            out,
            "process_cpu_seconds_total",
            "counter",
            "CPU time of the main thread, user and system.",
        );
        line(
            out,
            format_args!(
                "process_cpu_seconds_total {}.{:09}",
                ns / 1_000_000_000,
                ns % 1_000_000_000
            ),
        );
    }
}

/// What the allocator says of itself; left out where it says nothing.
fn allocator(out: &mut String) {
    let name = "tare_allocator_bytes";
    for (index, figure) in crate::app::allocator::figures().iter().enumerate() {
        if index == 0 {
            family(out, name, "gauge", "Memory of the heap by its state.");
        }
        let (state, bytes) = (figure.state, figure.bytes);
        line(out, format_args!("{name}{{state=\"{state}\"}} {bytes}"));
    }
}

/// The size of a page from the auxiliary vector (`AT_PAGESZ` is 6); 4096 where it cannot be read.
fn page_bytes() -> u64 {
    const WORD: usize = size_of::<usize>();
    let auxv = std::fs::read("/proc/self/auxv").unwrap_or_default();
    let word = |bytes: &[u8]| {
        bytes
            .iter()
            .rev()
            .fold(0u64, |value, byte| value << 8 | u64::from(*byte))
    };
    auxv.chunks_exact(2 * WORD)
        .find(|pair| word(&pair[..WORD]) == 6)
        .map_or(4096, |pair| word(&pair[WORD..]))
}

pub mod histogram;
#[cfg(test)]
mod tests;
