//! The work on one owner: from what is known of it to what its plan says, in the fewest requests.
//!
//! Guarantees: nothing that is not ours is touched (every change of a child names the uid and
//! resourceVersion of an object whose controller is our owner, every write to the owner its
//! resourceVersion); the status is written only when it differs, and last; a panic in a plan, a
//! server that hangs and a refused child are this owner's failure and nobody else's.
//! Leaves to others: when and how often (`queue`), which owners at once (`controller`).

pub mod child;
mod children;
pub mod drift;
pub mod events;
mod failure;
pub mod owner;
mod snapshots;
mod teardown;

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures::FutureExt;
use http::Method;
use serde_json::{Value, json};
use tracing::{debug, warn};

use crate::api::{Children, Failure, Operator, Owner, OwnerStatus, Plan, Requeue, Retry, Status};
use crate::http::paths::Paths;
use crate::http::request::{Api, ApiError, METADATA, OBJECT_BYTES, Request, WHOLE};
use crate::metrics::Verb;
use crate::model::object::{PartialObject, Uid};
use crate::queue::{ChildSnapshot, Outcome, OwnerState, Triggers};
use crate::reconcile::events::Events;

pub(crate) use crate::reconcile::failure::Interrupt;

/// How often a write that met a newer object starts over before the object backs off.
const ATTEMPTS_AT_ONCE: usize = 4;

pub(crate) const MERGE_PATCH: &str = "application/merge-patch+json";
pub(crate) const JSON_PATCH: &str = "application/json-patch+json";
pub(crate) const JSON: &str = "application/json";
/// JSON is YAML: the server takes both under this name.
pub(crate) const APPLY_PATCH: &str = "application/apply-patch+yaml";

/// Does the work on owners; shared by all workers.
pub struct Applier<O> {
    pub(crate) operator: Arc<O>,
    pub(crate) api: Api,
    pub(crate) paths: Arc<Paths>,
    pub(crate) events: Events,
    /// How long one reconcile may take.
    pub(crate) deadline: Duration,
    /// Whether the cache keeps what children were found to be like, which spares reads of them.
    pub(crate) keeps_last_applied: bool,
}

impl<O: Operator> Applier<O> {
    /// Brings one owner as far as it gets and says how far that was.
    pub async fn reconcile(&self, key: &str, mut state: OwnerState) -> (OwnerState, Outcome) {
        let _timed = self.api.metrics().time_reconcile();
        let outcome = self.attempt(key, &mut state).await;
        let outcome = match outcome {
            Ok(outcome) => outcome,
            Err(Interrupt::Gone) => Outcome::Gone,
            Err(Interrupt::Again) => Outcome::Again,
            Err(Interrupt::Wait(after)) => Outcome::Waits {
                base_ms: millis(after),
            },
            Err(Interrupt::Failed { failure, degraded }) => {
                self.report(key, &mut state, &failure, degraded).await
            }
        };
        (state, outcome)
    }

    /// Starts over while writes meet newer objects, within the deadline.
    async fn attempt(&self, key: &str, state: &mut OwnerState) -> Result<Outcome, Interrupt> {
        let all_snapshots = std::mem::take(&mut state.snapshots);
        let attempts = async {
            // Good for one attempt: what events showed is read by the next one.
            let mut snapshots = all_snapshots.as_slice();
            for _ in 0..ATTEMPTS_AT_ONCE {
                let once = self.once(key, state, std::mem::take(&mut snapshots));
                match AssertUnwindSafe(once).catch_unwind().await {
                    Ok(Err(Interrupt::Again)) => {
                        let anew = Triggers::REFRESH.with(Triggers::CHECK).with(Triggers::READ);
                        state.triggers = state.triggers.with(anew);
                    }
                    Ok(result) => return result,
                    Err(panic) => return Err(failure::panicked(panic.as_ref())),
                }
            }
            Err(failure::contended())
        };
        let result = match tokio::time::timeout(self.deadline, attempts).await {
            Ok(result) => result,
            Err(_) => Err(failure::late(self.deadline)),
        };
        if result.is_err() && !all_snapshots.is_empty() {
            state.triggers = state.triggers.with(Triggers::CHECK);
        }
        result
    }

    async fn once(
        &self,
        key: &str,
        state: &mut OwnerState,
        snapshots: &[ChildSnapshot],
    ) -> Result<Outcome, Interrupt> {
        if state.triggers.has(Triggers::REFRESH)
            || state.resource_version == 0
            || state.spec.is_none()
        {
            self.read_owner(key, state).await?;
        }
        let owner = owner::rebuild::<O>(key, state).map_err(|error| failure::unreadable(&error))?;
        if state.deleting {
            return self.teardown(key, &owner, state).await;
        }
        let adopts = state.adopts(O::FINALIZER.is_some());
        let never_seen = match Status::<O>::WRITTEN {
            true => state.status.digest == 0,
            false => adopts,
        };
        if let Some(finalizer) = O::FINALIZER.filter(|_| adopts) {
            self.add_finalizer(key, state, finalizer).await?;
        }
        let mut plan = self.plan(&owner, &owner::children::<O>(state))?;
        let requeue_after = match plan.requeue {
            Requeue::After(requeue_after) => Some(requeue_after),
            Requeue::Default => None,
        };
        let wanted = state.triggers.has(Triggers::SPEC.with(Triggers::CHECK));
        if !wanted && !snapshots.is_empty() && state.status.ready {
            if !self
                .ensure_snapshots(&owner, state, &plan.children, snapshots)
                .await?
            {
                // No status follows from them.
                return Ok(Outcome::Written {
                    ready: true,
                    requeue_after,
                });
            }
            plan = self.plan(&owner, &owner::children::<O>(state))?;
        } else if wanted || !snapshots.is_empty() {
            let fresh = never_seen && !state.triggers.has(Triggers::CHECK);
            // Each goes as soon as it is written: a burst holds as many plans as there are workers.
            for child in std::mem::take(&mut plan.children) {
                let snapshot = snapshots::snapshot_of::<O>(snapshots, &child);
                self.ensure(&owner, state, child, fresh, snapshot).await?;
            }
            state.children_complete = true;
            plan = self.plan(&owner, &owner::children::<O>(state))?;
        }
        // The bodies of its children go before the answer is waited for.
        let Plan { status, .. } = { plan };
        let ready = status.ready();
        self.write_status(key, state, status).await?;
        if !Status::<O>::OBSERVES {
            // Not on the object, but known as long as the entry lives (or a cache keeps it).
            state.status.observed_generation = Some(state.generation);
        }
        Ok(Outcome::Written {
            ready,
            requeue_after,
        })
    }

    pub(crate) fn plan(
        &self,
        owner: &Owner<O>,
        children: &Children,
    ) -> Result<Plan<Status<O>>, Interrupt> {
        self.operator
            .plan(owner, children)
            .map_err(|error| failure::planned(&error))
    }

    /// Reads the owner anew; what was known of its children stays if it is still the same one.
    async fn read_owner(&self, key: &str, state: &mut OwnerState) -> Result<(), Interrupt> {
        if state.triggers.has(Triggers::CHILD) {
            self.api
                .metrics()
                .owner_reads_for_children
                .fetch_add(1, Relaxed);
        }
        let path = self.paths.owner_path(key);
        let body = match self
            .api
            .call(Verb::Get, Request::get(&path), OBJECT_BYTES)
            .await
        {
            Ok(body) => body,
            Err(error) if error.code() == Some(404) => return Err(Interrupt::Gone),
            Err(error) => return Err(failure::asked(error, "get", &self.paths.owner_kind, key)),
        };
        let seen = serde_json::from_slice::<PartialObject<'_>>(&body)
            .and_then(|object| owner::decode::<O>(&object))
            .map_err(|error| failure::unreadable(&error))?;
        if state.uid != seen.uid && state.uid != Uid::default() {
            state.children.clear();
            state.children_complete = false;
            state.own_version = 0;
        }
        state.refresh(seen);
        let own = owner::triggers_beside_children::<O>(state);
        if own.is_empty() && state.deleting {
            return Err(Interrupt::Gone);
        }
        state.triggers = state.triggers.with(own);
        Ok(())
    }

    async fn add_finalizer(
        &self,
        key: &str,
        state: &mut OwnerState,
        finalizer: &str,
    ) -> Result<(), Interrupt> {
        let add = match state.finalizers.count {
            0 => json!({"op": "add", "path": "/metadata/finalizers", "value": [finalizer]}),
            _ => json!({"op": "add", "path": "/metadata/finalizers/-", "value": finalizer}),
        };
        self.patch_owner(key, "", state, &[add]).await?;
        state.finalizers.ours = Some(state.finalizers.count);
        state.finalizers.count = state.finalizers.count.saturating_add(1);
        Ok(())
    }

    /// Writes the status if it differs from the one last written.
    pub(crate) async fn write_status(
        &self,
        key: &str,
        state: &mut OwnerState,
        mut status: Status<O>,
    ) -> Result<(), Interrupt> {
        if !Status::<O>::WRITTEN {
            return Ok(());
        }
        let mut memory = owner::remember::<O>(&mut status);
        if memory.digest == state.status.digest {
            return Ok(());
        }
        owner::stamp(status.conditions(), &state.status, &mut memory, now_s());
        // The whole status is ours: replaced at once, nothing of an earlier one is left behind.
        let value = serde_json::to_value(&status).map_err(|error| failure::unreadable(&error))?;
        let replace = json!({"op": "add", "path": "/status", "value": value});
        self.patch_owner(key, "/status", state, &[replace]).await?;
        state.status = memory;
        Ok(())
    }

    /// Patches the owner if it is still as we know it: same uid, same resourceVersion.
    pub(crate) async fn patch_owner(
        &self,
        key: &str,
        subresource: &str,
        state: &mut OwnerState,
        operations: &[Value],
    ) -> Result<(), Interrupt> {
        let mut patch = vec![
            json!({"op": "test", "path": "/metadata/uid", "value": state.uid.to_string()}),
            // Not a `test`: a resourceVersion that is part of the object makes the server refuse
            // the write with 409 where a newer one exists.
            json!({"op": "replace", "path": "/metadata/resourceVersion", "value": state.resource_version.to_string()}),
        ];
        patch.extend_from_slice(operations);
        let mut path = self.paths.owner_path(key);
        path.push_str(subresource);
        path.push_str("?fieldManager=");
        path.push_str(O::NAME);
        let request = Request {
            method: Method::PATCH,
            path: &path,
            body: Some((JSON_PATCH, encode(&Value::Array(patch)))),
            accept: METADATA,
        };
        match self.api.call(Verb::Patch, request, OBJECT_BYTES).await {
            Ok(body) => {
                let object: PartialObject<'_> =
                    serde_json::from_slice(&body).map_err(|error| failure::unreadable(&error))?;
                state.resource_version = object.metadata.resource_version;
                state.own_version = object.metadata.resource_version;
                Ok(())
            }
            Err(error) if error.code() == Some(404) => Err(Interrupt::Gone),
            // 422: a `test` failed, so it is another object, or its list of finalizers moved.
            Err(error) if matches!(error.code(), Some(409)) || is_failed_test(&error) => {
                Err(Interrupt::Again)
            }
            Err(error) => Err(failure::asked(error, "patch", &self.paths.owner_kind, key)),
        }
    }

    /// A failure becomes a status, a Warning Event on entering it, a figure and a line in the log.
    async fn report(
        &self,
        key: &str,
        state: &mut OwnerState,
        failure: &Failure,
        degraded: bool,
    ) -> Outcome {
        self.api.metrics().error(failure.reason);
        let kind = &self.paths.owner_kind;
        if degraded {
            match self.write_failure(key, state, failure).await {
                Ok(true) => {
                    warn!(%kind, object = key, reason = failure.reason, "{}", failure.message);
                    self.events
                        .warn(&self.api, &self.paths, key, state.uid, failure)
                        .await;
                }
                Ok(false) => {
                    debug!(%kind, object = key, reason = failure.reason, "{}", failure.message)
                }
                Err(interrupt) => {
                    debug!(%kind, object = key, ?interrupt, "the failure could not be written down")
                }
            }
        } else {
            debug!(%kind, object = key, reason = failure.reason, "{}", failure.message);
        }
        let retry = match failure.retry {
            Retry::Backoff => O::RETRY,
            named => named,
        };
        match retry {
            Retry::Backoff => Outcome::Failed { base_ms: None },
            Retry::From(delay) => Outcome::Failed {
                base_ms: Some(millis(delay)),
            },
            Retry::AwaitChange => Outcome::Stuck,
        }
    }

    /// Whether the failure is news: to the status, or where none tells of failures, since the last
    /// success.
    async fn write_failure(
        &self,
        key: &str,
        state: &mut OwnerState,
        failure: &Failure,
    ) -> Result<bool, Interrupt> {
        let first = state.attempts == 0;
        let Ok(owner) = owner::rebuild::<O>(key, state) else {
            return Ok(first);
        };
        let children = owner::children::<O>(state);
        let status = AssertUnwindSafe(|| self.operator.failed(&owner, &children, failure));
        let Ok(Some(status)) = std::panic::catch_unwind(status) else {
            return Ok(first);
        };
        let before = state.status.digest;
        let written =
            tokio::time::timeout(self.deadline, self.write_status(key, state, status)).await;
        match written {
            Ok(result) => result.map(|()| state.status.digest != before),
            Err(_) => Ok(false),
        }
    }
}

/// kube-apiserver answers a JSON patch that does not apply (a `test` failed) with 422, no field to
/// blame, and a message of its own for all such cases (`NewGenericServerResponse` in apimachinery).
fn is_failed_test(error: &ApiError) -> bool {
    let message = error.to_string();
    error.code() == Some(422)
        && (message.contains("due to an error in our request") || message.contains("test"))
}

/// Our own values are always serialisable.
pub(crate) fn encode(value: &Value) -> Vec<u8> {
    serde_json::to_vec(value).unwrap_or_default()
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// Seconds since 1970.
pub(crate) fn now_s() -> u32 {
    let elapsed = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    u32::try_from(elapsed.as_secs()).unwrap_or(u32::MAX)
}

/// A request for one whole object.
pub(crate) fn whole<'a>(
    method: Method,
    path: &'a str,
    body: Option<(&'static str, &Value)>,
) -> Request<'a> {
    Request {
        method,
        path,
        body: body.map(|(kind, value)| (kind, encode(value))),
        accept: WHOLE,
    }
}
