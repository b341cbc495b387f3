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
use crate::model::{ChildState, Content, Retention, SeenChild, Triggers, Uid};
use crate::reconcile::Task;
use crate::reconcile::child;
use crate::reconcile::child::{Actual, child_id, is_unknown, planned_body};
use crate::reconcile::failure;
use crate::reconcile::failure::Interrupt;
use crate::reconcile::fields::{Correction, Others, Planned, correct};
use crate::reconcile::ownership::{Claim, claim};

/// How long something that is being deleted is waited for before it is read again.
pub(super) const TERMINATING: Duration = Duration::from_secs(1);

impl<O: Operator> Task<'_, O> {
    /// Brings one child to the plan. `fresh`: the owner was never reconciled, so that no child of ours can exist
    /// and a POST finds out at once.
    pub(super) async fn ensure_child(
        &mut self,
        owner: &Owner<O>,
        mut child: Child,
        fresh: bool,
    ) -> Result<(), Interrupt> {
        let planned = child.body.take();
        let (child, id) = (&child, child_id::<O>(&child));
        let kept = self.retains();
        let complete = kept && self.state.children.complete;
        let seen = self.state.children.get_mut(id);
        let missing = match &seen {
            Some(seen) => seen.content == Content::Gone,
            None => fresh || complete,
        };
        let Some(body) = planned else {
            if !missing {
                self.delete_owned(owner, child).await?;
            }
            self.forget(child);
            return Ok(());
        };
        let corrections = self.state.work.corrections.as_deref();
        let paused = corrections.is_some_and(|all| all.is_paused(id, self.shared.now_ms()));
        if paused
            && !missing
            && !self.state.work.triggers.has(Triggers::SPEC)
            && let Some(seen) = self.state.children.get_mut(id)
        {
            // It is looked at when the pause is over.
            seen.content = Content::Recorded(None);
            return Ok(());
        }
        let body = planned_body::<O>(child, body, &owner.meta);
        if kept
            && let Some(seen) = self.state.children.get_mut(id)
            && let Some(applied) = seen.content.last_applied()
            && applied.body_digest == child::digest(&body)
        {
            return Ok(());
        }
        if !missing && let Some(actual) = self.actual_of(owner, child).await? {
            return self.align(owner, child, &body, actual).await;
        }
        self.forget(child);
        self.create(owner, child, &body).await
    }

    /// Brings the children that are to be looked at to the plan, and leaves the others alone: nothing says that
    /// they changed. Returns whether one was among them whose status the plan looks at, so that the status may change.
    pub(super) async fn ensure_pending(
        &mut self,
        owner: &Owner<O>,
        children: &[Child],
    ) -> Result<bool, Interrupt> {
        let mut status_seen = false;
        for child in children {
            let seen = self.state.children.get_mut(child_id::<O>(child));
            if seen.is_some_and(|seen| seen.content.is_pending()) {
                status_seen |= child.kind.has_status();
                self.ensure_child(owner, child.clone(), false).await?;
            }
        }
        if !status_seen {
            return Ok(false);
        }
        for child in children {
            if !is_unknown::<O>(&self.state.children, child) {
                continue;
            }
            if child.kind.has_status() {
                self.ensure_child(owner, child.clone(), false).await?;
                continue;
            }
            // To a plan such a child only exists, and a ready owner has it.
            let (kind, place_hash) = child_id::<O>(child);
            self.state.children.record(SeenChild {
                kind,
                place_hash,
                uid_hash: 0,
                resource_version: 0,
                state: ChildState::default(),
                marks: 0,
                content: Content::Recorded(None),
            });
        }
        Ok(true)
    }

    /// Deletes one child if it is ours; true while it still exists.
    pub(super) async fn delete_owned(
        &mut self,
        owner: &Owner<O>,
        child: &Child,
    ) -> Result<bool, Interrupt> {
        let (id, namespace) = (child_id::<O>(child), self.key.namespace());
        let (retains, children) = (self.retains(), &mut self.state.children);
        // One that is planned is there: a list by label does not show it where somebody changed its label.
        if retains && children.complete && child.body.is_none() && !children.has(id) {
            return Ok(false);
        }
        if retains
            && let Some(seen) = children.get_mut(id)
            && let Some(uid) = seen.content.last_applied().map(|applied| applied.uid)
        {
            // Only once: a child that still exists is read from then on.
            seen.content = Content::Unread;
            let version = (uid, seen.resource_version);
            return self.shared.delete_child(namespace, child, version).await;
        }
        match self.actual_of(owner, child).await? {
            Some(actual) if actual.owner == Some(owner.meta.uid) => match actual.deleting {
                true => Ok(true),
                false => {
                    let version = actual.version();
                    self.shared.delete_child(namespace, child, version).await
                }
            },
            _ => Ok(false),
        }
    }

    /// Whether what a cache retains of the children holds.
    pub(super) fn retains(&self) -> bool {
        self.shared.retention == Retention::Specs && !self.state.work.triggers.has(Triggers::READ)
    }

    async fn create(
        &mut self,
        owner: &Owner<O>,
        child: &Child,
        body: &Value,
    ) -> Result<(), Interrupt> {
        // Until it is answered the child may be there, and nothing that is retained says so.
        let triggers = self.state.work.triggers;
        self.state.work.triggers = triggers.with(Triggers::READ);
        let planned = child::planned::<O>(body, child.immutable, true);
        let made = self.shared.create_child(owner, child, &planned).await;
        if made.as_ref().err().is_none_or(Interrupt::is_refusal) {
            self.state.work.triggers = triggers;
        }
        if let Some(made) = made? {
            self.state.children.record(made);
            return Ok(());
        }
        match self.shared.read_child(owner, child).await? {
            Some(actual) => self.align(owner, child, body, actual).await,
            None => Err(Interrupt::Again),
        }
    }

    /// Brings an existing child to its plan, if it is ours.
    async fn align(
        &mut self,
        owner: &Owner<O>,
        child: &Child,
        body: &Value,
        actual: Actual,
    ) -> Result<(), Interrupt> {
        let (shared, id) = (self.shared, child_id::<O>(child));
        let actual = match claim(&shared.paths, owner, child, &actual)? {
            Claim::Ours => actual,
            Claim::Orphan => shared.adopt(owner, child, &actual).await?,
        };
        let state = &mut self.state;
        let spec = state.work.triggers.has(Triggers::SPEC);
        let planned = child::planned::<O>(body, child.immutable, spec && Status::<O>::OBSERVES);
        let Some(correction) = correct(&planned, &actual.found(), Others::Stay) else {
            self.record(child, &actual, body);
            return Ok(());
        };
        let conflict = || failure::in_conflict(child.kind.kind, &child.name, &correction.path);
        if !spec
            && let Some(corrections) = &mut state.work.corrections
            && !corrections.permit(id, shared.now_ms(), conflict)
        {
            let seen = actual.seen(id, Content::Recorded(None));
            state.children.record(seen);
            return Ok(());
        }
        // Where the write fails, the status still has its counts, and the child is read again.
        state.children.record(actual.seen(id, Content::Unread));
        let changed = if correction.recreates {
            self.recreate(owner, child, body, actual.version()).await?;
            true
        } else {
            self.patch(owner, child, &planned, actual, correction)
                .await?
        };
        // After a 409, because a status was written in between, or a rejection, nothing was set back.
        if !spec && changed {
            let corrections = self.state.work.corrections.get_or_insert_default();
            corrections.corrected(id, shared.now_ms());
        }
        Ok(())
    }

    async fn recreate(
        &mut self,
        owner: &Owner<O>,
        child: &Child,
        body: &Value,
        version: (Uid, u64),
    ) -> Result<(), Interrupt> {
        let namespace = self.key.namespace();
        if self.shared.delete_child(namespace, child, version).await? {
            return Err(Interrupt::Wait(TERMINATING));
        }
        self.forget(child);
        // Boxed: `create` may come back here when somebody else was faster.
        Box::pin(self.create(owner, child, body)).await
    }

    /// Patches a child that is ours, if it is still `actual`. Returns whether that changed more than its mark.
    ///
    /// Where the server refuses what the child would be, what others have put in the place of a planned field goes.
    async fn patch(
        &mut self,
        owner: &Owner<O>,
        child: &Child,
        planned: &Planned<'_>,
        actual: Actual,
        mut correction: Correction,
    ) -> Result<bool, Interrupt> {
        let (shared, version) = (self.shared, actual.version());
        let before = child::digest(&actual.value);
        let patched = shared.patch_child(owner, child, planned, version, &correction);
        let mut after = match patched.await? {
            Ok(after) => after,
            Err(refusal) => {
                let other = correct(planned, &actual.found(), Others::Yield);
                let other = other.filter(|other| other.patch != correction.patch);
                correction = other.ok_or(refusal)?;
                let patched = shared.patch_child(owner, child, planned, version, &correction);
                patched.await??
            }
        };
        drop(actual);
        let changed = child::digest(&after.value) != before;
        if !changed {
            shared.api.metrics().noop_patches.fetch_add(1, Relaxed);
        }
        let reached = after.state.generation;
        if reached != 0
            && reached < correction.mark.generation
            && after.mark == Some(correction.mark)
        {
            // The server stores the plan as it was stored before. With a generation that comes yet the mark would hide the
            // next change by somebody else.
            correction.mark.generation = reached;
            correction.patch.clear();
            correction.managed = None;
            let version = after.version();
            let patched = shared.patch_child(owner, child, planned, version, &correction);
            after = patched.await??;
        }
        self.record(child, &after, planned.body);
        Ok(changed)
    }

    /// The child as an event showed it, where that is held, or else as it is read now. It stays to be looked at until it
    /// is recorded.
    async fn actual_of(
        &mut self,
        owner: &Owner<O>,
        child: &Child,
    ) -> Result<Option<Actual>, Interrupt> {
        if let Some(seen) = self.state.children.get_mut(child_id::<O>(child))
            && let Content::Held(json) = std::mem::replace(&mut seen.content, Content::Unread)
            && let Ok(actual) = Actual::of::<O>(&json, child.kind.status, &self.shared.mark)
        {
            return Ok(Some(actual));
        }
        self.shared.read_child(owner, child).await
    }

    /// Records a child as it is now, which satisfies `body`.
    fn record(&mut self, child: &Child, actual: &Actual, body: &Value) {
        let content = self.shared.satisfied(actual.uid, body);
        let seen = actual.seen(child_id::<O>(child), content);
        self.state.children.record(seen);
    }

    /// The child is gone.
    fn forget(&mut self, child: &Child) {
        let id = child_id::<O>(child);
        self.state.children.retain(|seen| seen.id() != id);
    }
}
