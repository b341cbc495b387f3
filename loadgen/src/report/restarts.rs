//! What repeated restarts cost, as tables: the subject's own figures, and the API server's.
//!
//! Guarantees: pure; medians over all restarts of a size, with the range where there is one. Only
//! where restarts were asked for (`bench --restarts`). Leaves to others: the figures.

use crate::metric::Shown;
use crate::metric::statistics::median;
use crate::model::cell::Kind;
use crate::model::record::{Record, Restart};
use crate::model::workload::{Scenario, mix};
use crate::report::rows;
use crate::report::rows::Row;
use crate::report::table::{Table, figure, grouped};

/// The figures of the subject, after the number of restarts.
const SUBJECT: [&str; 6] = [
    "memory.restart.rss_bytes",
    "memory.restart.anon_bytes",
    "memory.restart.peak_bytes",
    "restart.ready_s",
    "restart.working_s",
    "cpu.restart_s",
];

/// Two tables for each size; none where no restarts were asked for.
pub fn tables(record: &Record) -> Vec<Table> {
    if record.experiment.asked.restarts.is_none() {
        return Vec::new();
    }
    let of_size = |objects: usize| {
        let title = |what: &str| format!("Restarts on {} objects: {what}", grouped(objects));
        [
            (title("the subject"), rows::named(&SUBJECT).collect()),
            (
                title("the API server"),
                rows::shown(Shown::RestartServer).collect(),
            ),
        ]
        .map(|(title, columns): (_, Vec<Row>)| table(record, objects, title, &columns))
    };
    sizes(record).into_iter().flat_map(of_size).collect()
}

/// The kinds of the objects and their children, as a list in a sentence.
fn kinds(scenario: &Scenario) -> String {
    let children = scenario
        .children
        .iter()
        .map(|kind| format!("{}s", kind.kind));
    let parts = scenario.parts().map(|part| part.resource.kinds());
    mix::list(parts.chain(children))
}

/// What a reader must know about these tables, a sentence each.
pub fn notes(record: &Record) -> Vec<String> {
    if record.experiment.asked.restarts.is_none() {
        return Vec::new();
    }
    let mut notes = vec![format!(
        "restarts: medians with the range; one new object is created at each start, and what is read and written for it counts; reads and answers are those of get and list, watches are not among them; datastore reads and fetched objects are those for {}",
        kinds(&record.experiment.origin.scenario)
    )];
    let fetched = |restart: &Restart| {
        let objects = restart.server.as_ref().and_then(|s| s.datastore_objects);
        objects.is_some_and(|objects| objects > 0)
    };
    if record
        .runs
        .values()
        .any(|run| run.restarts.iter().any(fetched))
    {
        notes.push("where objects were fetched, they came from the datastore: as pages that the watch cache did not answer (about as many datastore reads as reads), or for kube-apiserver's own comparison of its cache with the datastore, every 5 to 7.5 minutes for each kind (ConsistencyCheckPeriod, apiserver v0.36.4)".to_owned());
    }
    notes
}

fn sizes(record: &Record) -> Vec<usize> {
    let runs = record.runs.values().filter(|run| !run.restarts.is_empty());
    let mut sizes: Vec<usize> = runs.map(|run| run.cell.objects).collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

fn table(record: &Record, objects: usize, title: String, columns: &[Row]) -> Table {
    let header = columns.iter().map(|row| row.label().to_owned());
    let header = std::iter::once("restarts".to_owned()).chain(header);
    let subjects = record.experiment.origin.subjects.iter();
    let row = |subject: String| {
        let restarts: Vec<&Restart> = record
            .runs
            .values()
            .filter(|run| [Kind::Drain, Kind::Memory].contains(&run.cell.kind))
            .filter(|run| run.cell.objects == objects && run.cell.subject == subject)
            .flat_map(|run| &run.restarts)
            .collect();
        let cells = columns.iter().map(|row| {
            let values = restarts.iter().filter_map(|r| row.metric.of_restart(r));
            spread(
                &values
                    .map(|value| value / row.metric.divisor)
                    .collect::<Vec<f64>>(),
            )
        });
        let begins = [subject.clone(), grouped(restarts.len())];
        begins.into_iter().chain(cells).collect()
    };
    Table {
        title,
        header: std::iter::once(String::new()).chain(header).collect(),
        rows: subjects.map(|s| row(s.subject.id())).collect(),
    }
}

/// The median; with the range where there is one.
fn spread(values: &[f64]) -> String {
    let typical = figure(median(values));
    let least = figure(values.iter().copied().reduce(f64::min));
    let most = figure(values.iter().copied().reduce(f64::max));
    if least == most {
        typical
    } else {
        format!("{typical} ({least} to {most})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_shown_where_there_is_one() {
        assert_eq!(spread(&[]), "–");
        assert_eq!(spread(&[4.0, 4.001]), "4.00");
        assert_eq!(spread(&[4.2, 4.0, 4.1]), "4.10 (4.00 to 4.20)");
    }
}
