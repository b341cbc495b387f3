//! The result of the conformance scenario, as it is written to `conformance/<subject>.json`.
//!
//! Guarantees: a step that was not run is said to be so, and never counts as passed. Leaves to
//! others: what follows from it.

use std::fmt;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::record::evidence;
use crate::record::evidence::Evidence;

/// Where the records of the gate are, in the folder of results.
pub const FOLDER: &str = "conformance";

/// What the gate found, as it was kept; nothing where there was none.
///
/// # Errors
/// When a file cannot be read.
pub fn read(evidence: &Evidence) -> Result<Vec<Conformance>, evidence::Error> {
    let names = evidence.json_files(FOLDER)?;
    names.iter().map(|name| evidence.read_json(name)).collect()
}

/// The result of a step.
pub type Stepped = Result<(), Failure>;

impl From<Stepped> for Outcome {
    fn from(stepped: Stepped) -> Self {
        match stepped {
            Ok(()) => Outcome::Passed,
            Err(failure) => Outcome::Failed(failure),
        }
    }
}

/// What was found about one subject.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Conformance {
    pub schema: u32,
    pub subject: String,
    pub result: ConformanceResult,
    /// The rules that it does not keep, as its file says.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deviations: Vec<String>,
    pub steps: Vec<StepRecord>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ConformanceResult {
    Passed,
    Failed,
    /// With the reason.
    NotChecked(String),
}

/// One step of one subject.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct StepRecord {
    /// As the scenario calls it; `start` where the subject says that it is ready.
    pub step: String,
    pub took_s: f64,
    pub outcome: Outcome,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Passed,
    Failed(Failure),
    /// Not done, because the subject deviates from its rule.
    Deviates,
    NotRun,
}

/// What was expected of an object and what was there at the deadline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Failure {
    pub object: String,
    pub expected: String,
    pub seen: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            object,
            expected,
            seen,
        } = self;
        write!(f, "{object}: expected {expected}, seen {seen}")
    }
}

impl Conformance {
    pub fn of(subject: String, steps: Vec<StepRecord>, deviations: Vec<String>) -> Self {
        let is_kept =
            |step: &StepRecord| matches!(step.outcome, Outcome::Passed | Outcome::Deviates);
        let passed = steps.iter().all(is_kept);
        Self {
            schema: 1,
            subject,
            result: if passed {
                ConformanceResult::Passed
            } else {
                ConformanceResult::Failed
            },
            deviations,
            steps,
        }
    }

    pub fn not_checked(subject: String, reason: &str) -> Self {
        Self {
            schema: 1,
            subject,
            result: ConformanceResult::NotChecked(reason.to_owned()),
            deviations: Vec::new(),
            steps: Vec::new(),
        }
    }

    pub fn failures(&self) -> impl Iterator<Item = (&str, &Failure)> {
        self.steps.iter().filter_map(|step| match &step.outcome {
            Outcome::Failed(failure) => Some((step.step.as_str(), failure)),
            _ => None,
        })
    }

    /// What a reader of figures must know; nothing where the subject keeps every rule.
    pub fn warning(&self) -> Option<String> {
        let subject = &self.subject;
        match &self.result {
            ConformanceResult::Passed if self.deviations.is_empty() => None,
            ConformanceResult::Passed => Some(format!(
                "{subject} deviates from {} of the conformance scenario",
                self.deviations.join(", ")
            )),
            ConformanceResult::NotChecked(reason) => {
                Some(format!("conformance of {subject} not checked: {reason}"))
            }
            ConformanceResult::Failed => {
                let failures = self
                    .failures()
                    .map(|(step, failure)| format!("{step}: {failure}"));
                Some(format!(
                    "{subject} is not measured, since it failed the conformance scenario: {}",
                    failures.collect::<Vec<_>>().join("; ")
                ))
            }
        }
    }
}

impl StepRecord {
    pub fn new(step: &str, started: Instant, stepped: Stepped) -> Self {
        Self {
            step: step.to_owned(),
            took_s: started.elapsed().as_secs_f64(),
            outcome: stepped.into(),
        }
    }

    /// A step that was not done.
    pub fn not_done(step: &str, outcome: Outcome) -> Self {
        Self {
            step: step.to_owned(),
            took_s: 0.0,
            outcome,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(step: &str, outcome: Outcome) -> StepRecord {
        StepRecord {
            step: step.to_owned(),
            took_s: 1.0,
            outcome,
        }
    }

    #[test]
    fn a_step_that_was_not_run_is_not_passed() {
        let steps = vec![
            step("create", Outcome::Passed),
            step("scale", Outcome::NotRun),
        ];
        let found = Conformance::of("a/b".into(), steps, Vec::new());
        assert_eq!(found.result, ConformanceResult::Failed);
    }

    #[test]
    fn a_deviation_that_the_subject_says_passes_and_stands_beside_its_figures() {
        let steps = vec![
            step("create", Outcome::Passed),
            step("collision", Outcome::Deviates),
        ];
        let found = Conformance::of("a/b".into(), steps, vec!["collision".into()]);
        assert_eq!(found.result, ConformanceResult::Passed);
        assert_eq!(
            found.warning().expect("a remark"),
            "a/b deviates from collision of the conformance scenario"
        );
    }

    #[test]
    fn a_remark_says_step_object_expected_and_seen() {
        let failure = Failure {
            object: "Deployment scale".into(),
            expected: "/spec/replicas 3".into(),
            seen: "1".into(),
        };
        let steps = vec![
            step("create", Outcome::Passed),
            step("scale", Outcome::Failed(failure)),
        ];
        let found = Conformance::of("a/b".into(), steps, Vec::new());
        assert_eq!(
            found.warning().expect("it failed"),
            "a/b is not measured, since it failed the conformance scenario: \
             scale: Deployment scale: expected /spec/replicas 3, seen 1"
        );
        let kept = serde_json::to_string(&found).expect("JSON");
        assert_eq!(
            serde_json::from_str::<Conformance>(&kept).expect("itself"),
            found
        );
    }
}
