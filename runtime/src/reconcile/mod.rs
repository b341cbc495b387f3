//! One reconcile: brings one owner and its children to the plan, in the fewest requests.
//!
//! Guarantees: nothing that is not ours is touched. Every change of a child names the uid and resourceVersion
//! of an object whose controller is our owner; every write to the owner names its resourceVersion. The status
//! is written only when it differs, and last. A panic in a plan, a server that hangs and a rejected child fail
//! this owner and no other.
//! Leaves to others: when and how often (`queue`), which owners at once (`controller`).

pub(crate) mod child;
pub mod child_names;
mod child_requests;
mod children;
pub mod compare;
pub(crate) mod events;
pub(crate) mod failure;
mod failure_report;
pub(crate) mod fields;
#[cfg(test)]
mod hostile;
pub mod observe;
mod owned;
pub(crate) mod owner;
mod owner_requests;
mod ownership;
pub(crate) mod references;
mod refusals;
mod teardown;
mod unplanned;

use std::panic::AssertUnwindSafe;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::api::{
    Children, Failure, Operator, Owner, OwnerStatus, Plan, Requeue, Status, is_observed,
    mark_annotation, may_be_elsewhere,
};
use crate::http::buffer::Buffer;
use crate::http::paths::Paths;
use crate::http::request::{Api, Request, WHOLE};
use crate::model::{Body, ObjectKey, OwnerState, Retention, Triggers, Uid, millis};
use crate::queue::Outcome;
use crate::reconcile::child::is_unknown;
use crate::reconcile::child_names::ChildNames;
use crate::reconcile::failure::Told;
use crate::reconcile::references::SharedNames;
use crate::reconcile::unplanned::Beside;
use futures::FutureExt;
use http::Method;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::time::Instant;

pub(crate) use crate::reconcile::failure::Interrupt;

/// How often a reconcile starts over because a write met a newer object, before the owner backs off.
const ATTEMPTS_AT_ONCE: usize = 4;

pub(crate) const MERGE_PATCH: &str = "application/merge-patch+json";
pub(crate) const JSON_PATCH: &str = "application/json-patch+json";
pub(crate) const JSON: &str = "application/json";
/// JSON is YAML: the server takes both under this name.
pub(crate) const APPLY_PATCH: &str = "application/apply-patch+yaml";

/// Reconciles owners; shared by all workers.
pub struct Reconciler<O> {
    operator: Arc<O>,
    api: Api,
    paths: Arc<Paths>,
    names: Arc<ChildNames>,
    /// The annotation on a child that names its plan.
    mark: String,
    retention: Retention,
    /// The time that is taken up by the Events that were written (`events`).
    told_until: Mutex<Instant>,
    started: Instant,
    /// How long one reconcile may take.
    deadline: Duration,
    /// More owners wait than workers are free.
    pressure: AtomicBool,
    /// What owners were seen to name.
    pub(crate) referenced: SharedNames,
}

/// One owner that a worker has.
struct Task<'a, O> {
    shared: &'a Reconciler<O>,
    key: &'a ObjectKey,
    state: OwnerState,
}

impl<O: Operator> Reconciler<O> {
    /// A reconciler whose reconciles may take `deadline` each, beside a cache with `retention`. `names`: shared
    /// with those who see the children.
    pub fn new(
        operator: Arc<O>,
        api: Api,
        paths: Arc<Paths>,
        deadline: Duration,
        names: Arc<ChildNames>,
        retention: Retention,
    ) -> Self {
        Self {
            names,
            mark: mark_annotation::<O>(),
            retention,
            operator,
            api,
            paths,
            told_until: Mutex::new(Instant::now()),
            started: Instant::now(),
            deadline,
            pressure: AtomicBool::new(false),
            referenced: SharedNames::default(),
        }
    }

    /// Says whether more owners wait than workers are free. A status that is not final then yields once: what
    /// becomes ready meanwhile is written once.
    pub fn set_pressure(&self, pressure: bool) {
        self.pressure.store(pressure, Relaxed);
    }

    /// Reconciles one owner and returns what is known of it afterwards.
    pub async fn reconcile(&self, key: &ObjectKey, state: OwnerState) -> (OwnerState, Outcome) {
        let _timed = self.api.metrics().time_reconcile();
        let shared = self;
        let mut task = Task { shared, key, state };
        let outcome = match task.attempt().await {
            Ok(outcome) => outcome,
            Err(Interrupt::Gone) => Outcome::Gone,
            Err(Interrupt::Again | Interrupt::Large) => Outcome::Again,
            Err(Interrupt::Wait(after)) => Outcome::Waits {
                base_ms: millis(after),
            },
            Err(Interrupt::Failed { failure, told }) => task.report(&failure, told).await,
        };
        (task.state, outcome)
    }

    fn plan(&self, owner: &Owner<O>, children: &Children) -> Result<Plan<Status<O>>, Interrupt> {
        let plan = self.operator.plan(owner, children);
        let mut plan = plan.map_err(|error| failure::planned(&error))?;
        failure::declare_children::<O>(&owner.meta, &mut plan.children)?;
        if may_be_elsewhere::<O>() {
            failure::check_watched(&self.paths, &plan.children)?;
        }
        Ok(plan)
    }

    /// Milliseconds since the start.
    fn now_ms(&self) -> u64 {
        millis(self.started.elapsed())
    }
}

impl<O: Operator> Task<'_, O> {
    /// Starts over while writes meet newer objects, within the deadline.
    async fn attempt(&mut self) -> Result<Outcome, Interrupt> {
        let looks = self.state.children.are_pending();
        let deadline = self.shared.deadline;
        let attempts = async {
            for _ in 0..ATTEMPTS_AT_ONCE {
                let attempt = self.attempt_once();
                match AssertUnwindSafe(attempt).catch_unwind().await {
                    Ok(Err(Interrupt::Again)) if mutant!(ConflictIsDone) => {
                        return Ok(Outcome::Gone);
                    }
                    Ok(Err(Interrupt::Again)) => {
                        let again = Triggers::REFRESH.with(Triggers::CHECK).with(Triggers::READ);
                        self.state.work.request(again);
                        self.state.children.release();
                    }
                    Ok(result) => return result,
                    Err(panic) => return Err(failure::panicked(panic.as_ref())),
                }
            }
            Err(failure::contended())
        };
        let result = match tokio::time::timeout(deadline, attempts).await {
            Ok(result) => result,
            Err(_) => Err(failure::late(deadline)),
        };
        if result.is_err() && looks {
            // Some of them are recorded now, and the status does not say what follows.
            self.state.work.request(Triggers::CHECK);
        }
        result
    }

    async fn attempt_once(&mut self) -> Result<Outcome, Interrupt> {
        let shared = self.shared;
        if self.state.work.triggers.has(Triggers::REFRESH)
            || self.state.object.resource_version == 0
            || self.state.object.body.is_none()
        {
            self.read_owner().await?;
        }
        if self.state.object.deleting {
            return self.tear_down().await;
        }
        let mut owner = owner::rebuild::<O>(self.key, &self.state.object)
            .map_err(|error| failure::unreadable(&error))?;
        if shared.operator.is_paused(&owner) {
            (self.state.work.attempts, self.state.work.corrections) = (0, None);
            return Ok(Outcome::Stuck);
        }
        let never_seen = owner::never_seen::<O>(&self.state.object);
        self.set_finalizers().await?;
        let state = &mut self.state;
        let besides = Triggers::RETIRED.with(Triggers::REFRESH);
        if state.work.triggers.has(Triggers::RETIRED)
            && state.work.triggers.without(besides).is_empty()
            && state.work.corrections.is_none()
            && !state.children.are_pending()
        {
            // Nothing is known of its children, and nothing about them has changed.
            let after_s = Some(state.work.requeue_after_s).filter(|after_s| *after_s > 0);
            return Ok(Outcome::Written {
                ready: state.object.status.ready,
                requeue_after: after_s.map(|after_s| Duration::from_secs(after_s.into())),
            });
        }
        // What not every operator needs is awaited behind a pointer: where the compiler knows that it is not needed, nothing of it
        // is in the program. Of a future that is awaited where it is, every state stays.
        if !O::REFERENCES.is_empty() {
            shared.read_references(&mut owner).boxed().await?;
        } else if let Some(reference) = shared.operator.references(&owner).first() {
            return Err(failure::undeclared_reference::<O>(reference));
        }
        if is_observed::<O>() {
            self.observe(&mut owner).boxed().await?;
        }
        let seen = self.children();
        let mut plan = shared.plan(&owner, &seen)?;
        let requeue_after = match plan.requeue {
            Requeue::After(requeue_after) => Some(requeue_after),
            Requeue::Default => None,
        };
        shared.learn_names(self.key, &plan.children);
        let now_ms = shared.now_ms();
        let state = &mut self.state;
        let corrections = state.work.corrections.as_deref();
        if corrections.is_some_and(|all| all.are_due(now_ms)) {
            state.work.request(Triggers::CHECK);
        }
        let looks = state.children.are_pending();
        // A status follows only from children that are known: the owner that was read may be another one.
        let unknown = !looks
            && plan
                .children
                .iter()
                .any(|child| is_unknown::<O>(&state.children, child));
        let triggers = state.work.triggers;
        let wanted = triggers.has(Triggers::SPEC.with(Triggers::CHECK)) || unknown;
        // An attempt that ended early, or with its process, may have made children of an earlier spec.
        let is_first_spec = state.object.generation <= 1 || mutant!(FirstAttemptForgotten);
        let checks = triggers.has(Triggers::CHECK) || looks;
        let fresh = never_seen && is_first_spec && !checks;
        if !fresh && (wanted || looks) {
            let beside = match wanted || !state.object.status.ready {
                true => Beside::Compared,
                false => Beside::Pending,
            };
            self.add_unplanned(&mut plan.children, beside).await?;
        }
        if !wanted && looks && self.state.object.status.ready {
            let may_change = self.ensure_pending(&owner, &plan.children).await?;
            self.state.children.settle();
            // One that has yielded is still to be written, whatever the children say now.
            let is_owed =
                self.state.work.triggers.has(Triggers::STATUS) && !mutant!(YieldedForgotten);
            if !may_change && !is_owed && self.field_conflict().is_none() {
                // The status does not change with these children.
                return Ok(Outcome::Written {
                    ready: true,
                    requeue_after,
                });
            }
        } else if wanted || looks {
            // Each body is dropped as soon as it is written: a burst holds one plan for each worker.
            for child in std::mem::take(&mut plan.children) {
                self.ensure_child(&owner, child, fresh).await?;
            }
            let state = &mut self.state;
            state.children.settle();
            state.children.complete = true;
            let corrections = &mut state.work.corrections;
            corrections.take_if(|corrections| !corrections.compared(now_ms));
        }
        // The bodies of the children are dropped before the answer is awaited.
        let Plan { mut status, .. } = { plan };
        let mut children = self.children();
        if children != seen {
            status = shared.plan(&owner, &children)?.status;
        }
        if children.any_refused() {
            shared.read_refusals(&owner, &mut children).await?;
            status = shared.plan(&owner, &children)?.status;
        }
        if let Some(failure) = self.field_conflict() {
            return self.in_conflict(&owner, status, failure).await;
        }
        let state = &mut self.state;
        let ready = status.ready();
        // A large owner would be read once more.
        let may_yield = !state.work.status_yielded && state.object.large_bytes == 0;
        let yields = !ready && may_yield && shared.pressure.load(Relaxed);
        if yields && owner::differs::<O>(&state.object, &mut status) {
            state.work.status_yielded = true;
            return Ok(Outcome::Yielded);
        }
        state.work.status_yielded = false;
        let own_version = state.object.own_version;
        self.write_status(status).await?;
        if self.state.object.own_version != own_version {
            let degraded = shared.operator.degraded(&owner, &children);
            let event = shared.operator.event(&owner, &children);
            self.tell_written(degraded, event).await;
        }
        if !Status::<O>::OBSERVES {
            // Not on the object, but known as long as the entry or the cache keeps it.
            self.state.object.status.observed_generation = Some(self.state.object.generation);
        }
        Ok(Outcome::Written {
            ready,
            requeue_after,
        })
    }

    /// The field conflict that the owner is in.
    fn field_conflict(&self) -> Option<Failure> {
        let corrections = self.state.work.corrections.as_deref()?;
        let (message, pause_ms) = corrections.conflict(self.shared.now_ms())?;
        let pause = Duration::from_millis(pause_ms);
        Some(failure::field_conflict(message, pause))
    }

    /// Everything is as planned but a child that somebody keeps changing. An operator whose status does not report
    /// failures has its planned one.
    async fn in_conflict(
        &mut self,
        owner: &Owner<O>,
        planned: Status<O>,
        failure: Failure,
    ) -> Result<Outcome, Interrupt> {
        // Until that child is looked at again, only what happens to the others is work. The pause grows by
        // itself and not with each look.
        (self.state.work.triggers, self.state.work.attempts) = (Triggers::default(), 0);
        let failed = self
            .shared
            .operator
            .failed(owner, &self.children(), &failure);
        if failed.is_none() {
            self.write_status(planned).await?;
        }
        Err(Interrupt::Failed {
            failure,
            told: Told::AtOnce,
        })
    }

    /// Makes the observation that the plan needs.
    async fn observe(&self, owner: &mut Owner<O>) -> Result<(), Interrupt> {
        let body = self.state.object.body.as_ref();
        let previous = body.and_then(Body::status);
        let observed = self.shared.operator.observe(owner, previous).await;
        owner.observed = observed.map_err(|error| failure::planned(&error))?;
        Ok(())
    }

    /// The children as the plan sees them.
    fn children(&self) -> Children {
        owner::children::<O>(self.key.namespace(), &self.state.children)
    }
}

/// A JSON patch of exactly this object, if it is still this one.
fn guarded((uid, resource_version): (Uid, u64), operations: &[Value]) -> Value {
    let version = resource_version.to_string();
    let mut patch = vec![
        json!({"op": "test", "path": "/metadata/uid", "value": uid.to_string()}),
        // Not a `test`: a resourceVersion that is part of the object makes the server refuse the write with 409 where
        // a newer one exists.
        json!({"op": "replace", "path": "/metadata/resourceVersion", "value": version}),
    ];
    patch.extend_from_slice(operations);
    patch.into()
}

/// A write of `value`, answered with the whole object.
fn write<'a>(
    method: Method,
    path: &'a str,
    (content_type, value): (&'static str, &impl Serialize),
) -> Request<'a> {
    let mut json = Buffer::default();
    // Our own values can always be serialised.
    let _ = serde_json::to_writer(&mut json, value);
    Request {
        method,
        path,
        body: Some((content_type, json.0)),
        accept: WHOLE,
    }
}
