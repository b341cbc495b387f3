//! Brings the children of one owner to the plan: created, compared, patched, or replaced where a field can
//! never change; deleted in the end.
//!
//! Guarantees: a child is changed only by the uid and resourceVersion of an object whose controller is our
//! owner; a foreign one is not touched. What an event showed is only used with its own resourceVersion, so that a
//! newer child is never changed because of it. What the server makes of a write is as planned. A child that somebody
//! keeps changing is not written for a while; the others are.
//! Leaves to others: the requests (`child_requests`), what differs (`fields`), when a child that is kept changed
//! is set back (`model::Corrections`), saying so (`reconcile`).

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use crate::api::{Child, Operator, Owner, OwnerStatus, Status, kind_index};
use crate::http::paths::Paths;
use crate::http::request::Api;
use crate::model::{ChildState, Content, OwnerState, Retention, SeenChild, Triggers, Uid, hash32};
use crate::reconcile::child;
use crate::reconcile::child::{Actual, planned_body};
use crate::reconcile::child_records::{conflict, forget, id, is_unknown, record, seen_of};
use crate::reconcile::child_requests::{ChildRequests, Patched};
use crate::reconcile::failure::Interrupt;
use crate::reconcile::fields::{Correction, Mark, Others, Planned, correct};
use crate::reconcile::ownership::{Claim, claim};

/// How long something that is being deleted is waited for before it is read again.
pub(super) const TERMINATING: Duration = Duration::from_secs(1);

/// Reconciles the children of owners.
pub(super) struct ChildReconciler<O> {
    requests: ChildRequests<O>,
    api: Api,
    paths: Arc<Paths>,
    started: Instant,
    /// Whether the cache retains the last applied bodies of children, which spares reads of them.
    keeps_last_applied: bool,
}

impl<O: Operator> ChildReconciler<O> {
    pub(super) fn new(api: Api, paths: Arc<Paths>, retention: Retention) -> Self {
        Self {
            requests: ChildRequests::new(api.clone(), Arc::clone(&paths)),
            api,
            paths,
            started: Instant::now(),
            keeps_last_applied: retention == Retention::Specs,
        }
    }

    /// Milliseconds since the start.
    pub(super) fn now_ms(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Brings one child to the plan. `fresh`: the owner was never reconciled, so that no child of ours can exist
    /// and a POST finds out at once.
    pub(super) async fn ensure(
        &self,
        owner: &Owner<O>,
        state: &mut OwnerState,
        mut child: Child,
        fresh: bool,
    ) -> Result<(), Interrupt> {
        let planned = child.body.take();
        let child = &child;
        let namespace = &owner.meta.namespace;
        let kept = self.keeps_last_applied && !state.work.triggers.has(Triggers::READ);
        let complete = kept && state.children.complete;
        let mut seen = seen_of::<O>(state, child);
        let is_recorded = seen.as_ref().is_some_and(|seen| !seen.content.is_pending());
        let missing = match &seen {
            Some(seen) => seen.content == Content::Gone,
            None => fresh || complete,
        };
        let Some(body) = planned else {
            if missing {
                forget::<O>(state, child);
                return Ok(());
            }
            let known = seen.filter(|_| kept).and_then(|seen| {
                let applied = seen.content.last_applied()?;
                Some((applied.uid, seen.resource_version))
            });
            return match known {
                Some((uid, version)) => {
                    if let Some(seen) = seen_of::<O>(state, child) {
                        seen.content = Content::Unread;
                    }
                    self.requests.delete(namespace, child, uid, version).await?;
                    forget::<O>(state, child);
                    Ok(())
                }
                None => self.ensure_absent(owner, state, child).await,
            };
        };
        let corrections = state.work.corrections.as_deref();
        let paused = corrections.is_some_and(|all| all.is_paused(id::<O>(child), self.now_ms()));
        if paused && !missing && !state.work.triggers.has(Triggers::SPEC) {
            seen = seen_of::<O>(state, child);
            if let Some(seen) = seen {
                // It is looked at when the pause is over.
                seen.content = Content::Recorded(None);
                return Ok(());
            }
        }
        let body = planned_body::<O>(&child.kind, body, &owner.meta.name);
        if kept
            && is_recorded
            && let Some(seen) = seen_of::<O>(state, child)
            && let Some(applied) = seen.content.last_applied()
            && applied.body_digest == child::digest(&body)
        {
            return Ok(());
        }
        if !missing && let Some(actual) = self.actual_of(owner, state, child).await? {
            return self.align(owner, state, child, &body, actual).await;
        }
        forget::<O>(state, child);
        self.create(owner, state, child, &body).await
    }

    /// Brings the children that are to be looked at to the plan, and leaves the others alone: nothing says that
    /// they changed. Returns whether a workload was among them, so that the status may change.
    pub(super) async fn ensure_pending(
        &self,
        owner: &Owner<O>,
        state: &mut OwnerState,
        children: &[Child],
    ) -> Result<bool, Interrupt> {
        let mut workload_seen = false;
        for child in children {
            if seen_of::<O>(state, child).is_some_and(|seen| seen.content.is_pending()) {
                workload_seen |= child.kind.workload;
                self.ensure(owner, state, child.clone(), false).await?;
            }
        }
        if !workload_seen {
            return Ok(false);
        }
        for child in children {
            let unknown = is_unknown::<O>(state, child);
            match kind_index(O::KINDS, &child.kind) {
                Some(_) if unknown && child.kind.workload => {
                    self.ensure(owner, state, child.clone(), false).await?;
                }
                // To a plan such a child only exists, and a ready owner has it.
                Some(kind) if unknown => state.children.record(SeenChild {
                    kind,
                    name_hash: hash32(&child.name),
                    uid_hash: 0,
                    resource_version: 0,
                    state: ChildState::default(),
                    marks: 0,
                    content: Content::Recorded(None),
                }),
                _ => {}
            }
        }
        Ok(true)
    }

    /// Deletes one child if it is ours; true while it still exists.
    pub(super) async fn delete_owned(
        &self,
        owner: &Owner<O>,
        state: &mut OwnerState,
        child: &Child,
    ) -> Result<bool, Interrupt> {
        let namespace = &owner.meta.namespace;
        if self.keeps_last_applied && !state.work.triggers.has(Triggers::READ) {
            let complete = state.children.complete;
            match seen_of::<O>(state, child) {
                Some(seen) => {
                    let version = seen.resource_version;
                    let applied = seen.content.last_applied().map(|applied| applied.uid);
                    if let Some(uid) = applied {
                        // Only once: a child that still exists is read from then on.
                        seen.content = Content::Unread;
                        return self.requests.delete(namespace, child, uid, version).await;
                    }
                }
                // One that is planned is there: a list by label does not show it where somebody changed its label.
                None if complete && child.body.is_none() => return Ok(false),
                None => {}
            }
        }
        let actual = self
            .requests
            .read(&child.kind, namespace, &child.name)
            .await?;
        let Some(actual) = actual.filter(|actual| actual.owner == Some(owner.meta.uid)) else {
            return Ok(false);
        };
        if actual.deleting {
            return Ok(true);
        }
        self.requests
            .delete(namespace, child, actual.uid, actual.resource_version)
            .await
    }

    async fn create(
        &self,
        owner: &Owner<O>,
        state: &mut OwnerState,
        child: &Child,
        body: &Value,
    ) -> Result<(), Interrupt> {
        // Until it is answered the child may be there, and nothing that is retained says so.
        let triggers = state.work.triggers;
        state.work.triggers = triggers.with(Triggers::READ);
        let planned = child::planned::<O>(body, child.immutable, true);
        let made = self.requests.create(owner, child, &planned).await;
        if made.as_ref().err().is_none_or(Interrupt::is_refusal) {
            state.work.triggers = triggers;
        }
        if let Some(made) = made? {
            self.record(state, child, &made, Some(body));
            return Ok(());
        }
        let namespace = &owner.meta.namespace;
        match self
            .requests
            .read(&child.kind, namespace, &child.name)
            .await?
        {
            Some(actual) => self.align(owner, state, child, body, actual).await,
            None => Err(Interrupt::Again),
        }
    }

    /// Brings an existing child to its plan, if it is ours.
    async fn align(
        &self,
        owner: &Owner<O>,
        state: &mut OwnerState,
        child: &Child,
        body: &Value,
        actual: Actual,
    ) -> Result<(), Interrupt> {
        let actual = match claim(&self.paths, owner, child, &actual)? {
            Claim::Ours => actual,
            Claim::Orphan => self.requests.adopt(owner, child, &actual).await?,
        };
        let spec = state.work.triggers.has(Triggers::SPEC);
        let planned = child::planned::<O>(body, child.immutable, spec && Status::<O>::OBSERVES);
        let Some(correction) = correct(&planned, &actual.found(), Others::Stay) else {
            self.record(state, child, &actual, Some(body));
            return Ok(());
        };
        let conflict = || conflict(child, &correction.path);
        if !spec
            && let Some(corrections) = &mut state.work.corrections
            && !corrections.permit(id::<O>(child), self.now_ms(), conflict)
        {
            self.record(state, child, &actual, None);
            return Ok(());
        }
        // Where the write fails, the status still has its counts, and the child is read again.
        self.record(state, child, &actual, None);
        if let Some(seen) = seen_of::<O>(state, child) {
            seen.content = Content::Unread;
        }
        let changed = if correction.recreates {
            let version = (actual.uid, actual.resource_version);
            self.recreate(owner, state, child, body, version).await?;
            true
        } else {
            self.patch(owner, state, child, &planned, actual, correction)
                .await?
        };
        // After a 409, because a status was written in between, or a rejection, nothing was set back.
        if !spec && changed {
            let corrections = state.work.corrections.get_or_insert_default();
            corrections.corrected(id::<O>(child), self.now_ms());
        }
        Ok(())
    }

    async fn recreate(
        &self,
        owner: &Owner<O>,
        state: &mut OwnerState,
        child: &Child,
        body: &Value,
        (uid, resource_version): (Uid, u64),
    ) -> Result<(), Interrupt> {
        let namespace = &owner.meta.namespace;
        let lingers = self
            .requests
            .delete(namespace, child, uid, resource_version)
            .await?;
        if lingers {
            return Err(Interrupt::Wait(TERMINATING));
        }
        forget::<O>(state, child);
        // Boxed: `create` may come back here when somebody else was faster.
        Box::pin(self.create(owner, state, child, body)).await
    }

    /// Patches a child that is ours, if it is still `actual`. Returns whether that changed more than its mark.
    ///
    /// Where the server refuses what the child would be, what others have put in the place of a planned field goes.
    async fn patch(
        &self,
        owner: &Owner<O>,
        state: &mut OwnerState,
        child: &Child,
        planned: &Planned<'_>,
        actual: Actual,
        mut correction: Correction,
    ) -> Result<bool, Interrupt> {
        let version = (actual.uid, actual.resource_version);
        let before = child::digest(&actual.value);
        let patched = self
            .requests
            .patch(owner, child, planned, version, &correction);
        let mut after = match patched.await? {
            Patched::Done(after) => after,
            Patched::Invalid(refusal) => {
                let other = correct(planned, &actual.found(), Others::Yield);
                let other = other.filter(|other| other.patch != correction.patch);
                correction = other.ok_or(refusal)?;
                let patched = self
                    .requests
                    .patch(owner, child, planned, version, &correction);
                patched.await?.done()?
            }
        };
        drop(actual);
        let changed = child::digest(&after.value) != before;
        if !changed {
            self.api.metrics().noop_patches.fetch_add(1, Relaxed);
        }
        let reached = after.state.generation;
        if reached != 0
            && reached < correction.mark.generation
            && after.mark == Some(correction.mark)
        {
            // The server stores the plan as it was stored before. With a generation that comes yet the mark would hide the
            // next change by somebody else.
            let generation = reached;
            correction.mark = Mark {
                generation,
                ..correction.mark
            };
            correction.patch.clear();
            let version = (after.uid, after.resource_version);
            let patched = self
                .requests
                .patch(owner, child, planned, version, &correction);
            after = patched.await?.done()?;
        }
        self.record(state, child, &after, Some(planned.body));
        Ok(changed)
    }

    async fn ensure_absent(
        &self,
        owner: &Owner<O>,
        state: &mut OwnerState,
        child: &Child,
    ) -> Result<(), Interrupt> {
        if let Some(actual) = self.actual_of(owner, state, child).await?
            && actual.owner == Some(owner.meta.uid)
            && !actual.deleting
        {
            let (uid, version) = (actual.uid, actual.resource_version);
            self.requests
                .delete(&owner.meta.namespace, child, uid, version)
                .await?;
        }
        forget::<O>(state, child);
        Ok(())
    }

    /// The child as an event showed it, where that is held, or else as it is read now. It stays to be looked at until it
    /// is recorded.
    async fn actual_of(
        &self,
        owner: &Owner<O>,
        state: &mut OwnerState,
        child: &Child,
    ) -> Result<Option<Actual>, Interrupt> {
        if let Some(seen) = seen_of::<O>(state, child)
            && let Content::Held(json) = std::mem::replace(&mut seen.content, Content::Unread)
            && let Some(actual) = self.requests.shown(&json, &child.kind)
        {
            return Ok(Some(actual));
        }
        let namespace = &owner.meta.namespace;
        self.requests
            .read(&child.kind, namespace, &child.name)
            .await
    }

    /// Records a child as it is now, with the digests of `body` where it satisfies that.
    fn record(&self, state: &mut OwnerState, child: &Child, actual: &Actual, body: Option<&Value>) {
        record::<O>(
            state,
            child,
            actual,
            body.filter(|_| self.keeps_last_applied),
        );
    }
}
