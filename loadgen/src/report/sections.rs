//! Tables that are kept separate from those of the bursts: request counts, default flags, and the
//! ratios between subjects.
//!
//! Guarantees: each table says under which conditions its figures were taken. Leaves to others:
//! the bursts themselves (`view`).

use crate::analyse::noise::largest_ratio;
use crate::model::cell::Kind;
use crate::model::summary::{Comparison, Summary};
use crate::report::table::{Table, figure, grouped};
use crate::report::tables::{figures, header, sizes_of};

const MB: f64 = 1e6;

/// Rows: label with unit, path of the figure, divisor.
const REQUEST_COUNT: [(&str, &str, f64); 6] = [
    ("writes per object", "requests.writes_per_object", 1.0),
    ("reads per object", "requests.reads_per_object", 1.0),
    ("idle writes, /min", "requests.idle_writes_per_minute", 1.0),
    ("idle reads, /min", "requests.idle_reads_per_minute", 1.0),
    (
        "first to last write of an object P50, ms",
        "write_span.p50_ms",
        1.0,
    ),
    (
        "first to last write of an object P99, ms",
        "write_span.p99_ms",
        1.0,
    ),
];

const DEFAULT_FLAGS: [(&str, &str, f64); 7] = [
    ("RSS settled, MB", "memory.settled.rss_bytes", MB),
    ("RSS peak in the burst, MB", "memory.burst.peak_bytes", MB),
    ("burst: time to drain, s", "convergence.drain_s", 1.0),
    ("CPU to converge, s", "cpu.converge_s", 1.0),
    ("API server CPU, s", "api_server_cpu_s", 1.0),
    (
        "datastore written per object, KB",
        "datastore.written_bytes_per_object",
        1e3,
    ),
    (
        "start to first object observed, ms",
        "spawn_to_canary_ms",
        1.0,
    ),
];

/// Figures that are compared in the report, of all that are in the summary.
const COMPARED: [(&str, &str); 8] = [
    ("RSS settled", "memory.settled.rss_bytes"),
    ("RSS peak in the burst", "memory.burst.peak_bytes"),
    ("RSS after a restart", "memory.restart.rss_bytes"),
    ("CPU to converge", "cpu.converge_s"),
    ("time to drain the burst", "convergence.drain_s"),
    ("API server CPU", "api_server_cpu_s"),
    ("steady: observed P99", "convergence.observed.p99_ms"),
    ("writes per object", "requests.writes_per_object"),
];

pub fn tables(summary: &Summary) -> Vec<Table> {
    let request_count = of_kind(summary, Kind::RequestCount, &REQUEST_COUNT, |objects| {
        format!(
            "Requests at {} objects, counted in separate runs with the API server's audit log",
            grouped(objects)
        )
    });
    let default_flags = of_kind(summary, Kind::DefaultFlags, &DEFAULT_FLAGS, |objects| {
        format!(
            "Default flags: {} objects, API server with fsync, priority and fairness, and in-flight limits; one run each",
            grouped(objects)
        )
    });
    [request_count, default_flags, compared(summary)]
        .into_iter()
        .flatten()
        .collect()
}

fn of_kind(
    summary: &Summary,
    kind: Kind,
    rows: &[(&str, &str, f64)],
    title: impl Fn(usize) -> String,
) -> Option<Table> {
    let objects = *sizes_of(summary, kind).last()?;
    let rows = rows
        .iter()
        .filter_map(|row| figures(summary, kind, objects, row));
    Some(Table {
        title: title(objects),
        header: header(summary, true),
        rows: rows.collect(),
    })
}

/// Ratios with their intervals; only where at least one has more than one pair.
fn compared(summary: &Summary) -> Option<Table> {
    let with_interval = || summary.comparisons.iter().filter(|c| c.ci95.is_some());
    let mut columns: Vec<(&str, &str)> = Vec::new();
    for comparison in with_interval() {
        let column = (comparison.subject.as_str(), comparison.against.as_str());
        if !columns.contains(&column) {
            columns.push(column);
        }
    }
    if columns.is_empty() {
        return None;
    }
    let cell = |metric: &str, (subject, against): (&str, &str)| {
        let found = summary
            .comparisons
            .iter()
            .find(|c| c.metric == metric && c.subject == subject && c.against == against);
        found.map_or_else(|| figure(None), ratio)
    };
    let rows = COMPARED.iter().map(|(label, metric)| {
        let cells = columns.iter().map(|column| cell(metric, *column));
        std::iter::once((*label).to_owned()).chain(cells).collect()
    });
    let ids = columns
        .iter()
        .map(|(subject, against)| format!("{subject} / {against}"));
    let floor = match summary.noise_floor.as_ref().and_then(largest_ratio) {
        Some(ratio) => format!(
            "; noise floor of settled RSS {:.1} % (A/A); n.s. = not significant",
            (ratio - 1.0) * 100.0
        ),
        None => String::new(),
    };
    Some(Table {
        title: format!("Ratios with 95 % intervals{floor}"),
        header: std::iter::once(String::new()).chain(ids).collect(),
        rows: rows.collect(),
    })
}

fn ratio(comparison: &Comparison) -> String {
    let interval = comparison
        .ci95
        .map(|[low, high]| format!(" ({} to {})", figure(Some(low)), figure(Some(high))));
    let ratio = format!(
        "{}{}",
        figure(Some(comparison.ratio)),
        interval.unwrap_or_default()
    );
    match comparison.significant {
        Some(false) => format!("n.s. {ratio}"),
        _ => ratio,
    }
}
