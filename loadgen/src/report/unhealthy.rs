//! The tables of fault and update storm runs.
//!
//! Guarantees: beside each figure stands what healthy objects cost, where that was measured in the
//! same bench. Leaves to others: the measuring.

use crate::metric::Shown;
use crate::model::cell::Kind;
use crate::model::record::{Record, Run};
use crate::model::summary::{Subject, Summary};
use crate::report::rows;
use crate::report::rows::{CPU, Row, SETTLED, WRITES, header};
use crate::report::table::{Table, grouped};

const PEAK: &str = "memory.burst.peak_bytes";
/// Each beside that of healthy objects.
const MEMORY: [&str; 2] = [SETTLED, PEAK];
const WORK: [&str; 3] = [WRITES, "requests.reads_per_object", CPU];

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
    let trouble = |row: Row| line(summary, &row.from(kind), objects, row.label());
    let healthy = |row: Row| {
        let label = row.label().replacen(", ", " with healthy objects, ", 1);
        line(summary, &row, objects, &label)
    };
    let memory = rows::named(&MEMORY).flat_map(|row| [trouble(row), healthy(row)]);
    let work = rows::named(&WORK)
        .chain(rows::shown(Shown::Unhealthy))
        .map(trouble);
    Some(Table {
        title: format!(
            "{} objects {which}, observed for {held_s:.0} s",
            grouped(objects)
        ),
        header: header(summary, false),
        rows: memory.chain(work).collect(),
    })
}

fn update_storm(summary: &Summary, record: &Record) -> Option<Table> {
    let runs = runs(summary, record, Kind::UpdateStorm);
    let (cell, storm) = runs
        .iter()
        .flatten()
        .find_map(|run| Some((&run.cell, run.update_storm?)))?;
    let shown = rows::shown(Shown::UpdateStorm).chain(rows::named(&[CPU, PEAK]));
    let shown = shown.map(|row| row.from(Kind::UpdateStorm));
    Some(Table {
        title: format!(
            "Update storm: {} objects, each updated {} times in {:.0} s",
            grouped(cell.objects),
            storm.rounds,
            storm.seconds
        ),
        header: header(summary, false),
        rows: shown
            .map(|row| line(summary, &row, cell.objects, row.label()))
            .collect(),
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

fn line(summary: &Summary, row: &Row, objects: usize, label: &str) -> Vec<String> {
    let cells = summary
        .subjects
        .iter()
        .map(|subject| row.cell(subject, objects));
    std::iter::once(label.to_owned()).chain(cells).collect()
}
