//! Ratios between subjects, metric by metric, over runs of the same repeat.
//!
//! Guarantees: only valid runs are compared; with fewer than two pairs there is no interval; a
//! difference within the noise floor of its metric is not one.
//! Leaves to others: the arithmetic (`statistics`).

use serde::Serialize;
use serde_json::Value;

use crate::analyse::noise;
use crate::analyse::noise::NoiseFloor;
use crate::analyse::statistics::ratio_of_pairs;
use crate::report::summary::{Run, Subject, Summary};

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

/// What is compared: the cell and the path of the figure within its runs. Requests come from the
/// bursts where the server counts them beside a measurement, and else from the audited runs.
pub const METRICS: [(&str, &str); 22] = [
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
    ("burst", "cpu.idle_ms_per_minute"),
    ("burst", "api_server_cpu_s"),
    ("burst", "datastore.written_bytes_per_object"),
    ("request-count", "requests.writes_per_object"),
    ("request-count", "requests.reads_per_object"),
    ("request-count", "write_span.p99_ms"),
    ("steady", "convergence.observed.p99_ms"),
    ("steady", "convergence.ready.p99_ms"),
];

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
            .filter(|s| !left.iter().any(|l| l.id() == s.id()));
        for against in others {
            let pair = METRICS
                .iter()
                .filter_map(|(cell, metric)| compare(subject, against, cell, metric, summary))
                .map(|comparison| noise::judge(comparison, floors));
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
    let pairs = pairs(
        &by_repeat(subject, cell, objects, metric),
        &by_repeat(against, cell, objects, metric),
    );
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

/// A figure of the valid runs of a cell, by repeat.
pub fn by_repeat(subject: &Subject, cell: &str, objects: usize, metric: &str) -> Vec<(u32, f64)> {
    let same = |run: &&Run| run.valid && run.cell == cell && run.objects == objects;
    let runs = subject.runs.iter().filter(same);
    runs.filter_map(|run| Some((run.repeat, figure(run, metric)?)))
        .collect()
}

/// Figures of the same repeat side by side.
pub fn pairs(ours: &[(u32, f64)], theirs: &[(u32, f64)]) -> Vec<(f64, f64)> {
    let partner = |repeat: &u32| theirs.iter().find(|(r, _)| r == repeat).map(|(_, v)| *v);
    ours.iter()
        .filter_map(|(repeat, ours)| Some((*ours, partner(repeat)?)))
        .collect()
}

/// A figure of a run by its path, as it is in `summary.json`.
pub fn figure(run: &Run, path: &str) -> Option<f64> {
    let run = serde_json::to_value(run).ok()?;
    path.split('.')
        .try_fold(&run, |value: &Value, key| value.get(key))?
        .as_f64()
}
