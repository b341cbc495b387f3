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
use crate::leader::record::Record;
use crate::metrics::{Metrics, Verb};

/// Half of the deadline, as in client-go's components: a request that hangs leaves time for another.
const REQUEST_DEADLINE: Duration = Duration::from_secs(5);
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
    // Container runtimes set it.
    let name = std::env::var("HOSTNAME").ok();
    name.filter(|name| !name.is_empty())
        .unwrap_or_else(|| otherwise.to_owned())
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
    lease: Lease,
    /// The last failure of a request, so that it is logged once.
    failure: String,
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
        metrics.set_not_ready("the Lease is not read yet");
        Self {
            api: Api::new(client, metrics, REQUEST_DEADLINE),
            lease: Lease::new(&candidate.identity, TIMING, Instant::now()),
            candidate,
            failure: String::new(),
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
        let (mut shutdown, mut work) = (pin!(shutdown), pin!(work));
        let mut done = false;
        loop {
            let deadline = self.lease.deadline();
            let answer = tokio::select! {
                // In this order: nothing is done by a process that wakes up after the deadline.
                biased;
                () = passed(deadline) => break,
                answer = self.request() => answer,
                () = &mut work, if deadline.is_some() && !done => {
                    done = true;
                    self.lease.release(Instant::now());
                    continue;
                }
                () = &mut shutdown, if deadline.is_none() => return Ok(()),
            };
            self.on_answer(answer);
            match (deadline, self.lease.deadline()) {
                (None, Some(_)) => self.begin(),
                (Some(_), None) => break,
                _ => {}
            }
        }
        match done {
            // Where it could not be released, it expires.
            true => Ok(()),
            false => Err(Lost {
                lease: self.name(),
                because: match self.lease.deadline() {
                    None => "somebody else has changed it".to_owned(),
                    Some(_) if self.failure.is_empty() => "it was not renewed in time".to_owned(),
                    Some(_) => self.failure,
                },
            }),
        }
    }

    fn begin(&self) {
        info!(lease = %self.name(), identity = %self.candidate.identity, "leading");
        self.api.metrics().set_standby(false);
        self.api.metrics().set_not_ready("initial list in progress");
    }

    /// Waits until the next request is due, and sends it.
    async fn request(&self) -> Answer {
        let Some((at, action)) = self.lease.next(Instant::now()) else {
            return std::future::pending().await;
        };
        sleep_until(at).await;
        let sent = Instant::now();
        let outcome = self.send(action).await;
        Answer { sent, outcome }
    }

    async fn send(&self, action: Action) -> Result<Outcome, ApiError> {
        let Candidate {
            namespace,
            name,
            manager,
            identity,
        } = &self.candidate;
        let leases = format!(
            "/apis/coordination.k8s.io/v1/namespaces/{}/leases",
            encode(namespace)
        );
        let (verb, method, body) = match action {
            Action::Read => (Verb::Get, Method::GET, None),
            Action::Create => {
                let body = record::create(name, identity, TIMING.duration);
                (Verb::Create, Method::POST, Some((WHOLE, body.into_bytes())))
            }
            Action::Write(write) => {
                let patch = self
                    .lease
                    .record()
                    .map(|record| record.patch(write, identity, TIMING.duration));
                let body = patch.unwrap_or_default().into_bytes();
                (Verb::Patch, Method::PATCH, Some((MERGE_PATCH, body)))
            }
        };
        let path = match action {
            Action::Create => format!("{leases}?fieldManager={manager}"),
            _ => format!("{leases}/{}?fieldManager={manager}", encode(name)),
        };
        let request = Request {
            method,
            path: &path,
            body,
            accept: WHOLE,
        };
        let answer = self.api.call(verb, request, OBJECT_BYTES).await;
        let code = answer.as_ref().err().and_then(ApiError::code);
        match (action, code) {
            (Action::Read, Some(404)) => return Ok(Outcome::Read(None)),
            (Action::Write(_), Some(404)) | (_, Some(409)) => return Ok(Outcome::Conflict),
            _ => {}
        }
        let record = Record::read(&answer?)?;
        Ok(match action {
            Action::Read => Outcome::Read(Some(record)),
            _ => Outcome::Written(record),
        })
    }

    fn on_answer(&mut self, Answer { sent, outcome }: Answer) {
        let now = Instant::now();
        let metrics = self.api.metrics();
        match outcome {
            Ok(outcome) => {
                self.failure.clear();
                match outcome {
                    Outcome::Read(found) => {
                        let [before, holder] =
                            [self.lease.record(), found.as_ref()].map(|record| match record {
                                Some(record) => &*record.holder,
                                None => "",
                            });
                        if before != holder && *self.candidate.identity != *holder {
                            info!(lease = %self.name(), holder, "another replica leads");
                        }
                        self.lease.on_read(found, now);
                    }
                    Outcome::Written(record) => self.lease.on_written(record, sent),
                    Outcome::Conflict => self.lease.on_conflict(sent, now),
                }
                if self.lease.deadline().is_none() {
                    metrics.set_ready();
                }
            }
            Err(error) => {
                self.lease.on_failed(sent, now);
                let because = match error.missing_permission() {
                    Some(permission) => {
                        format!("may not {permission}: grant that to this operator's role")
                    }
                    None => format!("cannot read or write the Lease {}: {error}", self.name()),
                };
                if self.lease.deadline().is_none() {
                    metrics.set_not_ready(&because);
                }
                if self.failure != because {
                    warn!("{because} (retrying)");
                    self.failure = because;
                }
            }
        }
    }

    /// `NAMESPACE/NAME`.
    fn name(&self) -> String {
        format!("{}/{}", self.candidate.namespace, self.candidate.name)
    }
}

/// Waits for `deadline`. The clock decides at every poll, not the timer: a process that was suspended sees the other
/// events that are due before its timers.
async fn passed(deadline: Option<Instant>) {
    let Some(deadline) = deadline else {
        return std::future::pending().await;
    };
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
