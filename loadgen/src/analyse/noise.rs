//! The noise floor: how far apart two measurements of one subject are, metric by metric.
//!
//! Guarantees: pure; a floor comes from a twin that was measured beside its subject, repeat by
//! repeat, and not from any other runs; without an interval there is none. Leaves to others: the
//! arithmetic (`statistics`).

use serde::Serialize;

use crate::analyse::compare::{Comparison, METRICS, by_repeat, pairs};
use crate::analyse::statistics::ratio_of_pairs;
use crate::report::summary::Summary;

/// The metric whose floor stands in the summary.
pub const SHOWN: &str = "memory.settled.rss_bytes";

/// The ratio between a subject and itself.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NoiseFloor {
    pub metric: &'static str,
    pub ratio: f64,
    pub ci95: Option<[f64; 2]>,
    pub pairs: usize,
}

impl NoiseFloor {
    /// The largest ratio that noise explains, upwards or downwards; `None` without an interval.
    pub fn largest_ratio(&self) -> Option<f64> {
        let [low, high] = self.ci95?;
        Some(high.max(1.0 / low))
    }
}

/// The floors of all metrics that the twin has.
pub fn floors(summary: &Summary) -> Vec<NoiseFloor> {
    let mut floors = Vec::new();
    for subject in &summary.subjects {
        let twins = || subject.runs.iter().filter(|run| run.cell == "a-a");
        let Some(objects) = twins().map(|run| run.objects).max() else {
            continue;
        };
        for (_, metric) in METRICS.iter().filter(|(cell, _)| *cell == "burst") {
            let of = |cell| by_repeat(subject, cell, objects, metric);
            let ratio = ratio_of_pairs(&pairs(&of("burst"), &of("a-a")), summary.scenario.seed);
            floors.extend(ratio.map(|ratio| NoiseFloor {
                metric,
                ratio: ratio.ratio,
                ci95: ratio.ci95,
                pairs: ratio.pairs,
            }));
        }
    }
    floors
}

/// A difference is one when it is larger than noise explains and its own interval does not hold 1.
pub fn judge(mut comparison: Comparison, floors: &[NoiseFloor]) -> Comparison {
    let floor = floors
        .iter()
        .find(|f| comparison.cell == "burst" && f.metric == comparison.metric);
    let noise = floor.and_then(NoiseFloor::largest_ratio);
    comparison.beyond_noise = noise.map(|noise| {
        let ratio = comparison.ratio.max(1.0 / comparison.ratio);
        let undecided = comparison
            .ci95
            .is_none_or(|[low, high]| low <= 1.0 && high >= 1.0);
        ratio > noise && !undecided
    });
    comparison
}

#[cfg(test)]
mod tests {
    use super::*;

    fn comparison(ratio: f64, ci95: Option<[f64; 2]>) -> Comparison {
        Comparison {
            metric: SHOWN,
            cell: "burst",
            objects: 5_000,
            subject: "a/x".into(),
            against: "b/y".into(),
            ratio,
            ci95,
            pairs: 5,
            beyond_noise: None,
        }
    }

    fn floor(ci95: Option<[f64; 2]>) -> NoiseFloor {
        NoiseFloor {
            metric: SHOWN,
            ratio: 1.0,
            ci95,
            pairs: 5,
        }
    }

    #[test]
    fn a_difference_within_the_floor_is_none() {
        let floor = [floor(Some([0.95, 1.02]))];
        for (ratio, ci95, want) in [
            (0.07, Some([0.06, 0.08]), Some(true)),
            (1.20, Some([1.10, 1.30]), Some(true)),
            (1.04, Some([1.03, 1.05]), Some(false)),
            (0.97, Some([0.96, 0.98]), Some(false)),
            (0.50, Some([0.20, 1.30]), Some(false)),
            (0.50, None, Some(false)),
        ] {
            let judged = judge(comparison(ratio, ci95), &floor);
            assert_eq!(judged.beyond_noise, want, "{ratio} {ci95:?}");
        }
    }

    #[test]
    fn without_a_floor_nothing_is_said() {
        let clear = comparison(0.07, Some([0.06, 0.08]));
        assert_eq!(judge(clear.clone(), &[]).beyond_noise, None);
        assert_eq!(judge(clear.clone(), &[floor(None)]).beyond_noise, None);
        let steady = Comparison {
            cell: "steady",
            ..clear
        };
        let floor = [floor(Some([0.9, 1.1]))];
        assert_eq!(judge(steady, &floor).beyond_noise, None, "another cell");
    }
}
