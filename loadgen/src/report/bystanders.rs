//! Foreign objects: how many of them a subject has in memory, and what they cost it.
//!
//! Guarantees: an upper bound, and said so. Leaves to others: the search (`watch::memory_search`).

use crate::metric::Shown;
use crate::plan::cell::Kind;
use crate::record::summary::{Subject, Summary};
use crate::record::{Record, Run};
use crate::report::table::{Table, grouped};
use crate::report::{Section, rows};
use crate::spec::bystanders::Found;

/// Of the memory runs of the largest size: a row for each kind with the most of all repeats, then what they cost. A ratio
/// would be one of noise.
pub fn section(summary: &Summary, record: &Record) -> Option<Section> {
    let runs = record.runs.values();
    let runs = runs.filter(|run| run.cell.kind == Kind::Memory && !run.bystanders.is_empty());
    let runs: Vec<&Run> = runs.collect();
    let largest = runs.iter().map(|run| run.cell.objects).max()?;
    let mut kinds: Vec<(&str, usize)> = Vec::new();
    for found in runs.iter().flat_map(|run| &run.bystanders) {
        let kind = (found.kind.as_str(), found.objects);
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    let found = kinds.into_iter().map(|(kind, objects)| {
        let cell = |subject: &Subject| {
            let id = subject.id();
            let own = runs
                .iter()
                .filter(|run| run.cell.objects == largest && run.cell.subject == id);
            let found = own
                .flat_map(|run| &run.bystanders)
                .filter(|found| found.kind == kind);
            let most = found.map(|found: &Found| found.in_memory).max();
            most.map_or("not measured".to_owned(), grouped)
        };
        let label = format!("{kind} in memory, of {}", grouped(objects));
        std::iter::once(label)
            .chain(summary.subjects.iter().map(cell))
            .collect()
    });
    let cost = rows::shown(Shown::Foreign).filter(|row| row.is_known(summary, largest));
    let cost = cost.map(|row| row.line(summary, largest));
    let title = format!(
        "Foreign objects found in memory (an upper bound), at {} objects",
        grouped(largest)
    );
    let mut table = Table {
        title,
        header: rows::header(summary),
        rows: found.chain(cost).collect(),
    };
    let columns = summary.subjects.len() + 1;
    table.header.truncate(columns);
    table
        .rows
        .iter_mut()
        .for_each(|row: &mut Vec<String>| row.truncate(columns));
    Section::of_tables("foreign", "Foreign objects", vec![table])
}
