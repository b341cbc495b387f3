//! What repeated restarts cost, as tables: the subject's own figures, and the API server's.
//!
//! Guarantees: pure; medians over all restarts of a size, with the range where there is one. Only
//! where restarts were asked for (`bench --restarts`). Leaves to others: the figures.

use std::collections::BTreeSet;

use crate::metric::Shown;
use crate::plan::cell::Kind;
use crate::record::{Record, Restart};
use crate::report::rows::{RESTARTED, Row};
use crate::report::table::{Table, grouped, spread};
use crate::report::{Section, rows};

/// The figures of the subject, after the number of restarts.
const SUBJECT: [&str; 6] = [
    RESTARTED,
    "memory.restart.anon_bytes",
    "memory.restart.peak_bytes",
    "restart.ready_s",
    "restart.working_s",
    "cpu.restart_s",
];

/// Two tables for each size; none where no restarts were asked for.
pub fn section(record: &Record) -> Option<Section> {
    record.experiment.asked.restarts?;
    let runs = record.runs.values().filter(|run| !run.restarts.is_empty());
    let sizes: BTreeSet<usize> = runs.map(|run| run.cell.objects).collect();
    let tables = sizes.into_iter().flat_map(|objects| {
        let of_subject: Vec<Row> = rows::named(&SUBJECT).collect();
        let of_server: Vec<Row> = rows::shown(Shown::RestartServer).collect();
        [("the subject", of_subject), ("the API server", of_server)]
            .map(|(whose, rows)| table(record, objects, whose, &rows))
    });
    Section::of_tables("restarts", "Restarts", tables.collect())
}

/// A line for each subject, a column for each figure.
fn table(record: &Record, objects: usize, whose: &str, columns: &[Row]) -> Table {
    let line = |subject: String| {
        let runs = record.runs.values().filter(|run| {
            let cell = &run.cell;
            [Kind::Drain, Kind::Memory].contains(&cell.kind)
                && cell.objects == objects
                && cell.subject == subject
        });
        let restarts: Vec<&Restart> = runs.flat_map(|run| &run.restarts).collect();
        let cells = columns.iter().map(|row| {
            let values = restarts
                .iter()
                .filter_map(|r| Some(row.metric.of_restart(r)? / row.metric.divisor));
            spread(&values.collect::<Vec<f64>>())
        });
        let begin = [subject.clone(), grouped(restarts.len())];
        begin.into_iter().chain(cells).collect()
    };
    let labels = columns.iter().map(Row::label);
    let header: Vec<&str> = ["", "restarts"].into_iter().chain(labels).collect();
    let subjects = record.experiment.origin.subjects.iter();
    let title = format!("Restarts on {} objects: {whose}", grouped(objects));
    Table::new(
        title,
        &header,
        subjects.map(|s| line(s.subject.id())).collect(),
    )
}
