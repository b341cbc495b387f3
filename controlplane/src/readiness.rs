//! The readiness agent: stands in for nodes and for the controllers of Deployments.
//!
//! Guarantees: each Deployment's status follows its spec, a delay after the change; nothing is written where
//! nothing differs; memory holds the Deployments in flight only. It recovers from 410, silence and a restart
//! of the server. A Deployment whose status has a condition of type [`HELD`] is left as it is.
//! Leaves to others: what the status says (`kubesim::readiness`), and that no real controller of
//! Deployments runs beside it.

mod pending;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures::future::BoxFuture;
use futures::stream::{BoxStream, FuturesUnordered};
use futures::{FutureExt, StreamExt};
use http::{Method, Request};
use kube::Client;
use kube::core::WatchEvent;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::readiness::pending::{Key, Pending, Written};
use kubesim::Clock;
use kubesim::readiness::Observed;

/// The condition of a Deployment whose status somebody else writes for a while, such as a test that lets it become unready.
pub const HELD: &str = "Held";

const PATH: &str = "/apis/apps/v1/deployments";
const PAGE: usize = 500;
/// Writes at once: more would only queue in the server.
const WRITES: usize = 16;
const ANSWER: Duration = Duration::from_secs(30);
const RETRY: Duration = Duration::from_millis(250);
/// The server ends the watch itself before this, and bookmarks come every minute.
const WATCH_S: u64 = 240;
const SILENCE: Duration = Duration::from_secs(150);

/// A running agent. Its task ends when this is dropped.
#[derive(Debug)]
pub struct Agent {
    task: JoinHandle<()>,
    counts: Arc<Counters>,
}

/// The requests of an agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub status_writes: u64,
    /// Of these, refused or not answered; tried again unless the Deployment was gone.
    pub failed_writes: u64,
    /// Complete lists: one at the start, one after each loss of the watch.
    pub lists: u64,
}

#[derive(Debug, Default)]
struct Counters {
    status_writes: AtomicU64,
    failed_writes: AtomicU64,
    lists: AtomicU64,
}

impl Agent {
    /// Starts one; `delay` is from a change of the spec until the status is written. The client's
    /// user needs to list, watch and patch Deployments.
    pub fn start(client: Client, delay: Duration) -> Agent {
        let counts = Arc::new(Counters::default());
        let task = AgentTask {
            client,
            clock: Clock::new(),
            pending: Pending::new(delay, RETRY),
            writes: FuturesUnordered::new(),
            counts: counts.clone(),
        };
        Agent {
            task: tokio::spawn(task.run()),
            counts,
        }
    }

    /// Its requests so far.
    pub fn counts(&self) -> Counts {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Counts {
            status_writes: read(&self.counts.status_writes),
            failed_writes: read(&self.counts.failed_writes),
            lists: read(&self.counts.lists),
        }
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A Deployment, as far as it matters.
#[derive(Clone, Debug, Deserialize)]
struct Deployment {
    metadata: Meta,
    #[serde(default)]
    spec: Scale,
    #[serde(default)]
    status: Value,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Meta {
    name: String,
    #[serde(default)]
    namespace: String,
    resource_version: String,
    #[serde(default)]
    generation: i64,
    deletion_timestamp: Option<serde::de::IgnoredAny>,
}

#[derive(Clone, Debug, Default, Deserialize)]
struct Scale {
    replicas: Option<i64>,
}

#[derive(Deserialize)]
struct Page {
    metadata: PageMeta,
    items: Vec<Deployment>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PageMeta {
    resource_version: String,
    #[serde(rename = "continue", default)]
    next: String,
}

type Events = BoxStream<'static, kube::Result<WatchEvent<Deployment>>>;

/// Why a watch ended.
enum Lost {
    /// Its place in the history is known: a new watch starts there.
    Place,
    /// Everything has to be listed again.
    History(String),
}

/// What the agent does in its task.
struct AgentTask {
    client: Client,
    clock: Clock,
    pending: Pending,
    writes: FuturesUnordered<BoxFuture<'static, (Key, Written)>>,
    counts: Arc<Counters>,
}

impl AgentTask {
    async fn run(mut self) {
        loop {
            let cause = match self.list().await {
                Ok(version) => self.follow(version).await,
                Err(cause) => cause,
            };
            tracing::warn!(%cause, "the readiness agent lists all Deployments again");
            tokio::time::sleep(RETRY).await;
        }
    }

    /// Takes note of all Deployments; returns the version to watch from.
    async fn list(&mut self) -> Result<String, String> {
        self.counts.lists.fetch_add(1, Ordering::Relaxed);
        self.pending.restart();
        let mut next = String::new();
        loop {
            let path = format!("{PATH}?limit={PAGE}{next}");
            let request = request(Method::GET, &path, None).map_err(|cause| cause.to_string())?;
            let page: Page = in_time(self.client.request(request)).await?;
            for deployment in page.items {
                self.observe(deployment);
            }
            if page.metadata.next.is_empty() {
                return Ok(page.metadata.resource_version);
            }
            let token: String =
                form_urlencoded::byte_serialize(page.metadata.next.as_bytes()).collect();
            next = format!("&continue={token}");
        }
    }

    /// Watches from a version until the history from there is lost; says why.
    async fn follow(&mut self, mut version: String) -> String {
        loop {
            let path = format!(
                "{PATH}?watch=true&allowWatchBookmarks=true&timeoutSeconds={WATCH_S}&resourceVersion={version}"
            );
            let lost = match open(&self.client, &path).await {
                Ok(events) => self.watch(events, &mut version).await,
                Err(cause) => Lost::History(cause),
            };
            if let Lost::History(cause) = lost {
                return cause;
            }
        }
    }

    async fn watch(&mut self, mut events: Events, version: &mut String) -> Lost {
        loop {
            let event = tokio::time::timeout(SILENCE, events.next());
            let due = self
                .pending
                .next_due()
                .filter(|_| self.writes.len() < WRITES);
            tokio::select! {
                event = event => match event {
                    Ok(Some(Ok(event))) => {
                        if let Err(cause) = self.event(event, version) {
                            return Lost::History(cause);
                        }
                    }
                    Ok(Some(Err(cause))) => return Lost::History(cause.to_string()),
                    // The server's own end of the watch, or nothing at all for too long.
                    Ok(None) | Err(_) => return Lost::Place,
                },
                Some((key, how)) = self.writes.next(), if !self.writes.is_empty() => {
                    self.pending.written(&key, how, Instant::now());
                }
                () = tokio::time::sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => {
                    self.write();
                }
            }
        }
    }

    fn event(&mut self, event: WatchEvent<Deployment>, version: &mut String) -> Result<(), String> {
        match event {
            WatchEvent::Added(deployment) | WatchEvent::Modified(deployment) => {
                version.clone_from(&deployment.metadata.resource_version);
                self.observe(deployment);
            }
            WatchEvent::Deleted(deployment) => {
                version.clone_from(&deployment.metadata.resource_version);
                self.pending.forget(&deployment.key());
            }
            WatchEvent::Bookmark(bookmark) => {
                version.clone_from(&bookmark.metadata.resource_version);
            }
            WatchEvent::Error(status) => return Err(status.to_string()),
        }
        Ok(())
    }

    fn observe(&mut self, deployment: Deployment) {
        let key = deployment.key();
        if deployment.metadata.deletion_timestamp.is_some() || is_held(&deployment.status) {
            return self.pending.forget(&key);
        }
        let seen = Observed {
            name: deployment.metadata.name,
            generation: deployment.metadata.generation,
            replicas: deployment.spec.replicas.unwrap_or(1),
            status: deployment.status,
        };
        self.pending.observe(key, seen, Instant::now());
    }

    /// Begins one write that is due.
    fn write(&mut self) {
        let Some((key, seen)) = self.pending.take_due(Instant::now()) else {
            return;
        };
        self.counts.status_writes.fetch_add(1, Ordering::Relaxed);
        let patch = patch(&seen, &self.clock.now());
        let (client, counts) = (self.client.clone(), self.counts.clone());
        let write = async move {
            let how = put(&client, &key, patch).await;
            if how != Written::Done {
                counts.failed_writes.fetch_add(1, Ordering::Relaxed);
            }
            (key, how)
        };
        self.writes.push(write.boxed());
    }
}

impl Deployment {
    fn key(&self) -> Key {
        format!("{}/{}", self.metadata.namespace, self.metadata.name).into()
    }
}

fn is_held(status: &Value) -> bool {
    let conditions = status["conditions"].as_array();
    let mut conditions = conditions.into_iter().flatten();
    conditions.any(|one| one["type"] == HELD)
}

/// A merge patch to the wanted status: what is no longer in it is taken away.
fn patch(seen: &Observed, now: &str) -> Value {
    let mut status = seen.wanted(true, now);
    if let (Some(before), Some(wanted)) = (seen.status.as_object(), status.as_object_mut()) {
        for field in before.keys() {
            wanted.entry(field).or_insert(Value::Null);
        }
    }
    json!({ "status": status })
}

async fn put(client: &Client, key: &Key, patch: Value) -> Written {
    let Some((namespace, name)) = key.split_once('/') else {
        return Written::Gone;
    };
    let path = format!("/apis/apps/v1/namespaces/{namespace}/deployments/{name}/status");
    let write = async {
        let request = request(Method::PATCH, &path, Some(patch))?;
        client.request::<serde::de::IgnoredAny>(request).await
    };
    match tokio::time::timeout(ANSWER, write).await {
        Ok(Ok(_)) => Written::Done,
        Ok(Err(kube::Error::Api(status))) if status.code == 404 => Written::Gone,
        Ok(Err(cause)) => {
            tracing::warn!(deployment = %key, %cause, "the readiness agent could not write");
            Written::Failed
        }
        Err(_) => {
            tracing::warn!(deployment = %key, "the readiness agent got no answer to a write");
            Written::Failed
        }
    }
}

async fn open(client: &Client, path: &str) -> Result<Events, String> {
    let request = request(Method::GET, path, None).map_err(|cause| cause.to_string())?;
    let events = in_time(client.request_events(request)).await?;
    Ok(events.boxed())
}

/// An answer, or why there is none.
async fn in_time<T>(request: impl Future<Output = kube::Result<T>>) -> Result<T, String> {
    match tokio::time::timeout(ANSWER, request).await {
        Ok(answer) => answer.map_err(|cause| cause.to_string()),
        Err(_) => Err(format!("no answer within {} s", ANSWER.as_secs())),
    }
}

fn request(method: Method, path: &str, body: Option<Value>) -> kube::Result<Request<Vec<u8>>> {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header(http::header::CONTENT_TYPE, "application/merge-patch+json")
        .body(
            body.map(|body| body.to_string().into_bytes())
                .unwrap_or_default(),
        );
    request.map_err(kube::Error::HttpError)
}
