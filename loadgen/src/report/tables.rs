//! The tables of a report: which figures, in which order, in which unit.
//!
//! Guarantees: medians over the valid runs of a cell, latencies from merged histograms; a dash
//! for what was not measured, `invalid` where no run was valid. Leaves to others: the layout
//! (`table`).

use crate::analyse::statistics::median;
use crate::model::cell::Kind;
use crate::model::latency::{Latencies, Quantiles};
use crate::model::metric;
use crate::model::record;
use crate::model::record::{Peaked, Record};
use crate::model::summary::{Subject, Summary};
use crate::report::table::{Table, figure, grouped};
use crate::report::{claims, restarts, sections, unhealthy};
use tare_procstat::Memory;

const MB: f64 = 1e6;
/// Every run of the cell failed or is invalid; the lines below the tables say why.
const INVALID: &str = "invalid";

/// Rows at the largest size: label with unit, path of the figure, divisor.
const MEMORY: [(&str, &str, f64); 13] = [
    ("RSS at start, MB", "memory.empty.rss_bytes", MB),
    (
        "RSS at the end of the burst, MB",
        "memory.burst.rss_bytes",
        MB,
    ),
    ("RSS peak in the burst, MB", "memory.burst.peak_bytes", MB),
    ("RSS settled, MB", "memory.settled.rss_bytes", MB),
    ("RSS after churn, MB", "memory.churn.rss_bytes", MB),
    ("RSS after a restart, MB", "memory.restart.rss_bytes", MB),
    ("RSS peak of a restart, MB", "memory.restart.peak_bytes", MB),
    ("RSS after deletion, MB", "memory.deleted.rss_bytes", MB),
    ("anonymous at start, MB", "memory.empty.anon_bytes", MB),
    ("anonymous settled, MB", "memory.settled.anon_bytes", MB),
    (
        "anonymous after a restart, MB",
        "memory.restart.anon_bytes",
        MB,
    ),
    (
        "anonymous after deletion, MB",
        "memory.deleted.anon_bytes",
        MB,
    ),
    ("PSS settled, MB", "memory.settled.pss_bytes", MB),
];

const WORK: [(&str, &str, f64); 20] = [
    (
        "start to first object observed, ms",
        "spawn_to_canary_ms",
        1.0,
    ),
    ("burst: time to drain, s", "convergence.drain_s", 1.0),
    (
        "burst: offered, objects/s",
        "convergence.offered_per_s",
        1.0,
    ),
    ("CPU to converge, s", "cpu.converge_s", 1.0),
    ("CPU of a restart, s", "cpu.restart_s", 1.0),
    ("CPU idle, ms/min", "cpu.idle_ms_per_minute", 1.0),
    (
        "context switches idle, /s",
        "cpu.idle_context_switches_per_s",
        1.0,
    ),
    ("API server CPU, s", "api_server_cpu_s", 1.0),
    (
        "datastore written per object, KB",
        "datastore.written_bytes_per_object",
        1e3,
    ),
    ("datastore size, MB", "datastore.size_bytes", MB),
    ("GC pauses", "gc_pause.count", 1.0),
    ("GC pause P99, ms (bucket)", "gc_pause.p99_ms", 1.0),
    ("GC pause max, ms (bucket)", "gc_pause.max_ms", 1.0),
    ("writes per object", "requests.writes_per_object", 1.0),
    ("reads per object", "requests.reads_per_object", 1.0),
    (
        "bytes on the wire per object, KB",
        "requests.wire_bytes_per_object",
        1e3,
    ),
    ("idle writes, /min", "requests.idle_writes_per_minute", 1.0),
    ("reconcile calls", "reconcile.count", 1.0),
    ("reconcile P50, ms (bucket)", "reconcile.p50_ms", 1.0),
    ("reconcile P99, ms (bucket)", "reconcile.p99_ms", 1.0),
];

/// All tables of a report.
pub fn tables(summary: &Summary, record: &Record) -> Vec<Table> {
    let sizes = burst_sizes(summary);
    let mut tables = Vec::new();
    if let Some(&largest) = sizes.last() {
        tables.push(memory(summary, record, largest));
        tables.push(work(summary, record, largest));
    }
    if sizes.len() > 1 {
        tables.push(by_size(summary, &sizes));
    }
    tables.extend(restarts::tables(record));
    tables.extend(unhealthy::tables(summary, record));
    tables.extend(sections::tables(summary));
    tables.extend(claims::table(summary));
    tables
}

pub fn burst_sizes(summary: &Summary) -> Vec<usize> {
    sizes_of(summary, Kind::Burst)
}

/// Sizes that have runs of a kind, ascending.
pub fn sizes_of(summary: &Summary, kind: Kind) -> Vec<usize> {
    let runs = summary.subjects.iter().flat_map(|s| &s.runs);
    let mut sizes: Vec<usize> = runs
        .filter(|run| run.cell == kind)
        .map(|run| run.objects)
        .collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

fn memory(summary: &Summary, record: &Record, largest: usize) -> Table {
    let mut rows: Vec<Vec<String>> = MEMORY
        .iter()
        .filter_map(|row| figures(summary, Kind::Burst, largest, row))
        .collect();
    rows.extend(soaked(summary, record));
    let slopes = summary
        .subjects
        .iter()
        .map(|subject| match &subject.bytes_per_object {
            Some(line) => {
                let interval = line
                    .ci95
                    .map(|[low, high]| format!(" ({low:.0} to {high:.0})"));
                format!("{:.0}{}", line.slope, interval.unwrap_or_default())
            }
            None => figure(None),
        });
    rows.push(
        std::iter::once("anonymous bytes per object (95 %)".to_owned())
            .chain(slopes)
            .collect(),
    );
    let megabytes = |bytes: fn(&Subject) -> Option<u64>| {
        let bytes = summary.subjects.iter().map(bytes);
        bytes
            .map(|bytes| bytes.map(|bytes| bytes as f64 / MB))
            .collect()
    };
    rows.push(row("binary, MB", megabytes(|s| s.binary_bytes)));
    if summary
        .subjects
        .iter()
        .any(|s| s.image_bytes_compressed.is_some())
    {
        let packed = megabytes(|s| s.image_bytes_compressed);
        rows.push(row("image, packed, MB", packed));
        let unpacked = megabytes(|s| s.image_bytes_unpacked);
        rows.push(row("image, unpacked, MB", unpacked));
    }
    Table {
        title: format!("Memory at {} objects", grouped(largest)),
        header: header(summary, true),
        rows,
    }
}

/// Settled memory before and after the soak, of the run that has one.
fn soaked(summary: &Summary, record: &Record) -> Vec<Vec<String>> {
    let soaked = |subject: &Subject| {
        let id = subject.id();
        let mut own = record.runs.values().filter(|run| run.cell.subject == id);
        own.find_map(|run| {
            let (before, after) = (run.memory.settled?, run.memory.after_soak?);
            Some((before, after, run.soak?))
        })
    };
    let soaked: Vec<_> = summary.subjects.iter().map(soaked).collect();
    let Some(events) = soaked
        .iter()
        .flatten()
        .map(|(_, _, soak)| soak.events)
        .min()
    else {
        return Vec::new();
    };
    let of = |figure: fn(&Memory, &Peaked) -> Option<f64>| {
        let known = soaked.iter().map(|known| {
            let (before, after, _) = known.as_ref()?;
            figure(before, after).map(|bytes| bytes / MB)
        });
        known.collect::<Vec<Option<f64>>>()
    };
    let before = of(|before, _| Some(before.rss_bytes as f64));
    let after = of(|_, after| Some(after.memory.rss_bytes as f64));
    let peak = of(|_, after| Some(after.peak_bytes? as f64));
    let events = grouped(events as usize);
    vec![
        row("RSS settled before the soak, MB", before),
        row(
            &format!("RSS settled after a soak of {events} events, MB"),
            after,
        ),
        row("RSS peak during the soak, MB", peak),
    ]
}

fn work(summary: &Summary, record: &Record, largest: usize) -> Table {
    let mut rows: Vec<Vec<String>> = WORK
        .iter()
        .filter_map(|row| figures(summary, Kind::Burst, largest, row))
        .collect();
    rows.extend(latencies(summary, record, Kind::Burst, largest));
    let steady = summary
        .subjects
        .iter()
        .flat_map(|s| &s.runs)
        .filter(|run| run.cell == Kind::Steady);
    if let Some(objects) = steady.map(|run| run.objects).max() {
        rows.extend(latencies(summary, record, Kind::Steady, objects));
    }
    Table {
        title: format!("Work at {} objects", grouped(largest)),
        header: header(summary, true),
        rows,
    }
}

/// Which latencies of a run.
type Pick = fn(&record::Convergence) -> &Latencies;

/// Latencies of one kind of cell, repeats merged.
fn latencies(summary: &Summary, record: &Record, kind: Kind, objects: usize) -> Vec<Vec<String>> {
    let merged = |subject: &Subject, pick: Pick| {
        let mut all = Latencies::default();
        let id = subject.id();
        let runs = record.runs.values().filter(|run| {
            run.cell.subject == id
                && run.cell.kind == kind
                && run.cell.objects == objects
                && run.failure.is_none()
                && run.invalid_because.is_empty()
        });
        runs.filter_map(|run| run.convergence.as_ref())
            .for_each(|c| all.merge(pick(c)));
        all.quantiles()
    };
    let mut rows = Vec::new();
    let rate = (kind == Kind::Steady)
        .then(|| steady_rate(record))
        .flatten();
    let name = match rate {
        Some(per_s) => format!("steady {} at {per_s:.0}/s", grouped(objects)),
        None => kind.name().to_owned(),
    };
    let picks: [(&str, Pick); 2] = [
        ("observed", |c| &c.observed_from_intended),
        ("ready", |c| &c.ready_from_intended),
    ];
    for (what, pick) in picks {
        let quantiles: Vec<Option<Quantiles>> =
            summary.subjects.iter().map(|s| merged(s, pick)).collect();
        if quantiles.iter().all(Option::is_none) {
            continue;
        }
        let mut add = |quantile: &str, take: fn(Quantiles) -> f64| {
            let values: Vec<Option<f64>> = quantiles.iter().map(|q| q.map(take)).collect();
            let mut cells = row(&format!("{name}: {what} {quantile}, ms"), values);
            for (cell, subject) in cells[1..].iter_mut().zip(&summary.subjects) {
                if all_invalid(subject, kind, objects) {
                    *cell = INVALID.into();
                }
            }
            rows.push(cells);
        };
        add("P50", |q| q.p50_ms);
        add("P99", |q| q.p99_ms);
    }
    rows
}

fn steady_rate(record: &Record) -> Option<f64> {
    let steady = record
        .runs
        .values()
        .filter(|run| run.cell.kind == Kind::Steady);
    let rates: Vec<f64> = steady
        .filter_map(|run| Some(run.convergence.as_ref()?.offered_per_s))
        .collect();
    median(&rates)
}

fn by_size(summary: &Summary, sizes: &[usize]) -> Table {
    let rows = [
        ("RSS settled, MB", "memory.settled.rss_bytes", MB),
        ("anonymous settled, MB", "memory.settled.anon_bytes", MB),
        ("RSS peak in the burst, MB", "memory.burst.peak_bytes", MB),
        ("burst: time to drain, s", "convergence.drain_s", 1.0),
    ];
    let mut all = Vec::new();
    for (label, path, divisor) in rows {
        for subject in &summary.subjects {
            let mut cells = vec![format!("{label}: {}", subject.id())];
            cells.extend(
                sizes
                    .iter()
                    .map(|size| cell(subject, Kind::Burst, *size, path, divisor)),
            );
            all.push(cells);
        }
    }
    let header =
        std::iter::once("objects".to_owned()).chain(sizes.iter().map(|size| grouped(*size)));
    Table {
        title: "By number of objects".into(),
        header: header.collect(),
        rows: all,
    }
}

/// One row over all subjects; `None` when no subject has the figure.
pub fn figures(
    summary: &Summary,
    kind: Kind,
    objects: usize,
    row_of: &(&str, &str, f64),
) -> Option<Vec<String>> {
    let (label, path, divisor) = *row_of;
    let values: Vec<Option<f64>> = summary
        .subjects
        .iter()
        .map(|s| typical(s, kind, objects, path).map(|v| v / divisor))
        .collect();
    values.iter().any(Option::is_some).then(|| {
        let cells = summary
            .subjects
            .iter()
            .map(|s| cell(s, kind, objects, path, divisor));
        std::iter::once(label.to_owned())
            .chain(cells)
            .chain(ratio(&values))
            .collect()
    })
}

fn row(label: &str, values: Vec<Option<f64>>) -> Vec<String> {
    let ratio = ratio(&values);
    std::iter::once(label.to_owned())
        .chain(values.into_iter().map(figure))
        .chain(ratio)
        .collect()
}

/// With two subjects: the first over the second.
fn ratio(values: &[Option<f64>]) -> Option<String> {
    match values {
        [Some(a), Some(b)] if *b != 0.0 => Some(figure(Some(a / b))),
        _ => None,
    }
}

pub fn header(summary: &Summary, with_ratio: bool) -> Vec<String> {
    let ratio = (with_ratio && summary.subjects.len() == 2).then(|| "ratio".to_owned());
    std::iter::once(String::new())
        .chain(summary.subjects.iter().map(Subject::id))
        .chain(ratio)
        .collect()
}

fn cell(subject: &Subject, kind: Kind, objects: usize, path: &str, divisor: f64) -> String {
    if all_invalid(subject, kind, objects) {
        return INVALID.into();
    }
    figure(typical(subject, kind, objects, path).map(|value| value / divisor))
}

fn all_invalid(subject: &Subject, kind: Kind, objects: usize) -> bool {
    let mut runs = subject.runs_of(kind, objects).peekable();
    runs.peek().is_some() && runs.all(|run| !run.valid)
}

/// The median of a figure over the valid runs of a cell.
pub fn typical(subject: &Subject, kind: Kind, objects: usize, path: &str) -> Option<f64> {
    let valid = subject.runs_of(kind, objects).filter(|run| run.valid);
    median(
        &valid
            .filter_map(|run| metric::of_run(run, path))
            .collect::<Vec<_>>(),
    )
}
