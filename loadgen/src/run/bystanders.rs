//! Objects that do not concern the subject: made before it starts, and searched for in its memory after all
//! samples.
//!
//! Guarantees: they are all there before the subject starts, and nobody changes them. Memory is read when all
//! figures of the run are taken. Leaves to others: what they cost (compare with a bench without them).

use std::time::Duration;

use futures::StreamExt;
use http::Method;
use serde::de::IgnoredAny;

use crate::measure::memory_search;
use crate::model::bystanders::{Bystanders, Found, NAMESPACE};
use crate::model::cell::Kind;
use crate::model::profile::Profile;
use crate::model::subject::Language;
use crate::run::session::{Reason, Session};
use crate::target::cluster::{Cluster, Error, JSON};

/// Requests in flight.
const CONNECTIONS: usize = 24;
/// Go's collector runs at least every two minutes: in this time twice, and what it frees is overwritten or
/// returned before it is counted.
const TWO_COLLECTIONS: Duration = Duration::from_secs(300);

/// # Errors
/// The server rejects one of them.
pub async fn create(cluster: &Cluster, all: &[Bystanders]) -> Result<(), Error> {
    if all.is_empty() {
        return Ok(());
    }
    cluster.ensure_namespace(NAMESPACE).await?;
    for kind in all {
        let path = kind.path();
        let objects = (0..kind.objects).map(|index| {
            cluster.ask::<IgnoredAny>(Method::POST, &path, Some(JSON), kind.object(index))
        });
        let mut made = futures::stream::iter(objects).buffer_unordered(CONNECTIONS);
        while let Some(made) = made.next().await {
            made?;
        }
    }
    Ok(())
}

/// Counts them in the memory of the subject, at the end of a memory run.
///
/// # Errors
/// The subject has ended.
pub async fn count(session: &mut Session<'_>) -> Result<(), Reason> {
    let all = session.setting.bystanders.clone();
    let is_memory = matches!(session.cell.kind, Kind::Memory | Kind::MemoryAa);
    if all.is_empty() || !is_memory {
        return Ok(());
    }
    session.say("searching memory for bystanders");
    let collects = session.subject.language == Language::Go;
    let quick = session.setting.profile == Profile::Quick;
    let wait = match collects && !quick {
        true => TWO_COLLECTIONS,
        false => Duration::ZERO,
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
