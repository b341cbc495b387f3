//! Ratios between subjects with their intervals, and the noise floors that they are judged by.
//!
//! Guarantees: a ratio within the floor of its figure says *n.s.* (not significant); a floor stands in the
//! row of its figure. Leaves to others: the arithmetic (`metric::compare`, `metric::noise`).

use crate::metric::noise::largest_ratio;
use crate::model::summary::{Comparison, NoiseFloor, Summary};
use crate::report::rows;
use crate::report::rows::{CPU, DRAIN, Row, SERVER_CPU, SETTLED, WRITES};
use crate::report::table::{Table, figure};

/// Figures that are compared in the report, of all that are in the summary.
const COMPARED: [&str; 7] = [
    SETTLED,
    "memory.settled.peak_bytes",
    "memory.restart.rss_bytes",
    CPU,
    DRAIN,
    SERVER_CPU,
    WRITES,
];

/// Ratios with their intervals; only where at least one has more than one pair.
pub fn table(summary: &Summary) -> Option<Table> {
    let mut columns: Vec<(&str, &str)> = Vec::new();
    for comparison in summary.comparisons.iter().filter(|c| c.ci95.is_some()) {
        let column = (comparison.subject.as_str(), comparison.against.as_str());
        if !columns.contains(&column) {
            columns.push(column);
        }
    }
    if columns.is_empty() {
        return None;
    }
    let cell = |path: &str, (subject, against): (&str, &str)| {
        let mut all = summary.comparisons.iter();
        let found = all.find(|c| c.metric == path && c.subject == subject && c.against == against);
        found.map_or_else(|| figure(None), ratio)
    };
    let rows = rows::named(&COMPARED).map(|row| {
        let label = row.label().split(", ").next().unwrap_or_default();
        let cells = columns.iter().map(|column| cell(row.name(), *column));
        std::iter::once(label.to_owned())
            .chain([floor(summary, &row)])
            .chain(cells)
            .collect()
    });
    let ids = columns
        .iter()
        .map(|(subject, against)| format!("{subject} / {against}"));
    let header = ["".to_owned(), "noise floor (A/A), %".to_owned()];
    Some(Table {
        title: "Ratios with 95 % intervals; n.s. = not significant: within the noise floor, or the interval holds 1".into(),
        header: header.into_iter().chain(ids).collect(),
        rows: rows.collect(),
    })
}

fn floor(summary: &Summary, row: &Row) -> String {
    let own = summary
        .noise_floors
        .iter()
        .filter(|f| f.metric == row.name());
    let of_kind = own.filter(|floor| floor.cell == row.kind);
    figure(of_kind.filter_map(largest_ratio).next().map(percent))
}

fn percent(ratio: f64) -> f64 {
    (ratio - 1.0) * 100.0
}

fn ratio(comparison: &Comparison) -> String {
    let interval = comparison
        .ci95
        .map(|[low, high]| format!(" ({} to {})", figure(Some(low)), figure(Some(high))));
    let ratio = format!(
        "{}{}",
        figure(Some(comparison.ratio)),
        interval.unwrap_or_default()
    );
    match comparison.significant {
        Some(false) => format!("n.s. {ratio}"),
        _ => ratio,
    }
}

/// Every noise floor; `None` without A/A runs.
pub fn floors(summary: &Summary) -> Option<Table> {
    let row = |floor: &NoiseFloor| {
        let [low, high] = floor
            .ci95
            .map_or([None, None], |interval| interval.map(Some));
        vec![
            floor.metric.clone(),
            floor.cell.name().to_owned(),
            floor.pairs.to_string(),
            figure(Some(floor.ratio)),
            figure(low),
            figure(high),
            figure(largest_ratio(floor).map(percent)),
        ]
    };
    let header = [
        "",
        "runs",
        "pairs",
        "ratio",
        "95 %, from",
        "95 %, to",
        "floor, %",
    ];
    (!summary.noise_floors.is_empty()).then(|| Table {
        title: "Noise floors: one subject measured twice in every round (A/A)".into(),
        header: header.map(str::to_owned).to_vec(),
        rows: summary.noise_floors.iter().map(row).collect(),
    })
}
