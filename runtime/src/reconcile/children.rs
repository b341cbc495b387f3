//! Brings the children of one owner to the plan: created, compared, patched, or replaced where a field can
//! never change; deleted in the end.
//!
//! Guarantees: a child is changed only by the uid and resourceVersion of an object whose controller is our
//! owner; a foreign one is not touched; a child that differs right after our own write is reported as a field
//! conflict. A snapshot is only used with its own resourceVersion, so that a newer child is never changed
//! because of it.
//! Leaves to others: the requests (`child_requests`), what differs (`drift`).

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::api::{Child, Kind, Operator, Owner, kind_index};
use crate::http::paths::Paths;
use crate::http::request::Api;
use crate::model::{
    ChildRecord, ChildSnapshot, ChildState, OwnerState, Retention, SnapshotContent, Triggers, Uid,
    hash32,
};
use crate::reconcile::child::{Actual, with_labels};
use crate::reconcile::child_requests::ChildRequests;
use crate::reconcile::failure::Interrupt;
use crate::reconcile::{child, drift, failure};

/// How long something that is being deleted is waited for before it is read again.
pub(super) const TERMINATING: Duration = Duration::from_secs(1);

/// How often children are set back to the plan within a minute before that is a field conflict.
const CORRECTIONS: u8 = 3;

/// Reconciles the children of owners.
pub(super) struct ChildReconciler<O> {
    requests: ChildRequests<O>,
    paths: Arc<Paths>,
    /// Whether the cache retains the last applied bodies of children, which spares reads of them.
    keeps_last_applied: bool,
}

impl<O: Operator> ChildReconciler<O> {
    pub(super) fn new(api: Api, paths: Arc<Paths>, retention: Retention) -> Self {
        Self {
            requests: ChildRequests::new(api, Arc::clone(&paths)),
            paths,
            keeps_last_applied: retention == Retention::Specs,
        }
    }

    /// Brings one child to the plan. `fresh`: the owner was never reconciled, so that no child of ours can exist
    /// and a POST finds out at once. `snapshot`: what an event showed of the child.
    pub(super) async fn ensure(
        &self,
        owner: &Owner<O>,
        state: &mut OwnerState,
        mut child: Child,
        fresh: bool,
        snapshot: Option<&SnapshotContent>,
    ) -> Result<(), Interrupt> {
        let kept =
            self.keeps_last_applied && snapshot.is_none() && !state.triggers.has(Triggers::READ);
        let planned = child.body.take();
        let child = &child;
        let known = record_of::<O>(state, child).is_some();
        let missing = !known && (fresh || (kept && state.children_complete));
        let Some(body) = planned else {
            if missing {
                return Ok(());
            }
            let record = record_of::<O>(state, child).filter(|_| kept);
            let known = record.and_then(|record| {
                Some((record.last_applied.take()?.uid, record.resource_version))
            });
            return match known {
                Some((uid, version)) => {
                    let namespace = &owner.meta.namespace;
                    self.requests.delete(namespace, child, uid, version).await?;
                    forget::<O>(state, child);
                    Ok(())
                }
                None => self.ensure_absent(owner, state, child, snapshot).await,
            };
        };
        let body = with_labels::<O>(body, &owner.meta.name);
        if kept
            && let Some(record) = record_of::<O>(state, child)
            && let Some(last_applied) = &record.last_applied
        {
            if last_applied.body_digest == child::digest(&body) {
                return Ok(());
            }
            if last_applied.immutable_digest == child::immutable_digest(&body, child.immutable) {
                let (uid, resource_version) = (last_applied.uid, record.resource_version);
                return self
                    .patch(owner, state, child, &body, uid, resource_version)
                    .await;
            }
        }
        if !missing && !matches!(snapshot, Some(SnapshotContent::Gone)) {
            let namespace = &owner.meta.namespace;
            if let Some(actual) = self
                .child_as_shown(&child.kind, namespace, &child.name, snapshot)
                .await?
            {
                return self.align(owner, state, child, &body, actual).await;
            }
        }
        forget::<O>(state, child);
        self.create(owner, state, child, &body).await
    }

    /// Brings the children that events have shown to the plan, and leaves the others alone: nothing says that
    /// they changed. Returns whether a workload was among them, so that the status may change.
    pub(super) async fn ensure_snapshots(
        &self,
        owner: &Owner<O>,
        state: &mut OwnerState,
        children: &[Child],
        snapshots: &[ChildSnapshot],
    ) -> Result<bool, Interrupt> {
        let mut workload_seen = false;
        for child in children {
            if let Some(snapshot) = snapshot_of::<O>(snapshots, child) {
                workload_seen |= child.kind.workload;
                self.ensure(owner, state, child.clone(), false, Some(snapshot))
                    .await?;
            }
        }
        if !workload_seen {
            return Ok(false);
        }
        for child in children {
            let unknown = child.body.is_some() && record_of::<O>(state, child).is_none();
            match kind_index(O::KINDS, &child.kind) {
                Some(_) if unknown && child.kind.workload => {
                    self.ensure(owner, state, child.clone(), false, None)
                        .await?;
                }
                // To a plan such a child only exists, and a ready owner has it.
                Some(kind) if unknown => state.record_child(ChildRecord {
                    kind,
                    name_hash: hash32(&child.name),
                    resource_version: 0,
                    state: ChildState::default(),
                    last_applied: None,
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
        if self.keeps_last_applied && !state.triggers.has(Triggers::READ) {
            let complete = state.children_complete;
            match record_of::<O>(state, child) {
                Some(record) => {
                    // Only once: a child that still exists is read from then on.
                    if let Some(last_applied) = record.last_applied.take() {
                        let version = record.resource_version;
                        return self
                            .requests
                            .delete(namespace, child, last_applied.uid, version)
                            .await;
                    }
                }
                None if complete => return Ok(false),
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
        if let Some(made) = self.requests.create(owner, child, body).await? {
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
        self.check_ours(owner, child, &actual)?;
        if drift::differs_at(body, &actual.value, child.immutable) {
            if self
                .requests
                .delete(
                    &owner.meta.namespace,
                    child,
                    actual.uid,
                    actual.resource_version,
                )
                .await?
            {
                return Err(Interrupt::Wait(TERMINATING));
            }
            forget::<O>(state, child);
            // Boxed: `create` may come back here when somebody else was faster.
            return Box::pin(self.create(owner, state, child, body)).await;
        }
        let Some(path) = drift::differs(body, &actual.value) else {
            self.record(state, child, &actual, Some(body));
            return Ok(());
        };
        let correcting = !state.triggers.has(Triggers::SPEC);
        if correcting && state.corrections >= CORRECTIONS {
            self.record(state, child, &actual, None);
            return Err(failure::field_conflict(child.kind.kind, &child.name, &path));
        }
        let (uid, resource_version) = (actual.uid, actual.resource_version);
        let patched = self
            .patch(owner, state, child, body, uid, resource_version)
            .await;
        // After a 409, because a status was written in between, or a rejection, nothing was set back.
        if correcting && patched.is_ok() {
            state.corrections += 1;
        }
        patched
    }

    /// Patches a child that is ours, if its uid and resourceVersion are still those that are known.
    async fn patch(
        &self,
        owner: &Owner<O>,
        state: &mut OwnerState,
        child: &Child,
        body: &Value,
        uid: Uid,
        resource_version: u64,
    ) -> Result<(), Interrupt> {
        let after = self
            .requests
            .patch(owner, child, body, uid, resource_version)
            .await?;
        let differs = drift::differs(body, &after.value);
        self.record(state, child, &after, differs.is_none().then_some(body));
        match differs {
            Some(path) => Err(failure::field_conflict(child.kind.kind, &child.name, &path)),
            None => Ok(()),
        }
    }

    async fn ensure_absent(
        &self,
        owner: &Owner<O>,
        state: &mut OwnerState,
        child: &Child,
        snapshot: Option<&SnapshotContent>,
    ) -> Result<(), Interrupt> {
        if !matches!(snapshot, Some(SnapshotContent::Gone))
            && let Some(actual) = self
                .child_as_shown(&child.kind, &owner.meta.namespace, &child.name, snapshot)
                .await?
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

    fn check_ours(
        &self,
        owner: &Owner<O>,
        child: &Child,
        actual: &Actual,
    ) -> Result<(), Interrupt> {
        if actual.deleting {
            return Err(Interrupt::Wait(TERMINATING));
        }
        if actual.owner == Some(owner.meta.uid) {
            return Ok(());
        }
        let namesake = format!("{} {:?}", self.paths.owner_kind, owner.meta.name);
        let of_our_group = actual.owner_group.as_deref() == Some(self.paths.owner_group());
        if of_our_group && actual.owner_text.as_ref() == Some(&namesake) {
            // It belongs to an earlier owner of the same name; the garbage collector will delete it.
            return Err(Interrupt::Wait(TERMINATING));
        }
        let foreign = actual.owner_text.clone().map(|text| match of_our_group {
            true => text,
            false if text != namesake => text,
            false => format!(
                "{text} of group {}",
                actual.owner_group.as_deref().unwrap_or("")
            ),
        });
        Err(failure::collision(
            child.kind.kind,
            &child.name,
            foreign.as_deref(),
            &self.paths.owner_kind,
        ))
    }

    /// The child as an event showed it, or else as it is read now.
    pub(super) async fn child_as_shown(
        &self,
        kind: &Kind,
        namespace: &str,
        name: &str,
        snapshot: Option<&SnapshotContent>,
    ) -> Result<Option<Actual>, Interrupt> {
        if let Some(SnapshotContent::Object(json)) = snapshot
            && let Ok(actual) = Actual::decode(json, kind.workload)
        {
            return Ok(Some(actual));
        }
        self.requests.read(kind, namespace, name).await
    }

    /// Records a child as it is now, with the digests of `body` where it satisfies that.
    fn record(&self, state: &mut OwnerState, child: &Child, actual: &Actual, body: Option<&Value>) {
        let Some(kind) = kind_index(O::KINDS, &child.kind) else {
            return;
        };
        let body = body.filter(|_| self.keeps_last_applied);
        state.record_child(ChildRecord {
            kind,
            name_hash: actual.name_hash,
            resource_version: actual.resource_version,
            state: actual.state,
            last_applied: body.map(|body| child::last_applied(actual.uid, body, child.immutable)),
        });
    }
}

/// The record of a planned child.
fn record_of<'a, O: Operator>(
    state: &'a mut OwnerState,
    child: &Child,
) -> Option<&'a mut ChildRecord> {
    state.child(kind_index(O::KINDS, &child.kind), hash32(&child.name))
}

fn forget<O: Operator>(state: &mut OwnerState, child: &Child) {
    let kind = kind_index(O::KINDS, &child.kind);
    state
        .children
        .retain(|record| Some(record.kind) != kind || record.name_hash != hash32(&child.name));
}

/// The snapshot of a planned child.
pub(super) fn snapshot_of<'a, O: Operator>(
    snapshots: &'a [ChildSnapshot],
    child: &Child,
) -> Option<&'a SnapshotContent> {
    let kind = kind_index(O::KINDS, &child.kind)?;
    let id = (kind, hash32(&child.name));
    snapshots
        .iter()
        .find(|snapshot| (snapshot.kind, snapshot.name_hash) == id)
        .map(|snapshot| &snapshot.content)
}
