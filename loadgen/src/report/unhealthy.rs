//! The tables of fault and update storm runs.
//!
//! Guarantees: beside each figure stands what healthy objects cost, where that was measured in the
//! same bench. Leaves to others: the measuring.

use crate::model::cell::Kind;
use crate::model::record::{Record, Run};
use crate::model::summary::{Subject, Summary};
use crate::report::rows::{header, typical};
use crate::report::table::{Table, figure, grouped};

const MB: f64 = 1e6;

pub fn tables(summary: &Summary, record: &Record) -> Vec<Table> {
    [
        (Kind::Rejected, "whose children the API server rejects"),
        (Kind::NeverReady, "whose children never become ready"),
    ]
    .into_iter()
    .filter_map(|(kind, which)| table(summary, record, kind, which))
    .chain(update_storm(summary, record))
    .collect()
}

fn table(summary: &Summary, record: &Record, kind: Kind, which: &str) -> Option<Table> {
    let runs = runs(summary, record, kind);
    let first = runs.iter().flatten().next()?;
    let objects = first.cell.objects;
    let held_s = first.fault_response.map_or(0.0, |response| response.held_s);
    let line = |label: &str, value: fn(&Run) -> Option<f64>| line(&runs, label, value);
    let healthy = |label: &str, path: &str| {
        let of = |s: &Subject| typical(s, Kind::Memory, objects, path).map(|bytes| bytes / MB);
        let cells = summary.subjects.iter().map(|s| figure(of(s)));
        std::iter::once(label.to_owned()).chain(cells).collect()
    };
    Some(Table {
        title: format!(
            "{} objects {which}, observed for {held_s:.0} s",
            grouped(objects)
        ),
        header: header(summary, false),
        rows: vec![
            line("RSS at the end, MB", |run| {
                Some(run.memory.settled?.memory.rss_bytes as f64 / MB)
            }),
            healthy(
                "RSS settled with healthy objects, MB",
                "memory.settled.rss_bytes",
            ),
            line("RSS peak, MB", |run| {
                Some(run.memory.burst?.peak_bytes? as f64 / MB)
            }),
            healthy(
                "RSS peak with healthy objects, MB",
                "memory.burst.peak_bytes",
            ),
            line("writes per object", |run| {
                Some(run.requests.as_ref()?.writes() as f64 / run.cell.objects as f64)
            }),
            line("reads per object", |run| {
                Some(run.requests.as_ref()?.reads() as f64 / run.cell.objects as f64)
            }),
            line("requests/s, highest in any 5 s", |run| {
                Some(run.fault_response?.most_requests_per_s)
            }),
            line("requests/s, in the last 5 s", |run| {
                Some(run.fault_response?.last_requests_per_s)
            }),
            line("CPU, s", |run| run.converge_cpu_s),
        ],
    })
}

fn update_storm(summary: &Summary, record: &Record) -> Option<Table> {
    let runs = runs(summary, record, Kind::UpdateStorm);
    let (cell, storm) = runs
        .iter()
        .flatten()
        .find_map(|run| Some((&run.cell, run.update_storm?)))?;
    let line = |label: &str, value: fn(&Run) -> Option<f64>| line(&runs, label, value);
    Some(Table {
        title: format!(
            "Update storm: {} objects, each updated {} times in {:.0} s",
            grouped(cell.objects),
            storm.rounds,
            storm.seconds
        ),
        header: header(summary, false),
        rows: vec![
            line("generations behind, median of rounds", |run| {
                Some(run.update_storm?.typically_behind as f64)
            }),
            line("generations behind, maximum", |run| {
                Some(run.update_storm?.most_behind as f64)
            }),
            line("time to catch up after the last update, ms", |run| {
                run.update_storm?.caught_up_ms
            }),
            line("writes per update", |run| {
                Some(run.requests.as_ref()?.writes() as f64 / run.update_storm?.updates as f64)
            }),
            line("reads per update", |run| {
                Some(run.requests.as_ref()?.reads() as f64 / run.update_storm?.updates as f64)
            }),
            line("CPU, s", |run| run.converge_cpu_s),
            line("RSS peak, MB", |run| {
                Some(run.memory.burst?.peak_bytes? as f64 / MB)
            }),
        ],
    })
}

/// The run of this kind, subject by subject.
fn runs<'a>(summary: &Summary, record: &'a Record, kind: Kind) -> Vec<Option<&'a Run>> {
    let of = |subject: &Subject| {
        let id = subject.id();
        let mut own = record.runs.iter();
        let found = own.find(|(cell, _)| cell.kind == kind && cell.subject == id)?;
        Some(found.1)
    };
    summary.subjects.iter().map(of).collect()
}

fn line(runs: &[Option<&Run>], label: &str, value: fn(&Run) -> Option<f64>) -> Vec<String> {
    let cells = runs.iter().map(|run| figure(run.and_then(value)));
    std::iter::once(label.to_owned()).chain(cells).collect()
}
