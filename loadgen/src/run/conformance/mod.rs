//! The conformance check before a measurement: only subjects that do what the workload expects are compared.
//!
//! Guarantees: every subject goes through the same steps, on a server of its own, each with a
//! deadline; a failure is one line that says step, object, expected and seen. It observes a subject
//! through the API server only, so it applies to any program in any language. Leaves to others: measuring.

pub mod session;
pub mod steps;

use std::path::Path;
use std::time::{Duration, Instant};

use crate::model::conformance::{
    Conformance, ConformanceResult, FOLDER, Failure, Outcome, StepRecord,
};
use crate::model::evidence;
use crate::model::evidence::Evidence;
use crate::model::plan::Plan;
use crate::model::record::Experiment;
use crate::model::subject::Subject;
use crate::model::workload::conformance::{ConformanceScenario, START};
use crate::run::Setting;
use crate::run::conformance::session::Session;
use crate::target::Source;
use crate::terminal::interrupt::Interrupt;
use crate::terminal::progress::Progress;

/// Longest wait of one step. Even a slow subject needs about a second; 30 s allow for machines that
/// build something else at the same time.
pub(crate) const STEP_DEADLINE: Duration = Duration::from_secs(30);

/// The conformance check, with what is the same for all subjects.
pub struct Gate<'a> {
    pub source: &'a Source,
    pub bin: &'a Path,
    /// A folder for credentials that only this user can read.
    pub temp_dir: &'a Path,
    pub evidence: &'a Evidence,
    pub progress: &'a Progress,
    pub step_deadline: Duration,
    /// Time from a Deployment's creation until the server reports it ready.
    pub ready_delay_ms: u64,
}

/// Removes the subjects that fail the scenario from the plan. Returns false if the user asked to stop.
///
/// # Errors
/// Evidence cannot be written. A subject that fails is not an error.
pub async fn admit(
    plan: &mut Plan,
    experiment: &mut Experiment,
    setting: &Setting,
    stop: &Interrupt,
    skip: bool,
) -> Result<bool, evidence::Error> {
    let gate = Gate {
        source: &setting.source,
        bin: &setting.bin,
        temp_dir: &setting.temp_dir,
        evidence: &setting.evidence,
        progress: &setting.progress,
        step_deadline: setting.deadline.unwrap_or(STEP_DEADLINE).min(STEP_DEADLINE),
        ready_delay_ms: setting.ready_delay_ms,
    };
    let (workload, scenario) = (&setting.scenario.name, setting.conformance.as_deref());
    let mut all = Vec::new();
    for subject in &plan.subjects {
        let found = if skip {
            Conformance::not_checked(subject.id(), "--skip-conformance")
        } else if setting.conformance.is_some() && matches!(setting.source, Source::Existing(_)) {
            let why =
                "the scenario makes namespaces and objects that an existing cluster may not have";
            Conformance::not_checked(subject.id(), why)
        } else {
            tokio::select! {
                biased;
                () = stop.requested() => return Ok(false),
                found = gate.check(subject, workload, scenario) => found,
            }
        };
        gate.keep(&found)?;
        all.push(found);
    }
    retain(plan, experiment, setting, &all);
    Ok(true)
}

/// Removes the subjects that failed from the plan.
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
    /// Takes one subject through the scenario of a workload.
    pub async fn check(
        &self,
        subject: &Subject,
        workload: &str,
        scenario: Option<&ConformanceScenario>,
    ) -> Conformance {
        let id = subject.id();
        let Some(scenario) = scenario else {
            let why = format!("workload {workload} has no conformance scenario");
            return Conformance::not_checked(id, &why);
        };
        let mut steps = Vec::new();
        let started = Instant::now();
        self.progress.step(&format!("{id}: conformance: {START}"));
        let mut session = match Session::start(self, subject, scenario).await {
            Ok(Some(session)) => session,
            Ok(None) => {
                let why = format!(
                    "it has objects of its own, and the scenario knows only {}",
                    scenario.resource.kinds()
                );
                return Conformance::not_checked(id, &why);
            }
            Err(failure) => {
                steps.push(StepRecord::new(START, started, Err(failure)));
                let others = scenario.steps.iter();
                steps.extend(others.map(|step| StepRecord::not_run(&step.name)));
                return self.judge(id, steps);
            }
        };
        steps.push(StepRecord::new(START, started, Ok(())));
        for (number, step) in scenario.steps.iter().enumerate() {
            // The later steps need what the first one shows, and each would fail only at its deadline.
            let first = steps.get(1).filter(|_| number > 0);
            if first.is_some_and(|first| first.outcome != Outcome::Passed) {
                steps.push(StepRecord::not_run(&step.name));
                continue;
            }
            self.progress
                .step(&format!("{id}: conformance: {}", step.name));
            let started = Instant::now();
            let outcome = steps::run(step, &mut session).await;
            steps.push(StepRecord::new(&step.name, started, outcome));
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
    /// The evidence cannot be written.
    pub fn keep(&self, found: &Conformance) -> Result<(), evidence::Error> {
        let name = format!("{FOLDER}/{}.json", found.subject.replace('/', "-"));
        self.evidence.write_json(&name, found)
    }

    /// The path of the subject's logs without a suffix.
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
