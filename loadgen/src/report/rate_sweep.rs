//! The rate sweep of a subject: its points, its knee, and the table.
//!
//! Guarantees: only valid runs; a quantile is the median of the runs' quantiles. A run that failed at
//! its deadline counts as not kept up. Leaves to others: what a knee is (`analyse::knee`).

use crate::analyse::knee::{AtRate, knee};
use crate::analyse::statistics::median;
use crate::model::cell::Kind;
use crate::model::record;
use crate::model::summary::{RatePoint, RateSweep, Subject, Summary};
use crate::report::table::{Table, figure, grouped};

/// The sweep of one subject; `None` where it has no run at a rate.
pub fn rate_sweep<'a>(
    runs: impl Iterator<Item = &'a record::Run>,
    cores: Option<usize>,
) -> Option<RateSweep> {
    let runs: Vec<&record::Run> = runs.filter(|run| run.cell.kind == Kind::Rate).collect();
    let mut rates: Vec<(u32, usize)> = runs
        .iter()
        .filter_map(|run| Some((run.cell.per_s?, run.cell.objects)))
        .collect();
    rates.sort_unstable();
    rates.dedup();
    let mut points: Vec<RatePoint> = Vec::new();
    for (per_s, objects) in rates {
        let of_rate = runs.iter().copied().filter(|run| {
            run.cell.per_s == Some(per_s)
                && run.cell.objects == objects
                && run.invalid_because.is_empty()
                && (run.failure.is_none() || run.convergence.is_some())
        });
        // A rate without a valid run says nothing about those above it.
        let mut measured = points.iter().rev().filter(|point| point.runs > 0);
        let below = measured.next().is_none_or(|point| point.kept_up);
        points.push(point(
            per_s,
            objects,
            &of_rate.collect::<Vec<_>>(),
            below,
            cores,
        ));
    }
    let knee = knee(&points, cores);
    (!points.is_empty()).then_some(RateSweep { points, knee })
}

fn point(
    per_s: u32,
    objects: usize,
    runs: &[&record::Run],
    kept_up_below: bool,
    cores: Option<usize>,
) -> RatePoint {
    let converged: Vec<&record::Convergence> = runs
        .iter()
        .filter_map(|run| run.convergence.as_ref())
        .collect();
    let of = |read: &dyn Fn(&record::Convergence) -> Option<f64>| -> Vec<f64> {
        converged.iter().filter_map(|c| read(c)).collect()
    };
    let observed = |c: &record::Convergence| c.observed_from_intended.quantiles();
    let kept = converged
        .iter()
        .filter(|c| at_rate(per_s, c).kept_up())
        .count();
    let share = |cpu_s: &dyn Fn(&record::Run) -> Option<f64>| {
        let shares = runs.iter().filter_map(|run| {
            let wall_s = run.convergence.as_ref()?.drain_s?;
            Some(cpu_s(run)? / (wall_s * cores? as f64))
        });
        median(&shares.collect::<Vec<_>>())
    };
    RatePoint {
        per_s,
        objects,
        runs: converged.len() as u32,
        achieved_per_s: median(&of(&|c| Some(achieved_per_s(c)))),
        p50_ms: median(&of(&|c| Some(observed(c)?.p50_ms))),
        p99_ms: median(&of(&|c| Some(observed(c)?.p99_ms))),
        max_ms: of(&|c| Some(observed(c)?.max_ms))
            .into_iter()
            .reduce(f64::max),
        censored: converged.iter().map(|c| c.censored).sum(),
        kept_up: kept_up_below && kept * 2 > converged.len(),
        server_cpu_share: share(&|run| Some(run.api_server_cpu_s? + run.generator_cpu_s?)),
        subject_cpu_share: share(&|run| run.converge_cpu_s),
    }
}

fn at_rate(per_s: u32, convergence: &record::Convergence) -> AtRate {
    let observed = convergence.observed_from_intended.quantiles();
    AtRate {
        per_s: f64::from(per_s),
        achieved_per_s: achieved_per_s(convergence),
        p99_ms: observed.map(|quantiles| quantiles.p99_ms),
        censored: convergence.censored,
        backlog_grew: convergence.saturated,
    }
}

/// Objects that became ready per second, from the first to the last of them, so that a delay that is the
/// same for all does not count. The first is ready after about the shortest latency of all; where some
/// were not ready in time, the time is the sending and the longest latency.
fn achieved_per_s(convergence: &record::Convergence) -> f64 {
    let ready = convergence.ready_from_intended.count();
    let longest_s = || {
        let quantiles = convergence.ready_from_intended.quantiles();
        quantiles.map_or(0.0, |quantiles| quantiles.max_ms / 1e3)
    };
    let last_s = convergence
        .drain_s
        .unwrap_or_else(|| convergence.offer_s + longest_s());
    let first_s = convergence.ready_from_intended.least_ms().unwrap_or(0.0) / 1e3;
    match last_s - first_s {
        span_s if span_s > 0.0 && ready > 1 => (ready - 1) as f64 / span_s,
        _ => 0.0,
    }
}

/// One row for each subject and rate; `None` without a sweep.
pub fn table(summary: &Summary) -> Option<Table> {
    let rows: Vec<Vec<String>> = summary.subjects.iter().flat_map(rows).collect();
    let header = [
        "",
        "offered, /s",
        "objects",
        "runs",
        "achieved, /s",
        "P50, ms",
        "P99, ms",
        "longest, ms",
        "censored",
        "kept up",
        "server, % of CPU",
        "subject, % of CPU",
    ];
    (!rows.is_empty()).then(|| Table {
        title: "Rate sweep: from the intended send until observed; P50 and P99 are medians of the runs' P50 and P99; server is with datastore and generator".into(),
        header: header.map(str::to_owned).to_vec(),
        rows,
    })
}

fn rows(subject: &Subject) -> Vec<Vec<String>> {
    let points = subject.rate_sweep.iter().flat_map(|sweep| &sweep.points);
    let percent = |share: Option<f64>| figure(share.map(|share| share * 100.0));
    let row = |point: &RatePoint| {
        vec![
            subject.id(),
            point.per_s.to_string(),
            grouped(point.objects),
            point.runs.to_string(),
            figure(point.achieved_per_s),
            figure(point.p50_ms),
            figure(point.p99_ms),
            figure(point.max_ms),
            grouped(point.censored as usize),
            match (point.runs, point.kept_up) {
                (0, _) => "no valid run",
                (_, true) => "yes",
                (_, false) => "no",
            }
            .to_owned(),
            percent(point.server_cpu_share),
            percent(point.subject_cpu_share),
        ]
    };
    points.map(row).collect()
}

/// The knee of each subject; `None` without a sweep.
pub fn knees(summary: &Summary) -> Option<Table> {
    let rows: Vec<Vec<String>> = summary
        .subjects
        .iter()
        .filter_map(|subject| {
            let knee = &subject.rate_sweep.as_ref()?.knee;
            let per_s = knee
                .per_s
                .map_or_else(|| figure(None), |per_s| per_s.to_string());
            let words = knee.limited_by.words().to_owned();
            Some(vec![subject.id(), per_s, words, knee.because.clone()])
        })
        .collect();
    (!rows.is_empty()).then(|| Table {
        title: "Knee: the highest rate that was kept up".into(),
        header: ["", "knee, /s", "limit", "because"]
            .map(str::to_owned)
            .to_vec(),
        rows,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyse::convergence::{Timetable, convergence};
    use crate::model::cell::Cell;
    use crate::model::samples::Sample;

    /// Ten objects at this rate, each observed and ready 5 ms after it was sent.
    fn run(per_s: u32, invalid: bool) -> record::Run {
        let sample = |index: u64| {
            let sent_us = index * 1_000_000 / u64::from(per_s);
            Sample {
                intended_us: Some(sent_us),
                sent_us: Some(sent_us),
                acked_us: Some(sent_us + 1_000),
                observed_us: Some(sent_us + 5_000),
                ready_us: Some(sent_us + 5_000),
            }
        };
        let samples: Vec<Sample> = (0..10).map(sample).collect();
        let mut run = record::Run::empty(&Cell {
            subject: "a/x".into(),
            objects: 10,
            repeat: 1,
            kind: Kind::Rate,
            per_s: Some(per_s),
        });
        run.convergence = Some(convergence(&samples, Timetable::AtRate));
        run.invalid_because = Vec::from_iter(invalid.then(|| "other programs".to_owned()));
        run
    }

    #[test]
    fn a_rate_without_a_valid_run_limits_nothing() {
        let runs = [run(5, false), run(10, true), run(20, false)];
        let sweep = rate_sweep(runs.iter(), Some(2)).expect("runs at rates");
        let of = |point: &RatePoint| (point.runs, point.achieved_per_s.is_some(), point.kept_up);
        let points: Vec<_> = sweep.points.iter().map(of).collect();
        assert_eq!(
            points,
            [(1, true, true), (0, false, false), (1, true, true)]
        );
        assert_eq!(sweep.knee.per_s, Some(20), "{}", sweep.knee.because);
    }
}
