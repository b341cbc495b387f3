//! What a subject does at rising rates: the points and the knee of its sweep, and how latencies are distributed.
//!
//! Guarantees: only valid runs; a quantile is the median of the runs' quantiles, and a curve is one run: runs are not
//! pooled. A run that failed counts as not kept up. A rate without a valid run is a row with the reason. Leaves to others:
//! what keeping up is (`metric::at_rate`), and a knee (`metric::knee`).

use crate::metric::at_rate;
use crate::metric::at_rate::{achieved_per_s, kept_up, ready_span_s};
use crate::metric::knee::knee;
use crate::metric::statistics::median;
use crate::plan::cell::Kind;
use crate::record;
use crate::record::latency::Latencies;
use crate::record::summary::{RateOutcome, RatePoint, RateSweep, Run, Subject, Summary};
use crate::record::{Convergence, Record};
use crate::report::chart::{Axis, Chart, Line};
use crate::report::rows::{marked, slot};
use crate::report::table::{Table, figure, grouped};
use crate::report::{Block, Drawings, Figure, Section};

/// Curves of latencies end where this share of the objects is left.
const LEAST_LEFT: f64 = 0.001;

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
    let points = rates.into_iter().map(|(per_s, objects)| {
        let of_rate = runs.iter().copied();
        let of_rate =
            of_rate.filter(|run| run.cell.per_s == Some(per_s) && run.cell.objects == objects);
        point(per_s, objects, &of_rate.collect::<Vec<_>>(), cores)
    });
    let points: Vec<RatePoint> = points.collect();
    let knee = knee(&points, cores);
    (!points.is_empty()).then_some(RateSweep { points, knee })
}

/// One rate, of all `runs` at it.
fn point(per_s: u32, objects: usize, all: &[&record::Run], cores: Option<usize>) -> RatePoint {
    let valid = all.iter().copied();
    let runs: Vec<&record::Run> = valid.filter(|run| run.invalid_because.is_empty()).collect();
    let broke_off = || runs.iter().filter(|run| run.convergence.is_none());
    let outcome = match runs.is_empty() {
        true => RateOutcome::NotMeasured,
        false if kept_up(runs.iter().copied()) => RateOutcome::KeptUp,
        false if broke_off().count() * 2 >= runs.len() => RateOutcome::BrokeOff,
        false => RateOutcome::NotKeptUp,
    };
    let because = match outcome {
        RateOutcome::NotMeasured => all.iter().find_map(|run| run.invalid_because.first()),
        _ => broke_off().find_map(|run| run.failure.as_ref().map(|failure| &failure.reason)),
    };
    let converged: Vec<&Convergence> = runs
        .iter()
        .filter_map(|run| run.convergence.as_ref())
        .collect();
    let of = |read: &dyn Fn(&Convergence) -> Option<f64>| -> Vec<f64> {
        converged.iter().filter_map(|c| read(c)).collect()
    };
    let observed = |c: &Convergence| c.observed_from_intended.quantiles();
    let share = |cpu_s: &dyn Fn(&record::Run) -> Option<f64>| {
        let shares = runs.iter().filter_map(|run| {
            let span_s = ready_span_s(run.convergence.as_ref()?)?;
            Some(cpu_s(run)? / (span_s * cores? as f64))
        });
        median(&shares.collect::<Vec<_>>())
    };
    RatePoint {
        per_s,
        objects,
        runs: runs.len() as u32,
        achieved_per_s: median(&of(&achieved_per_s)),
        p50_ms: median(&of(&|c| Some(observed(c)?.p50_ms))),
        p99_ms: median(&of(&|c| Some(observed(c)?.p99_ms))),
        max_ms: of(&|c| Some(observed(c)?.max_ms))
            .into_iter()
            .reduce(f64::max),
        censored: converged.iter().map(|c| c.censored).sum(),
        outcome,
        because: because.cloned(),
        server_cpu_share: share(&|run| Some(run.api_server_cpu_s? + run.generator_cpu_s?)),
        subject_cpu_share: share(&|run| run.converge_cpu_s),
    }
}

/// The sweeps, each with its subject.
fn sweeps(summary: &Summary) -> Vec<(&Subject, &RateSweep)> {
    let subjects = summary.subjects.iter();
    subjects
        .filter_map(|subject| Some((subject, subject.rate_sweep.as_ref()?)))
        .collect()
}

pub fn section(summary: &Summary) -> Option<Section> {
    let sweeps = sweeps(summary);
    if sweeps.is_empty() {
        return None;
    }
    let knees = Table::of(
        "Knee: the highest rate that was kept up",
        &sweeps,
        &[
            ("", &|(subject, _)| subject.id()),
            ("knee, /s", &|(_, sweep)| known(sweep.knee.per_s)),
            ("limit", &|(_, sweep)| {
                sweep.knee.limited_by.words().to_owned()
            }),
            ("because", &|(_, sweep)| sweep.knee.because.clone()),
        ],
    );
    let of_sweep = sweeps.iter().flat_map(|(subject, sweep)| {
        let points = sweep.points.iter();
        points.map(|point| (*subject, point))
    });
    let of_sweep: Vec<(&Subject, &RatePoint)> = of_sweep.collect();
    let percent = |share: Option<f64>| figure(share.map(|share| share * 100.0));
    let points = Table::of(
        "Rate sweep: from the intended send until observed; P50 and P99 are medians of the runs' P50 and P99; server is with datastore and generator",
        &of_sweep,
        &[
            ("", &|(subject, _)| subject.id()),
            ("offered, /s", &|(_, point)| point.per_s.to_string()),
            ("objects", &|(_, point)| grouped(point.objects)),
            ("runs", &|(_, point)| point.runs.to_string()),
            ("achieved, /s", &|(_, point)| figure(point.achieved_per_s)),
            ("P50, ms", &|(_, point)| figure(point.p50_ms)),
            ("P99, ms", &|(subject, point)| {
                let mut runs = subject.valid_runs(Kind::Rate, point.objects);
                let is_disturbed =
                    |run: &Run| run.per_s == Some(point.per_s) && !run.disturbed_by.is_empty();
                marked(figure(point.p99_ms), runs.any(is_disturbed))
            }),
            ("longest, ms", &|(_, point)| figure(point.max_ms)),
            ("censored", &|(_, point)| grouped(point.censored as usize)),
            ("kept up", &|(_, point)| point.outcome.words().to_owned()),
            ("server, % of CPU", &|(_, point)| {
                percent(point.server_cpu_share)
            }),
            ("subject, % of CPU", &|(_, point)| {
                percent(point.subject_cpu_share)
            }),
        ],
    );
    let mut blocks = vec![Block::Sentences(vec![at_rate::rule()]), Block::Table(knees)];
    let chart = chart(summary, &sweeps);
    if chart.lines.iter().any(|line| !line.points.is_empty()) {
        blocks.push(Block::Figure(Figure {
            title: "Latency from the intended send until observed, against the achieved rate",
            words: "Solid: P99; dashed: P50; both axes are logarithmic. The circle is the knee."
                .into(),
            drawings: Drawings::Chart(Box::new(chart)),
        }));
    }
    blocks.push(Block::Table(points));
    Section::of("rate-sweep", "Latency by rate", blocks)
}

fn known(per_s: Option<u32>) -> String {
    per_s.map_or_else(|| figure(None), |per_s| per_s.to_string())
}

/// One line for the P99 and one for the P50 of each subject.
fn chart(summary: &Summary, sweeps: &[(&Subject, &RateSweep)]) -> Chart {
    let lines = sweeps.iter().flat_map(|(subject, sweep)| {
        let slot = slot(summary, &subject.id());
        let line = |latency_ms: fn(&RatePoint) -> Option<f64>| {
            let place = |point: &RatePoint| {
                let achieved_per_s = point.achieved_per_s.filter(|per_s| *per_s > 0.0)?;
                Some((achieved_per_s, latency_ms(point)?))
            };
            let mut points = sweep.points.iter();
            let at_knee = points
                .clone()
                .find(|point| Some(point.per_s) == sweep.knee.per_s);
            Line {
                slot,
                mark: at_knee.and_then(place),
                points: points.by_ref().filter_map(place).collect(),
                ..Line::default()
            }
        };
        let p99 = Line {
            name: subject.id(),
            has_dots: true,
            ..line(|point| point.p99_ms)
        };
        let p50 = Line {
            is_dashed: true,
            mark: None,
            ..line(|point| point.p50_ms)
        };
        [p99, p50]
    });
    Chart {
        id: "rate-sweep-latency".into(),
        title: "Latency from the intended send until observed, against the achieved rate".into(),
        description: "One line for the P99 and one for the P50 of each subject; the figures are in the table below.".into(),
        x: Axis::log("achieved, objects/s"),
        y: Axis::log("latency, ms"),
        lines: lines.collect(),
        ..Chart::default()
    }
}

/// How latencies are distributed, at one rate that every subject was offered.
pub fn latencies(summary: &Summary, record: &Record) -> Option<Section> {
    let per_s = shared_rate(summary)?;
    let lines = summary.subjects.iter().filter_map(|subject| {
        let id = subject.id();
        Some(Line {
            slot: slot(summary, &id),
            points: curve(typical_run(record, &id, per_s)?),
            name: id,
            ..Line::default()
        })
    });
    let chart = Chart {
        id: "latency-distribution".into(),
        title: format!("Objects that are not yet observed, by time, at {per_s} objects/s"),
        description: "One falling line for each subject, over the time since the intended send. The P99 is where a line crosses 1 %.".into(),
        x: Axis::log("since the intended send, ms"),
        y: Axis::log("not yet observed, % of objects"),
        lines: lines.collect(),
        ..Chart::default()
    };
    let figure = Figure {
        title: "Objects that are not yet observed, by time",
        words: format!(
            "At {per_s} objects/s. Both axes are logarithmic: P50 is where a line crosses 50 %, P99 where it crosses 1 %. One run of each subject, the one with the median P99."
        ),
        drawings: Drawings::Chart(Box::new(chart)),
    };
    Section::of(
        "latency",
        "Latency distribution",
        vec![Block::Figure(figure)],
    )
}

/// The highest rate that every subject with a sweep kept up, or else the lowest that was offered.
fn shared_rate(summary: &Summary) -> Option<u32> {
    let sweeps = sweeps(summary);
    let rates = || {
        sweeps
            .iter()
            .flat_map(|(_, sweep)| sweep.points.iter().map(|point| point.per_s))
    };
    let lowest_knee = sweeps
        .iter()
        .map(|(_, sweep)| sweep.knee.per_s)
        .min()
        .flatten();
    let kept = rates().filter(|per_s| lowest_knee.is_some_and(|knee| *per_s <= knee));
    kept.max().or(rates().min())
}

/// The valid run at a rate whose P99 is the median.
fn typical_run<'a>(record: &'a Record, id: &str, per_s: u32) -> Option<&'a Latencies> {
    let runs = record.runs.values().filter(|run| {
        let cell = &run.cell;
        let is_meant = cell.kind == Kind::Rate && cell.per_s == Some(per_s) && cell.subject == id;
        is_meant && run.failure.is_none() && run.invalid_because.is_empty()
    });
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::at_rate::tests;
    use crate::record::summary::{Knee, LimitedBy};

    #[test]
    fn a_rate_without_a_valid_run_is_a_row_with_its_reason() {
        let mut runs = [5, 10, 20].map(|per_s| tests::run(per_s, 1, 5));
        runs[1].invalid_because = vec!["other programs".to_owned()];
        let sweep = rate_sweep(runs.iter(), Some(2)).expect("runs at rates");
        let of = |point: &RatePoint| (point.runs, point.achieved_per_s.is_some(), point.outcome);
        let points: Vec<_> = sweep.points.iter().map(of).collect();
        assert_eq!(
            points,
            [
                (1, true, RateOutcome::KeptUp),
                (0, false, RateOutcome::NotMeasured),
                (1, true, RateOutcome::KeptUp)
            ]
        );
        assert_eq!(sweep.points[1].because.as_deref(), Some("other programs"));
        assert_eq!(sweep.knee.per_s, Some(20), "{}", sweep.knee.because);
    }

    #[test]
    fn a_rate_at_which_the_operator_crashed_was_not_kept_up() {
        let mut runs = [(40, 1), (80, 1), (80, 2)].map(|(per_s, n)| tests::run(per_s, n, 5));
        for run in &mut runs[1..] {
            run.convergence = None;
            run.failure = Some(record::Failure {
                reason: "a/x ended with exit code 137".to_owned(),
                last_log_lines: vec![],
            });
        }
        let sweep = rate_sweep(runs.iter(), Some(2)).expect("runs at rates");
        assert_eq!(sweep.points[1].outcome, RateOutcome::BrokeOff);
        let Knee {
            per_s,
            limited_by,
            because,
        } = sweep.knee;
        assert_eq!((per_s, limited_by), (Some(40), LimitedBy::BrokeOff));
        assert_eq!(because, "at 80/s: a/x ended with exit code 137");
    }
}
