//! The figures of the tables: one line for each, with its name, its runs, its path and its unit.
//!
//! Guarantees: a figure has one definition in all tables, on the page, in the README and in the ratios:
//! the median over the valid runs of its kind and size. A cell says `invalid` where no run was valid,
//! and *did not settle* where that holds for its figure. Leaves to others: which rows a table has.

use crate::analyse::statistics::median;
use crate::model::cell::Kind;
use crate::model::metric;
use crate::model::summary::{Run, Subject, Summary};
use crate::report::table::figure;

/// Every run of the cell failed or is invalid; the lines below the tables say why.
const INVALID: &str = "invalid";

/// One figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Row {
    /// With its unit.
    pub label: &'static str,
    /// The runs that it is taken from.
    pub kind: Kind,
    /// Path within a run.
    pub path: &'static str,
    /// From the unit of the path to that of the label.
    pub divisor: f64,
}

const fn row(label: &'static str, kind: Kind, path: &'static str, divisor: f64) -> Row {
    Row {
        label,
        kind,
        path,
        divisor,
    }
}

const fn mb(label: &'static str, path: &'static str) -> Row {
    row(label, Kind::Memory, path, 1e6)
}

const fn drain(label: &'static str, path: &'static str) -> Row {
    row(label, Kind::Drain, path, 1.0)
}

pub const AT_START: Row = mb("RSS at start, MB", "memory.empty.rss_bytes");
pub const AT_DRAIN: Row = mb("RSS when all are ready, MB", "memory.burst.rss_bytes");
pub const SETTLED: Row = mb("RSS settled, MB", "memory.settled.rss_bytes");
pub const PEAK: Row = mb("RSS peak until settled, MB", "memory.settled.peak_bytes");
pub const AFTER_RESTART: Row = mb("RSS after a restart, MB", "memory.restart.rss_bytes");
pub const PEAK_OF_RESTART: Row = mb("RSS peak of a restart, MB", "memory.restart.peak_bytes");
pub const ANON_SETTLED: Row = mb("anonymous settled, MB", "memory.settled.anon_bytes");
pub const WORKING_SET: Row = mb(
    "working set settled (cgroup), MB",
    "memory.settled.cgroup.working_set_bytes",
);
pub const CGROUP_PEAK: Row = mb(
    "peak as the node counts it (cgroup), MB",
    "memory.settled.cgroup.peak_bytes",
);

/// Objects that do not concern the subject, for tables in documents; a report has a table of its own (`bystanders`).
pub const BYSTANDERS: &[Row] = &[
    row(
        "foreign objects found in its memory",
        Kind::Memory,
        "bystanders.in_memory",
        1.0,
    ),
    row(
        "bytes for each foreign object",
        Kind::Memory,
        "bystanders.bytes_per_object",
        1.0,
    ),
    row(
        "CPU for each change of one, µs",
        Kind::Memory,
        "bystanders.cpu_us_per_change",
        1.0,
    ),
];

/// Memory at the largest size.
pub const MEMORY: &[Row] = &[
    AT_START,
    AT_DRAIN,
    SETTLED,
    PEAK,
    mb("RSS after churn, MB", "memory.churn.rss_bytes"),
    AFTER_RESTART,
    PEAK_OF_RESTART,
    mb("RSS after deletion, MB", "memory.deleted.rss_bytes"),
    mb("anonymous at start, MB", "memory.empty.anon_bytes"),
    ANON_SETTLED,
    mb("anonymous after a restart, MB", "memory.restart.anon_bytes"),
    mb("anonymous after deletion, MB", "memory.deleted.anon_bytes"),
    mb("PSS settled, MB", "memory.settled.pss_bytes"),
    WORKING_SET,
    CGROUP_PEAK,
];

pub const DRAIN: Row = drain("time to drain, s", "convergence.drain_s");
pub const CPU: Row = drain("CPU to converge, s", "cpu.converge_s");
pub const SERVER_CPU: Row = drain("API server CPU, s", "api_server_cpu_s");
pub const CONTROLLERS_CPU: Row = drain("kube-controller-manager CPU, s", "controllers_cpu_s");
pub const SPAWN: Row = drain("start to first object observed, ms", "spawn_to_canary_ms");
pub const WRITTEN: Row = row(
    "datastore written per object, KB",
    Kind::Drain,
    "datastore.written_bytes_per_object",
    1e3,
);
pub const REVISIONS: Row = drain(
    "datastore revisions per object",
    "datastore.revisions_per_object",
);
pub const GC_MAX: Row = drain("GC pause max, ms (bucket)", "gc_pause.max_ms");
pub const WRITES: Row = row(
    "write requests per object",
    Kind::Memory,
    "requests.writes_per_object",
    1.0,
);
pub const READS: Row = row(
    "read requests per object",
    Kind::Memory,
    "requests.reads_per_object",
    1.0,
);

/// Work and times at the largest size.
pub const WORK: &[Row] = &[
    SPAWN,
    DRAIN,
    drain("offered, objects/s", "convergence.offered_per_s"),
    CPU,
    drain("CPU of a restart, s", "cpu.restart_s"),
    row(
        "CPU idle, ms/min",
        Kind::Memory,
        "cpu.idle_ms_per_minute",
        1.0,
    ),
    row(
        "context switches idle, /s",
        Kind::Memory,
        "cpu.idle_context_switches_per_s",
        1.0,
    ),
    SERVER_CPU,
    CONTROLLERS_CPU,
    drain("deletion with all children, s", "deletion.gone_s"),
    drain("CPU of the deletion, s", "deletion.cpu_s"),
    drain(
        "API server CPU of the deletion, s",
        "deletion.api_server_cpu_s",
    ),
    drain(
        "kube-controller-manager CPU of the deletion, s",
        "deletion.controllers_cpu_s",
    ),
    WRITTEN,
    REVISIONS,
    row(
        "datastore size, MB",
        Kind::Drain,
        "datastore.size_bytes",
        1e6,
    ),
    drain("GC pauses", "gc_pause.count"),
    drain("GC pause P99, ms (bucket)", "gc_pause.p99_ms"),
    GC_MAX,
    WRITES,
    READS,
    row(
        "bytes on the wire per object, KB",
        Kind::Memory,
        "requests.wire_bytes_per_object",
        1e3,
    ),
    row(
        "idle write requests, /min",
        Kind::Memory,
        "requests.idle_writes_per_minute",
        1.0,
    ),
    drain("reconcile calls", "reconcile.count"),
    drain("reconcile P50, ms (bucket)", "reconcile.p50_ms"),
    drain("reconcile P99, ms (bucket)", "reconcile.p99_ms"),
];

impl Row {
    /// The same figure of another kind of run.
    pub const fn of(self, kind: Kind) -> Row {
        Row { kind, ..self }
    }

    /// The figure of a subject at a size, in the unit of the label.
    pub fn value(&self, subject: &Subject, objects: usize) -> Option<f64> {
        typical(subject, self.kind, objects, self.path).map(|value| value / self.divisor)
    }

    /// The same as a cell of a table.
    pub fn cell(&self, subject: &Subject, objects: usize) -> String {
        let mut runs = subject.runs_of(self.kind, objects).peekable();
        if runs.peek().is_some() && runs.all(|run| !run.valid) {
            return INVALID.into();
        }
        let measured: Vec<&Run> = subject
            .runs_of(self.kind, objects)
            .filter(|run| run.valid && metric::of_run(run, self.path).is_some())
            .collect();
        let unsettled = measured.iter().filter(|run| did_not_settle(run, self.path));
        let text = figure(self.value(subject, objects));
        with_unsettled(text, unsettled.count(), measured.len())
    }

    /// One line over all subjects, with the ratio of two; `None` when no subject has the figure.
    pub fn line(&self, summary: &Summary, objects: usize) -> Option<Vec<String>> {
        let subjects = || summary.subjects.iter();
        let values: Vec<Option<f64>> = subjects().map(|s| self.value(s, objects)).collect();
        let any = values.iter().any(Option::is_some);
        any.then(|| {
            let cells = subjects().map(|s| self.cell(s, objects));
            let label = std::iter::once(self.label.to_owned());
            label.chain(cells).chain(ratio(&values)).collect()
        })
    }
}

/// Whether the phase that a path of memory belongs to did not settle in this run.
pub fn did_not_settle(run: &Run, path: &str) -> bool {
    let memory = &run.memory;
    let sampled = match path.split('.').nth(1) {
        Some("empty") => memory.empty,
        Some("burst") => memory.burst,
        Some("settled") => memory.settled,
        Some("churn") => memory.churn,
        Some("after_soak") => memory.after_soak,
        Some("deleted") => memory.deleted,
        Some("restart") => memory.restart,
        _ => None,
    };
    let of_memory = path.starts_with("memory.");
    of_memory && sampled.is_some_and(|sampled| sampled.did_settle == Some(false))
}

/// A figure with a word for the runs that did not settle.
pub fn with_unsettled(figure: String, unsettled: usize, runs: usize) -> String {
    match (unsettled, runs) {
        (0, _) => figure,
        (1, 1) => format!("{figure} (did not settle)"),
        _ => format!("{figure} (did not settle: {unsettled} of {runs})"),
    }
}

/// The median of a figure over the valid runs of a cell.
pub fn typical(subject: &Subject, kind: Kind, objects: usize, path: &str) -> Option<f64> {
    let valid = subject.runs_of(kind, objects).filter(|run| run.valid);
    let values: Vec<f64> = valid.filter_map(|run| metric::of_run(run, path)).collect();
    median(&values)
}

/// With two subjects: the first over the second.
pub fn ratio(values: &[Option<f64>]) -> Option<String> {
    match values {
        [Some(a), Some(b)] if *b != 0.0 => Some(figure(Some(a / b))),
        [_, _] => Some(figure(None)),
        _ => None,
    }
}

/// The ids of the subjects; with two of them, a column for their ratio.
pub fn header(summary: &Summary, with_ratio: bool) -> Vec<String> {
    let ratio = (with_ratio && summary.subjects.len() == 2).then(|| "ratio".to_owned());
    std::iter::once(String::new())
        .chain(summary.subjects.iter().map(Subject::id))
        .chain(ratio)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_a_figure_of_its_kind_of_runs() {
        for row in MEMORY.iter().chain(WORK) {
            assert_eq!(row.kind, metric::taken_from(row.path), "{}", row.label);
            let of_run = metric::find(row.path);
            let of_run = of_run.is_some_and(|m| !matches!(m, metric::Metric::OfSubject(_)));
            assert!(of_run, "{} is no figure of a run", row.path);
        }
    }

    #[test]
    fn a_figure_says_how_many_runs_did_not_settle() {
        let said = |unsettled, runs| with_unsettled("224".into(), unsettled, runs);
        assert_eq!(said(0, 5), "224");
        assert_eq!(said(1, 1), "224 (did not settle)");
        assert_eq!(said(2, 5), "224 (did not settle: 2 of 5)");
    }
}
