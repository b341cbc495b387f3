//! Whether a subject kept up at a rate.
//!
//! One rule decides what is offered next and what the report says. The limit of the latency is the same
//! for every subject: 1 s at P99, which Kubernetes sets itself for the answer to one write of a built-in
//! kind (kubernetes/community, `sig-scalability/slos/api_call_latency.md`). A multiple of a subject's own
//! latency would forgive those that are slow at every rate.
//!
//! Guarantees: pure. Leaves to others: the knee (`metric::knee`), and which rates are offered
//! (`engine::follow`).

use crate::record::{Convergence, Run};

/// Most that P99 may be, from the intended send until observed, ms.
pub const P99_MS: f64 = 1_000.0;
/// What one run at a rate came to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AtRate {
    pub p99_ms: Option<f64>,
    pub censored: u64,
    /// The backlog kept growing while objects were offered.
    pub backlog_grew: bool,
}

impl AtRate {
    /// `None` without convergence: the run broke off before.
    pub fn of(run: &Run) -> Option<Self> {
        let convergence = run.convergence.as_ref()?;
        let observed = convergence.observed_from_intended.quantiles();
        Some(Self {
            p99_ms: observed.map(|quantiles| quantiles.p99_ms),
            censored: convergence.censored,
            backlog_grew: convergence.saturated,
        })
    }

    pub fn kept_up(&self) -> bool {
        let in_time = self.p99_ms.is_some_and(|p99_ms| p99_ms <= P99_MS);
        in_time && self.censored == 0 && !self.backlog_grew
    }
}

/// Whether more than half of these runs kept up. One that broke off did not; no run at all did not.
pub fn kept_up<'a>(runs: impl Iterator<Item = &'a Run>) -> bool {
    let kept: Vec<bool> = runs
        .map(|run| AtRate::of(run).is_some_and(|at_rate| at_rate.kept_up()))
        .collect();
    kept.iter().filter(|kept| **kept).count() * 2 > kept.len()
}

/// Objects that became ready per second, from the first to the last of them: a delay that is the same for all does not
/// count.
pub fn achieved_per_s(convergence: &Convergence) -> Option<f64> {
    let ready = convergence.ready_from_intended.count();
    let span_s = ready_span_s(convergence)?;
    (ready > 1).then(|| (ready - 1) as f64 / span_s)
}

/// From the first object that became ready to the last, s. `None` where that is no time.
pub fn ready_span_s(convergence: &Convergence) -> Option<f64> {
    let span_s = convergence.last_ready_s? - convergence.first_ready_s?;
    Some(span_s).filter(|span_s| *span_s > 0.0)
}

/// The rule in words, for those who read a report.
pub fn rule() -> String {
    format!(
        "A rate is kept up when every object converges, the backlog does not grow, and the P99 from the intended send \
         until observed is at most {P99_MS:.0} ms, in more than half of the valid runs; one that breaks off does not keep \
         up. The knee is the highest such rate below the first that is not kept up."
    )
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::metric::convergence::convergence;
    use crate::plan::cell::{Cell, Kind};
    use crate::record::Arrival;
    use crate::record::Failure;
    use crate::record::samples::Sample;

    /// Ten objects at this rate, each observed and ready after `latency_ms`.
    pub fn run(per_s: u32, repeat: u32, latency_ms: u64) -> Run {
        let sample = |index: u64| {
            let sent_us = index * 1_000_000 / u64::from(per_s);
            let done_us = Some(sent_us + latency_ms * 1_000);
            Sample {
                intended_us: Some(sent_us),
                sent_us: Some(sent_us),
                acked_us: Some(sent_us + 1_000),
                observed_us: done_us,
                ready_us: done_us,
            }
        };
        let samples: Vec<Sample> = (0..10).map(sample).collect();
        let mut run = Run::empty(&Cell {
            subject: "a/x".into(),
            objects: 10,
            repeat,
            kind: Kind::Rate,
            per_s: Some(per_s),
        });
        run.convergence = Some(convergence(&samples, Arrival::AtRate));
        run
    }

    #[test]
    fn the_majority_of_runs_decides() {
        let (good, late) = (5, 2_000);
        for (latencies_ms, want) in [
            (vec![], false),
            (vec![good], true),
            (vec![good, good, late], true),
            (vec![good, late], false),
            (vec![late], false),
        ] {
            let runs: Vec<Run> = latencies_ms.iter().map(|ms| run(20, 1, *ms)).collect();
            assert_eq!(kept_up(runs.iter()), want, "{latencies_ms:?}");
        }
        let mut broken_off = run(20, 1, good);
        broken_off.convergence = None;
        broken_off.failure = Some(Failure {
            reason: "it died".into(),
            last_log_lines: vec![],
        });
        assert!(!kept_up([&broken_off].into_iter()));
    }

    #[test]
    fn a_rate_is_kept_up_by_all_three_rules() {
        let good = AtRate {
            p99_ms: Some(900.0),
            censored: 0,
            backlog_grew: false,
        };
        let cases = [
            ("good", good, true),
            (
                "late",
                AtRate {
                    p99_ms: Some(1_001.0),
                    ..good
                },
                false,
            ),
            (
                "unknown",
                AtRate {
                    p99_ms: None,
                    ..good
                },
                false,
            ),
            (
                "censored",
                AtRate {
                    censored: 1,
                    ..good
                },
                false,
            ),
            (
                "backlog",
                AtRate {
                    backlog_grew: true,
                    ..good
                },
                false,
            ),
        ];
        for (name, run, want) in cases {
            assert_eq!(run.kept_up(), want, "{name}");
        }
    }

    /// 500 objects at 80/s take 6.24 s: a last one that is 0.33 s behind is within the second that is allowed. The first ones
    /// are not the fastest: the time counts from the first that was ready.
    #[test]
    fn a_tail_within_the_limit_of_the_latency_is_kept_up() {
        let samples: Vec<Sample> = (0..500u64)
            .map(|n| {
                let due_us = n * 12_500;
                let latency_us = match n {
                    0..24 => 300_000,
                    24..490 => 20_000,
                    _ => 350_000,
                };
                Sample {
                    intended_us: Some(due_us),
                    sent_us: Some(due_us),
                    acked_us: Some(due_us + 1_000),
                    observed_us: Some(due_us + latency_us),
                    ready_us: Some(due_us + latency_us),
                }
            })
            .collect();
        let mut run = run(80, 1, 5);
        run.convergence = Some(convergence(&samples, Arrival::AtRate));
        assert!(kept_up([&run].into_iter()));
        let achieved = run.convergence.as_ref().and_then(achieved_per_s);
        // 499 objects from 0.3 s to 6.5875 s.
        assert_eq!(
            achieved.map(|per_s| (per_s * 10.0).round() / 10.0),
            Some(79.4)
        );
    }
}
