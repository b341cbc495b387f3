//! The table of foreign objects: how many of them a subject has in memory, and what they cost it.
//!
//! Guarantees: an upper bound, and said so; where no bystanders were asked for, the table says that. Leaves to
//! others: the search (`measure::memory_search`).

use crate::analyse::statistics::median;
use crate::model::bystanders::Found;
use crate::model::cell::Kind;
use crate::model::metric;
use crate::model::record::{Record, Run};
use crate::model::summary::{Subject, Summary};
use crate::report::rows;
use crate::report::rows::header;
use crate::report::table::{Table, amount, grouped};

/// Bytes of memory for each foreign object.
const COST: &str = "bystanders.bytes_per_object";

/// A row of what changes of foreign objects cost.
struct ChangeRow {
    label: &'static str,
    /// Of one change.
    metric: &'static str,
    /// How many changes the row is about.
    changes: f64,
}

const CHANGE: [ChangeRow; 2] = [
    ChangeRow {
        label: "CPU for each change of one, µs",
        metric: "bystanders.cpu_us_per_change",
        changes: 1.0,
    },
    ChangeRow {
        label: "requests for each 1,000 changes",
        metric: "bystanders.requests_per_change",
        changes: 1_000.0,
    },
];

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
    let rows = rows.chain(cost(summary, largest));
    let rows = rows.chain(change(summary, largest));
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

/// The rows of what a change of a foreign object costs; none where none was changed.
fn change(summary: &Summary, objects: usize) -> Vec<Vec<String>> {
    let rows = CHANGE.iter().filter_map(|row| {
        let of_subject = |subject: &Subject| {
            let runs = subject.runs_of(Kind::Memory, objects);
            let runs = runs.filter(|run| run.valid);
            let figures = runs.filter_map(|run| metric::of_run(run, row.metric));
            median(&figures.collect::<Vec<f64>>())
        };
        let all: Vec<Option<f64>> = summary.subjects.iter().map(of_subject).collect();
        let measured = all.iter().any(Option::is_some);
        let cells = all.into_iter().map(|figure| match figure {
            Some(figure) => measurable(figure * row.changes),
            None => "not measured".to_owned(),
        });
        measured.then(|| std::iter::once(row.label.to_owned()).chain(cells).collect())
    });
    rows.collect()
}

/// A figure that is the difference of two; below zero they differ by more than what is looked for.
fn measurable(figure: f64) -> String {
    let words = amount(figure);
    match figure < 0.0 {
        true => format!("none measurable ({words})"),
        false => words,
    }
}

/// The row of bytes for each foreign object; none where no run was restarted without them.
fn cost(summary: &Summary, objects: usize) -> Option<Vec<String>> {
    let costs: Vec<Option<Cost>> = summary
        .subjects
        .iter()
        .map(|subject| Cost::of(subject, objects))
        .collect();
    let cells = costs.iter().map(|cost| match cost {
        Some(cost) => cost.words(),
        None => "not measured".to_owned(),
    });
    let label = "bytes for each, from restarts with and without them".to_owned();
    let measured = costs.iter().any(Option::is_some);
    measured.then(|| std::iter::once(label).chain(cells).collect())
}

/// What foreign objects cost a subject.
struct Cost {
    /// For each of them; the median of the runs.
    bytes: f64,
    runs: usize,
    /// Runs in which memory was sampled before the subject had settled.
    unsettled: usize,
}

impl Cost {
    fn of(subject: &Subject, objects: usize) -> Option<Self> {
        let runs = subject.runs_of(Kind::Memory, objects);
        let runs = runs.filter(|run| run.valid);
        let figures: Vec<(f64, bool)> = runs
            .filter_map(|run| {
                let bytes = metric::of_run(run, COST)?;
                Some((bytes, rows::did_not_settle(run, "memory.restart")))
            })
            .collect();
        let bytes: Vec<f64> = figures.iter().map(|(bytes, _)| *bytes).collect();
        Some(Self {
            bytes: median(&bytes)?,
            runs: figures.len(),
            unsettled: figures.iter().filter(|(_, unsettled)| *unsettled).count(),
        })
    }

    fn words(&self) -> String {
        rows::with_unsettled(measurable(self.bytes), self.unsettled, self.runs)
    }
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
        let words = |bytes, unsettled| {
            let cost = Cost {
                bytes,
                runs: 2,
                unsettled,
            };
            cost.words()
        };
        assert_eq!(words(3_891.0, 0), "3,891");
        assert_eq!(words(3_891.0, 1), "3,891 (did not settle: 1 of 2)");
        assert_eq!(words(-1_188.0, 0), "none measurable (-1188)");
        assert_eq!(measurable(0.0), "0");
    }
}
