//! The noise floor: the ratio of two measurements of the same subject (A/A), metric by metric.
//!
//! Guarantees: pure; a floor comes from A/A runs alone, in which a subject is measured twice in
//! every repeat; without an interval there is no floor. Leaves to others: the
//! arithmetic (`statistics`).

use crate::metric::compare::{by_repeat, of_one_size, pairs};
use crate::metric::statistics::ratio_of_pairs;
use crate::record::summary::{Comparison, NoiseFloor, Summary};

/// The largest ratio that noise explains, upwards or downwards; `None` without an interval.
pub fn largest_ratio(floor: &NoiseFloor) -> Option<f64> {
    let [low, high] = floor.ci95?;
    Some(high.max(1.0 / low))
}

/// The floors of all metrics that the A/A runs have.
pub fn floors(summary: &Summary) -> Vec<NoiseFloor> {
    let mut floors = Vec::new();
    for subject in &summary.subjects {
        for (kind, metric) in of_one_size() {
            let Some(second) = kind.second() else {
                continue;
            };
            let seconds = subject.runs.iter().filter(|run| run.cell == second);
            let Some(objects) = seconds.map(|run| run.objects).max() else {
                continue;
            };
            let of = |cell| by_repeat(subject, cell, objects, &metric.id);
            let ratio = ratio_of_pairs(&pairs(&of(kind), &of(second)), summary.scenario.seed);
            floors.extend(ratio.map(|(ratio, pairs)| NoiseFloor {
                metric: metric.id.clone(),
                cell: kind,
                ratio: ratio.ratio,
                ci95: ratio.ci95,
                pairs,
            }));
        }
    }
    floors
}

/// A difference is significant when it is larger than noise explains and its 95 % interval
/// excludes 1.
pub fn judge(mut comparison: Comparison, floors: &[NoiseFloor]) -> Comparison {
    let floor = floors
        .iter()
        .find(|f| f.cell == comparison.cell && f.metric == comparison.metric);
    let noise = floor.and_then(largest_ratio);
    comparison.significant =
        noise.map(|noise| is_significant(comparison.ratio, comparison.ci95, noise));
    comparison
}

/// Whether a ratio is larger than noise explains, upwards or downwards, and its interval excludes 1.
pub fn is_significant(ratio: f64, ci95: Option<[f64; 2]>, noise: f64) -> bool {
    let undecided = ci95.is_none_or(|[low, high]| low <= 1.0 && high >= 1.0);
    ratio.max(1.0 / ratio) > noise && !undecided
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::cell::Kind;

    const SHOWN: &str = "memory.settled.rss_bytes";

    fn comparison(ratio: f64, ci95: Option<[f64; 2]>) -> Comparison {
        Comparison {
            metric: SHOWN.to_owned(),
            cell: Kind::Memory,
            objects: 5_000,
            subject: "a/x".into(),
            against: "b/y".into(),
            ratio,
            ci95,
            pairs: 5,
            significant: None,
        }
    }

    fn floor(ci95: Option<[f64; 2]>) -> NoiseFloor {
        NoiseFloor {
            metric: SHOWN.to_owned(),
            cell: Kind::Memory,
            ratio: 1.0,
            ci95,
            pairs: 5,
        }
    }

    #[test]
    fn a_difference_within_the_floor_is_not_significant() {
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
            assert_eq!(judged.significant, want, "{ratio} {ci95:?}");
        }
    }

    #[test]
    fn without_a_floor_nothing_is_said() {
        let clear = comparison(0.07, Some([0.06, 0.08]));
        assert_eq!(judge(clear.clone(), &[]).significant, None);
        assert_eq!(judge(clear.clone(), &[floor(None)]).significant, None);
        let at_rate = Comparison {
            cell: Kind::Rate,
            ..clear
        };
        let floor = [floor(Some([0.9, 1.1]))];
        assert_eq!(judge(at_rate, &floor).significant, None, "another cell");
    }
}
