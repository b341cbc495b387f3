//! The conformance check before a measurement: only subjects that do what the workload expects are compared.
//!
//! Guarantees: every subject goes through the same steps, on a server of its own, each with a
//! deadline; a failure is one line that says step, object, expected and seen. It observes a subject
//! through the API server only, so it applies to any program in any language. Leaves to others: measuring.

pub mod checked;
pub mod steps;

use std::time::{Duration, Instant};

use crate::engine::Setting;
use crate::engine::conformance::checked::Checked;
use crate::engine::crds;
use crate::engine::session::Session;
use crate::plan::Plan;
use crate::plan::cell::{Cell, Kind};
use crate::record::Experiment;
use crate::record::conformance::{
    Conformance, ConformanceResult, FOLDER, Failure, Outcome, StepRecord,
};
use crate::record::evidence;
use crate::record::evidence::Evidence;
use crate::spec::subject::Subject;
use crate::spec::workload::conformance::START;
use crate::spec::workload::file::definition;
use crate::target::Source;
use crate::terminal::interrupt::Interrupt;
use crate::terminal::progress::Progress;

/// Longest wait of one step. Even a slow subject needs about a second; 30 s allow for machines that
/// build something else at the same time.
pub(crate) const STEP_DEADLINE: Duration = Duration::from_secs(30);

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
    let step_deadline = setting.deadline.unwrap_or(STEP_DEADLINE).min(STEP_DEADLINE);
    let mut all = Vec::new();
    for subject in &plan.subjects {
        let found = if skip {
            Conformance::not_checked(subject.id(), "--skip-conformance")
        } else if setting.conformance.is_some()
            && matches!(setting.place.source, Source::Existing(_))
        {
            let why =
                "the scenario makes namespaces and objects that an existing cluster may not have";
            Conformance::not_checked(subject.id(), why)
        } else {
            match stop.or(check(setting, subject, step_deadline)).await {
                Some(found) => found,
                None => return Ok(false),
            }
        };
        keep(&setting.place.evidence, &found)?;
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

/// Takes one subject through the scenario of a workload.
pub async fn check(setting: &Setting, subject: &Subject, step_deadline: Duration) -> Conformance {
    let id = subject.id();
    let Some(scenario) = setting.conformance.as_deref() else {
        let why = format!(
            "workload {} has no conformance scenario",
            setting.scenario.name
        );
        return Conformance::not_checked(id, &why);
    };
    let (mut steps, started) = (Vec::new(), Instant::now());
    let definitions = match crds::definitions(subject) {
        Ok(definitions) => definitions,
        Err(seen) => {
            let failed = Err(failure(&id, "its CRDs", seen));
            steps.push(StepRecord::new(START, started, failed));
            return judge(&setting.place.progress, subject, steps);
        }
    };
    if let Err(seen) = scenario.knows(&subject.deviates) {
        let failed = Err(failure(&id, "rules of the scenario", seen));
        steps.push(StepRecord::new(START, started, failed));
        return judge(&setting.place.progress, subject, steps);
    }
    if !definition::have(&definitions, &scenario.resource) {
        let why = format!(
            "it has objects of its own, and the scenario knows only {}",
            scenario.resource.kinds()
        );
        return Conformance::not_checked(id, &why);
    }
    setting
        .place
        .progress
        .step(&format!("{id}: conformance: {START}"));
    // A run without objects: the scenario makes its own.
    let cell = Cell::first(subject.id(), Kind::Memory, 0);
    let stem = format!("{}-conformance", id.replace('/', "-"));
    let session = Session::start(setting, subject, &cell, &stem, &[], None);
    let (mut checked, ready) = match session.await {
        Ok(session) => {
            let mut checked = Checked {
                session,
                scenario,
                deviates: &subject.deviates,
                step_deadline,
            };
            let ready = checked.started().await;
            (Some(checked), ready)
        }
        Err(seen) => (None, Err(failure(&id, "to start", seen))),
    };
    steps.push(StepRecord::new(START, started, ready));
    for step in &scenario.steps {
        // One that did not start does nothing.
        let is_started = steps[0].outcome == Outcome::Passed;
        let on = checked.as_mut().filter(|_| is_started);
        let Some(on) = on else {
            steps.push(StepRecord::not_done(&step.name, Outcome::NotRun));
            continue;
        };
        if on.deviates(step.rule.as_deref()) {
            steps.push(StepRecord::not_done(&step.name, Outcome::Deviates));
            continue;
        }
        let what = format!("{id}: conformance: {}", step.name);
        setting.place.progress.step(&what);
        let started = Instant::now();
        let outcome = steps::run(step, on).await;
        steps.push(StepRecord::new(&step.name, started, outcome));
    }
    if let Some(on) = checked {
        on.session.teardown().await;
    }
    judge(&setting.place.progress, subject, steps)
}

fn judge(progress: &Progress, subject: &Subject, steps: Vec<StepRecord>) -> Conformance {
    let found = Conformance::of(subject.id(), steps, subject.deviates.clone());
    match found.failures().next() {
        Some((step, failure)) => progress.say(&format!(
            "{}: conformance FAILED: {step}: {failure}",
            found.subject
        )),
        None => progress.say(&format!(
            "{}: conformance passed ({:.1} s)",
            found.subject,
            found.steps.iter().map(|step| step.took_s).sum::<f64>()
        )),
    }
    found
}

/// # Errors
/// The evidence cannot be written.
pub fn keep(evidence: &Evidence, found: &Conformance) -> Result<(), evidence::Error> {
    let name = format!("{FOLDER}/{}.json", found.subject.replace('/', "-"));
    evidence.write_json(&name, found)
}

/// What went wrong on the way to an answer, where the subject may have no part in it.
fn failure(object: &str, expected: &str, seen: impl std::fmt::Display) -> Failure {
    Failure {
        object: object.to_owned(),
        expected: expected.to_owned(),
        seen: seen.to_string(),
    }
}
