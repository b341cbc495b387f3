//! Memory against the number of objects: the picture, the slopes, the tables.

use maud::html;

use super::{Page, Section, figure, slot, table};
use crate::model::cell::Kind;
use crate::model::summary::{Subject, Summary};
use crate::report::chart::Caption;
use crate::report::chart::line::{Axis, Line, LineChart, Names, Stroke};
use crate::report::rows::{Row, SETTLED};
use crate::report::tables;

pub fn section(page: &Page) -> Option<Section> {
    let summary = page.summary;
    let largest = *tables::sizes_of(summary, Kind::Memory).last()?;
    let body = html! {
        @if let Some(chart) = chart(summary) {
            (figure(&chart, "Each point is the median of the valid runs of a size; the bar through it is their range. A straight line between points is not a measurement."))
        }
        @if let Some(slopes) = tables::slopes(summary) { (table(&slopes)) }
        (table(&tables::memory(summary, page.record, largest)))
        @for by_size in tables::by_size(summary) { (table(&by_size)) }
    };
    Some(Section::new("memory", "Memory by number of objects", body))
}

/// Settled RSS against the number of objects; `None` where fewer than two sizes were measured.
pub fn chart(summary: &Summary) -> Option<LineChart> {
    let (sizes, settled) = (
        tables::sizes_of(summary, Kind::Memory),
        Row::named(SETTLED)?,
    );
    let lines: Vec<Line> = summary
        .subjects
        .iter()
        .map(|subject| line(summary, subject, &sizes, settled))
        .filter(|line| !line.points.is_empty())
        .collect();
    (sizes.len() > 1 && !lines.is_empty()).then(|| LineChart {
        caption: Caption {
            id: "memory-by-objects".into(),
            title: "Settled memory against the number of objects".into(),
            description: describe(&lines),
        },
        names: Names::AtEnds,
        x: Axis::linear("objects").with_ticks(sizes.iter().map(|size| *size as f64).collect()),
        y: Axis::linear("RSS settled, MB"),
        lines,
    })
}

fn line(summary: &Summary, subject: &Subject, sizes: &[usize], settled: Row) -> Line {
    let id = subject.id();
    let values = |objects: usize| {
        let valid = subject
            .runs_of(settled.kind, objects)
            .filter(|run| run.valid);
        valid
            .filter_map(|run| run.value(SETTLED))
            .map(|bytes| bytes / settled.metric.divisor)
    };
    let point = |size: &usize| Some((*size as f64, settled.value(subject, *size)?));
    let range = |size: &usize| {
        let low = values(*size).reduce(f64::min)?;
        let high = values(*size).reduce(f64::max)?;
        (low < high).then_some((*size as f64, [low, high]))
    };
    Line {
        slot: slot(summary, &id),
        name: id,
        points: sizes.iter().filter_map(point).collect(),
        stroke: Stroke::Solid,
        dots: true,
        ranges: sizes.iter().filter_map(range).collect(),
        mark: None,
    }
}

fn describe(lines: &[Line]) -> String {
    let ends = lines.iter().filter_map(|line| {
        let ((_, from), (objects, to)) = (line.points.first()?, line.points.last()?);
        Some(format!(
            "{} from {from:.1} to {to:.1} MB at {objects:.0} objects",
            line.name
        ))
    });
    format!("Lines: {}.", ends.collect::<Vec<_>>().join("; "))
}
