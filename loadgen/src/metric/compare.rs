//! Ratios between subjects, metric by metric, over runs of the same repeat.
//!
//! Guarantees: only valid runs are compared; with fewer than two pairs there is no interval; a
//! difference within the noise floor of its metric is not significant.
//! Leaves to others: the arithmetic (`statistics`).

use crate::metric;
use crate::metric::Metric;
use crate::metric::noise;
use crate::metric::statistics::ratio_of_pairs;
use crate::plan::cell::Kind;
use crate::record::summary::{Comparison, NoiseFloor, Run, Subject, Summary};

/// Ours against the others at the largest size, or the first subject where none is ours.
pub fn comparisons(summary: &Summary, floors: &[NoiseFloor]) -> Vec<Comparison> {
    let ours = |subject: &&Subject| subject.name == "tare";
    let mut left: Vec<&Subject> = summary.subjects.iter().filter(ours).collect();
    if left.is_empty() {
        left.extend(summary.subjects.first());
    }
    let mut all = Vec::new();
    for subject in &left {
        let others = summary
            .subjects
            .iter()
            .filter(|s| !left.iter().any(|l| l.id() == s.id()))
            .filter(|s| s.workload == subject.workload);
        for against in others {
            let pair = of_one_size()
                .filter_map(|(cell, metric)| compare(subject, against, cell, &metric.id, summary))
                .map(|comparison| noise::judge(comparison, floors));
            all.extend(pair);
        }
    }
    all
}

/// Compared figures of runs whose size says what was done: not of runs at a rate.
pub fn of_one_size() -> impl Iterator<Item = (Kind, &'static Metric)> {
    metric::compared().filter(|(kind, _)| *kind != Kind::Rate)
}

fn compare(
    subject: &Subject,
    against: &Subject,
    cell: Kind,
    metric: &str,
    summary: &Summary,
) -> Option<Comparison> {
    let of_cell = |run: &&Run| run.cell == cell && run.valid;
    let objects = subject
        .runs
        .iter()
        .filter(of_cell)
        .map(|run| run.objects)
        .max()?;
    let pairs = pairs(
        &by_repeat(subject, cell, objects, metric),
        &by_repeat(against, cell, objects, metric),
    );
    let (ratio, pairs) = ratio_of_pairs(&pairs, summary.scenario.seed)?;
    Some(Comparison {
        metric: metric.to_owned(),
        cell,
        objects,
        subject: subject.id(),
        against: against.id(),
        ratio: ratio.ratio,
        ci95: ratio.ci95,
        pairs,
        significant: None,
    })
}

/// A figure of the valid runs of a cell, by repeat.
pub fn by_repeat(subject: &Subject, cell: Kind, objects: usize, path: &str) -> Vec<(u32, f64)> {
    subject
        .valid_runs(cell, objects)
        .filter_map(|run| Some((run.repeat, run.value(path)?)))
        .collect()
}

/// Figures of the same repeat side by side.
pub fn pairs(ours: &[(u32, f64)], theirs: &[(u32, f64)]) -> Vec<(f64, f64)> {
    let partner = |repeat: &u32| theirs.iter().find(|(r, _)| r == repeat).map(|(_, v)| *v);
    ours.iter()
        .filter_map(|(repeat, ours)| Some((*ours, partner(repeat)?)))
        .collect()
}
