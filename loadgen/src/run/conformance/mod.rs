//! The gate before measuring: a subject that does not do what an EdgeApp operator does is not
//! compared with one that does.
//!
//! Guarantees: every subject goes through the same steps, on a server of its own, each with a
//! deadline; a failure is one line that says step, object, expected and seen. It looks through the
//! API server only, so it holds for any program in any language. Leaves to others: measuring.

pub mod expect;
pub mod objects;
pub mod session;
pub mod steps;

use std::path::Path;
use std::time::{Duration, Instant};

use crate::model::conformance::step::Step;
use crate::model::conformance::{Conformance, ConformanceResult, FOLDER, Failure, StepRecord};
use crate::model::evidence;
use crate::model::evidence::Evidence;
use crate::model::interrupt::Interrupt;
use crate::model::plan::Plan;
use crate::model::progress::Progress;
use crate::model::record::Experiment;
use crate::model::subject::Subject;
use crate::run::Setting;
use crate::run::conformance::session::Session;
use crate::target::Source;

/// Longest wait of one step. A subject that needs a second is slow; half a minute is for machines
/// that build something else at the same time.
pub(crate) const STEP_DEADLINE: Duration = Duration::from_secs(30);

/// What is the same for all subjects.
pub struct Gate<'a> {
    pub source: &'a Source,
    pub workspace: &'a Path,
    pub bin: &'a Path,
    /// A folder for credentials that only this user can read.
    pub temp_dir: &'a Path,
    pub evidence: &'a Evidence,
    pub progress: &'a Progress,
    pub step_deadline: Duration,
    /// From a Deployment's creation until it is ready.
    pub ready_delay_ms: u64,
}

/// Leaves in the plan what passes the scenario; false when a stop was asked for.
///
/// # Errors
/// Only when evidence cannot be written; a subject that fails is not an error.
pub async fn admit(
    plan: &mut Plan,
    experiment: &mut Experiment,
    setting: &Setting,
    stop: &Interrupt,
    skip: bool,
) -> Result<bool, evidence::Error> {
    let gate = Gate {
        source: &setting.source,
        workspace: &setting.workspace,
        bin: &setting.bin,
        temp_dir: &setting.temp_dir,
        evidence: &setting.evidence,
        progress: &setting.progress,
        step_deadline: setting.deadline.unwrap_or(STEP_DEADLINE).min(STEP_DEADLINE),
        ready_delay_ms: setting.ready_delay_ms,
    };
    let mut all = Vec::new();
    for subject in &plan.subjects {
        let found = if skip {
            Conformance::not_checked(subject.id(), "--skip-conformance")
        } else if matches!(setting.source, Source::Existing(_)) {
            let why =
                "the scenario makes namespaces and objects that an existing cluster may not have";
            Conformance::not_checked(subject.id(), why)
        } else {
            tokio::select! {
                biased;
                () = stop.requested() => return Ok(false),
                found = gate.check(subject) => found,
            }
        };
        gate.keep(&found)?;
        all.push(found);
    }
    retain(plan, experiment, setting, &all);
    Ok(true)
}

/// Takes out of the plan whoever failed.
pub fn retain(
    plan: &mut Plan,
    experiment: &mut Experiment,
    setting: &Setting,
    found: &[Conformance],
) {
    let passed = |id: &str| {
        let mut failed = found
            .iter()
            .filter(|one| one.result == ConformanceResult::Failed);
        failed.all(|one| one.subject != id)
    };
    plan.subjects.retain(|subject| passed(&subject.id()));
    let subjects = &mut experiment.origin.subjects;
    subjects.retain(|known| passed(&known.subject.id()));
    experiment.planned = plan.cells(setting.seed);
}

impl Gate<'_> {
    /// Takes one subject through the scenario.
    pub async fn check(&self, subject: &Subject) -> Conformance {
        let id = subject.id();
        let mut steps = Vec::new();
        let started = Instant::now();
        self.progress.step(&format!("{id}: conformance: start"));
        let mut session = match Session::start(self, subject).await {
            Ok(Some(session)) => session,
            Ok(None) => return Conformance::not_checked(id, "the scenario is EdgeApp's"),
            Err(failure) => {
                steps.push(StepRecord::new(Step::Start, started, Err(failure)));
                steps.extend(Step::SCENARIO.map(StepRecord::not_run));
                return self.judge(id, steps);
            }
        };
        steps.push(StepRecord::new(Step::Start, started, Ok(())));
        for step in Step::SCENARIO {
            // What cannot be created cannot be scaled either, and each try costs a deadline.
            if !steps.iter().all(StepRecord::lets_others_run) {
                steps.push(StepRecord::not_run(step));
                continue;
            }
            self.progress.step(&format!("{id}: conformance: {step}"));
            let started = Instant::now();
            let outcome = steps::run(step, &mut session).await;
            steps.push(StepRecord::new(step, started, outcome));
        }
        session.teardown().await;
        self.judge(id, steps)
    }

    fn judge(&self, subject: String, steps: Vec<StepRecord>) -> Conformance {
        let found = Conformance::of(subject, steps);
        match found.failures().next() {
            Some((step, failure)) => self.progress.say(&format!(
                "{}: conformance FAILED: {step}: {failure}",
                found.subject
            )),
            None => self.progress.say(&format!(
                "{}: conformance passed ({:.1} s)",
                found.subject,
                found.steps.iter().map(|step| step.took_s).sum::<f64>()
            )),
        }
        found
    }

    /// # Errors
    /// When the evidence cannot be written.
    pub fn keep(&self, found: &Conformance) -> Result<(), evidence::Error> {
        let name = format!("{FOLDER}/{}.json", found.subject.replace('/', "-"));
        self.evidence.write_json(&name, found)
    }

    /// Where logs go, without their suffix.
    fn log(&self, subject: &Subject) -> std::path::PathBuf {
        let stem = subject.id().replace('/', "-");
        self.evidence.path(&format!("logs/{stem}-conformance"))
    }
}

/// What went wrong on the way to an answer, where the subject may have no part in it.
fn failure(object: &str, expected: &str, seen: impl std::fmt::Display) -> Failure {
    Failure {
        object: object.to_owned(),
        expected: expected.to_owned(),
        seen: seen.to_string(),
    }
}
