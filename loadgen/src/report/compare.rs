//! Ratios between subjects, metric by metric, over runs of the same repeat.
//!
//! Guarantees: only valid runs are compared; with fewer than two pairs there is no interval.
//! Leaves to others: the arithmetic (`statistics`).

use serde::Serialize;
use serde_json::Value;

use super::summary::{Run, Subject, Summary};
use crate::statistics::ratio_of_pairs;

#[derive(Debug, Clone, Serialize)]
pub struct Comparison {
    /// Path of the figure within a run.
    pub metric: &'static str,
    pub cell: &'static str,
    pub objects: usize,
    pub subject: String,
    pub against: String,
    pub ratio: f64,
    pub ci95: Option<[f64; 2]>,
    pub pairs: usize,
    pub beyond_noise: Option<bool>,
}

const METRICS: [(&str, &str); 16] = [
    ("burst", "memory.empty.rss_bytes"),
    ("burst", "memory.settled.rss_bytes"),
    ("burst", "memory.settled.anon_bytes"),
    ("burst", "memory.burst.peak_bytes"),
    ("burst", "memory.restart.rss_bytes"),
    ("burst", "memory.restart.peak_bytes"),
    ("burst", "memory.deleted.rss_bytes"),
    ("burst", "cpu.converge_s"),
    ("burst", "cpu.restart_s"),
    ("burst", "convergence.drain_s"),
    ("burst", "requests.writes_per_object"),
    ("burst", "requests.reads_per_object"),
    ("burst", "requests.wire_bytes_per_object"),
    ("burst", "spawn_to_canary_ms"),
    ("steady", "convergence.observed.p99_ms"),
    ("steady", "convergence.ready.p99_ms"),
];

/// Ours against the others at the largest size, or the first subject where none is ours.
pub fn comparisons(summary: &Summary) -> Vec<Comparison> {
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
            .filter(|s| !left.iter().any(|l| l.id() == s.id()));
        for against in others {
            let pair = METRICS
                .iter()
                .filter_map(|(cell, metric)| compare(subject, against, cell, metric, summary));
            all.extend(pair);
        }
    }
    all
}

fn compare(
    subject: &Subject,
    against: &Subject,
    cell: &'static str,
    metric: &'static str,
    summary: &Summary,
) -> Option<Comparison> {
    let of_cell = |run: &&Run| run.cell == cell && run.valid;
    let objects = subject
        .runs
        .iter()
        .filter(of_cell)
        .map(|run| run.objects)
        .max()?;
    let runs = |s: &Subject| -> Vec<(u32, f64)> {
        let same = s
            .runs
            .iter()
            .filter(of_cell)
            .filter(|run| run.objects == objects);
        same.filter_map(|run| Some((run.repeat, figure(run, metric)?)))
            .collect()
    };
    let theirs = runs(against);
    let pairs: Vec<(f64, f64)> = runs(subject)
        .into_iter()
        .filter_map(|(repeat, ours)| Some((ours, theirs.iter().find(|(r, _)| *r == repeat)?.1)))
        .collect();
    let ratio = ratio_of_pairs(&pairs, summary.scenario.seed)?;
    Some(Comparison {
        metric,
        cell,
        objects,
        subject: subject.id(),
        against: against.id(),
        ratio: ratio.ratio,
        ci95: ratio.ci95,
        pairs: ratio.pairs,
        beyond_noise: None,
    })
}

/// A figure of a run by its path, as it is in `summary.json`.
pub fn figure(run: &Run, path: &str) -> Option<f64> {
    let run = serde_json::to_value(run).ok()?;
    path.split('.')
        .try_fold(&run, |value: &Value, key| value.get(key))?
        .as_f64()
}
