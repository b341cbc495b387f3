//! Leader election: of several replicas one works, and the others wait.
//!
//! Guarantees: work runs only while this process holds the Lease, and is dropped before another can hold it. A
//! standby watches nothing: it reads the Lease every 2 s. Another replica begins within 20 s of the end of the one
//! that worked, and within 3 s where that one ended in order.
//! Assumptions: the clocks of two nodes advance at the same speed; their times may differ. Work yields: what blocks
//! its thread for seconds is not stopped in time.
//! Caveats: a write that was sent before the Lease was lost can reach the server after it. It names the
//! resourceVersion that it replaces, and so does no harm.
//! Leaves to others: what work is (`controller`), that a process without the Lease ends (`app`).
//! Why not a library: those for kube are made for its whole client; this is two requests.

mod lease;
mod record;

use std::collections::hash_map::RandomState;
use std::future::{Future, poll_fn};
use std::hash::BuildHasher;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use http::Method;
use kube::Client;
use tokio::time::{Instant, sleep_until};
use tracing::{info, warn};

use crate::http::request::{Api, ApiError, OBJECT_BYTES, Request, WHOLE, encode};
use crate::leader::lease::{Action, Lease, TIMING};
use crate::leader::record::{Record, micro_time};
use crate::metrics::{Metrics, Verb};

/// Half of the deadline, as in client-go's components: a request that hangs leaves time for another.
const REQUEST_DEADLINE: Duration = Duration::from_secs(5);
/// A release that takes longer is left to the expiry of the Lease.
const RELEASE_DEADLINE: Duration = Duration::from_secs(2);
const MERGE_PATCH: &str = "application/merge-patch+json";

/// Which Lease, and who we are.
#[derive(Debug, Clone)]
pub struct Candidate {
    /// Namespace of the Lease.
    pub namespace: String,
    /// Name of the Lease: one for each group of replicas of which one works.
    pub name: String,
    /// Field manager of the Lease.
    pub manager: &'static str,
    /// What the Lease says of us while we hold it. No two processes have the same.
    pub identity: String,
}

impl Candidate {
    /// A candidate with the identity of this process: the name of its pod, and a random number, so that a container
    /// that starts again in its pod is another candidate.
    pub fn new(namespace: &str, name: &str, manager: &'static str) -> Self {
        let random = RandomState::new().hash_one(manager);
        Self {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            manager,
            identity: format!("{}_{random:016x}", host_name(manager)),
        }
    }
}

/// In a pod: the name of the pod.
fn host_name(otherwise: &str) -> String {
    let from_kernel = || std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let name = std::env::var("HOSTNAME").ok().or_else(from_kernel);
    let name = name.as_deref().map(str::trim);
    name.filter(|name| !name.is_empty())
        .unwrap_or(otherwise)
        .to_owned()
}

/// The Lease was lost while work ran. The work was dropped; the process has to end.
#[derive(Debug, Clone, thiserror::Error)]
#[error("lost the Lease {lease}: {because}; another replica goes on")]
pub struct Lost {
    lease: String,
    because: String,
}

/// A candidate for the Lease.
pub struct Election {
    api: Api,
    candidate: Candidate,
    /// Path of the Lease.
    path: String,
    lease: Lease,
    /// The last failure of a request, so that it is logged once.
    failure: Option<String>,
}

/// The answer to a request.
struct Answer {
    sent: Instant,
    outcome: Result<Outcome, ApiError>,
}

enum Outcome {
    Read(Option<Record>),
    Written(Record),
    Conflict,
}

impl Election {
    /// A candidate that has sent nothing yet.
    pub fn new(client: Client, metrics: Arc<Metrics>, candidate: Candidate) -> Self {
        metrics.set_standby(true);
        let (namespace, name) = (encode(&candidate.namespace), encode(&candidate.name));
        Self {
            api: Api::new(client, metrics, REQUEST_DEADLINE),
            path: format!(
                "/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/{name}?fieldManager={}",
                candidate.manager
            ),
            lease: Lease::new(&candidate.identity, TIMING, Instant::now()),
            candidate,
            failure: None,
        }
    }

    /// Waits for the Lease, runs `work` while it is held, and releases it. `shutdown` ends the wait; `work` has to
    /// end by itself.
    ///
    /// # Errors
    /// The Lease was lost, and `work` was dropped.
    pub async fn lead(
        mut self,
        shutdown: impl Future<Output = ()>,
        work: impl Future<Output = ()>,
    ) -> Result<(), Lost> {
        let name = self.name();
        info!(lease = %name, identity = %self.candidate.identity, "waiting for the Lease");
        let metrics = self.api.metrics();
        metrics.set_not_ready(&format!("the Lease {name} is not read yet"));
        tokio::select! {
            () = shutdown => return Ok(()),
            () = self.acquire() => {}
        }
        info!(lease = %name, identity = %self.candidate.identity, "leading");
        let metrics = self.api.metrics();
        metrics.set_standby(false);
        metrics.set_not_ready("initial list in progress");
        self.hold(work).await?;
        self.release().await;
        Ok(())
    }

    async fn acquire(&mut self) {
        while self.lease.deadline().is_none() {
            let answer = self.request().await;
            self.on_answer(answer);
        }
    }

    /// Runs `work` and renews the Lease.
    async fn hold(&mut self, work: impl Future<Output = ()>) -> Result<(), Lost> {
        let mut work = pin!(work);
        while let Some(deadline) = self.lease.deadline() {
            let answer = tokio::select! {
                // In this order: nothing is done by a process that wakes up after the deadline.
                biased;
                () = passed(deadline) => break,
                answer = self.request() => answer,
                () = &mut work => return Ok(()),
            };
            self.on_answer(answer);
        }
        let because = match (self.lease.deadline(), self.failure.take()) {
            (Some(_), Some(failure)) => failure,
            (Some(_), None) => "it was not renewed in time".to_owned(),
            (None, _) => "somebody else has changed it".to_owned(),
        };
        Err(Lost {
            lease: self.name(),
            because,
        })
    }

    /// Lets another replica begin at once.
    async fn release(&mut self) {
        let release = async {
            // The answer to the last renewal may be lost: then the record is read, and released after that.
            for _ in 0..2 {
                let Some(record) = self.lease.held() else {
                    return;
                };
                let released = Record {
                    holder: "".into(),
                    duration: Some(Duration::from_secs(1)),
                    ..record.renewed_at(&micro_time())
                };
                match self.patch(released).await {
                    Ok(Outcome::Conflict) => {
                        if let Ok(Outcome::Read(found)) = self.read().await {
                            self.lease.on_read(found, Instant::now());
                        }
                    }
                    Ok(_) => return info!(lease = %self.name(), "released the Lease"),
                    Err(error) => return warn!(lease = %self.name(), "not released: {error}"),
                }
            }
        };
        // Otherwise it expires.
        let _ = tokio::time::timeout(RELEASE_DEADLINE, release).await;
    }

    /// Waits until the next request is due, and sends it.
    async fn request(&self) -> Answer {
        let Some((at, action)) = self.lease.next(Instant::now()) else {
            return std::future::pending().await;
        };
        sleep_until(at).await;
        let sent = Instant::now();
        let identity = &self.candidate.identity;
        let time = micro_time();
        let take = |record: &Record| record.taken_by(identity, TIMING.duration, &time);
        let outcome = match action {
            Action::Read => self.read().await,
            Action::Create => self.create(take(&Record::default())).await,
            Action::Take(record) => self.patch(take(&record)).await,
            Action::Renew(record) => self.patch(record.renewed_at(&time)).await,
        };
        Answer { sent, outcome }
    }

    fn on_answer(&mut self, Answer { sent, outcome }: Answer) {
        let now = Instant::now();
        match outcome {
            Ok(Outcome::Read(found)) => {
                let holder = found.as_ref().map(|record| record.holder.clone());
                let is_new = holder
                    .as_deref()
                    .is_some_and(|one| one != self.lease.holder());
                self.lease.on_read(found, now);
                if let Some(holder) = holder.filter(|one| is_new && !one.is_empty()) {
                    info!(lease = %self.name(), %holder, "another replica leads");
                }
            }
            Ok(Outcome::Written(record)) => self.lease.on_written(record, sent),
            Ok(Outcome::Conflict) => self.lease.on_conflict(sent, now),
            Err(error) => {
                self.lease.on_failed(sent, now);
                return self.on_failure(&error);
            }
        }
        self.failure = None;
        if self.lease.deadline().is_none() {
            self.api.metrics().set_ready();
        }
    }

    fn on_failure(&mut self, error: &ApiError) {
        let lease = self.name();
        let because = match error.missing_permission() {
            Some(permission) => {
                format!("may not {permission}: grant that to this operator's role (retrying)")
            }
            None => format!("cannot read or write the Lease {lease}: {error} (retrying)"),
        };
        if self.lease.deadline().is_none() {
            self.api.metrics().set_not_ready(&because);
        }
        if self.failure.as_ref() != Some(&because) {
            warn!("{because}");
            self.failure = Some(because);
        }
    }

    async fn read(&self) -> Result<Outcome, ApiError> {
        let request = Request::get(&self.path);
        match self.api.call(Verb::Get, request, OBJECT_BYTES).await {
            Ok(body) => Ok(Outcome::Read(Some(decode(&body)?))),
            Err(error) if error.code() == Some(404) => Ok(Outcome::Read(None)),
            Err(error) => Err(error),
        }
    }

    async fn create(&self, record: Record) -> Result<Outcome, ApiError> {
        let (namespace, manager) = (encode(&self.candidate.namespace), self.candidate.manager);
        let path = format!(
            "/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases?fieldManager={manager}"
        );
        let body = record.create(&self.candidate.name);
        self.write(Verb::Create, Method::POST, &path, WHOLE, body)
            .await
    }

    async fn patch(&self, record: Record) -> Result<Outcome, ApiError> {
        let body = record.patch();
        self.write(Verb::Patch, Method::PATCH, &self.path, MERGE_PATCH, body)
            .await
    }

    async fn write(
        &self,
        verb: Verb,
        method: Method,
        path: &str,
        content_type: &'static str,
        body: Vec<u8>,
    ) -> Result<Outcome, ApiError> {
        let request = Request {
            method,
            path,
            body: Some((content_type, body)),
            accept: WHOLE,
        };
        match self.api.call(verb, request, OBJECT_BYTES).await {
            Ok(body) => Ok(Outcome::Written(decode(&body)?)),
            Err(error) => match (verb, error.code()) {
                (_, Some(409)) | (Verb::Patch, Some(404)) => Ok(Outcome::Conflict),
                _ => Err(error),
            },
        }
    }

    /// `NAMESPACE/NAME`.
    fn name(&self) -> String {
        format!("{}/{}", self.candidate.namespace, self.candidate.name)
    }
}

fn decode(body: &[u8]) -> Result<Record, ApiError> {
    Record::read(body).map_err(|error| ApiError::undecodable(&error))
}

/// Waits for `deadline`. The clock decides at every poll, not the timer: a process that was suspended sees the other
/// events that are due before its timers.
async fn passed(deadline: Instant) {
    let mut sleep = pin!(sleep_until(deadline));
    poll_fn(|context| match Instant::now() >= deadline {
        true => std::task::Poll::Ready(()),
        false => sleep.as_mut().poll(context),
    })
    .await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_candidates_have_one_identity() {
        let [one, two] = [(); 2].map(|()| Candidate::new("shop", "x", "x").identity);
        assert_ne!(one, two);
        assert!(one.len() > 17 && !one.contains('\n'), "{one}");
    }
}
