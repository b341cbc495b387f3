//! Requests, counted in runs of their own.
//!
//! Guarantees: the table says that these runs had the audit log on. Leaves to others: runs on the
//! simulated server, which counts in every run (`tables`).

use crate::model::cell::Kind;
use crate::model::summary::Summary;
use crate::report::rows::{READS, REVISIONS, Row, WRITES, header};
use crate::report::table::{Table, grouped};
use crate::report::tables::sizes_of;

const fn counted(label: &'static str, path: &'static str) -> Row {
    Row {
        label,
        kind: Kind::RequestCount,
        path,
        divisor: 1.0,
    }
}

const ROWS: [Row; 7] = [
    WRITES.of(Kind::RequestCount),
    REVISIONS.of(Kind::RequestCount),
    READS.of(Kind::RequestCount),
    counted(
        "idle write requests, /min",
        "requests.idle_writes_per_minute",
    ),
    counted("idle read requests, /min", "requests.idle_reads_per_minute"),
    counted(
        "first to last write of an object P50, ms",
        "write_span.p50_ms",
    ),
    counted(
        "first to last write of an object P99, ms",
        "write_span.p99_ms",
    ),
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
        rows: ROWS
            .iter()
            .filter_map(|row| row.line(summary, objects))
            .collect(),
    })
}
