//! A file of limits from what was measured: a starting point for the gate of a CI.
//!
//! Guarantees: pure; each bound follows from mean and margin as [`Limits`](crate::metric::limits::Limits) asks for,
//! and the margin is never below the spread. No times: they differ from machine to machine. What was not measured
//! has no limit. Leaves to others: judging (`judge`).

use std::fmt::Write;

use crate::metric;
use crate::metric::Metric;
use crate::metric::limits::Basis;
use crate::plan::cell::Kind;
use crate::record::summary::{Subject, Summary};

/// Where the runs agree more closely than the next ones will.
const SHARE_OF_MEAN: f64 = 0.1;
const SPREADS: f64 = 2.0;

/// The text of a file with a limit for each figure of each subject at its largest size.
pub fn limits(summary: &Summary, folder: &str) -> String {
    let mut text = format!(
        "# Suggested by `loadgen check {folder} --suggest`. A margin is twice the spread or a tenth of the mean, \
         whichever is more, and has a least value.\n"
    );
    for subject in &summary.subjects {
        for metric in metric::all() {
            if let Some((kind, objects, basis)) = measured(subject, metric) {
                let _ = write!(
                    text,
                    "\n[[limit]]\nsubject = \"{}\"\nmetric = \"{}\"\ncell = \"{}\"\nobjects = {objects}\nmax = {}\n\
                     mean = {}\nspread = {}\nruns = {}\nmargin = {}\n",
                    subject.id(),
                    metric.id,
                    kind.name(),
                    decimal(basis.mean + basis.margin),
                    basis.mean,
                    basis.spread,
                    basis.runs,
                    basis.margin,
                );
            }
        }
    }
    text
}

/// A figure at the largest size of the first of its kinds of runs that has it.
fn measured(subject: &Subject, metric: &Metric) -> Option<(Kind, usize, Basis)> {
    let least = metric.least_margin?;
    metric.kinds.iter().find_map(|kind| {
        let of_kind = subject
            .runs
            .iter()
            .filter(|run| run.valid && run.cell == *kind);
        let runs: Vec<(usize, f64)> = of_kind
            .filter_map(|run| Some((run.objects, run.value(&metric.id)?)))
            .collect();
        let largest = runs.iter().map(|(objects, _)| *objects).max()?;
        let at_largest = runs.iter().filter(|(objects, _)| *objects == largest);
        let values: Vec<f64> = at_largest.map(|(_, value)| *value).collect();
        Some((*kind, largest, basis(&values, least)?))
    })
}

fn basis(values: &[f64], least: f64) -> Option<Basis> {
    let runs = u32::try_from(values.len()).ok().filter(|runs| *runs > 0)?;
    let most = values.iter().copied().fold(f64::MIN, f64::max);
    let fewest = values.iter().copied().fold(f64::MAX, f64::min);
    let mean = decimal(values.iter().sum::<f64>() / f64::from(runs));
    let spread = decimal(most - fewest);
    let margin = (SPREADS * spread).max(SHARE_OF_MEAN * mean).max(least);
    Some(Basis {
        mean,
        spread,
        runs,
        margin: decimal(margin),
    })
}

/// With three decimals, as a file of limits is read.
fn decimal(number: f64) -> f64 {
    (number * 1_000.0).round() / 1_000.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::judge;
    use crate::metric::limits::Limits;
    use crate::record::summary::{Run, sample};

    #[test]
    fn a_margin_is_twice_the_spread_a_tenth_of_the_mean_or_the_least() {
        let margin = |values: &[f64], least| basis(values, least).map(|basis| basis.margin);
        assert_eq!(margin(&[100.0, 120.0], 1.0), Some(40.0));
        assert_eq!(margin(&[100.0, 100.0], 1.0), Some(10.0));
        assert_eq!(margin(&[0.0], 1.0), Some(1.0));
        assert_eq!(margin(&[], 1.0), None);
    }

    #[test]
    fn what_is_suggested_is_a_file_of_limits_that_its_own_runs_are_within() {
        let run = |objects, repeat, bytes| {
            let run = Run::without_figures(Kind::Memory, objects, repeat, vec![]);
            let run = run.with("memory.settled.anon_bytes", f64::from(bytes));
            run.with("memory.settled.rss_bytes", f64::from(bytes))
        };
        let summary = sample(vec![
            run(100, 1, 900_000),
            run(300, 1, 1_000_001),
            run(300, 2, 1_200_000),
        ]);
        let limits = Limits::parse("suggested", &limits(&summary, "mine")).expect("valid");
        assert!(limits.all.iter().all(|limit| limit.basis.runs == 2));
        let judged = judge::judge(&limits, &summary).expect("known subjects");
        assert_eq!(judged.len(), 2, "anonymous and resident bytes");
        assert!(judged.iter().all(|judgement| !judgement.falls_short()));
    }
}
