//! Drains against a kube-apiserver with its own default flags.
//!
//! Guarantees: these figures are in no other table and in no ratio. Leaves to others: the drains that are
//! compared (`tables`).

use crate::model::cell::Kind;
use crate::model::summary::Summary;
use crate::report::rows;
use crate::report::rows::{CPU, DRAIN, Row, SERVER_CPU, header};
use crate::report::table::{Table, figure, grouped};
use crate::report::tables::sizes_of;

const FIGURES: [&str; 5] = [
    DRAIN,
    CPU,
    SERVER_CPU,
    "datastore.written_bytes_per_object",
    "spawn_to_canary_ms",
];

/// `None` without such runs.
pub fn table(summary: &Summary) -> Option<Table> {
    let objects = *sizes_of(summary, Kind::DefaultFlags).last()?;
    let rows = || rows::named(&FIGURES).map(|row| row.from(Kind::DefaultFlags));
    let lines: Vec<_> = rows()
        .filter_map(|row| row.line(summary, objects))
        .collect();
    let rows = match lines.is_empty() {
        true => rows()
            .take(1)
            .map(|row| invalid(summary, row, objects))
            .collect(),
        false => lines,
    };
    Some(Table {
        title: format!(
            "Default flags: {} objects, API server with fsync, priority and fairness, and in-flight limits",
            grouped(objects)
        ),
        header: header(summary, true),
        rows,
    })
}

/// The line of a table without a figure: no run is valid.
fn invalid(summary: &Summary, row: Row, objects: usize) -> Vec<String> {
    let cells = summary.subjects.iter().map(|s| row.cell(s, objects));
    let ratio = (summary.subjects.len() == 2).then(|| figure(None));
    std::iter::once(row.label().to_owned())
        .chain(cells)
        .chain(ratio)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::summary::{Run, sample};

    #[test]
    fn runs_that_are_all_invalid_are_said_to_be_so() {
        let why = vec!["other programs".to_owned()];
        let summary = sample(vec![Run::without_figures(Kind::DefaultFlags, 500, 1, why)]);
        let table = table(&summary).expect("a table");
        assert_eq!(table.rows, [["time to drain, s", "invalid"]]);
    }
}
