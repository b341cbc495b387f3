//! The tables of fault and update storm runs.
//!
//! Guarantees: beside each figure of memory stands what healthy objects cost, where that was measured in the
//! same bench. Leaves to others: the measuring.

use crate::metric::Shown;
use crate::plan::cell::Kind;
use crate::record::summary::Summary;
use crate::record::{Record, Run};
use crate::report::rows::{CPU, Row, SETTLED, WRITES};
use crate::report::table::{Table, grouped};
use crate::report::{Section, rows};

const BURST_PEAK: &str = "memory.burst.peak_bytes";

pub fn section(summary: &Summary, record: &Record) -> Option<Section> {
    let rejected = faults(
        summary,
        record,
        Kind::Rejected,
        "whose children the API server rejects",
    );
    let never_ready = faults(
        summary,
        record,
        Kind::NeverReady,
        "whose children never become ready",
    );
    let tables = [rejected, never_ready, update_storm(summary, record)];
    Section::of_tables(
        "robustness",
        "Robustness",
        tables.into_iter().flatten().collect(),
    )
}

fn faults(summary: &Summary, record: &Record, kind: Kind, which: &str) -> Option<Table> {
    let first = of_kind(record, kind).next()?;
    let held_s = first.fault_response.map_or(0.0, |response| response.held_s);
    let objects = first.cell.objects;
    let title = format!(
        "{} objects {which}, observed for {held_s:.0} s",
        grouped(objects)
    );
    let memory = [SETTLED, BURST_PEAK];
    let work = rows::named(&[WRITES, "requests.reads_per_object", CPU])
        .chain(rows::shown(Shown::Unhealthy));
    let all = rows::named(&memory).chain(work).map(|row| row.from(kind));
    let mut table = rows::table(title, summary, objects, all);
    let healthy = rows::named(&memory).filter(|row| row.is_known(summary, objects));
    table.rows.extend(healthy.map(|row| {
        let mut line = row.line(summary, objects);
        line[0] = row.label().replacen(", ", " with healthy objects, ", 1);
        line
    }));
    Some(table)
}

fn update_storm(summary: &Summary, record: &Record) -> Option<Table> {
    let mut runs = of_kind(record, Kind::UpdateStorm);
    let (objects, storm) = runs.find_map(|run| Some((run.cell.objects, run.update_storm?)))?;
    let title = format!(
        "Update storm: {} objects, each updated {} times in {:.0} s",
        grouped(objects),
        storm.rounds,
        storm.seconds
    );
    let shown = rows::shown(Shown::UpdateStorm).chain(rows::named(&[CPU, BURST_PEAK]));
    let shown = shown.map(|row: Row| row.from(Kind::UpdateStorm));
    Some(rows::table(title, summary, objects, shown))
}

fn of_kind(record: &Record, kind: Kind) -> impl Iterator<Item = &Run> {
    record
        .runs
        .values()
        .filter(move |run| run.cell.kind == kind)
}
