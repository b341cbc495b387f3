//! The table of foreign objects: how many of them a subject has in memory, and what they cost it.
//!
//! Guarantees: an upper bound, and said so; where no bystanders were asked for, the table says that. Leaves to
//! others: the search (`measure::memory_search`).

use crate::metric;
use crate::metric::Shown;
use crate::model::bystanders::Found;
use crate::model::cell::Kind;
use crate::model::record::{Record, Run};
use crate::model::summary::Summary;
use crate::report::rows;
use crate::report::rows::{Row, header};
use crate::report::table::{Table, amount, grouped};

/// A row for each kind, of the memory runs of the largest size; the most of all repeats.
pub fn table(summary: &Summary, record: &Record) -> Option<Table> {
    let runs: Vec<&Run> = record
        .runs
        .values()
        .filter(|run| run.cell.kind == Kind::Memory && !run.bystanders.is_empty())
        .collect();
    let Some(largest) = runs.iter().map(|run| run.cell.objects).max() else {
        return nothing_asked(summary, record);
    };
    let mut kinds: Vec<(&str, usize)> = Vec::new();
    for found in runs.iter().flat_map(|run| &run.bystanders) {
        let kind = (found.kind.as_str(), found.objects);
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    let rows = kinds.into_iter().map(|(kind, objects)| {
        let cells = summary.subjects.iter().map(|subject| {
            let found = most(&runs, &subject.id(), largest, kind);
            found.map_or("not measured".to_owned(), |found| grouped(found.in_memory))
        });
        let label = format!("{} in memory, of {}", kind, grouped(objects));
        std::iter::once(label).chain(cells).collect()
    });
    let cost = rows::shown(Shown::Foreign).filter_map(|row| cost(summary, row, largest));
    let rows = rows.chain(cost);
    Some(Table {
        title: format!(
            "Foreign objects found in memory (an upper bound), at {} objects",
            grouped(largest)
        ),
        header: header(summary, false),
        rows: rows.collect(),
    })
}

/// A report with memory runs says that it does not know, and how to ask.
fn nothing_asked(summary: &Summary, record: &Record) -> Option<Table> {
    let has_memory = record
        .runs
        .values()
        .any(|run| run.cell.kind == Kind::Memory);
    has_memory.then(|| {
        let label = "in memory".to_owned();
        let cells = summary.subjects.iter().map(|_| "not asked".to_owned());
        Table {
            title: "Foreign objects found in memory: --bystanders secrets=300 asks".to_owned(),
            header: header(summary, false),
            rows: vec![std::iter::once(label).chain(cells).collect()],
        }
    })
}

/// A figure that is the difference of two; below zero they differ by more than what is looked for.
fn measurable(figure: f64) -> String {
    let words = amount(figure);
    match figure < 0.0 {
        true => format!("none measurable ({words})"),
        false => words,
    }
}

/// What foreign objects cost, in one figure; none where no run has it.
fn cost(summary: &Summary, row: Row, objects: usize) -> Option<Vec<String>> {
    let cells = summary.subjects.iter().map(|subject| {
        let runs = subject.runs_of(row.kind, objects);
        let runs: Vec<_> = runs
            .filter(|run| run.valid && run.value(row.name()).is_some())
            .collect();
        let unsettled = runs
            .iter()
            .filter(|run| metric::did_not_settle(run, row.name()));
        let figure = measurable(row.value(subject, objects)?);
        Some(rows::with_unsettled(figure, unsettled.count(), runs.len()))
    });
    let cells: Vec<Option<String>> = cells.collect();
    let measured = cells.iter().any(Option::is_some);
    let cells = cells
        .into_iter()
        .map(|cell| cell.unwrap_or_else(|| "not measured".to_owned()));
    measured.then(|| {
        std::iter::once(row.label().to_owned())
            .chain(cells)
            .collect()
    })
}

/// What was found of a kind in the run of a subject that held the most.
fn most<'a>(runs: &[&'a Run], id: &str, objects: usize, kind: &str) -> Option<&'a Found> {
    let own = runs.iter().copied();
    let own = own.filter(|run| run.cell.objects == objects && run.cell.subject == id);
    let found = own.flat_map(|run| &run.bystanders);
    found
        .filter(|found| found.kind == kind)
        .max_by_key(|found| found.in_memory)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cost_below_what_restarts_differ_by_is_no_figure() {
        let words = |bytes, unsettled| rows::with_unsettled(measurable(bytes), unsettled, 2);
        assert_eq!(words(3_891.0, 0), "3,891");
        assert_eq!(words(3_891.0, 1), "3,891 (did not settle: 1 of 2)");
        assert_eq!(words(-1_188.0, 0), "none measurable (-1188)");
        assert_eq!(measurable(0.0), "0");
    }
}
