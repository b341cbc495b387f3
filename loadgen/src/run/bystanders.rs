//! Objects that do not concern the subject: made before it starts, searched for in its memory, and removed to
//! see what it needs without them.
//!
//! Guarantees: they are all there before the subject starts, and nobody changes them until memory was read, when
//! all other figures with them are taken. Leaves to others: when (`model::step`).

use std::time::{Duration, Instant};

use futures::StreamExt;
use http::Method;
use serde::de::IgnoredAny;

use crate::load::timetable::Pace;
use crate::measure::memory_search;
use crate::measure::settle::Rule;
use crate::model::bystanders;
use crate::model::bystanders::{Bystanders, Changed, Found, NAMESPACE, Use};
use crate::model::step::{Quiet, Step};
use crate::model::subject::Language;
use crate::run::ready;
use crate::run::session::{Reason, Session};
use crate::run::snapshot::Snapshot;
use crate::run::step::settle::settle;
use crate::target::cluster::{Cluster, Error, JSON, MERGE_PATCH};

/// Requests in flight.
const CONNECTIONS: usize = 24;

/// Changes at least; with fewer objects each is changed more than once.
const CHANGES: usize = 1_000;
/// A rate that a small API server keeps; more objects are changed in [`CHANGED_S`].
const PER_S: f64 = 50.0;
const CHANGED_S: f64 = 60.0;
/// What a subject does within this time after a change is because of it.
const AFTERMATH: Duration = Duration::from_secs(2);

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

/// Changes them and counts what the subject does, after as long a time in which nothing changes.
///
/// # Errors
/// The subject has ended, or the server rejects a change.
pub async fn change(session: &mut Session<'_>) -> Result<(), Reason> {
    session.work().await;
    session.say(Step::ChangeBystanders.name());
    let objects: usize = session.setting.bystanders.iter().map(|k| k.objects).sum();
    let rounds = CHANGES.div_ceil(objects.max(1));
    let changes = rounds * objects;
    let per_s = PER_S.max(changes as f64 / CHANGED_S);
    let before = Snapshot::take(session).await;
    let pace = Pace::Steady { per_s };
    tokio::time::sleep(pace.due(changes) + AFTERMATH).await;
    session.check_alive()?;
    let begin = Snapshot::take(session).await;
    let all = &session.setting.bystanders;
    let sent = send_changes(&session.cluster, all, rounds, &pace).await;
    sent.map_err(|error| format!("bystanders: {error}"))?;
    tokio::time::sleep(AFTERMATH).await;
    session.check_alive()?;
    let end = Snapshot::take(session).await;
    session.run.changed_bystanders = Some(Changed {
        changes: changes as u64,
        changing: used(&begin, &end),
        idle: used(&before, &begin),
    });
    Ok(())
}

async fn send_changes(
    cluster: &Cluster,
    all: &[Bystanders],
    rounds: usize,
    pace: &Pace,
) -> Result<(), Error> {
    let started = Instant::now();
    let each = (1..=rounds).flat_map(|round| {
        let objects = all
            .iter()
            .flat_map(|kind| (0..kind.objects).map(move |index| (kind, index)));
        objects.map(move |(kind, index)| (round, kind, index))
    });
    let changes = each.enumerate().map(|(nth, (round, kind, index))| {
        let path = format!("{}/{}", kind.path(NAMESPACE), kind.name(index));
        let due = started + pace.due(nth);
        async move {
            tokio::time::sleep_until(due.into()).await;
            let body = bystanders::change(round as u64);
            cluster
                .ask::<IgnoredAny>(Method::PATCH, &path, Some(MERGE_PATCH), body)
                .await
        }
    });
    let mut changed = futures::stream::iter(changes).buffer_unordered(CONNECTIONS);
    while let Some(changed) = changed.next().await {
        changed?;
    }
    Ok(())
}

fn used(begin: &Snapshot, end: &Snapshot) -> Use {
    let requests = end.requests_since(begin);
    Use {
        seconds: (end.at - begin.at).as_secs_f64(),
        cpu_s: end.cpu_s_since(begin),
        requests: requests.map(|requests| requests.reads() + requests.writes()),
    }
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
