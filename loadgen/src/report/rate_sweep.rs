//! The rate sweep of a subject: its points, its knee, and the table.
//!
//! Guarantees: only valid runs; a quantile is the median of the runs' quantiles. A run that failed counts as not kept
//! up. A rate without a valid run is a row with the reason. Leaves to others: what keeping up is (`metric::at_rate`), and
//! a knee (`metric::knee`).

use crate::metric::at_rate::{achieved_per_s, kept_up, ready_span_s};
use crate::metric::knee::knee;
use crate::metric::statistics::median;
use crate::model::cell::Kind;
use crate::model::record;
use crate::model::summary::{RateOutcome, RatePoint, RateSweep, Subject, Summary};
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
    let converged: Vec<&record::Convergence> = runs
        .iter()
        .filter_map(|run| run.convergence.as_ref())
        .collect();
    let of = |read: &dyn Fn(&record::Convergence) -> Option<f64>| -> Vec<f64> {
        converged.iter().filter_map(|c| read(c)).collect()
    };
    let observed = |c: &record::Convergence| c.observed_from_intended.quantiles();
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
            point.outcome.words().to_owned(),
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
    use crate::metric::at_rate::tests;
    use crate::model::summary::{Knee, LimitedBy};

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
