//! Figures as lines of tables: each with its label, the runs that it is taken from, and its unit.
//!
//! Guarantees: a figure has one definition in all tables, on the page, in the README and in the ratios:
//! the median over the valid runs of its kind and size. A cell says `invalid` where no run was valid,
//! *did not settle* where that holds for its figure, and *none measurable* for a difference below zero.
//! Leaves to others: which figures there are, and which table has them (`metric`).

use crate::metric;
use crate::metric::statistics::median;
use crate::metric::{Metric, Shown};
use crate::plan::cell::Kind;
use crate::record::summary::{Run, Subject, Summary};
use crate::report::table::{Table, figure, spread};

/// Every run of the cell failed or is invalid; the section of runs says why.
const INVALID: &str = "invalid";

pub const SETTLED: &str = "memory.settled.rss_bytes";
pub const PEAK: &str = "memory.settled.peak_bytes";
pub const RESTARTED: &str = "memory.restart.rss_bytes";
pub const DRAIN: &str = "convergence.drain_s";
pub const CPU: &str = "cpu.converge_s";
pub const SERVER_CPU: &str = "api_server_cpu_s";
pub const WRITES: &str = "requests.writes_per_object";

/// One figure, from one kind of run; without a kind, one of the subject itself.
#[derive(Clone, Copy)]
pub struct Row {
    pub metric: &'static Metric,
    pub kind: Option<Kind>,
}

/// The rows of a table of the report.
pub fn shown(table: Shown) -> impl Iterator<Item = Row> {
    metric::shown(table).map(Row::of)
}

/// The rows of these figures, in this order.
pub fn named(names: &[&str]) -> impl Iterator<Item = Row> {
    names.iter().filter_map(|name| Row::named(name))
}

/// A line for each figure that is known of a subject at a size; where none is, the first one says why.
pub fn table(
    title: String,
    summary: &Summary,
    objects: usize,
    rows: impl Iterator<Item = Row>,
) -> Table {
    let rows: Vec<Row> = rows.collect();
    let known = rows.iter().filter(|row| row.is_known(summary, objects));
    let mut lines: Vec<_> = known.map(|row| row.line(summary, objects)).collect();
    if lines.is_empty() {
        lines.extend(rows.first().map(|row| row.line(summary, objects)));
    }
    Table {
        title,
        header: header(summary),
        rows: lines,
    }
}

impl Row {
    pub fn of(metric: &'static Metric) -> Row {
        let kind = metric.kinds.first().copied();
        Row { metric, kind }
    }

    /// The row of the figure of this name.
    pub fn named(name: &str) -> Option<Row> {
        Some(Row::of(metric::find(name)?))
    }

    /// The same figure of another kind of run.
    pub fn from(self, kind: Kind) -> Row {
        let kind = Some(kind);
        Row { kind, ..self }
    }

    /// With its unit.
    pub fn label(&self) -> &'static str {
        &self.metric.label
    }

    pub fn name(&self) -> &'static str {
        &self.metric.id
    }

    /// The figure of a subject at a size, in the unit of the label.
    pub fn value(&self, subject: &Subject, objects: usize) -> Option<f64> {
        let value = match self.kind {
            Some(kind) => typical(subject, kind, objects, self.name()),
            None => self.metric.of_subject(subject),
        };
        value.map(|value| value / self.metric.divisor)
    }

    /// The figure of each valid run of a subject at a size, in the unit of the label.
    pub fn values(&self, subject: &Subject, objects: usize) -> Vec<f64> {
        let Some(kind) = self.kind else {
            return Vec::new();
        };
        let values = subject.values(kind, objects, self.name());
        values.map(|value| value / self.metric.divisor).collect()
    }

    /// The same as a cell of a table.
    pub fn cell(&self, subject: &Subject, objects: usize) -> String {
        self.worded(subject, objects, figure(self.value(subject, objects)))
    }

    /// The same with the lowest and the highest of the runs.
    pub fn cell_with_spread(&self, subject: &Subject, objects: usize) -> String {
        let text = match self.values(subject, objects)[..] {
            [] => figure(self.value(subject, objects)),
            ref values => spread(values),
        };
        self.worded(subject, objects, text)
    }

    /// A figure with what has to be said of it.
    fn worded(&self, subject: &Subject, objects: usize, text: String) -> String {
        let text = match self.value(subject, objects) {
            Some(below) if below < 0.0 => format!("none measurable ({text})"),
            _ => text,
        };
        let Some(kind) = self.kind else {
            return text;
        };
        let runs: Vec<&Run> = subject.runs_of(kind, objects).collect();
        if !runs.is_empty() && runs.iter().all(|run| !run.valid) {
            return INVALID.into();
        }
        let measured = runs
            .iter()
            .filter(|run| run.valid && run.value(self.name()).is_some());
        let unsettled = measured
            .clone()
            .filter(|run| metric::did_not_settle(run, self.name()));
        let is_disturbed = measured.clone().any(|run| !run.disturbed_by.is_empty());
        marked(
            with_unsettled(text, unsettled.count(), measured.count()),
            is_disturbed,
        )
    }

    /// Whether any subject has the figure.
    pub fn is_known(&self, summary: &Summary, objects: usize) -> bool {
        let mut subjects = summary.subjects.iter();
        subjects.any(|subject| self.value(subject, objects).is_some())
    }

    /// One line over all subjects, with the ratio of two.
    pub fn line(&self, summary: &Summary, objects: usize) -> Vec<String> {
        let subjects = || summary.subjects.iter();
        let values: Vec<Option<f64>> = subjects().map(|s| self.value(s, objects)).collect();
        let cells = subjects().map(|s| self.cell(s, objects));
        let ratio = match values[..] {
            [Some(a), Some(b)] if a >= 0.0 && b > 0.0 => Some(figure(Some(a / b))),
            [_, _] => Some(figure(None)),
            _ => None,
        };
        let label = std::iter::once(self.label().to_owned());
        label.chain(cells).chain(ratio).collect()
    }
}

/// A figure with a word for the runs that did not settle.
pub fn with_unsettled(figure: String, unsettled: usize, runs: usize) -> String {
    match (unsettled, runs) {
        (0, _) => figure,
        (1, 1) => format!("{figure} (did not settle)"),
        _ => format!("{figure} (did not settle: {unsettled} of {runs})"),
    }
}

/// A figure with the mark of a run that something disturbed; the heading of the report says what it means.
pub fn marked(figure: String, is_disturbed: bool) -> String {
    match is_disturbed {
        true => figure + "*",
        false => figure,
    }
}

/// The median of a figure over the valid runs of a cell.
pub fn typical(subject: &Subject, kind: Kind, objects: usize, name: &str) -> Option<f64> {
    median(&subject.values(kind, objects, name).collect::<Vec<f64>>())
}

/// The ids of the subjects; with two of them, a column for their ratio.
pub fn header(summary: &Summary) -> Vec<String> {
    let ratio = (summary.subjects.len() == 2).then(|| "ratio".to_owned());
    std::iter::once(String::new())
        .chain(summary.subjects.iter().map(Subject::id))
        .chain(ratio)
        .collect()
}

/// Sizes that have runs of these kinds, ascending.
pub fn sizes_of(summary: &Summary, kinds: &[Kind]) -> Vec<usize> {
    let runs = summary.subjects.iter().flat_map(|s| &s.runs);
    let runs = runs.filter(|run| kinds.contains(&run.cell));
    let mut sizes: Vec<usize> = runs.map(|run| run.objects).collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

/// The largest size that has runs of a kind.
pub fn largest_of(summary: &Summary, kind: Kind) -> Option<usize> {
    sizes_of(summary, &[kind]).last().copied()
}

/// Sizes that have memory runs or drains, ascending.
pub fn sizes(summary: &Summary) -> Vec<usize> {
    sizes_of(summary, &[Kind::Memory, Kind::Drain])
}

/// The place of a subject in the experiment, which is its colour.
pub fn slot(summary: &Summary, id: &str) -> usize {
    let mut subjects = summary.subjects.iter();
    subjects.position(|subject| subject.id() == id).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::summary::sample;

    #[test]
    fn a_figure_says_how_many_runs_did_not_settle() {
        let said = |unsettled, runs| with_unsettled("224".into(), unsettled, runs);
        assert_eq!(said(0, 5), "224");
        assert_eq!(said(1, 1), "224 (did not settle)");
        assert_eq!(said(2, 5), "224 (did not settle: 2 of 5)");
    }

    #[test]
    fn runs_that_are_all_invalid_are_said_to_be_so() {
        let run = Run::without_figures(Kind::DefaultFlags, 500, 1, vec!["busy".to_owned()]);
        let summary = sample(vec![run]);
        let rows = named(&[DRAIN, CPU]).map(|row| row.from(Kind::DefaultFlags));
        let table = table("Drains".to_owned(), &summary, 500, rows);
        assert_eq!(table.rows, [["time to drain, s", "invalid"]]);
    }

    #[test]
    fn a_difference_below_zero_is_no_figure() {
        let figure = "bystanders.bytes_per_object";
        let run = Run::without_figures(Kind::Memory, 5, 1, vec![]).with(figure, -1_188.0);
        let summary = sample(vec![run]);
        let row = Row::named(figure).expect("a figure");
        let cell = row.cell(&summary.subjects[0], 5);
        assert_eq!(cell, "none measurable (-1188)");
    }
}
