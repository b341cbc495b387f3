//! When a subject has settled: no events and next to no CPU for long enough.
//!
//! Guarantees: pure; the same rule for every subject. Leaves to others: taking the samples, twice a
//! second.

use std::time::Duration;

use crate::model::step::Quiet;

/// One sample. Counters since the start of the run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    pub at: Duration,
    /// Watch events of the objects.
    pub events: u64,
    pub cpu_s: f64,
    pub anon_bytes: u64,
}

/// The rule.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rule {
    /// Without events and below [`BUSY`] for this long.
    pub quiet: Duration,
    /// Anonymous bytes changed by less than 1 % over this long.
    pub steady: Option<Duration>,
    /// Give up after this long.
    pub at_most: Duration,
}

impl Rule {
    /// Settled after `quiet_s` seconds; gives up after four times as long and 30 s.
    pub fn of(quiet: Quiet) -> Self {
        let Quiet { quiet_s, steady_s } = quiet;
        Self {
            quiet: Duration::from_secs(quiet_s),
            steady: steady_s.map(Duration::from_secs),
            at_most: Duration::from_secs(4 * quiet_s + 30),
        }
    }
}

/// A subject that uses more of a core than this between two samples is at work, even where its
/// work changes nothing that a watch would show (a restart that applies everything again).
pub const BUSY: f64 = 0.05;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettleState {
    Busy,
    Settled,
    /// Still at work at the end of `at_most`.
    GaveUp,
}

/// The samples so far, as far as they matter.
#[derive(Debug)]
pub struct SettleDetector {
    rule: Rule,
    started: Duration,
    quiet_since: Duration,
    last: Sample,
    /// Samples within the `steady` window.
    recent: Vec<Sample>,
}

impl SettleDetector {
    pub fn new(rule: Rule, first: Sample) -> Self {
        Self {
            rule,
            started: first.at,
            quiet_since: first.at,
            last: first,
            recent: vec![first],
        }
    }

    pub fn quiet_for(&self) -> Duration {
        self.last.at.saturating_sub(self.quiet_since)
    }

    pub fn add(&mut self, sample: Sample) -> SettleState {
        let passed = sample.at.saturating_sub(self.last.at).as_secs_f64();
        let busy = sample.cpu_s - self.last.cpu_s > BUSY * passed;
        if sample.events != self.last.events || busy {
            self.quiet_since = sample.at;
        }
        self.last = sample;
        if let Some(window) = self.rule.steady {
            // One sample before the window stays: the change is measured over all of it.
            let from = sample.at.saturating_sub(window);
            while self.recent.get(1).is_some_and(|second| second.at <= from) {
                self.recent.remove(0);
            }
            self.recent.push(sample);
        }
        if self.quiet_for() >= self.rule.quiet && self.memory_is_steady() {
            SettleState::Settled
        } else if sample.at.saturating_sub(self.started) >= self.rule.at_most {
            SettleState::GaveUp
        } else {
            SettleState::Busy
        }
    }

    fn memory_is_steady(&self) -> bool {
        let Some(window) = self.rule.steady else {
            return true;
        };
        let covered = self
            .recent
            .first()
            .is_some_and(|first| self.last.at.saturating_sub(first.at) >= window);
        let sizes = || self.recent.iter().map(|sample| sample.anon_bytes);
        let (least, most) = (sizes().min().unwrap_or(0), sizes().max().unwrap_or(0));
        covered && (most - least) as f64 <= most as f64 * 0.01
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: Duration = Duration::from_secs(1);

    /// Events, CPU seconds and anonymous bytes at second t.
    type Course = fn(u32) -> (u64, f64, u64);

    fn rule(quiet: u32, steady: Option<u32>) -> Rule {
        Rule {
            quiet: S * quiet,
            steady: steady.map(|s| S * s),
            at_most: S * 100,
        }
    }

    /// Samples once a second; the closure gives (events, cpu_s, anon_bytes) at each.
    fn settled_at(rule: Rule, at: impl Fn(u32) -> (u64, f64, u64)) -> (u32, SettleState) {
        let sample = |t: u32| {
            let (events, cpu_s, anon_bytes) = at(t);
            Sample {
                at: S * t,
                events,
                cpu_s,
                anon_bytes,
            }
        };
        let mut detector = SettleDetector::new(rule, sample(0));
        (1..)
            .map(|t| (t, detector.add(sample(t))))
            .find(|(_, v)| *v != SettleState::Busy)
            .expect("gives up")
    }

    #[test]
    fn settling() {
        let table: [(&str, Rule, Course, (u32, SettleState)); 6] = [
            (
                "quiet from the start",
                rule(10, None),
                |_| (5, 1.0, 1000),
                (10, SettleState::Settled),
            ),
            (
                "events until 7 s",
                rule(10, None),
                |t| (u64::from(t.min(7)), 1.0, 1000),
                (17, SettleState::Settled),
            ),
            (
                "work without events until 20 s",
                rule(5, None),
                |t| (0, f64::from(t.min(20)) * 0.5, 1000),
                (25, SettleState::Settled),
            ),
            (
                "a little work is no work",
                rule(5, None),
                |t| (0, f64::from(t) * 0.01, 1000),
                (5, SettleState::Settled),
            ),
            (
                "memory falls until 40 s",
                rule(5, Some(30)),
                |t| (0, 0.0, 10_000 - 100 * u64::from(t.min(40))),
                (70, SettleState::Settled),
            ),
            (
                "never quiet",
                rule(5, None),
                |t| (u64::from(t), 0.0, 1000),
                (100, SettleState::GaveUp),
            ),
        ];
        for (name, rule, at, want) in table {
            assert_eq!(settled_at(rule, at), want, "{name}");
        }
    }
}
