//! What a subject costs the API server and itself: bars, the table of work, and the ratios.

use maud::{Markup, html};

use super::{Page, Section, panels, slot, table};
use crate::model::cell::Kind;
use crate::model::summary::{Subject, Summary};
use crate::report::chart::Caption;
use crate::report::chart::bar::{Bar, BarChart};
use crate::report::rows::{CPU, DRAIN, Row, SERVER_CPU, WRITES};
use crate::report::table::figure;
use crate::report::{default_flags, ratios, request_counts, tables};

pub fn section(page: &Page) -> Option<Section> {
    let summary = page.summary;
    let largest = *tables::sizes_of(summary, Kind::Drain).last()?;
    let bars = bars(summary, largest);
    let words = "Lower is better. Requests and CPU are divided by the number of objects; each bar is the median of the valid runs.";
    let body = html! {
        @if !bars.is_empty() { (panels(&bars, "Cost of an object", words)) }
        (table(&tables::work(summary, largest)))
        @if let Some(counted) = request_counts::table(summary) { (table(&counted)) }
        @if let Some(defaults) = default_flags::table(summary) { (table(&defaults)) }
    };
    Some(Section::new("work", "Work, requests and time", body))
}

/// One chart for each figure that was measured.
fn bars(summary: &Summary, drained: usize) -> Vec<Markup> {
    let counted = tables::sizes_of(summary, Kind::RequestCount)
        .last()
        .copied();
    let writes = match counted {
        Some(objects) => (Kind::RequestCount, objects),
        None => (Kind::Memory, drained),
    };
    let per_object = drained as f64 / 1e3;
    let (kind, counted) = writes;
    let figures = [
        ("writes", "Write requests per object", WRITES, counted, 1.0),
        (
            "server-cpu",
            "API server CPU per object, ms",
            SERVER_CPU,
            drained,
            per_object,
        ),
        (
            "subject-cpu",
            "Operator CPU per object, ms",
            CPU,
            drained,
            per_object,
        ),
        ("drain", "Time to drain, s", DRAIN, drained, 1.0),
    ];
    let charts = figures
        .into_iter()
        .filter_map(|(id, title, name, objects, divisor)| {
            let row = match name {
                WRITES => Row::named(name)?.from(kind),
                _ => Row::named(name)?,
            };
            let bars: Vec<Bar> = summary
                .subjects
                .iter()
                .map(|subject| bar(summary, subject, &row, objects, divisor))
                .collect();
            let chart = BarChart {
                caption: Caption {
                    id: format!("bars-{id}"),
                    title: title.to_owned(),
                    description: describe(&bars),
                },
                bars,
            };
            let known = chart.bars.iter().any(|bar| bar.value.is_some());
            known.then(|| html! { h3 { (title) } (chart.draw()) })
        });
    charts.collect()
}

fn bar(summary: &Summary, subject: &Subject, row: &Row, objects: usize, divisor: f64) -> Bar {
    let id = subject.id();
    let value = row.value(subject, objects).map(|value| value / divisor);
    Bar {
        slot: slot(summary, &id),
        name: id,
        value,
        text: match value {
            Some(_) => figure(value),
            None => row.cell(subject, objects).replace('–', "not measured"),
        },
    }
}

fn describe(bars: &[Bar]) -> String {
    let said: Vec<String> = bars
        .iter()
        .map(|bar| format!("{}: {}", bar.name, bar.text))
        .collect();
    format!("{}.", said.join("; "))
}

/// Ratios, and the noise floors that they are judged by.
pub fn ratios(page: &Page) -> Option<Section> {
    let (compared, floors) = (ratios::table(page.summary), ratios::floors(page.summary));
    if compared.is_none() && floors.is_none() {
        return None;
    }
    let body = html! {
        @if let Some(compared) = &compared { (table(compared)) }
        @if let Some(floors) = &floors { (table(floors)) }
    };
    Some(Section::new("ratios", "How sure the differences are", body))
}
