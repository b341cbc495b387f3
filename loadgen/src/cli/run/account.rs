//! The account of a run: the fate of every object and its times, as tables and warnings.
//!
//! Guarantees: pure; every object asked for is in exactly one line of the account, and what was
//! created is counted as deleted, deleted by others, kept or left behind. Leaves to others: observing
//! the objects (`load`) and deleting them (`target::cleanup`).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::load::object::Failed;
use crate::load::timeline::Timeline;
use crate::load::timeout::Ended;
use crate::load::timetable::LATE_MS;
use crate::record::Convergence;
use crate::record::latency::{Latencies, Quantiles};
use crate::report::table::{Table, figure, grouped, often};
use crate::target::cleanup::{CleanUp, NamespaceEnd};

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Account {
    pub asked: usize,
    pub ready: usize,
    /// Observed and never Ready.
    pub observed: usize,
    /// Created and never observed.
    pub unobserved: usize,
    pub rejected: usize,
    /// The server was overloaded or failing, and said nothing about the object.
    pub disturbed: usize,
    /// Sent and not answered: the server may have created it or not.
    pub unanswered: usize,
    pub not_sent: usize,
    /// What was said to requests that failed, and how often.
    pub failures: Vec<(String, u64)>,
    /// Answers of an overloaded or failing server, those of steps included: by HTTP status how often.
    pub disturbances: BTreeMap<u16, u64>,
    /// How often the watch was opened again, and why the last time.
    pub watch_restarts: u64,
    pub watch_error: Option<String>,
    /// What one of the objects that did not converge looks like.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub look: Vec<String>,
    /// Objects that a step of the workload deleted and none created anew.
    pub deleted_by_steps: usize,
    /// `None` with `--keep`.
    pub removal: Option<Removal>,
}

/// The clean-up of the objects that carry the run's label.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Removal {
    pub deleted: usize,
    pub left: usize,
    pub complete: bool,
    pub warnings: Vec<String>,
}

impl Account {
    pub fn of(timeline: &Timeline, cleaned: Option<&CleanUp>) -> Self {
        let mut account = Self {
            asked: timeline.objects().len(),
            failures: timeline.failures.clone(),
            disturbances: timeline.disturbances.clone(),
            watch_restarts: timeline.watch_restarts,
            watch_error: timeline.last_watch_error.clone(),
            removal: cleaned.map(Removal::of),
            ..Self::default()
        };
        for object in timeline.objects() {
            let line = match (object.acked_ns, object.failed, object.sent_ns) {
                (Some(_), ..) if object.ready_ns().is_some() => &mut account.ready,
                (Some(_), ..) if object.observed_ns().is_some() => &mut account.observed,
                (Some(_), ..) => &mut account.unobserved,
                (None, Some(Failed::Rejected), _) => &mut account.rejected,
                (None, Some(Failed::Disturbed { .. }), _) => &mut account.disturbed,
                (None, Some(Failed::Unanswered), _) | (None, None, Some(_)) => {
                    &mut account.unanswered
                }
                (None, None, None) => &mut account.not_sent,
            };
            *line += 1;
        }
        account
    }

    pub fn created(&self) -> usize {
        self.ready + self.censored()
    }

    /// Created, and not Ready when the wait ended.
    pub fn censored(&self) -> usize {
        self.observed + self.unobserved
    }

    /// Whether every object converged and, without `--keep`, was deleted.
    pub fn is_sound(&self) -> bool {
        self.ready == self.asked && self.removal.as_ref().is_none_or(|removal| removal.complete)
    }

    /// The table with the number of objects by fate.
    pub fn table(&self) -> Table {
        let mut rows = vec![row("created", self.created())];
        let mut some = |label: &str, count: usize| {
            if count > 0 {
                rows.push(row(label, count));
            }
        };
        some("  ready", self.ready);
        some("  observed, not ready (censored)", self.observed);
        some("  not observed (censored)", self.unobserved);
        some("rejected", self.rejected);
        some("disturbed (429 or 5xx)", self.disturbed);
        some("unanswered", self.unanswered);
        some("not sent", self.not_sent);
        some("deleted by steps", self.deleted_by_steps);
        let kept = self.created().saturating_sub(self.deleted_by_steps);
        match &self.removal {
            None => rows.push(row("kept", kept)),
            Some(removal) => {
                rows.push(row("deleted", removal.deleted));
                rows.push(row("left behind", removal.left));
                // `deleted` may include objects whose create had no answer, hence `saturating_sub`.
                let gone = kept.saturating_sub(removal.deleted + removal.left);
                rows.extend((gone > 0).then(|| row("deleted by others", gone)));
            }
        }
        Table {
            title: "Objects by fate".into(),
            header: row("asked for", self.asked),
            rows,
        }
    }

    /// That the server was overloaded or failing, and how often it said so.
    fn disturbance(&self) -> Option<String> {
        let of_status = |(status, times): (&u16, &u64)| format!("{status} {}", often(*times));
        let said: Vec<String> = self.disturbances.iter().map(of_status).collect();
        (!said.is_empty()).then(|| {
            format!(
                "disturbed: the server was overloaded or failing and answered {}; do not compare these times with those of an undisturbed run",
                said.join(", ")
            )
        })
    }

    /// Summary and warnings to print below the tables, a line each. `clean`: the command that removes what is left.
    pub fn warnings(&self, times: &Convergence, ended: Ended, clean: &str) -> Vec<String> {
        let mut lines = Vec::new();
        if let Some(drain_s) = times.drain_s {
            lines.push(format!(
                "all were ready {drain_s:.1} s after the first was sent, {:.0}/s",
                self.ready as f64 / drain_s.max(f64::MIN_POSITIVE)
            ));
        }
        for (sends, because) in [
            (&times.held_up, "because earlier ones had no answer yet"),
            (&times.late, "because this machine was busy"),
        ] {
            if let Some(late) = sends.quantiles().filter(|q| q.max_ms > LATE_MS) {
                lines.push(format!(
                    "a send was {:.0} ms late, {because}; times \"since due\" include the delay",
                    late.max_ms
                ));
            }
        }
        if times.saturated {
            lines.push(format!(
                "the backlog kept growing: the cluster and its operator do not keep up with {:.0}/s",
                times.offered_per_s
            ));
        }
        lines.extend(self.disturbance());
        for (words, times) in &self.failures {
            lines.push(format!("failed {}: {words}", often(*times)));
        }
        if self.censored() > 0 {
            lines.push(match ended {
                Ended::OutOfTime { .. } | Ended::Stalled { .. } => format!(
                    "{} did not converge{}",
                    grouped(self.censored()),
                    ended.words()
                ),
                Ended::Stopped => format!(
                    "{} had not converged when it was stopped",
                    grouped(self.censored())
                ),
                Ended::Converged => format!("{} were not ready at the end", self.censored()),
            });
        }
        lines.extend(self.look.iter().cloned());
        if self.watch_restarts > 0 {
            let why = self.watch_error.as_deref();
            lines.push(format!(
                "the watch was opened again {} ({}); times of objects observed then may be too long",
                often(self.watch_restarts),
                why.unwrap_or("its resourceVersion was too old")
            ));
        }
        match &self.removal {
            None => lines.push(format!("all objects were kept; remove them with: {clean}")),
            Some(removal) => {
                lines.extend(removal.warnings.iter().cloned());
                if removal.left > 0 {
                    lines.push(format!("remove the rest with: {clean}"));
                }
            }
        }
        lines
    }
}

impl Removal {
    pub fn of(cleaned: &CleanUp) -> Self {
        let namespaces = cleaned.namespaces.iter();
        Self {
            deleted: cleaned.deleted,
            left: cleaned.left.len(),
            complete: cleaned.is_complete(),
            warnings: namespaces
                .filter(|(_, end)| *end != NamespaceEnd::Gone)
                .map(|(name, end)| format!("namespace {name}: {end}"))
                .chain(cleaned.warnings.iter().cloned())
                .collect(),
        }
    }
}

fn row(label: &str, count: usize) -> Vec<String> {
    vec![label.to_owned(), grouped(count)]
}

/// The table of times, from when an object was due and from when it was sent.
pub fn latencies(times: &Convergence) -> Table {
    let late = [
        ("sent late", &times.late),
        ("sent late, no connection free", &times.held_up),
    ];
    let late = late.into_iter().filter(|(_, sends)| sends.count() > 0);
    let spans = [
        ("acknowledged, since due", &times.acked_from_intended),
        ("acknowledged, since sent", &times.acked_from_sent),
        ("observed, since due", &times.observed_from_intended),
        ("observed, since sent", &times.observed_from_sent),
        ("ready, since due", &times.ready_from_intended),
        ("ready, since sent", &times.ready_from_sent),
    ];
    let quantile = |latencies: &Latencies, of: fn(&Quantiles) -> f64| {
        figure(latencies.quantiles().as_ref().map(of))
    };
    let rows: Vec<(&str, &Latencies)> = late.chain(spans).collect();
    Table::of(
        "Convergence, ms",
        &rows,
        &[
            ("", &|(label, _)| (*label).to_owned()),
            ("objects", &|(_, of)| grouped(of.count() as usize)),
            ("P50", &|(_, of)| quantile(of, |q| q.p50_ms)),
            ("P90", &|(_, of)| quantile(of, |q| q.p90_ms)),
            ("P99", &|(_, of)| quantile(of, |q| q.p99_ms)),
            ("max", &|(_, of)| quantile(of, |q| q.max_ms)),
        ],
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::convergence::convergence;
    use crate::load::object::Observation;
    use crate::load::timetable::Pace;
    use std::time::Duration;

    /// A timeline with one object of each fate.
    fn timeline() -> Timeline {
        let mut timeline = Timeline::of(7);
        for index in [0, 1, 2, 3, 4, 6] {
            timeline.change(index, |object| {
                object.sent_ns = Some(1_000_000);
                object.intended_ns = Some(0);
            });
        }
        (0..3).for_each(|index| timeline.change(index, |o| o.acknowledge(3_000_000, 1)));
        for (index, ready) in [(0, true), (1, false)] {
            let seen = Observation {
                observed_generation: 1,
                ready,
            };
            timeline.change(index, |o| o.record(11_000_000, seen));
        }
        timeline.fail(3, Failed::Rejected, "exceeded quota".into());
        timeline.fail(4, Failed::Unanswered, "no answer".into());
        timeline.fail(6, Failed::of(Some(503)), "no leader".into());
        timeline
    }

    #[test]
    fn every_object_is_in_one_line() {
        let account = Account::of(&timeline(), None);
        let want = Account {
            asked: 7,
            ready: 1,
            observed: 1,
            unobserved: 1,
            rejected: 1,
            disturbed: 1,
            unanswered: 1,
            not_sent: 1,
            failures: ["exceeded quota", "no answer", "no leader"]
                .map(|words| (words.to_owned(), 1))
                .to_vec(),
            disturbances: BTreeMap::from([(503, 1)]),
            ..Account::default()
        };
        assert_eq!(account, want);
        assert_eq!((account.created(), account.censored()), (3, 2));
        assert!(!account.is_sound());
    }

    #[test]
    fn the_account_reads_from_top_to_bottom() {
        let cleaned = CleanUp {
            deleted: 2,
            ..CleanUp::default()
        };
        let timeline = timeline();
        let account = Account::of(&timeline, Some(&cleaned));
        let times = convergence(&timeline, &Pace::Steady { per_s: 10.0 });
        assert_eq!(
            account.table().plain().lines().skip(1).collect::<Vec<_>>(),
            [
                "asked for                         7",
                "───────────────────────────────────",
                "created                           3",
                "  ready                           1",
                "  observed, not ready (censored)  1",
                "  not observed (censored)         1",
                "rejected                          1",
                "disturbed (429 or 5xx)            1",
                "unanswered                        1",
                "not sent                          1",
                "deleted                           2",
                "left behind                       0",
                "deleted by others                 1",
            ]
        );
        assert_eq!(
            latencies(&times)
                .plain()
                .lines()
                .skip(3)
                .collect::<Vec<_>>(),
            [
                "sent late                       6  1.00  1.00  1.00  1.00",
                "acknowledged, since due         3  3.00  3.00  3.00  3.00",
                "acknowledged, since sent        3  2.00  2.00  2.00  2.00",
                "observed, since due             2  11.0  11.0  11.0  11.0",
                "observed, since sent            2  10.0  10.0  10.0  10.0",
                "ready, since due                1  11.0  11.0  11.0  11.0",
                "ready, since sent               1  10.0  10.0  10.0  10.0",
            ]
        );
        let since = Duration::from_secs(60);
        assert_eq!(
            account.warnings(
                &times,
                Ended::Stalled { since },
                "loadgen clean --run 3f9c1b"
            ),
            [
                "disturbed: the server was overloaded or failing and answered 503 once; do not compare these times with those of an undisturbed run",
                "failed once: exceeded quota",
                "failed once: no answer",
                "failed once: no leader",
                "2 did not converge: no progress for 60 s",
            ]
        );
    }

    #[test]
    fn a_run_is_sound_when_all_converged_and_nothing_is_left() {
        let mut timeline = Timeline::of(1);
        timeline.change(0, |o| o.acknowledge(1, 1));
        let seen = Observation {
            observed_generation: 1,
            ready: true,
        };
        timeline.change(0, |o| o.record(2, seen));
        let kept = Account::of(&timeline, None);
        assert!(kept.is_sound());
        let mut cleaned = CleanUp {
            deleted: 1,
            ..CleanUp::default()
        };
        assert!(Account::of(&timeline, Some(&cleaned)).is_sound());
        cleaned.left.push(crate::target::cleanup::Found::default());
        assert!(!Account::of(&timeline, Some(&cleaned)).is_sound());
    }
}
