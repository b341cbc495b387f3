//! What the baseline counts, in Prometheus' text format, under the names that every subject uses.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use crate::histogram::Histogram;

/// Counters of the reconciler.
#[derive(Debug, Default)]
pub struct Metrics {
    reconcile_duration: Histogram,
    reconcile_errors: AtomicU64,
}

impl Metrics {
    /// Measures until the guard is dropped, whatever way the reconciler leaves.
    pub fn measure(&self) -> Measure<'_> {
        Measure {
            metrics: self,
            start: Instant::now(),
        }
    }

    pub fn count_error(&self) {
        self.reconcile_errors.fetch_add(1, Ordering::Relaxed);
    }

    pub fn render(&self) -> String {
        let mut out = String::new();
        self.reconcile_duration.render(
            "reconcile_duration_seconds",
            "Duration of one call of the reconcile function.",
            &mut out,
        );
        let errors = self.reconcile_errors.load(Ordering::Relaxed) as f64;
        metric(&mut out, "reconcile_errors_total", "counter", errors);
        // Left out where there is no /proc: a missing value is not 0.
        if let Some(bytes) = resident_bytes() {
            metric(&mut out, "process_resident_memory_bytes", "gauge", bytes);
        }
        if let Some(seconds) = cpu_seconds() {
            metric(&mut out, "process_cpu_seconds_total", "counter", seconds);
        }
        out
    }
}

pub struct Measure<'a> {
    metrics: &'a Metrics,
    start: Instant,
}

impl Drop for Measure<'_> {
    fn drop(&mut self) {
        self.metrics.reconcile_duration.record(self.start.elapsed());
    }
}

fn metric(out: &mut String, name: &str, kind: &str, value: f64) {
    // Writing to a `String` cannot fail.
    let _ = writeln!(out, "# TYPE {name} {kind}\n{name} {value}");
}

fn resident_bytes() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024.0)
}

fn cpu_seconds() -> Option<f64> {
    /// USER_HZ, which Linux fixes at 100 for user space on all targets of ours.
    const TICKS_PER_S: f64 = 100.0;
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The second field is the program's name in parentheses and may contain blanks.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut times = fields.split_whitespace().skip(11);
    let user: f64 = times.next()?.parse().ok()?;
    let system: f64 = times.next()?.parse().ok()?;
    Some((user + system) / TICKS_PER_S)
}
