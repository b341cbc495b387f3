//! Drains against a kube-apiserver with its own default flags.
//!
//! Guarantees: these figures are in no other table and in no ratio. Leaves to others: the drains that are
//! compared (`tables`).

use crate::model::cell::Kind;
use crate::model::summary::Summary;
use crate::report::rows::{CPU, DRAIN, Row, SERVER_CPU, SPAWN, WRITTEN, header};
use crate::report::table::{Table, figure, grouped};
use crate::report::tables::sizes_of;

const ROWS: [Row; 5] = [
    DRAIN.of(Kind::DefaultFlags),
    CPU.of(Kind::DefaultFlags),
    SERVER_CPU.of(Kind::DefaultFlags),
    WRITTEN.of(Kind::DefaultFlags),
    SPAWN.of(Kind::DefaultFlags),
];

/// `None` without such runs.
pub fn table(summary: &Summary) -> Option<Table> {
    let objects = *sizes_of(summary, Kind::DefaultFlags).last()?;
    let rows = ROWS.iter().filter_map(|row| row.line(summary, objects));
    let rows: Vec<_> = rows.collect();
    let rows = match rows.is_empty() {
        true => vec![invalid(summary, objects)],
        false => rows,
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
fn invalid(summary: &Summary, objects: usize) -> Vec<String> {
    let cells = summary
        .subjects
        .iter()
        .map(|s| DRAIN.of(Kind::DefaultFlags).cell(s, objects));
    let ratio = (summary.subjects.len() == 2).then(|| figure(None));
    std::iter::once(DRAIN.label.to_owned())
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
        assert_eq!(table.rows, [[DRAIN.label, "invalid"]]);
    }
}
