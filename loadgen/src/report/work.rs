//! What a subject costs the API server and itself: bars, the tables of work, and how sure the differences are.
//!
//! Guarantees: figures of runs with the servers' default flags are in no other table and in no ratio; a ratio within the
//! noise floor of its figure is called not significant. Leaves to others: the arithmetic (`metric::compare`,
//! `metric::noise`).

use crate::metric::Shown;
use crate::metric::noise::largest_ratio;
use crate::plan::cell::Kind;
use crate::record::summary::{Comparison, NoiseFloor, Subject, Summary};
use crate::report::rows::{
    CPU, DRAIN, PEAK, RESTARTED, Row, SERVER_CPU, SETTLED, WRITES, largest_of, slot,
};
use crate::report::table::{Table, figure, grouped};
use crate::report::{Bar, Block, Drawings, Figure, Section, rows};

/// Of runs with the audit log, before the figures that only they have.
const COUNTED: [&str; 5] = [
    WRITES,
    "datastore.revisions_per_object",
    "requests.reads_per_object",
    "requests.idle_writes_per_minute",
    "requests.idle_reads_per_minute",
];
/// Of runs with the servers' default flags.
const DEFAULT_FLAGS: [&str; 5] = [
    DRAIN,
    CPU,
    SERVER_CPU,
    "datastore.written_bytes_per_object",
    "spawn_to_canary_ms",
];
/// Figures that are compared in the report, of all that are in the summary.
const COMPARED: [&str; 7] = [SETTLED, PEAK, RESTARTED, CPU, DRAIN, SERVER_CPU, WRITES];

pub fn section(summary: &Summary) -> Option<Section> {
    let drained = largest_of(summary, Kind::Drain)?;
    let table = |title: &str, objects: usize, rows: Vec<Row>| {
        let title = title.replace("{}", &grouped(objects));
        Block::Table(rows::table(title, summary, objects, rows.into_iter()))
    };
    let bars = bars(summary, drained);
    let figure = (!bars.is_empty()).then(|| Figure {
        title: "Cost of an object",
        words: "Lower is better. Requests and CPU are divided by the number of objects; each bar is the median of the valid runs.".into(),
        drawings: Drawings::Bars(bars),
    });
    let work = table(
        "Work at {} objects",
        drained,
        rows::shown(Shown::Work).collect(),
    );
    let counted = largest_of(summary, Kind::RequestCount).map(|objects| {
        let rows = rows::named(&COUNTED).map(|row| row.from(Kind::RequestCount));
        let rows = rows.chain(rows::shown(Shown::Requests)).collect();
        let title =
            "Requests at {} objects, counted in separate runs with the API server's audit log";
        table(title, objects, rows)
    });
    let with_default_flags = largest_of(summary, Kind::DefaultFlags).map(|objects| {
        let rows = rows::named(&DEFAULT_FLAGS).map(|row| row.from(Kind::DefaultFlags));
        let title = "Default flags: {} objects, API server with fsync, priority and fairness, and in-flight limits";
        table(title, objects, rows.collect())
    });
    let tables = [counted, with_default_flags].into_iter().flatten();
    let figure = figure.map(Block::Figure).into_iter();
    let blocks = figure.chain([work]).chain(tables).collect();
    Section::of("work", "Work, requests and time", blocks)
}

/// Bars for each figure that was measured.
fn bars(summary: &Summary, drained: usize) -> Vec<(&'static str, Vec<Bar>)> {
    let counted = largest_of(summary, Kind::RequestCount);
    let ms = drained as f64 / 1e3;
    let figures = [
        ("Write requests per object", WRITES, 1.0),
        ("API server CPU per object, ms", SERVER_CPU, ms),
        ("Operator CPU per object, ms", CPU, ms),
        ("Time to drain, s", DRAIN, 1.0),
    ];
    let charts = figures.into_iter().filter_map(|(title, name, divisor)| {
        let row = Row::named(name)?;
        let (row, objects) = match counted.filter(|_| name == WRITES) {
            Some(objects) => (row.from(Kind::RequestCount), objects),
            None => (row, drained),
        };
        let bar = |subject: &Subject| {
            let value = row.value(subject, objects).map(|value| value / divisor);
            let text = match value {
                Some(_) => figure(value),
                None => row.cell(subject, objects).replace('–', "not measured"),
            };
            let name = subject.id();
            let slot = slot(summary, &name);
            Bar {
                name,
                slot,
                value,
                text,
            }
        };
        let bars = || summary.subjects.iter().map(bar).collect();
        row.is_known(summary, objects).then(|| (title, bars()))
    });
    charts.collect()
}

/// Ratios between subjects with their intervals, and the noise floors that they are judged by.
pub fn ratios(summary: &Summary) -> Option<Section> {
    let tables = compared(summary).into_iter().chain(floors(summary));
    let tables: Vec<Block> = tables.map(Block::Table).collect();
    let rule = "A difference is not significant within the noise floor of its figure, which one subject measured twice in every round gives (A/A), or where its interval contains 1.".to_owned();
    let said = (!tables.is_empty()).then(|| Block::Sentences(vec![rule]));
    let blocks = said.into_iter().chain(tables).collect();
    Section::of("ratios", "How sure the differences are", blocks)
}

/// Only where at least one ratio has more than one pair.
fn compared(summary: &Summary) -> Option<Table> {
    let mut pairs: Vec<(&str, &str)> = Vec::new();
    for comparison in summary.comparisons.iter().filter(|c| c.ci95.is_some()) {
        let pair = (comparison.subject.as_str(), comparison.against.as_str());
        if !pairs.contains(&pair) {
            pairs.push(pair);
        }
    }
    let cell = |name: &str, (subject, against): &(&str, &str)| {
        let mut all = summary.comparisons.iter();
        let found =
            all.find(|c| c.metric == name && c.subject == *subject && c.against == *against);
        found.map_or_else(|| figure(None), ratio)
    };
    let line = |row: Row| {
        let label = row.label().split(", ").next().unwrap_or_default();
        let own = |floor: &&NoiseFloor| floor.metric == row.name() && Some(floor.cell) == row.kind;
        let floor = summary
            .noise_floors
            .iter()
            .filter(own)
            .find_map(largest_ratio);
        let begin = [label.to_owned(), figure(floor.map(percent))];
        let cells = pairs.iter().map(|pair| cell(row.name(), pair));
        begin.into_iter().chain(cells).collect()
    };
    let header = ["".to_owned(), "noise floor (A/A), %".to_owned()];
    let ids = pairs
        .iter()
        .map(|(subject, against)| format!("{subject} / {against}"));
    (!pairs.is_empty()).then(|| Table {
        title: "Ratios with 95 % intervals".into(),
        header: header.into_iter().chain(ids).collect(),
        rows: rows::named(&COMPARED).map(line).collect(),
    })
}

fn percent(ratio: f64) -> f64 {
    (ratio - 1.0) * 100.0
}

/// A ratio with its interval, and a word where there is none or where noise may explain it.
pub fn ratio(comparison: &Comparison) -> String {
    let ratio = figure(Some(comparison.ratio));
    let Some([low, high]) = comparison
        .ci95
        .map(|ends| ends.map(|end| figure(Some(end))))
    else {
        return format!("{ratio} (one run)");
    };
    let noise = match comparison.significant {
        Some(false) => "; not significant",
        _ => "",
    };
    format!("{ratio} ({low} to {high}{noise})")
}

/// Every noise floor; `None` without A/A runs.
fn floors(summary: &Summary) -> Option<Table> {
    let end = |floor: &NoiseFloor, n: usize| figure(floor.ci95.map(|ends| ends[n]));
    let floors = Table::of(
        "Noise floors: one subject measured twice in every round (A/A)",
        &summary.noise_floors,
        &[
            ("", &|floor| floor.metric.clone()),
            ("runs", &|floor| floor.cell.name().to_owned()),
            ("pairs", &|floor| floor.pairs.to_string()),
            ("ratio", &|floor| figure(Some(floor.ratio))),
            ("95 %, from", &|floor| end(floor, 0)),
            ("95 %, to", &|floor| end(floor, 1)),
            ("floor, %", &|floor| {
                figure(largest_ratio(floor).map(percent))
            }),
        ],
    );
    (!summary.noise_floors.is_empty()).then_some(floors)
}
