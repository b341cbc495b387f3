//! How latencies are distributed, at one rate that every subject was offered.
//!
//! Guarantees: a curve is one run, the one whose P99 is the median; runs are not pooled.

use maud::html;

use super::{Page, Section, figure, slot};
use crate::model::cell::Kind;
use crate::model::latency::Latencies;
use crate::model::record::Run;
use crate::report::chart::Caption;
use crate::report::chart::line::{Axis, Line, LineChart, Names, Stroke};

/// Curves end where this share of the objects is left.
const LEAST_LEFT: f64 = 0.001;

pub fn section(page: &Page) -> Option<Section> {
    let per_s = shared_rate(page)?;
    let subjects = page.summary.subjects.iter().map(|subject| subject.id());
    let lines: Vec<Line> = subjects
        .filter_map(|id| {
            let latencies = typical_run(page, &id, per_s)?;
            Some(Line {
                slot: slot(page.summary, &id),
                name: id,
                points: curve(latencies),
                stroke: Stroke::Solid,
                dots: false,
                ranges: vec![],
                mark: None,
            })
        })
        .collect();
    let chart = LineChart {
        caption: Caption {
            id: "latency-distribution".into(),
            title: format!("Objects that are not yet observed, by time, at {per_s} objects/s"),
            description: "One falling line for each subject, over the time since the intended send. The P99 is where a line crosses 1 %.".into(),
        },
        names: Names::Above,
        x: Axis::log("since the intended send, ms"),
        y: Axis::log("not yet observed, % of objects"),
        lines,
    };
    let words = "Both axes are logarithmic: P50 is where a line crosses 50 %, P99 where it crosses 1 %. One run of each subject, the one with the median P99.";
    let body = html! { (figure(&chart, words)) };
    Some(Section::new("latency", "Latency distribution", body))
}

/// The highest rate that every subject with a sweep kept up, or else the lowest that was offered.
fn shared_rate(page: &Page) -> Option<u32> {
    let sweeps = || {
        page.summary
            .subjects
            .iter()
            .filter_map(|s| s.rate_sweep.as_ref())
    };
    let rates = sweeps()
        .flat_map(|sweep| &sweep.points)
        .map(|point| point.per_s);
    let knees = sweeps().map(|sweep| sweep.knee.per_s);
    let lowest_knee = knees.min().flatten();
    let kept = rates
        .clone()
        .filter(|per_s| lowest_knee.is_some_and(|knee| *per_s <= knee));
    kept.max().or(rates.min())
}

/// The valid run at a rate whose P99 is the median.
fn typical_run<'a>(page: &'a Page, id: &str, per_s: u32) -> Option<&'a Latencies> {
    let is_meant = |run: &&Run| {
        let cell = &run.cell;
        cell.kind == Kind::Rate && cell.per_s == Some(per_s) && cell.subject == id
    };
    let valid = |run: &&Run| run.failure.is_none() && run.invalid_because.is_empty();
    let runs = page.record.runs.values().filter(is_meant).filter(valid);
    let mut by_p99: Vec<(f64, &Latencies)> = runs
        .filter_map(|run| {
            let latencies = &run.convergence.as_ref()?.observed_from_intended;
            Some((latencies.quantiles()?.p99_ms, latencies))
        })
        .collect();
    by_p99.sort_by(|a, b| a.0.total_cmp(&b.0));
    Some(by_p99.get(by_p99.len().checked_sub(1)? / 2)?.1)
}

/// Time in ms, and the percentage of objects that take longer; by time.
fn curve(latencies: &Latencies) -> Vec<(f64, f64)> {
    let steps = (0..=120).map(|n| 10_f64.powf(-3.0 * f64::from(n) / 120.0));
    let count = latencies.count() as f64;
    let points = steps.filter(|left| *left >= (1.0 / count).max(LEAST_LEFT));
    let points = points.filter_map(|left| Some((latencies.at_ms(1.0 - left)?, left * 100.0)));
    let mut points: Vec<(f64, f64)> = points.collect();
    points.dedup_by(|a, b| a.0 == b.0);
    points
}
