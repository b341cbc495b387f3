//! The table of foreign objects: how many of them a subject has in memory, and what they cost it.
//!
//! Guarantees: an upper bound, and said so; none where no bystanders were asked for. Leaves to others: the
//! search (`measure::memory_search`).

use crate::analyse::statistics::median;
use crate::model::bystanders::Found;
use crate::model::cell::Kind;
use crate::model::metric;
use crate::model::record::{Record, Run};
use crate::model::summary::{Subject, Summary};
use crate::report::rows::header;
use crate::report::table::{Table, amount, grouped};

/// Bytes of memory for each foreign object.
const COST: &str = "bystanders.bytes_per_object";

/// A row for each kind, of the memory runs of the largest size; the most of all repeats.
pub fn table(summary: &Summary, record: &Record) -> Option<Table> {
    let runs: Vec<&Run> = record
        .runs
        .values()
        .filter(|run| run.cell.kind == Kind::Memory && !run.bystanders.is_empty())
        .collect();
    let largest = runs.iter().map(|run| run.cell.objects).max()?;
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
    Some(Table {
        title: format!(
            "Foreign objects found in memory (an upper bound), at {} objects",
            grouped(largest)
        ),
        header: header(summary, false),
        rows: rows.collect(),
    })
}

/// The row of bytes for each foreign object; none where no run was restarted without them.
fn cost(summary: &Summary, objects: usize) -> Option<Vec<String>> {
    let of = |subject: &Subject| {
        let runs = subject.runs_of(Kind::Memory, objects);
        let figures = runs
            .filter(|run| run.valid)
            .filter_map(|run| metric::of_run(run, COST));
        median(&figures.collect::<Vec<f64>>())
    };
    let figures: Vec<Option<f64>> = summary.subjects.iter().map(of).collect();
    let cells = figures.iter().map(|figure| match figure {
        // Two restarts differ by more than the objects take.
        Some(bytes) if *bytes < 0.0 => format!("none measurable ({})", amount(*bytes)),
        Some(bytes) => amount(*bytes),
        None => "not measured".to_owned(),
    });
    let label = "bytes for each, from restarts with and without them".to_owned();
    let measured = figures.iter().any(Option::is_some);
    measured.then(|| std::iter::once(label).chain(cells).collect())
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
