//! What else went on while a run was timed, and whether its times may be believed.
//!
//! Guarantees: the judgement is pure, so that a report judges as the bench did. Leaves to others: reading
//! the figures (`watch::machine_use`).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Of all processor time, spent by other programs: from here on they take turns with the subject.
const MOST_OUTSIDE: f64 = 0.02;
/// Of all processor time, taken away by the hypervisor.
const MOST_STEAL: f64 = 0.01;
/// How much longer one of two equal pieces of work may take.
const MOST_APART: f64 = 0.05;

/// What else went on while a run was timed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MachineUse {
    pub wall_s: f64,
    /// Processors of the machine.
    pub cores: u32,
    /// CPU spent outside the run's own process tree and outside kernel threads.
    pub outside_cpu_s: Option<f64>,
    /// CPU that the hypervisor gave to others.
    pub steal_s: Option<f64>,
    /// Share of the time in which some task waited for a CPU (`/proc/pressure/cpu`); not judged, because a
    /// subject that has more to do than there are processors makes its own.
    pub cpu_pressure_share: Option<f64>,
    /// A fixed piece of work, before the run and after it.
    pub probe_before_ms: f64,
    pub probe_after_ms: f64,
}

impl MachineUse {
    /// What disturbed the times of the run, one sentence each. They are not compared; on the quick profile they have a mark.
    pub fn disturbed_by(&self) -> Vec<String> {
        let all_s = self.wall_s * f64::from(self.cores);
        let over = |part_s: Option<f64>, limit: f64| part_s.filter(|s| *s > limit * all_s);
        let shown = |part_s: f64, limit: f64| {
            format!(
                "{part_s:.2} s of CPU, {:.1} % of {:.0} s on {} cores (limit {:.0} %)",
                part_s / all_s * 100.0,
                self.wall_s,
                self.cores,
                limit * 100.0
            )
        };
        let outside = over(self.outside_cpu_s, MOST_OUTSIDE);
        let steal = over(self.steal_s, MOST_STEAL);
        let (before, after) = (self.probe_before_ms, self.probe_after_ms);
        let apart = before.max(after) / before.min(after) - 1.0;
        [
            outside.map(|s| format!("other programs used {}", shown(s, MOST_OUTSIDE))),
            steal.map(|s| format!("the hypervisor took away {}", shown(s, MOST_STEAL))),
            // Not a number where a probe took no time, which is no probe.
            (apart.is_nan() || apart > MOST_APART).then(|| {
                format!(
                    "the machine changed its speed: the same work took {before:.1} ms before the run and {after:.1} ms after it (limit {:.0} %)",
                    MOST_APART * 100.0
                )
            }),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALONE: MachineUse = MachineUse {
        wall_s: 50.0,
        cores: 2,
        outside_cpu_s: Some(2.0),
        steal_s: Some(1.0),
        cpu_pressure_share: Some(0.9),
        probe_before_ms: 200.0,
        probe_after_ms: 208.0,
    };

    #[test]
    fn an_idle_machine_is_within_the_limits() {
        assert_eq!(ALONE.disturbed_by(), [""; 0]);
        let unknown = MachineUse {
            outside_cpu_s: None,
            steal_s: None,
            cpu_pressure_share: None,
            ..ALONE
        };
        assert_eq!(unknown.disturbed_by(), [""; 0]);
    }

    #[test]
    fn each_limit_has_its_sentence() {
        for (name, machine, want) in [
            (
                "a build beside it",
                MachineUse {
                    outside_cpu_s: Some(2.5),
                    ..ALONE
                },
                "other programs used 2.50 s of CPU, 2.5 % of 50 s on 2 cores (limit 2 %)",
            ),
            (
                "a crowded host",
                MachineUse {
                    steal_s: Some(1.5),
                    ..ALONE
                },
                "the hypervisor took away 1.50 s of CPU, 1.5 % of 50 s on 2 cores (limit 1 %)",
            ),
            (
                "a slower clock",
                MachineUse {
                    probe_after_ms: 211.0,
                    ..ALONE
                },
                "the machine changed its speed: the same work took 200.0 ms before the run and 211.0 ms after it (limit 5 %)",
            ),
            (
                "a faster clock",
                MachineUse {
                    probe_before_ms: 221.0,
                    ..ALONE
                },
                "the machine changed its speed: the same work took 221.0 ms before the run and 208.0 ms after it (limit 5 %)",
            ),
        ] {
            assert_eq!(machine.disturbed_by(), [want], "{name}");
        }
    }
}
