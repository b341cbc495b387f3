//! The cells that follow from what was measured: the steady rate, and who is checked against
//! default flags.
//!
//! Guarantees: pure; the same runs give the same cells, so that an interrupted experiment goes on
//! as it would have. Leaves to others: running them.

use std::collections::BTreeMap;

use crate::analyse::statistics::median;
use crate::model::cell::{Cell, Kind, interleaved};
use crate::model::plan::Plan;
use crate::model::profile::Timing;
use crate::model::record::Run;
use crate::model::subject::{Language, Subject};
use crate::run::{Runs, Setting};

/// Objects per second in the bursts at the largest size, by subject; without runs that did not drain.
fn throughputs(runs: &Runs, largest: usize) -> BTreeMap<&str, Vec<f64>> {
    let mut all: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for (cell, run) in runs {
        let drained_s = run.convergence.as_ref().and_then(|c| c.drain_s);
        let drained_s = drained_s.filter(|s| *s > 0.0);
        if let Some(drained_s) = drained_s
            && (cell.kind, cell.objects) == (Kind::Burst, largest)
        {
            let per_s = cell.objects as f64 / drained_s;
            all.entry(&cell.subject).or_default().push(per_s);
        }
    }
    all
}

/// Objects and rate of the steady cells, from the slowest subject's mean burst throughput.
pub fn steady_offer(runs: &Runs, setting: &Setting) -> Option<(usize, f64)> {
    let mean = |per_s: &Vec<f64>| per_s.iter().sum::<f64>() / per_s.len() as f64;
    let bursts = throughputs(runs, setting.largest);
    let per_s = bursts.values().map(mean).min_by(f64::total_cmp)? * 0.6;
    let seconds = Timing::of(setting.profile).offer_s as f64;
    let objects = ((per_s * seconds) as usize)
        .clamp(100, 100_000)
        .min(setting.largest);
    (objects > 0).then_some((objects, per_s))
}

/// A subject that failed its burst has no place in a comparison at a rate.
pub fn steady_cells(plan: &Plan, runs: &Runs, setting: &Setting, objects: usize) -> Vec<Cell> {
    let bursts = throughputs(runs, setting.largest);
    let mut subjects = plan.ids();
    subjects.retain(|id| bursts.contains_key(id.as_str()));
    interleaved(
        &subjects,
        &[(objects, plan.repeats)],
        Kind::Steady,
        setting.seed,
    )
}

/// Ours, and of the others the one with the lowest settled memory (one in Go, where there is one),
/// once each at the largest size.
pub fn default_flags_cells(plan: &Plan, runs: &Runs) -> Vec<Cell> {
    let Some(ours) = plan
        .ours()
        .filter(|_| plan.default_flags && plan.largest() > 0)
    else {
        return Vec::new();
    };
    let settled_bytes = |subject: &Subject| {
        let id = subject.id();
        let own = |cell: &Cell| {
            cell.subject == id && (cell.kind, cell.objects) == (Kind::Burst, plan.largest())
        };
        let settled = |run: &Run| Some(run.memory.settled?.rss_bytes as f64);
        let all = runs
            .iter()
            .filter(|(cell, run)| own(cell) && run.failure.is_none());
        median(&all.filter_map(|(_, run)| settled(run)).collect::<Vec<_>>())
    };
    let rivals = || {
        plan.subjects
            .iter()
            .filter(|s| s.id() != ours && s.name != "tare")
    };
    let any_go = rivals().any(|s| s.language == Language::Go);
    let candidates = rivals()
        .filter(|s| !any_go || s.language == Language::Go)
        .filter_map(|s| Some((settled_bytes(s)?, s.id())));
    let best = candidates.min_by(|(a, _), (b, _)| a.total_cmp(b));
    let subjects = std::iter::once(ours.clone()).chain(best.map(|(_, id)| id));
    let cell = |subject| Cell {
        subject,
        objects: plan.largest(),
        repeat: 1,
        kind: Kind::DefaultFlags,
    };
    subjects.map(cell).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::subject::built_in;
    use crate::run::session::empty_run;
    use tare_procstat::Memory;

    fn subject(name: &str, language: Language) -> Subject {
        let mut subject = built_in().expect("valid").remove(0);
        (subject.name, subject.language) = (name.into(), language);
        subject
    }

    fn plan(subjects: &[(&str, Language)]) -> Plan {
        let all = subjects
            .iter()
            .map(|(name, language)| subject(name, *language));
        Plan {
            subjects: all.collect(),
            sizes: vec![0, 100],
            repeats: 1,
            repeats_largest: 1,
            unhealthy: false,
            update_storm: false,
            overlap: 1,
            steady: true,
            request_counts: true,
            default_flags: true,
        }
    }

    fn runs(settled: &[(&str, u64)]) -> Runs {
        let run = |(name, rss_bytes): &(&str, u64)| {
            let cell = Cell {
                subject: format!("{name}/none"),
                objects: 100,
                repeat: 1,
                kind: Kind::Burst,
            };
            let mut run = empty_run(&cell);
            run.memory.settled = Some(Memory {
                rss_bytes: *rss_bytes,
                pss_bytes: 0,
                anon_bytes: 0,
            });
            (cell, run)
        };
        settled.iter().map(run).collect()
    }

    #[test]
    fn ours_is_checked_beside_the_best_in_go() {
        let plan = plan(&[
            ("tare", Language::Rust),
            ("kube-rs", Language::Rust),
            ("vanilla", Language::Go),
            ("tuned", Language::Go),
        ]);
        let runs = runs(&[
            ("tare", 4),
            ("kube-rs", 20),
            ("vanilla", 140),
            ("tuned", 60),
        ]);
        let ids: Vec<String> = default_flags_cells(&plan, &runs)
            .into_iter()
            .map(|c| c.subject)
            .collect();
        assert_eq!(ids, ["tare/none", "tuned/none"]);
    }

    #[test]
    fn without_go_the_best_other_one_is_checked() {
        let plan = plan(&[("tare", Language::Rust), ("mine", Language::Other)]);
        let ids = |runs: &Runs| {
            let cells = default_flags_cells(&plan, runs).into_iter();
            cells.map(|c| c.subject).collect::<Vec<_>>()
        };
        assert_eq!(ids(&runs(&[("mine", 9)])), ["tare/none", "mine/none"]);
        assert_eq!(ids(&runs(&[])), ["tare/none"], "nobody else was measured");
    }
}
