//! Objects that do not concern the subject: made before it starts, searched for in its memory, and removed to
//! see what it needs without them.
//!
//! Guarantees: they are all there before the subject starts, and nobody changes them. Memory is read when all
//! figures with them are taken. Leaves to others: when (`model::step`).

use std::time::{Duration, Instant};

use futures::StreamExt;
use http::Method;
use serde::de::IgnoredAny;

use crate::load::timetable::Pace;
use crate::measure::memory_search;
use crate::measure::settle::Rule;
use crate::model::bystanders::{Bystanders, Found, NAMESPACE};
use crate::model::step::{Quiet, Step};
use crate::model::subject::Language;
use crate::run::ready;
use crate::run::session::{Reason, Session};
use crate::run::step::settle::settle;
use crate::target::cluster::{Cluster, Error, JSON};

/// Requests in flight.
const CONNECTIONS: usize = 24;

/// # Errors
/// The server rejects one of them.
pub async fn create(cluster: &Cluster, all: &[Bystanders]) -> Result<(), Error> {
    if all.is_empty() {
        return Ok(());
    }
    cluster.ensure_namespace(NAMESPACE).await?;
    for kind in all {
        let path = kind.path(NAMESPACE);
        let objects = (0..kind.objects).map(|index| {
            let object = kind.object(index, NAMESPACE, &[]);
            cluster.ask::<IgnoredAny>(Method::POST, &path, Some(JSON), object)
        });
        let mut made = futures::stream::iter(objects).buffer_unordered(CONNECTIONS);
        while let Some(made) = made.next().await {
            made?;
        }
    }
    Ok(())
}

/// Counts them in the memory of the subject; a subject in Go is left idle for `wait` first.
///
/// # Errors
/// The subject has ended.
pub async fn search(session: &mut Session<'_>, wait: Duration) -> Result<(), Reason> {
    let all = session.setting.bystanders.clone();
    session.say(Step::Search { wait_s: 0 }.name());
    let wait = match session.subject.language {
        Language::Go => wait,
        Language::Rust | Language::Other => Duration::ZERO,
    };
    session.rest();
    tokio::time::sleep(wait).await;
    session.check_alive()?;
    let pid = session.running.process.pid();
    let kinds = all.clone();
    let searched = tokio::task::spawn_blocking(move || memory_search::found(pid, &kinds)).await;
    match searched {
        Ok(Ok(in_memory)) => {
            let found = all
                .into_iter()
                .zip(in_memory)
                .map(|(kind, in_memory)| Found {
                    kind: kind.kind,
                    objects: kind.objects,
                    in_memory,
                    waited_s: wait.as_secs(),
                });
            session.run.bystanders = found.collect();
        }
        Ok(Err(error)) => session
            .run
            .warnings
            .push(format!("memory was not searched for bystanders: {error}")),
        Err(error) => return Err(format!("the search of memory ended: {error}")),
    }
    Ok(())
}

/// Deletes them and starts the subject on what is left: what it then holds less than after the restart before
/// is what they cost it.
///
/// # Errors
/// The server rejects a deletion, or the subject does not start again.
pub async fn without(session: &mut Session<'_>, quiet: Quiet) -> Result<(), Reason> {
    session.work().await;
    let name = Step::WithoutBystanders(quiet).name();
    session.say(name);
    session.stop_subject().await?;
    let removed = remove(&session.cluster, &session.setting.bystanders).await;
    removed.map_err(|error| format!("bystanders: {error}"))?;
    ready::offer_canary(session).await?;
    session.start_subject().await?;
    let timeout = session.setting.timeout(session.cell.objects, &Pace::Burst);
    ready::wait_ready(session, Instant::now() + timeout.deadline).await?;
    let waited = settle(session, name, Rule::of(quiet)).await?;
    session.run.without_bystanders = session.settled(quiet, waited.settled);
    Ok(())
}

async fn remove(cluster: &Cluster, all: &[Bystanders]) -> Result<(), Error> {
    for kind in all {
        let collection = kind.path(NAMESPACE);
        let paths = (0..kind.objects).map(|index| format!("{collection}/{}", kind.name(index)));
        let deletions = paths.map(|path| async move {
            cluster
                .ask::<IgnoredAny>(Method::DELETE, &path, None, vec![])
                .await
        });
        let mut deleted = futures::stream::iter(deletions).buffer_unordered(CONNECTIONS);
        while let Some(deleted) = deleted.next().await {
            deleted?;
        }
    }
    Ok(())
}
