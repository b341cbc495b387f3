//! The rate sweep: latency against the rate that was achieved, with the knee of each subject.

use maud::html;

use super::{Page, Section, figure, slot, table};
use crate::metric::at_rate;
use crate::model::summary::{RatePoint, RateSweep, Summary};
use crate::report::chart::Caption;
use crate::report::chart::line::{Axis, Line, LineChart, Names, Stroke};
use crate::report::rate_sweep;

pub fn section(page: &Page) -> Option<Section> {
    let points = rate_sweep::table(page.summary)?;
    let chart = chart(page.summary);
    let body = html! {
        p { (at_rate::rule()) }
        @if let Some(knees) = rate_sweep::knees(page.summary) { (table(&knees)) }
        @if chart.lines.iter().any(|line| !line.points.is_empty()) {
            (figure(&chart, "Solid: P99; dashed: P50; both axes are logarithmic. The circle is the knee."))
        }
        (table(&points))
    };
    Some(Section::new("rate-sweep", "Latency by rate", body))
}

fn chart(summary: &Summary) -> LineChart {
    let sweeps = summary
        .subjects
        .iter()
        .filter_map(|s| Some((s.id(), s.rate_sweep.as_ref()?)));
    let lines: Vec<Line> = sweeps
        .flat_map(|(id, sweep)| {
            let slot = slot(summary, &id);
            [
                line(id, slot, sweep, |point| point.p99_ms, Stroke::Solid),
                line(
                    String::new(),
                    slot,
                    sweep,
                    |point| point.p50_ms,
                    Stroke::Dashed,
                ),
            ]
        })
        .collect();
    LineChart {
        caption: Caption {
            id: "rate-sweep-latency".into(),
            title: "Latency from the intended send until observed, against the achieved rate".into(),
            description: "One line for the P99 and one for the P50 of each subject; the figures are in the table below.".into(),
        },
        names: Names::AtEnds,
        x: Axis::log("achieved, objects/s"),
        y: Axis::log("latency, ms"),
        lines,
    }
}

fn line(
    name: String,
    slot: usize,
    sweep: &RateSweep,
    latency_ms: fn(&RatePoint) -> Option<f64>,
    stroke: Stroke,
) -> Line {
    let place = |point: &RatePoint| Some((point.achieved_per_s?, latency_ms(point)?));
    let points = sweep
        .points
        .iter()
        .filter(|point| point.achieved_per_s.is_some_and(|per_s| per_s > 0.0));
    let at_knee = sweep
        .points
        .iter()
        .find(|point| Some(point.per_s) == sweep.knee.per_s);
    let named = !name.is_empty();
    Line {
        name,
        slot,
        points: points.filter_map(place).collect(),
        stroke,
        dots: named,
        ranges: vec![],
        mark: at_knee.filter(|_| named).and_then(place),
    }
}
