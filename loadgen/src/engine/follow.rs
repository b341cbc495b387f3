//! The cells that follow from what was measured: those of the rate sweep.
//!
//! Guarantees: pure; the same runs give the same cells, so that an interrupted experiment goes on
//! as it would have. Leaves to others: running them.

use crate::engine::{Runs, Setting};
use crate::metric::at_rate::kept_up;
use crate::plan::Plan;
use crate::plan::cell::{self, Cell, Kind};
use crate::plan::profile::Timing;

/// The cells of one rate: every subject that kept up at all lower ones.
pub fn rate_cells(plan: &Plan, runs: &Runs, setting: &Setting, per_s: u32) -> Vec<Cell> {
    let mut subjects = plan.ids();
    subjects.retain(|id| is_offered(id, runs, per_s));
    let objects = Timing::of(setting.profile).at_rate.objects(per_s);
    cell::at_rate(&subjects, objects, plan.repeats, per_s, setting.seed)
}

/// Whether a subject is offered this rate: it kept up at every lower rate that has a valid run.
fn is_offered(subject: &str, runs: &Runs, per_s: u32) -> bool {
    let lower = |cell: &Cell| {
        cell.kind == Kind::Rate && cell.subject == subject && cell.per_s < Some(per_s)
    };
    let mut rates: Vec<u32> = runs
        .keys()
        .filter(|cell| lower(cell))
        .filter_map(|cell| cell.per_s)
        .collect();
    rates.sort_unstable();
    rates.dedup();
    rates.into_iter().all(|rate| {
        let at_rate = runs
            .iter()
            .filter(|(cell, _)| lower(cell) && cell.per_s == Some(rate))
            .map(|(_, run)| run)
            .filter(|run| run.invalid_because.is_empty());
        let mut at_rate = at_rate.peekable();
        at_rate.peek().is_none() || kept_up(at_rate)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::at_rate::tests::run;

    /// Runs of one subject: rate, and latency in ms.
    fn runs(points: &[(u32, u64)]) -> Runs {
        let run = |(repeat, (per_s, latency_ms)): (u32, &(u32, u64))| {
            let run = run(*per_s, repeat, *latency_ms);
            (run.cell.clone(), run)
        };
        (1..).zip(points).map(run).collect()
    }

    const GOOD: u64 = 5;
    const LATE: u64 = 2_000;

    #[test]
    fn a_subject_that_did_not_keep_up_is_not_offered_a_higher_rate() {
        struct Case {
            name: &'static str,
            measured: &'static [(u32, u64)],
            per_s: u32,
            want: bool,
        }
        let cases = [
            Case {
                name: "nothing measured yet",
                measured: &[],
                per_s: 5,
                want: true,
            },
            Case {
                name: "kept up",
                measured: &[(5, GOOD), (5, GOOD)],
                per_s: 10,
                want: true,
            },
            Case {
                name: "late in most repeats",
                measured: &[(5, GOOD), (5, LATE), (5, LATE)],
                per_s: 10,
                want: false,
            },
            Case {
                name: "late two rates below",
                measured: &[(5, LATE), (10, GOOD)],
                per_s: 20,
                want: false,
            },
            Case {
                name: "its own rate says nothing",
                measured: &[(5, GOOD), (10, LATE)],
                per_s: 10,
                want: true,
            },
        ];
        for case in cases {
            let got = is_offered("a/x", &runs(case.measured), case.per_s);
            assert_eq!(got, case.want, "{}", case.name);
        }
        let others = runs(&[(5, LATE)]);
        assert!(is_offered("b/y", &others, 10), "another subject's run");
        let mut invalid = runs(&[(5, LATE)]);
        for run in invalid.values_mut() {
            run.invalid_because = vec!["other programs".to_owned()];
        }
        assert!(
            is_offered("a/x", &invalid, 10),
            "an invalid run says nothing"
        );
    }
}
