//! Objects that do not concern the subject: made before it starts, searched for in its memory, and removed to
//! see what it needs without them.
//!
//! Guarantees: they are all there before the subject starts, and nobody changes them until memory was read, when
//! all other figures with them are taken. Leaves to others: when (`model::step`).

use std::time::Duration;

use crate::load::bystanders::{Request, send};
use crate::load::timetable::Pace;
use crate::measure::memory_search;
use crate::measure::settle::Rule;
use crate::model::bystanders::{Bystanders, Changed, Found, NAMESPACE, Use};
use crate::model::step::{Quiet, Step};
use crate::model::subject::Language;
use crate::run::ready;
use crate::run::session::{Reason, Session};
use crate::run::snapshot::Snapshot;
use crate::run::step::settle::settle;
use crate::target::cluster::{Cluster, Error};

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
    let create = |kind: &Bystanders, index| Request::create(kind, index, NAMESPACE, &[]);
    ask_for_each(cluster, all, &Pace::Burst, create).await
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
    let pids = session.running.tree().pids();
    let kinds = all.clone();
    let searched = tokio::task::spawn_blocking(move || memory_search::found(&pids, &kinds)).await;
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
    for round in 1..=rounds as u64 {
        let change = |kind: &Bystanders, index| Request::change(kind, index, NAMESPACE, round);
        let sent = ask_for_each(&session.cluster, all, &pace, change).await;
        sent.map_err(|error| format!("bystanders: {error}"))?;
    }
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

async fn ask_for_each(
    cluster: &Cluster,
    all: &[Bystanders],
    pace: &Pace,
    request: impl Fn(&Bystanders, usize) -> Request,
) -> Result<(), Error> {
    let ask = |request: Request| async move { request.ask(cluster).await };
    send(all, pace, request, ask, |_| ()).await
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
    let all = &session.setting.bystanders;
    let delete = |kind: &Bystanders, index| Request::delete(kind, index, NAMESPACE);
    let removed = ask_for_each(&session.cluster, all, &Pace::Burst, delete).await;
    removed.map_err(|error| format!("bystanders: {error}"))?;
    ready::offer_canary(session).await?;
    session.start_subject().await?;
    let timeout = session.setting.timeout(session.cell.objects, &Pace::Burst);
    ready::started(session, timeout.deadline).await?;
    let waited = settle(session, name, Rule::of(quiet)).await?;
    session.run.without_bystanders = session.settled(quiet, waited.settled);
    Ok(())
}
