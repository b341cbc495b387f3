//! The records that an owner's state has of its planned children.
//!
//! Guarantees: pure. Leaves to others: what the records say of a child (`model`), bringing it to the plan (`children`).

use serde_json::Value;

use crate::api::{Child, Operator, kind_index};
use crate::model::{ChildId, ChildRecord, ChildSnapshot, OwnerState, SnapshotContent, hash32};
use crate::reconcile::child;
use crate::reconcile::child::Actual;
use crate::reconcile::failure;

/// What the corrections of an owner call the child.
pub(super) fn id<O: Operator>(child: &Child) -> ChildId {
    (kind_index(O::KINDS, &child.kind), hash32(&child.name))
}

/// The record of a planned child.
pub(super) fn record_of<'a, O: Operator>(
    state: &'a mut OwnerState,
    child: &Child,
) -> Option<&'a mut ChildRecord> {
    state.child(kind_index(O::KINDS, &child.kind), hash32(&child.name))
}

/// What a field conflict of the child is called.
pub(super) fn conflict(child: &Child, path: &str) -> String {
    failure::in_conflict(child.kind.kind, &child.name, path)
}

/// The child is gone.
pub(super) fn forget<O: Operator>(state: &mut OwnerState, child: &Child) {
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

/// Records a child as it is now, with the digests of `body` where it is to be remembered that the child satisfies it.
pub(super) fn record<O: Operator>(
    state: &mut OwnerState,
    child: &Child,
    actual: &Actual,
    body: Option<&Value>,
) {
    let Some(kind) = kind_index(O::KINDS, &child.kind) else {
        return;
    };
    state.record_child(ChildRecord {
        kind,
        name_hash: actual.name_hash,
        resource_version: actual.resource_version,
        state: actual.state,
        marks: actual.marks,
        last_applied: body.map(|body| child::last_applied(actual.uid, body)),
    });
}
