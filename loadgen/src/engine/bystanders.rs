//! Objects that do not concern the operator: made before it starts or by a step, searched for in its memory, and removed
//! to see what it needs without them.
//!
//! Guarantees: on a cluster of somebody's they are in a namespace that is made for them, with the label of the run. Those
//! of a bench are all there before the subject starts, and nobody changes them until memory was read, when all other
//! figures with them are taken. Leaves to others: when (`plan::course`), and what they look like (`spec::bystanders`).

use std::time::{Duration, Instant};

use http::Method;

use crate::engine::load::Load;
use crate::engine::ready;
use crate::engine::session::{Reason, Session};
use crate::engine::snapshot::Snapshot;
use crate::engine::step::restart;
use crate::engine::step::settle::settle;
use crate::load::bystanders::{Request, send};
use crate::load::timetable::Pace;
use crate::run_id;
use crate::spec::bystanders::{Bystanders, Changed, Found, NAMESPACE, Use};
use crate::spec::step::{Quiet, Step};
use crate::spec::subject::Language;
use crate::spec::workload::{BYSTANDERS_LABEL, RUN_LABEL};
use crate::target::cluster::{Cluster, Error};
use crate::watch::memory_search;
use crate::watch::settle::Rule;

/// Changes at least; with fewer objects each is changed more than once.
const CHANGES: usize = 1_000;
/// A rate that a small API server keeps; more objects are changed in [`CHANGED_S`].
const PER_S: f64 = 50.0;
const CHANGED_S: f64 = 60.0;
/// What a subject does within this time after a change is because of it.
const AFTERMATH: Duration = Duration::from_secs(2);
/// How long a new namespace may be without its ServiceAccount.
const ACCOUNT: Duration = Duration::from_secs(10);
/// Between two tries.
const BETWEEN: Duration = Duration::from_millis(200);

/// Where they are made for a load.
fn namespace(load: &Load) -> String {
    match &load.run {
        Some(run) => format!("{}-bystanders", run_id::namespace(run)),
        None => NAMESPACE.to_owned(),
    }
}

/// Makes them; those that are there already, from a step before, stay as they are.
///
/// # Errors
/// The server rejects one of them.
pub async fn create(load: &Load, all: &[Bystanders], pace: &Pace) -> Result<(), Reason> {
    if all.is_empty() {
        return Ok(());
    }
    let namespace = namespace(load);
    let run = load.run.as_deref().map(|run| (RUN_LABEL, run));
    let labels: Vec<_> = run.into_iter().collect();
    let of_namespace = run.map(|run| vec![run, (BYSTANDERS_LABEL, "true")]);
    let made = load
        .cluster
        .make_namespace(&namespace, &of_namespace.unwrap_or_default())
        .await;
    made.map_err(|error| format!("cannot create namespace {namespace}: {}", error.words()))?;
    let create = |kind: &Bystanders, index| Request::create(kind, index, &namespace, &labels);
    ask_for_each(load, all, pace, "bystanders created", create).await
}

/// Makes them, and changes each so often.
///
/// # Errors
/// The server rejects one of these requests.
pub async fn offer(
    load: &Load,
    all: &[Bystanders],
    changes: u64,
    per_s: Option<f64>,
) -> Result<(), Reason> {
    // One loadgen makes all of them.
    let pace = per_s.map_or(Pace::Burst, |per_s| Pace::Steady { per_s });
    create(load, all, &pace).await?;
    for nth in 1..=changes {
        change_each(load, all, nth, &pace).await?;
    }
    Ok(())
}

/// `nth` is in the change, so that it is one.
async fn change_each(load: &Load, all: &[Bystanders], nth: u64, pace: &Pace) -> Result<(), Reason> {
    let namespace = namespace(load);
    let change = |kind: &Bystanders, index| Request::change(kind, index, &namespace, nth);
    ask_for_each(load, all, pace, "bystanders changed", change).await
}

/// Counts them in the memory of the subject; a subject in Go is left idle for `wait` first.
///
/// # Errors
/// The subject has ended.
pub async fn search(session: &mut Session<'_>, wait: Duration) -> Result<(), Reason> {
    let all = session.setting.bystanders.clone();
    session.load.say(&Step::Search { wait_s: 0 }.name());
    let wait = match session.subject.language {
        Language::Go => wait,
        _ => Duration::ZERO,
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
    session.load.say(&Step::ChangeBystanders.name());
    let objects: usize = session.setting.bystanders.iter().map(|k| k.objects).sum();
    let rounds = CHANGES.div_ceil(objects.max(1));
    let changes = rounds * objects;
    let per_s = PER_S.max(changes as f64 / CHANGED_S);
    let before = Snapshot::take(session).await;
    let pace = Pace::Steady { per_s };
    tokio::time::sleep(pace.due(changes) + AFTERMATH).await;
    session.check_alive()?;
    let begin = Snapshot::take(session).await;
    for round in 1..=rounds as u64 {
        change_each(&session.load, &session.setting.bystanders, round, &pace).await?;
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

/// A request for each, on the timetable.
async fn ask_for_each(
    load: &Load,
    all: &[Bystanders],
    pace: &Pace,
    what: &str,
    request: impl Fn(&Bystanders, usize) -> Request,
) -> Result<(), Reason> {
    let objects: usize = all.iter().map(|kind| kind.objects).sum();
    let what = format!("{}{what}", load.who);
    let answered = |count| load.progress.count(&what, count, objects as u64);
    let sent = send(all, pace, request, |one| ask(&load.cluster, one), answered).await;
    sent.map_err(|error| format!("bystanders: {}", error.words()))
}

async fn ask(cluster: &Cluster, request: Request) -> Result<(), Error> {
    let creates = request.method == Method::POST;
    let give_up = Instant::now() + ACCOUNT;
    loop {
        match request.ask(cluster).await {
            Err(error) if creates && error.code() == Some(409) => return Ok(()),
            Err(error) if waits_for_account(&error.words()) && Instant::now() < give_up => {
                tokio::time::sleep(BETWEEN).await;
            }
            other => return other,
        }
    }
}

/// A Pod is rejected until its namespace has the ServiceAccount `default`, which a controller makes.
fn waits_for_account(words: &str) -> bool {
    words.contains("error looking up service account")
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
    session.load.say(&name);
    session.stop_subject().await?;
    let namespace = namespace(&session.load);
    let delete = |kind: &Bystanders, index| Request::delete(kind, index, &namespace);
    let (load, all) = (&session.load, &session.setting.bystanders);
    ask_for_each(load, all, &Pace::Burst, "bystanders deleted", delete).await?;
    ready::offer_canary(session).await?;
    restart::start(session).await?;
    let waited = settle(session, &name, Rule::of(quiet)).await?;
    session.run.without_bystanders = session.settled(quiet, waited.settled);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_missing_service_account_is_waited_for() {
        // As the ServiceAccount admission of Kubernetes v1.36.4 says it.
        let missing = "pods \"bystander-0\" is forbidden: error looking up service account \
            loadgen-1-bystanders/default: serviceaccount \"default\" not found";
        assert!(waits_for_account(missing));
        assert!(!waits_for_account("pods is forbidden: exceeded quota"));
    }
}
