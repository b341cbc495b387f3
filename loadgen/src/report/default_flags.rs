//! Drains against a kube-apiserver with its own default flags.
//!
//! Guarantees: these figures are in no other table and in no ratio. Leaves to others: the drains that are
//! compared (`tables`).

use crate::model::cell::Kind;
use crate::model::summary::Summary;
use crate::report::rows::{CPU, DRAIN, Row, SERVER_CPU, SPAWN, WRITTEN, header};
use crate::report::table::{Table, grouped};
use crate::report::tables::sizes_of;

const ROWS: [Row; 5] = [
    DRAIN.of(Kind::DefaultFlags),
    CPU.of(Kind::DefaultFlags),
    SERVER_CPU.of(Kind::DefaultFlags),
    WRITTEN.of(Kind::DefaultFlags),
    SPAWN.of(Kind::DefaultFlags),
];

/// `None` without such runs that are valid.
pub fn table(summary: &Summary) -> Option<Table> {
    let objects = *sizes_of(summary, Kind::DefaultFlags).last()?;
    let rows = ROWS.iter().filter_map(|row| row.line(summary, objects));
    let rows: Vec<_> = rows.collect();
    (!rows.is_empty()).then(|| Table {
        title: format!(
            "Default flags: {} objects, API server with fsync, priority and fairness, and in-flight limits",
            grouped(objects)
        ),
        header: header(summary, true),
        rows,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::summary::{Run, sample};

    #[test]
    fn runs_that_are_all_invalid_make_no_empty_table() {
        let why = vec!["other programs".to_owned()];
        let summary = sample(vec![Run::without_figures(Kind::DefaultFlags, 500, 1, why)]);
        assert!(table(&summary).is_none());
    }
}
