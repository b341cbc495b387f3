//! Requests, counted in runs of their own.
//!
//! Guarantees: the table says that these runs had the audit log on. Leaves to others: runs on the
//! simulated server, which counts in every run (`tables`).

use crate::metric::Shown;
use crate::model::cell::Kind;
use crate::model::summary::Summary;
use crate::report::rows;
use crate::report::rows::{WRITES, header};
use crate::report::table::{Table, grouped};
use crate::report::tables::sizes_of;

const FIGURES: [&str; 5] = [
    WRITES,
    "datastore.revisions_per_object",
    "requests.reads_per_object",
    "requests.idle_writes_per_minute",
    "requests.idle_reads_per_minute",
];

/// `None` without such runs.
pub fn table(summary: &Summary) -> Option<Table> {
    let objects = *sizes_of(summary, Kind::RequestCount).last()?;
    Some(Table {
        title: format!(
            "Requests at {} objects, counted in separate runs with the API server's audit log",
            grouped(objects)
        ),
        header: header(summary, true),
        rows: rows::named(&FIGURES)
            .map(|row| row.from(Kind::RequestCount))
            .chain(rows::shown(Shown::Requests))
            .filter_map(|row| row.line(summary, objects))
            .collect(),
    })
}
