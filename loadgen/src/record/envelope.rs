//! What an operator can do within limits: the tries, and whether each held.
//!
//! Guarantees: pure; why a try did not hold is one sentence. Leaves to others: which sizes are tried
//! (`metric::envelope`).

use serde::{Deserialize, Serialize};

use crate::record::{Arrival, Run};
use crate::spec::bounds::Bounds;

/// What was found for one subject.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Envelope {
    /// `name/variant`.
    pub subject: String,
    pub workload: String,
    pub control_plane: String,
    pub kubernetes_version: Option<String>,
    /// As in the evidence of a bench.
    pub loadgen_commit: String,
    /// Of the cgroup of its process.
    pub bounds: Bounds,
    /// The service level: 99 % of the objects are ready after this time.
    pub p99_ms: Option<f64>,
    /// All objects at once.
    pub objects: Vec<Try>,
    /// Objects at a rate.
    pub rates: Vec<Try>,
    /// Objects that exist, updated at a rate.
    pub updates: Vec<Try>,
}

/// One size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Try {
    /// Objects at once, or objects or updates per second.
    pub size: usize,
    /// Objects in all.
    pub objects: usize,
    /// Why it did not hold; `None` where it held.
    pub why_not: Option<String>,
    /// From when an object, or its update, was due until it was ready.
    pub p99_ms: Option<f64>,
    pub drain_s: Option<f64>,
    /// Highest memory of the cgroup, which the limit is about.
    pub peak_bytes: Option<u64>,
    /// Other work on the machine, a late generator: times of this try are not to be published.
    pub invalid_because: Vec<String>,
}

impl Try {
    /// What a run says about a size; `level_ms` is the service level.
    pub fn of(run: &Run, size: usize, level_ms: Option<f64>, offer: Arrival) -> Self {
        let times = run.convergence.as_ref();
        let latencies = times.map(|times| &times.ready_from_intended);
        let p99_ms = latencies.and_then(|latencies| Some(latencies.quantiles()?.p99_ms));
        let failure = run.failure.as_ref().map(|failure| failure.reason.clone());
        let slow = match (p99_ms, level_ms) {
            (Some(p99_ms), Some(level_ms)) if p99_ms > level_ms => {
                Some(format!("P99 {p99_ms:.0} ms is above {level_ms:.0} ms"))
            }
            _ => None,
        };
        let behind = times.is_some_and(|times| times.saturated) && offer == Arrival::AtRate;
        let behind = behind.then(|| "the backlog kept growing".to_owned());
        let errors = run.reconcile.as_ref().and_then(|calls| calls.errors);
        let errors = errors.filter(|errors| *errors > 0);
        let errors = errors.map(|errors| match errors {
            1 => "1 reconcile failed".to_owned(),
            _ => format!("{errors} reconciles failed"),
        });
        let burst = run.memory.burst.as_ref();
        Self {
            size,
            objects: run.cell.objects,
            why_not: failure.or(slow).or(behind).or(errors),
            p99_ms,
            drain_s: times.and_then(|times| times.drain_s),
            peak_bytes: burst.and_then(|burst| burst.cgroup?.peak_bytes),
            invalid_because: run.invalid_because.clone(),
        }
    }

    pub fn held(&self) -> bool {
        self.why_not.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::cell::{Cell, Kind};
    use crate::record::histogram::Buckets;
    use crate::record::latency::Latencies;
    use crate::record::{Convergence, Failure, Reconcile};

    /// All objects were ready after so many milliseconds.
    fn run(ready_ms: u64, saturated: bool) -> Run {
        let ready: Latencies = [ready_ms * 1_000_000; 10].into_iter().collect();
        let none = Latencies::default;
        let mut run = Run::empty(&Cell {
            subject: "mock/works".into(),
            objects: 10,
            repeat: 1,
            kind: Kind::Drain,
            per_s: None,
        });
        run.convergence = Some(Convergence {
            objects: 10,
            acked: 10,
            drain_s: Some(1.0),
            offer_s: 0.5,
            offered_per_s: 20.0,
            first_ready_s: Some(0.0),
            last_ready_s: Some(1.0),
            saturated,
            censored: 0,
            late: none(),
            held_up: none(),
            acked_from_intended: none(),
            acked_from_sent: none(),
            observed_from_intended: none(),
            observed_from_sent: none(),
            ready_from_intended: ready.clone(),
            ready_from_sent: ready,
        });
        run
    }

    #[test]
    fn a_try_holds_within_its_limits_and_says_why_it_does_not() {
        let mut killed = run(10, false);
        killed.failure = Some(Failure {
            reason: "mock/works was killed for memory".into(),
            last_log_lines: vec![],
        });
        let with_errors = |errors| {
            let mut run = run(10, false);
            run.reconcile = Some(Reconcile {
                buckets: Buckets::default(),
                errors,
            });
            run
        };
        let (once, rate) = (Arrival::AtOnce, Arrival::AtRate);
        for (name, run, offer, level_ms, want) in [
            ("no level", run(9_000, false), once, None, None),
            ("within", run(10, false), once, Some(100.0), None),
            (
                "slow",
                run(500, false),
                once,
                Some(100.0),
                Some("P99 500 ms is above 100 ms"),
            ),
            (
                "killed",
                killed,
                once,
                None,
                Some("mock/works was killed for memory"),
            ),
            ("a burst has a backlog", run(10, true), once, None, None),
            (
                "behind",
                run(10, true),
                rate,
                None,
                Some("the backlog kept growing"),
            ),
            ("no error", with_errors(Some(0)), once, None, None),
            ("errors not told", with_errors(None), once, None, None),
            (
                "one error",
                with_errors(Some(1)),
                once,
                None,
                Some("1 reconcile failed"),
            ),
            (
                "errors",
                with_errors(Some(12)),
                rate,
                None,
                Some("12 reconciles failed"),
            ),
        ] {
            let tried = Try::of(&run, 10, level_ms, offer);
            assert_eq!(tried.why_not.as_deref(), want, "{name}");
            assert_eq!(tried.held(), want.is_none(), "{name}");
        }
    }
}
