//! Brings the children of one owner to the plan: created, compared, patched, or replaced where a field can
//! never change; deleted in the end.
//!
//! Guarantees: a child is changed only by the uid and resourceVersion of an object whose controller is our
//! owner; a foreign one is not touched. What an event showed is only used with its own resourceVersion, so that a
//! newer child is never changed because of it. What the server makes of a write is as planned. A child that somebody
//! keeps changing is not written for a while; the others are.
//! Leaves to others: the requests (`child_requests`), what differs (`fields`), when a child that is kept changed
//! is set back (`model::Corrections`), saying so (`reconcile`).

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use serde_json::Value;

use crate::api::{Child, Operator, Owner, OwnerStatus, Status};
use crate::model::{
    ChildState, Content, KindId, OwnerState, Retention, SeenChild, Triggers, Uid, millis,
};
use crate::reconcile::Reconciler;
use crate::reconcile::child;
use crate::reconcile::child::{Actual, planned_body};
use crate::reconcile::child_records::{forget, id, is_unknown, seen_of};
use crate::reconcile::child_requests::Patched;
use crate::reconcile::failure;
use crate::reconcile::failure::Interrupt;
use crate::reconcile::fields::{Correction, Mark, Others, Planned, correct};
use crate::reconcile::ownership::{Claim, claim};

/// How long something that is being deleted is waited for before it is read again.
pub(super) const TERMINATING: Duration = Duration::from_secs(1);

impl<O: Operator> Reconciler<O> {
    /// Milliseconds since the start.
    pub(super) fn now_ms(&self) -> u64 {
        millis(self.started.elapsed())
    }

    /// Brings one child to the plan. `fresh`: the owner was never reconciled, so that no child of ours can exist
    /// and a POST finds out at once.
    pub(super) async fn ensure_child(
        &self,
        owner: &Owner<O>,
        state: &mut OwnerState,
        mut child: Child,
        fresh: bool,
    ) -> Result<(), Interrupt> {
        let planned = child.body.take();
        let child = &child;
        let kept = self.retains(state);
        let complete = kept && state.children.complete;
        let seen = seen_of::<O>(state, child);
        let missing = match &seen {
            Some(seen) => seen.content == Content::Gone,
            None => fresh || complete,
        };
        let Some(body) = planned else {
            if !missing && self.delete_retained(owner, state, child).await?.is_none() {
                self.delete_actual(owner, state, child).await?;
            }
            forget::<O>(state, child);
            return Ok(());
        };
        let corrections = state.work.corrections.as_deref();
        let paused = corrections.is_some_and(|all| all.is_paused(id::<O>(child), self.now_ms()));
        if paused
            && !missing
            && !state.work.triggers.has(Triggers::SPEC)
            && let Some(seen) = seen_of::<O>(state, child)
        {
            // It is looked at when the pause is over.
            seen.content = Content::Recorded(None);
            return Ok(());
        }
        let body = planned_body::<O>(child, body, &owner.meta);
        if kept
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
    /// they changed. Returns whether one was among them whose status the plan looks at, so that the status may change.
    pub(super) async fn ensure_pending(
        &self,
        owner: &Owner<O>,
        state: &mut OwnerState,
        children: &[Child],
    ) -> Result<bool, Interrupt> {
        let mut status_seen = false;
        for child in children {
            if seen_of::<O>(state, child).is_some_and(|seen| seen.content.is_pending()) {
                status_seen |= child.kind.has_status();
                self.ensure_child(owner, state, child.clone(), false)
                    .await?;
            }
        }
        if !status_seen {
            return Ok(false);
        }
        for child in children {
            if !is_unknown::<O>(state, child) {
                continue;
            }
            match id::<O>(child) {
                (Some(_), _) if child.kind.has_status() => {
                    self.ensure_child(owner, state, child.clone(), false)
                        .await?;
                }
                // To a plan such a child only exists, and a ready owner has it.
                (Some(kind), place_hash) => state.children.record(SeenChild {
                    kind,
                    place_hash,
                    uid_hash: 0,
                    resource_version: 0,
                    state: ChildState::default(),
                    marks: 0,
                    content: Content::Recorded(None),
                }),
                (None, _) => {}
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
        if let Some(still_exists) = self.delete_retained(owner, state, child).await? {
            return Ok(still_exists);
        }
        // One that is planned is there: a list by label does not show it where somebody changed its label.
        let is_retained = self.retains(state) && state.children.complete && child.body.is_none();
        if is_retained && seen_of::<O>(state, child).is_none() {
            return Ok(false);
        }
        let actual = self.requests.read(owner, child).await?;
        let Some(actual) = actual.filter(|actual| actual.owner == Some(owner.meta.uid)) else {
            return Ok(false);
        };
        if actual.deleting {
            return Ok(true);
        }
        self.requests
            .delete(
                &owner.meta.namespace,
                child,
                actual.uid,
                actual.resource_version,
            )
            .await
    }

    /// Whether what a cache retains of the children holds.
    fn retains(&self, state: &OwnerState) -> bool {
        self.retention == Retention::Specs && !state.work.triggers.has(Triggers::READ)
    }

    /// Deletes a child by what is retained of it; `None` where nothing is. True while it still exists.
    async fn delete_retained(
        &self,
        owner: &Owner<O>,
        state: &mut OwnerState,
        child: &Child,
    ) -> Result<Option<bool>, Interrupt> {
        let retains = self.retains(state);
        let seen = seen_of::<O>(state, child).filter(|_| retains);
        let Some((seen, uid)) = seen.and_then(|seen| {
            let uid = seen.content.last_applied()?.uid;
            Some((seen, uid))
        }) else {
            return Ok(None);
        };
        // Only once: a child that still exists is read from then on.
        seen.content = Content::Unread;
        let (namespace, version) = (&owner.meta.namespace, seen.resource_version);
        let deleted = self.requests.delete(namespace, child, uid, version).await;
        deleted.map(Some)
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
            self.record_as(state, child, Some(body), |kind, place_hash, body| {
                made.seen(kind, place_hash, body)
            });
            return Ok(());
        }
        match self.requests.read(owner, child).await? {
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
        let conflict = || failure::in_conflict(child.kind.kind, &child.name, &correction.path);
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
            correction.managed = None;
            let version = (after.uid, after.resource_version);
            let patched = self
                .requests
                .patch(owner, child, planned, version, &correction);
            after = patched.await?.done()?;
        }
        self.record(state, child, &after, Some(planned.body));
        Ok(changed)
    }

    async fn delete_actual(
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
        self.requests.read(owner, child).await
    }

    /// Records a child as it is now, with the digests of `body` where it satisfies that.
    fn record(&self, state: &mut OwnerState, child: &Child, actual: &Actual, body: Option<&Value>) {
        self.record_as(state, child, body, |kind, place_hash, body| {
            actual.seen(kind, place_hash, body)
        });
    }

    /// The same of what `seen` makes of its kind, its place, and the body whose digest a cache keeps.
    fn record_as(
        &self,
        state: &mut OwnerState,
        child: &Child,
        body: Option<&Value>,
        seen: impl FnOnce(KindId, u32, Option<&Value>) -> SeenChild,
    ) {
        if let (Some(kind), place_hash) = id::<O>(child) {
            let body = body.filter(|_| self.retention == Retention::Specs);
            state.children.record(seen(kind, place_hash, body));
        }
    }
}
