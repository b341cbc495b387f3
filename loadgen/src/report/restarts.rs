//! What repeated restarts cost, as tables: the subject's own figures, and the API server's.
//!
//! Guarantees: pure; medians over all restarts of a size, with the range where there is one. Only
//! where restarts were asked for (`bench --restarts`). Leaves to others: the figures.

use crate::analyse::statistics::median;
use crate::model::cell::Kind;
use crate::model::record::{Record, Restart};
use crate::model::workload::{Scenario, mix};
use crate::report::table::{Table, figure, grouped};

const MB: f64 = 1e6;

/// Heading, and the figure of one restart.
type Column = (&'static str, fn(&Restart) -> Option<f64>);

const SUBJECT: [Column; 6] = [
    ("restarts", |_| Some(1.0)),
    ("RSS, MB", |r| Some(r.memory?.memory.rss_bytes as f64 / MB)),
    ("anonymous, MB", |r| {
        Some(r.memory?.memory.anon_bytes as f64 / MB)
    }),
    ("peak, MB", |r| Some(r.memory?.peak_bytes? as f64 / MB)),
    ("ready after, s", |r| Some(r.ready_s)),
    ("CPU, s", |r| r.cpu_s),
];

const SERVER: [Column; 7] = [
    ("CPU, s", |r| r.server.as_ref()?.cpu_s),
    ("RSS increase, MB", |r| {
        let server = r.server.as_ref()?;
        let above = server.rss_peak_bytes? as f64 - server.rss_before_bytes? as f64;
        Some(above / MB)
    }),
    ("reads", |r| Some(r.server.as_ref()?.reads? as f64)),
    ("writes", |r| Some(r.server.as_ref()?.writes? as f64)),
    ("answers, MB", |r| {
        Some(r.server.as_ref()?.response_bytes? as f64 / MB)
    }),
    ("datastore reads", |r| {
        Some(r.server.as_ref()?.datastore_reads? as f64)
    }),
    ("objects fetched", |r| {
        Some(r.server.as_ref()?.datastore_objects? as f64)
    }),
];

/// Two tables for each size; none where no restarts were asked for.
pub fn tables(record: &Record) -> Vec<Table> {
    if record.experiment.restarts.is_none() {
        return Vec::new();
    }
    let of_size = |objects: usize| {
        let title = |what: &str| format!("Restarts on {} objects: {what}", grouped(objects));
        [
            (title("the subject"), &SUBJECT[..]),
            (title("the API server"), &SERVER[..]),
        ]
        .map(|(title, columns)| table(record, objects, title, columns))
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
    if record.experiment.restarts.is_none() {
        return Vec::new();
    }
    let mut notes = vec![format!(
        "restarts: medians with the range; reads and answers are those of get and list, watches are not among them; datastore reads and fetched objects are those for {}",
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

fn table(record: &Record, objects: usize, title: String, columns: &[Column]) -> Table {
    let header = columns.iter().map(|(name, _)| (*name).to_owned());
    let subjects = record.experiment.origin.subjects.iter();
    let row = |subject: String| {
        let restarts: Vec<&Restart> = record
            .runs
            .values()
            .filter(|run| [Kind::Drain, Kind::Memory].contains(&run.cell.kind))
            .filter(|run| run.cell.objects == objects && run.cell.subject == subject)
            .flat_map(|run| &run.restarts)
            .collect();
        let cells = columns.iter().map(|(name, of)| {
            let values: Vec<f64> = restarts.iter().filter_map(|r| of(r)).collect();
            match *name {
                "restarts" => grouped(values.len()),
                _ => spread(&values),
            }
        });
        std::iter::once(subject.clone()).chain(cells).collect()
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
