//! One reconcile: brings one owner and its children to the plan, in the fewest requests.
//!
//! Guarantees: nothing that is not ours is touched. Every change of a child names the uid and resourceVersion
//! of an object whose controller is our owner; every write to the owner names its resourceVersion. The status
//! is written only when it differs, and last. A panic in a plan, a server that hangs and a rejected child fail
//! this owner and no other.
//! Leaves to others: when and how often (`queue`), which owners at once (`controller`).

pub(crate) mod child;
pub mod child_names;
pub(crate) mod child_records;
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
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use crate::api::{
    Children, Failure, Operator, Owner, OwnerStatus, Plan, Requeue, Status, is_observed,
    may_be_elsewhere,
};
use crate::http::buffer::Buffer;
use crate::http::paths::Paths;
use crate::http::request::{Api, Request, WHOLE};
use crate::model::{Body, ObjectKey, OwnerState, Retention, Triggers, Uid, millis};
use crate::queue::Outcome;
use crate::reconcile::child_names::ChildNames;
use crate::reconcile::child_records::is_unknown;
use crate::reconcile::child_requests::ChildRequests;
use crate::reconcile::events::Events;
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
    requests: ChildRequests<O>,
    names: Arc<ChildNames>,
    retention: Retention,
    events: Events,
    started: Instant,
    /// How long one reconcile may take.
    deadline: Duration,
    /// More owners wait than workers are free.
    pressure: AtomicBool,
    /// What owners were seen to name.
    pub(crate) referenced: SharedNames,
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
            retention,
            operator,
            requests: ChildRequests::new(api.clone(), Arc::clone(&paths)),
            api,
            paths,
            events: Events::default(),
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
    pub async fn reconcile(&self, key: &ObjectKey, mut state: OwnerState) -> (OwnerState, Outcome) {
        let _timed = self.api.metrics().time_reconcile();
        let outcome = self.attempt(key, &mut state).await;
        let outcome = match outcome {
            Ok(outcome) => outcome,
            Err(Interrupt::Gone) => Outcome::Gone,
            Err(Interrupt::Again | Interrupt::Large) => Outcome::Again,
            Err(Interrupt::Wait(after)) => Outcome::Waits {
                base_ms: millis(after),
            },
            Err(Interrupt::Failed { failure, told }) => {
                self.report(key, &mut state, &failure, told).await
            }
        };
        (state, outcome)
    }

    /// Starts over while writes meet newer objects, within the deadline.
    async fn attempt(&self, key: &ObjectKey, state: &mut OwnerState) -> Result<Outcome, Interrupt> {
        let looks = state.children.are_pending();
        let attempts = async {
            for _ in 0..ATTEMPTS_AT_ONCE {
                let attempt = self.attempt_once(key, state);
                match AssertUnwindSafe(attempt).catch_unwind().await {
                    Ok(Err(Interrupt::Again)) if mutant!(ConflictIsDone) => {
                        return Ok(Outcome::Gone);
                    }
                    Ok(Err(Interrupt::Again)) => {
                        let again = Triggers::REFRESH.with(Triggers::CHECK).with(Triggers::READ);
                        state.work.request(again);
                        state.children.release();
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
        if result.is_err() && looks {
            // Some of them are recorded now, and the status does not say what follows.
            state.work.request(Triggers::CHECK);
        }
        result
    }

    async fn attempt_once(
        &self,
        key: &ObjectKey,
        state: &mut OwnerState,
    ) -> Result<Outcome, Interrupt> {
        if state.work.triggers.has(Triggers::REFRESH)
            || state.object.resource_version == 0
            || state.object.body.is_none()
        {
            self.read_owner(key, state).await?;
        }
        if state.object.deleting {
            return self.tear_down(key, state).await;
        }
        let mut owner =
            owner::rebuild::<O>(key, &state.object).map_err(|error| failure::unreadable(&error))?;
        if self.operator.is_paused(&owner) {
            (state.work.attempts, state.work.corrections) = (0, None);
            return Ok(Outcome::Stuck);
        }
        let never_seen = owner::never_seen::<O>(&state.object);
        self.set_finalizers(key, state).await?;
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
            self.read_references(&mut owner).boxed().await?;
        } else if let Some(reference) = self.operator.references(&owner).first() {
            return Err(failure::undeclared_reference::<O>(reference));
        }
        if is_observed::<O>() {
            self.observe(&mut owner, state).boxed().await?;
        }
        let seen = owner::children::<O>(&owner.meta.namespace, &state.children);
        let mut plan = self.plan(&owner, &seen)?;
        let requeue_after = match plan.requeue {
            Requeue::After(requeue_after) => Some(requeue_after),
            Requeue::Default => None,
        };
        self.learn_names(&owner, &plan.children);
        let now_ms = self.now_ms();
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
                .any(|child| is_unknown::<O>(state, child));
        let wanted = state
            .work
            .triggers
            .has(Triggers::SPEC.with(Triggers::CHECK))
            || unknown;
        // An attempt that ended early, or with its process, may have made children of an earlier spec.
        let is_first_spec = state.object.generation <= 1 || mutant!(FirstAttemptForgotten);
        let checks = state.work.triggers.has(Triggers::CHECK) || looks;
        let fresh = never_seen && is_first_spec && !checks;
        if !fresh && (wanted || looks) {
            let beside = match wanted || !state.object.status.ready {
                true => Beside::Compared,
                false => Beside::Pending,
            };
            self.add_unplanned(&owner, state, &mut plan.children, beside)
                .await?;
        }
        if !wanted && looks && state.object.status.ready {
            let may_change = self.ensure_pending(&owner, state, &plan.children).await?;
            state.children.settle();
            // One that has yielded is still to be written, whatever the children say now.
            let is_owed = state.work.triggers.has(Triggers::STATUS) && !mutant!(YieldedForgotten);
            if !may_change && !is_owed && self.field_conflict(state).is_none() {
                // The status does not change with these children.
                return Ok(Outcome::Written {
                    ready: true,
                    requeue_after,
                });
            }
            self.renew_status(&mut plan, &owner, state, &seen)?;
        } else if wanted || looks {
            // Each body is dropped as soon as it is written: a burst holds one plan for each worker.
            for child in std::mem::take(&mut plan.children) {
                self.ensure_child(&owner, state, child, fresh).await?;
            }
            state.children.settle();
            state.children.complete = true;
            state.work.corrections.take_if(|corrections| {
                corrections.compared(now_ms);
                corrections.is_empty()
            });
            self.renew_status(&mut plan, &owner, state, &seen)?;
        }
        // The bodies of the children are dropped before the answer is awaited.
        let Plan { mut status, .. } = { plan };
        let mut children = owner::children::<O>(&owner.meta.namespace, &state.children);
        if children.any_refused() {
            self.read_refusals(&owner, &mut children).await?;
            status = self.plan(&owner, &children)?.status;
        }
        if let Some(failure) = self.field_conflict(state) {
            return self.in_conflict(key, &owner, state, status, failure).await;
        }
        let ready = status.ready();
        // A large owner would be read once more.
        let may_yield = !state.work.status_yielded && state.object.large_bytes == 0;
        let yields = !ready && may_yield && self.pressure.load(Relaxed);
        if yields && owner::differs::<O>(&state.object, &mut status) {
            state.work.status_yielded = true;
            return Ok(Outcome::Yielded);
        }
        state.work.status_yielded = false;
        let own_version = state.object.own_version;
        self.write_status(key, state, status).await?;
        if state.object.own_version != own_version {
            self.tell_overwritten(key, state).await;
            let degraded = self.operator.degraded(&owner, &children);
            let event = self.operator.event(&owner, &children);
            self.tell_written(key, state, degraded, event).await;
        }
        if !Status::<O>::OBSERVES {
            // Not on the object, but known as long as the entry or the cache keeps it.
            state.object.status.observed_generation = Some(state.object.generation);
        }
        Ok(Outcome::Written {
            ready,
            requeue_after,
        })
    }

    /// The field conflict that the owner is in.
    fn field_conflict(&self, state: &OwnerState) -> Option<Failure> {
        let corrections = state.work.corrections.as_deref()?;
        let (message, pause_ms) = corrections.conflict(self.now_ms())?;
        let pause = Duration::from_millis(pause_ms);
        Some(failure::field_conflict(message, pause))
    }

    /// Everything is as planned but a child that somebody keeps changing. An operator whose status does not report
    /// failures has its planned one.
    async fn in_conflict(
        &self,
        key: &ObjectKey,
        owner: &Owner<O>,
        state: &mut OwnerState,
        planned: Status<O>,
        failure: Failure,
    ) -> Result<Outcome, Interrupt> {
        // Until that child is looked at again, only what happens to the others is work. The pause grows by
        // itself and not with each look.
        (state.work.triggers, state.work.attempts) = (Triggers::default(), 0);
        let children = owner::children::<O>(&owner.meta.namespace, &state.children);
        if self.operator.failed(owner, &children, &failure).is_none() {
            self.write_status(key, state, planned).await?;
        }
        Err(Interrupt::Failed {
            failure,
            told: Told::AtOnce,
        })
    }

    /// Plans again where the children are not those that the plan has `seen`: the status follows from them.
    fn renew_status(
        &self,
        plan: &mut Plan<Status<O>>,
        owner: &Owner<O>,
        state: &OwnerState,
        seen: &Children,
    ) -> Result<(), Interrupt> {
        let children = owner::children::<O>(&owner.meta.namespace, &state.children);
        if children != *seen {
            plan.status = self.plan(owner, &children)?.status;
        }
        Ok(())
    }

    /// Makes the observation that the plan needs.
    async fn observe(&self, owner: &mut Owner<O>, state: &OwnerState) -> Result<(), Interrupt> {
        let body = state.object.body.as_ref();
        let previous = body.and_then(Body::status);
        let observed = self.operator.observe(owner, previous).await;
        owner.observed = observed.map_err(|error| failure::planned(&error))?;
        Ok(())
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
}

/// A JSON patch of exactly this object, if it is still this one.
pub(crate) fn guarded((uid, resource_version): (Uid, u64), operations: &[Value]) -> Value {
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

/// As JSON. Our own values can always be serialised.
pub(crate) fn encode(value: &impl Serialize) -> Vec<u8> {
    let mut json = Buffer::default();
    let _ = serde_json::to_writer(&mut json, value);
    json.0
}

/// A request for one whole object.
pub(crate) fn whole<'a>(
    method: Method,
    path: &'a str,
    body: Option<(&'static str, &impl Serialize)>,
) -> Request<'a> {
    Request {
        method,
        path,
        body: body.map(|(kind, value)| (kind, encode(value))),
        accept: WHOLE,
    }
}
