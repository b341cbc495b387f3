//! The table of foreign objects: how many of them a subject has in memory.
//!
//! Guarantees: an upper bound, and said so; none where no bystanders were asked for. Leaves to others: the
//! search (`measure::memory_search`).

use crate::model::bystanders::Found;
use crate::model::cell::Kind;
use crate::model::record::{Record, Run};
use crate::model::summary::Summary;
use crate::report::rows::header;
use crate::report::table::{Table, grouped};

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
        if !kinds.contains(&(&found.kind, found.objects)) {
            kinds.push((&found.kind, found.objects));
        }
    }
    let of = |id: &str, kind: &str| -> Option<&Found> {
        let own = runs
            .iter()
            .filter(|run| run.cell.objects == largest && run.cell.subject == id);
        let found = own.flat_map(|run| &run.bystanders);
        found
            .filter(|found| found.kind == kind)
            .max_by_key(|found| found.in_memory)
    };
    let rows = kinds.into_iter().map(|(kind, objects)| {
        let cells = summary.subjects.iter().map(|subject| {
            let id = format!("{}/{}", subject.name, subject.variant);
            match of(&id, kind) {
                Some(found) => grouped(found.in_memory),
                None => "not measured".to_owned(),
            }
        });
        let label = format!("{} in memory, of {}", kind, grouped(objects));
        std::iter::once(label).chain(cells).collect()
    });
    Some(Table {
        title: format!(
            "Foreign objects found in memory (an upper bound), at {} objects",
            grouped(largest)
        ),
        header: header(summary, false),
        rows: rows.collect(),
    })
}
