//! When a subject has settled: no events and next to no CPU for long enough.
//!
//! Guarantees: pure; the same rule for every subject. Isolated short work is no work: Go's runtime
//! forces a collection every two minutes, which takes some 25 ms of CPU. Leaves to others: taking the samples, twice a
//! second.

use std::time::Duration;

use crate::spec::step::Quiet;

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
    /// Without events and without work for this long.
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

/// A subject that uses more of a core than this between two samples is busy, even where its work
/// changes nothing that a watch would show (a restart that applies everything again).
pub const BUSY: f64 = 0.05;
/// CPU that a subject may use beyond [`BUSY`] within [`WINDOW`]: a forced collection of a heap of some
/// hundred MB. What uses more is at work.
const SHORT_CPU_S: f64 = 0.25;
const WINDOW: Duration = Duration::from_secs(10);

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
    /// CPU beyond [`BUSY`] of the busy intervals within [`WINDOW`], with their ends.
    busy: Vec<(Duration, f64)>,
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
            busy: vec![],
            recent: vec![first],
        }
    }

    pub fn quiet_for(&self) -> Duration {
        self.last.at.saturating_sub(self.quiet_since)
    }

    /// The subject was at work in a way that no sample shows.
    pub fn disturbed(&mut self) {
        self.quiet_since = self.last.at;
    }

    pub fn add(&mut self, sample: Sample) -> SettleState {
        if sample.events != self.last.events || self.is_at_work(sample) {
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

    /// Whether the interval that ends with this sample is busy, and not the only short one for a while.
    fn is_at_work(&mut self, sample: Sample) -> bool {
        let passed = sample.at.saturating_sub(self.last.at).as_secs_f64();
        let beyond_s = sample.cpu_s - self.last.cpu_s - BUSY * passed;
        self.busy.retain(|(at, _)| *at + WINDOW > sample.at);
        if beyond_s <= 0.0 {
            return false;
        }
        self.busy.push((sample.at, beyond_s));
        let in_window_s: f64 = self.busy.iter().map(|(_, s)| s).sum();
        in_window_s > SHORT_CPU_S
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

    /// Events, CPU seconds and anonymous bytes after so many seconds.
    type Course = fn(f64) -> (u64, f64, u64);

    fn rule(quiet: u32, steady: Option<u32>) -> Rule {
        Rule {
            quiet: S * quiet,
            steady: steady.map(|s| S * s),
            at_most: S * 100,
        }
    }

    /// Samples twice a second, as a session does; the closure gives (events, cpu_s, anon_bytes) at
    /// each second.
    fn settled_at(rule: Rule, at: Course) -> (f64, SettleState) {
        let sample = |half: u32| {
            let (events, cpu_s, anon_bytes) = at(f64::from(half) / 2.0);
            Sample {
                at: S * half / 2,
                events,
                cpu_s,
                anon_bytes,
            }
        };
        let mut detector = SettleDetector::new(rule, sample(0));
        (1..)
            .map(|half| (f64::from(half) / 2.0, detector.add(sample(half))))
            .find(|(_, state)| *state != SettleState::Busy)
            .expect("gives up")
    }

    /// CPU of work that takes `spent_s` once in `every_s`, first after as long.
    fn periodic(t: f64, every_s: f64, spent_s: f64) -> f64 {
        (t / every_s).floor() * spent_s
    }

    #[test]
    fn settling() {
        let campaign = Rule {
            quiet: S * 240,
            steady: Some(S * 30),
            at_most: S * 990,
        };
        let table: [(&str, Rule, Course, (f64, SettleState)); 12] = [
            (
                "quiet from the start",
                rule(10, None),
                |_| (5, 1.0, 1000),
                (10.0, SettleState::Settled),
            ),
            (
                "events until 7 s",
                rule(10, None),
                |t| (t.min(7.0) as u64, 1.0, 1000),
                (17.0, SettleState::Settled),
            ),
            (
                "work without events until 20 s",
                rule(5, None),
                |t| (0, t.min(20.0) * 0.5, 1000),
                (25.0, SettleState::Settled),
            ),
            (
                "a little work is no work",
                rule(5, None),
                |t| (0, t * 0.01, 1000),
                (5.0, SettleState::Settled),
            ),
            (
                "memory falls until 40 s",
                rule(5, Some(30)),
                |t| (0, 0.0, 10_000 - 100 * t.min(40.0) as u64),
                (70.0, SettleState::Settled),
            ),
            (
                "never quiet",
                rule(5, None),
                |t| (t as u64, 0.0, 1000),
                (100.0, SettleState::GaveUp),
            ),
            (
                "a forced collection every 2 min",
                campaign,
                |t| (7, 3.0 + periodic(t, 120.0, 0.025), 1000),
                (240.0, SettleState::Settled),
            ),
            (
                "a large heap's forced collection every 2 min",
                campaign,
                |t| (7, 3.0 + periodic(t, 120.0, 0.2), 1000),
                (240.0, SettleState::Settled),
            ),
            (
                "the collection at 120 s gives memory back",
                campaign,
                |t| {
                    (
                        7,
                        periodic(t, 120.0, 0.025),
                        if t < 230.0 { 1000 } else { 500 },
                    )
                },
                (260.0, SettleState::Settled),
            ),
            (
                "a requeue of all objects every 100 s",
                campaign,
                |t| (7, periodic(t, 100.0, 2.0), 1000),
                (990.0, SettleState::GaveUp),
            ),
            (
                "short work again and again is work",
                rule(20, None),
                |t| (0, periodic(t, 2.0, 0.1), 1000),
                (100.0, SettleState::GaveUp),
            ),
            (
                "a burst of events at 200 s",
                campaign,
                |t| (if t < 200.0 { 7 } else { 57 }, 0.0, 1000),
                (440.0, SettleState::Settled),
            ),
        ];
        for (name, rule, at, want) in table {
            assert_eq!(settled_at(rule, at), want, "{name}");
        }
    }
}
