//! Figures as lines of tables: each with its label, the runs that it is taken from, and its unit.
//!
//! Guarantees: a figure has one definition in all tables, on the page, in the README and in the ratios:
//! the median over the valid runs of its kind and size. A cell says `invalid` where no run was valid,
//! and *did not settle* where that holds for its figure. Leaves to others: which figures there are, and which table has
//! them (`metric`).

use crate::metric;
use crate::metric::statistics::median;
use crate::metric::{Metric, Shown};
use crate::model::cell::Kind;
use crate::model::summary::{Run, Subject, Summary};
use crate::report::table::figure;

/// Every run of the cell failed or is invalid; the lines below the tables say why.
const INVALID: &str = "invalid";

pub const SETTLED: &str = "memory.settled.rss_bytes";
pub const DRAIN: &str = "convergence.drain_s";
pub const CPU: &str = "cpu.converge_s";
pub const SERVER_CPU: &str = "api_server_cpu_s";
pub const WRITES: &str = "requests.writes_per_object";

/// One figure, from one kind of run.
#[derive(Clone, Copy)]
pub struct Row {
    pub metric: &'static Metric,
    pub kind: Kind,
}

/// The rows of a table of the report.
pub fn shown(table: Shown) -> impl Iterator<Item = Row> {
    metric::shown(table).filter_map(Row::of)
}

/// The rows of these figures, in this order.
pub fn named(names: &[&str]) -> impl Iterator<Item = Row> {
    names.iter().filter_map(|name| Row::named(name))
}

impl Row {
    /// `None` for a figure of a subject, which has no runs.
    pub fn of(metric: &'static Metric) -> Option<Row> {
        let kind = *metric.kinds.first()?;
        Some(Row { metric, kind })
    }

    /// The row of the figure of this name.
    pub fn named(name: &str) -> Option<Row> {
        Row::of(metric::find(name)?)
    }

    /// The same figure of another kind of run.
    pub fn from(self, kind: Kind) -> Row {
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
        typical(subject, self.kind, objects, self.name()).map(|value| value / self.metric.divisor)
    }

    /// The same as a cell of a table.
    pub fn cell(&self, subject: &Subject, objects: usize) -> String {
        let mut runs = subject.runs_of(self.kind, objects).peekable();
        if runs.peek().is_some() && runs.all(|run| !run.valid) {
            return INVALID.into();
        }
        let measured: Vec<&Run> = subject
            .runs_of(self.kind, objects)
            .filter(|run| run.valid && run.value(self.name()).is_some())
            .collect();
        let unsettled = measured
            .iter()
            .filter(|run| metric::did_not_settle(run, self.name()));
        let text = figure(self.value(subject, objects));
        with_unsettled(text, unsettled.count(), measured.len())
    }

    /// One line over all subjects, with the ratio of two; `None` when no subject has the figure.
    pub fn line(&self, summary: &Summary, objects: usize) -> Option<Vec<String>> {
        let subjects = || summary.subjects.iter();
        let values: Vec<Option<f64>> = subjects().map(|s| self.value(s, objects)).collect();
        let any = values.iter().any(Option::is_some);
        any.then(|| {
            let cells = subjects().map(|s| self.cell(s, objects));
            let label = std::iter::once(self.label().to_owned());
            label.chain(cells).chain(ratio(&values)).collect()
        })
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

/// The median of a figure over the valid runs of a cell.
pub fn typical(subject: &Subject, kind: Kind, objects: usize, name: &str) -> Option<f64> {
    let valid = subject.runs_of(kind, objects).filter(|run| run.valid);
    let values: Vec<f64> = valid.filter_map(|run| run.value(name)).collect();
    median(&values)
}

/// With two subjects: the first over the second.
pub fn ratio(values: &[Option<f64>]) -> Option<String> {
    match values {
        [Some(a), Some(b)] if *b != 0.0 => Some(figure(Some(a / b))),
        [_, _] => Some(figure(None)),
        _ => None,
    }
}

/// The ids of the subjects; with two of them, a column for their ratio.
pub fn header(summary: &Summary, with_ratio: bool) -> Vec<String> {
    let ratio = (with_ratio && summary.subjects.len() == 2).then(|| "ratio".to_owned());
    std::iter::once(String::new())
        .chain(summary.subjects.iter().map(Subject::id))
        .chain(ratio)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_says_how_many_runs_did_not_settle() {
        let said = |unsettled, runs| with_unsettled("224".into(), unsettled, runs);
        assert_eq!(said(0, 5), "224");
        assert_eq!(said(1, 1), "224 (did not settle)");
        assert_eq!(said(2, 5), "224 (did not settle: 2 of 5)");
    }
}
