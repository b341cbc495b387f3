//! When a subject may be given work: once it says so, or once it has observed an object that was created before it
//! started.
//!
//! Guarantees: a subject that says nothing has to observe a new object after each start, because an operator with
//! leader election runs for seconds before it reads anything. Leaves to others: starting it (`session`).

use std::fmt::Display;
use std::time::{Duration, Instant};

use crate::load::look;
use crate::run::launch::readiness;
use crate::run::session::{Reason, Session};

/// Between two looks.
const POLL: Duration = Duration::from_millis(20);

/// Creates an object for a subject that is about to start again; nothing where the subject says by itself when it is
/// ready.
///
/// # Errors
/// The server rejects it.
pub async fn offer_canary(session: &mut Session<'_>) -> Result<(), Reason> {
    if session.subject.ready.is_told() {
        return Ok(());
    }
    let scenario = session.setting.scenario_of(session.subject);
    // Before it is created: its events may come first.
    let name = session.journal.timeline().next_canary();
    let failed = |error: &dyn Display| format!("canary: {error}");
    let canary = scenario.object(&name, 0, session.setting.seed);
    let canary = canary.map_err(|error| failed(&error))?;
    let canary = session.cluster.create(&scenario.resource, canary).await;
    let canary = canary.map_err(|error| failed(&error))?;
    let now_ns = session.journal.now_ns();
    let mut timeline = session.journal.timeline();
    timeline
        .canary
        .acknowledge(now_ns, canary.metadata.generation);
    Ok(())
}

/// Why the canary was not observed, as far as it shows: what the subject says of itself, and what the canary lacks.
pub async fn unobserved(session: &Session<'_>) -> String {
    let (subject, running) = (session.subject, &session.running);
    let told = match subject.ready.is_told() {
        true => readiness(subject, &running.process, session.admin).await,
        false => None,
    };
    let scenario = session.setting.scenario_of(subject);
    let name = session.journal.timeline().canary_name();
    let convergence = scenario.converged_by(&subject.convergence);
    let looked = look::at(&session.cluster, &scenario.resource, convergence, &name).await;
    told.into_iter()
        .chain(looked)
        .collect::<Vec<_>>()
        .join("; ")
}

/// Waits until the subject says that it is ready, or until it has observed the canary where it does not say.
///
/// # Errors
/// It has ended, or is not ready at the deadline.
pub async fn wait_ready(session: &mut Session<'_>, deadline: Instant) -> Result<(), Reason> {
    loop {
        session.check_alive()?;
        let last = match session.subject.ready.is_told() {
            true => readiness(session.subject, &session.running.process, session.admin).await,
            false => {
                let observed_ns = session.journal.timeline().canary.observed_ns();
                let unseen = observed_ns.is_none();
                unseen.then(|| "it has not observed a new object".to_owned())
            }
        };
        let Some(mut last) = last else {
            return Ok(());
        };
        if Instant::now() > deadline {
            if !session.subject.ready.is_told() {
                last = format!("{last}: {}", unobserved(session).await);
            }
            return Err(format!(
                "{} was not ready in time: {last}",
                session.subject.id()
            ));
        }
        tokio::time::sleep(POLL).await;
    }
}
