//! Subjects that do not start: what is not there in the first runs is not there in the tenth.
//!
//! Guarantees: after three runs in a row that end alike before the subject has worked, its other runs are not tried, and
//! each says why; a run that starts makes it start anew. Leaves to others: what a failure is (`session`).

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::record::{Failure, Run};

/// Runs in a row that end alike.
const ALIKE: u32 = 3;

/// By subject how it failed last, and how often in a row.
#[derive(Debug, Default)]
pub struct Starts(Mutex<BTreeMap<String, (Failure, u32)>>);

impl Starts {
    pub fn note(&self, run: &Run) {
        let mut all = self.all();
        let subject = run.cell.subject.clone();
        match &run.failure {
            Some(failure) if run.spawn_to_canary_ms.is_none() => {
                let (last, times) = all.entry(subject).or_insert_with(|| (failure.clone(), 0));
                match alike(&last.reason, &failure.reason) {
                    true => *times += 1,
                    false => (*last, *times) = (failure.clone(), 1),
                }
            }
            _ => drop(all.remove(&subject)),
        }
    }

    /// Why another run of this subject is not tried.
    pub fn failing(&self, subject: &str) -> Option<Failure> {
        let all = self.all();
        let (failure, _) = all.get(subject).filter(|(_, times)| *times >= ALIKE)?;
        Some(Failure {
            reason: format!(
                "not tried: {ALIKE} runs before it ended alike: {}",
                failure.reason
            ),
            last_log_lines: failure.last_log_lines.clone(),
        })
    }

    fn all(&self) -> MutexGuard<'_, BTreeMap<String, (Failure, u32)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ports and times differ from run to run.
fn alike(one: &str, other: &str) -> bool {
    let words = |text: &str| text.replace(|c: char| c.is_ascii_digit(), "");
    words(one) == words(other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::cell::{Cell, Kind};

    fn run(reason: Option<&str>, started: bool) -> Run {
        let mut run = Run::empty(&Cell {
            subject: "a/x".into(),
            objects: 0,
            repeat: 1,
            kind: Kind::Memory,
            per_s: None,
        });
        run.failure = reason.map(|reason| Failure {
            reason: reason.into(),
            last_log_lines: vec!["no module named kopf".into()],
        });
        run.spawn_to_canary_ms = started.then_some(1.0);
        run
    }

    #[test]
    fn three_starts_that_fail_alike_are_enough() {
        let starts = Starts::default();
        let dies = || run(Some("a/x ended by itself (exit status: 1)"), false);
        for other in [
            run(Some("another"), false),
            run(Some("later"), true),
            run(None, true),
        ] {
            starts.note(&dies());
            starts.note(&dies());
            assert!(starts.failing("a/x").is_none());
            starts.note(&other);
        }
        (0..3).for_each(|_| starts.note(&dies()));
        let failure = starts.failing("a/x").expect("given up");
        let want = "not tried: 3 runs before it ended alike: a/x ended by itself (exit status: 1)";
        assert_eq!(failure.reason, want);
        assert_eq!(failure.last_log_lines, ["no module named kopf"]);
        // What is not tried says nothing new.
        starts.note(&run(Some(want), false));
        assert!(starts.failing("b/x").is_none());
    }
}
