//! What the steps of the workload took, as a table for each subject of a bench, or for a run.
//!
//! Guarantees: pure; the median of all drains at the largest size that came to the end of the step. Only where the workload
//! has steps. Leaves to others: doing them (`engine::step`).

use crate::metric::statistics::median;
use crate::record::{Record, StepSpan};
use crate::report::Section;
use crate::report::table::{Column, Table, figure, grouped};

const MB: f64 = 1e6;

/// A step, and each time that it was done.
pub struct Repeated<'a> {
    pub name: String,
    pub spans: Vec<&'a StepSpan>,
}

impl Repeated<'_> {
    fn typically(&self, value: impl Fn(&StepSpan) -> Option<f64>) -> String {
        let values: Vec<f64> = self.spans.iter().filter_map(|span| value(span)).collect();
        figure(median(&values))
    }
}

pub fn section(record: &Record) -> Option<Section> {
    let asked = &record.experiment.asked.steps;
    let subjects = record.experiment.origin.subjects.iter();
    let tables = subjects.filter(|_| !asked.is_empty()).map(|known| {
        let id = known.subject.id();
        let steps = asked.iter().enumerate().map(|(nth, step)| Repeated {
            name: step.name(),
            spans: spans(record, &id, nth),
        });
        let title = format!("Steps of the workload: {id}");
        table(title, &steps.collect::<Vec<_>>())
    });
    Section::of_tables("steps", "Steps of the workload", tables.collect())
}

/// Those of the step `nth` of the workload: what was done before it has no figures of its own.
fn spans<'a>(record: &'a Record, subject: &str, nth: usize) -> Vec<&'a StepSpan> {
    let runs = record
        .runs
        .values()
        .filter(|run| run.cell.subject == subject);
    let spans = runs.filter_map(|run| run.steps.iter().filter(|span| span.of_workload).nth(nth));
    spans.collect()
}

pub fn table(title: impl Into<String>, steps: &[Repeated<'_>]) -> Table {
    let columns: [Column<'_, Repeated<'_>>; 9] = [
        ("step", &|step| step.name.clone()),
        ("runs", &|step| step.spans.len().to_string()),
        ("objects", &|step| {
            let spans = step.spans.iter().filter_map(|span| span.times.as_ref());
            let objects = spans.map(|times| times.objects as usize).max();
            objects.map_or_else(|| "–".to_owned(), grouped)
        }),
        ("took, s", &|step| {
            step.typically(|span| Some((span.to_ms - span.from_ms) as f64 / 1e3))
        }),
        ("ready P50, ms", &|step| {
            step.typically(|span| Some(quantiles(span)?.0))
        }),
        ("ready P99, ms", &|step| {
            step.typically(|span| Some(quantiles(span)?.1))
        }),
        ("CPU, s", &|step| {
            step.typically(|span| span.operator?.cpu_s)
        }),
        ("RSS before, MB", &|step| {
            step.typically(|span| Some(span.operator?.before_bytes / MB))
        }),
        ("RSS after, MB", &|step| {
            step.typically(|span| Some(span.operator?.after_bytes / MB))
        }),
    ];
    Table::of(title, steps, &columns)
}

/// P50 and P99 from when an object was due until it was ready.
fn quantiles(span: &StepSpan) -> Option<(f64, f64)> {
    let quantiles = span.times.as_ref()?.ready_from_intended.quantiles()?;
    Some((quantiles.p50_ms, quantiles.p99_ms))
}
