//! When a subject has started: once it says so, where it says anything, and once it has observed an object that was
//! created before it started.
//!
//! Guarantees: the same at the first start and at every other one, because a standby is ready long before it works.
//! Leaves to others: starting it (`session`).

use std::fmt::Display;
use std::time::{Duration, Instant};

use crate::engine::launch::readiness;
use crate::engine::load::Load;
use crate::engine::session::{Reason, Session};
use crate::load::look;
use crate::spec::workload::Scenario;

/// Between two looks.
const POLL: Duration = Duration::from_millis(20);

/// Creates an object for a subject that is about to start again.
///
/// # Errors
/// The server rejects it.
pub async fn offer_canary(session: &mut Session<'_>) -> Result<(), Reason> {
    let scenario = session.setting.scenario_of(session.subject);
    // Before it is created: its events may come first.
    let name = session.load.journal.timeline().next_canary();
    create_canary(&session.load, &scenario, &name).await
}

/// Creates the object by which a start is told.
///
/// # Errors
/// The server rejects it.
pub async fn create_canary(load: &Load, scenario: &Scenario, name: &str) -> Result<(), Reason> {
    let failed = |error: &dyn Display| format!("canary: {error}");
    let canary = scenario.object(name, 0, load.seed);
    let canary = canary.map_err(|error| failed(&error))?;
    let canary = load.cluster.create(&scenario.resource, canary).await;
    let generation = canary.map_err(|error| failed(&error))?.metadata.generation;
    let now_ns = load.journal.now_ns();
    let mut timeline = load.journal.timeline();
    timeline.canary.acknowledge(now_ns, generation);
    Ok(())
}

/// How long a start took, from that of the process.
#[derive(Debug, Clone, Copy)]
pub struct Started {
    /// Until the subject said that it is ready; `None` where it does not say.
    pub ready_s: Option<f64>,
    /// Until it had observed the canary.
    pub working_s: f64,
}

/// Waits until the subject says that it is ready, and has observed the canary.
///
/// # Errors
/// It has ended, or has not started at the deadline.
pub async fn started(session: &mut Session<'_>, within: Duration) -> Result<Started, Reason> {
    let deadline = Instant::now() + within;
    let is_told = session.subject.ready.is_told();
    let (mut ready_s, mut told) = (None, None);
    loop {
        session.check_alive()?;
        if is_told && ready_s.is_none() {
            told = readiness(session.subject, &session.running.process, session.admin).await;
            if told.is_none() {
                let spawned_at = session.running.process.spawned_at();
                ready_s = Some(spawned_at.elapsed().as_secs_f64());
            }
        }
        let observed_ns = session.load.journal.timeline().canary.observed_ns();
        if let (Some(at_ns), true) = (observed_ns, ready_s.is_some() || !is_told) {
            let spawned_ns = session
                .load
                .journal
                .ns(session.running.process.spawned_at());
            let working_s = at_ns.saturating_sub(spawned_ns) as f64 / 1e9;
            return Ok(Started { ready_s, working_s });
        }
        if Instant::now() > deadline {
            let (id, within_s) = (session.subject.id(), within.as_secs());
            return Err(match (observed_ns, told) {
                (Some(_), Some(told)) => format!("{id} was not ready in time: {told}"),
                _ => format!(
                    "{id} did not observe the canary within {within_s} s: {}",
                    unobserved(session).await
                ),
            });
        }
        tokio::time::sleep(POLL).await;
    }
}

/// Why the canary was not observed, as far as it shows: what the subject says of itself, and what the canary lacks.
async fn unobserved(session: &Session<'_>) -> String {
    let (subject, running) = (session.subject, &session.running);
    let told = match subject.ready.is_told() {
        true => readiness(subject, &running.process, session.admin).await,
        false => None,
    };
    let scenario = session.setting.scenario_of(subject);
    let name = session.load.journal.timeline().canary_name();
    let convergence = scenario.converged_by(&subject.convergence);
    let looked = look::at(
        &session.load.cluster,
        &scenario.resource,
        convergence,
        &name,
    )
    .await;
    told.into_iter()
        .chain(looked)
        .collect::<Vec<_>>()
        .join("; ")
}
