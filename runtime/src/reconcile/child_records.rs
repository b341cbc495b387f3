//! What an owner's state knows of its planned children.
//!
//! Guarantees: pure. Leaves to others: what is known of a child (`model`), bringing it to the plan (`children`).

use serde_json::Value;

use crate::api::{Child, Operator, kind_index};
use crate::model::{ChildId, Content, OwnerState, SeenChild, hash32};
use crate::reconcile::child;
use crate::reconcile::child::Actual;
use crate::reconcile::failure;

/// What the corrections of an owner call the child.
pub(super) fn id<O: Operator>(child: &Child) -> ChildId {
    (kind_index(O::KINDS, &child.kind), hash32(&child.name))
}

/// What is known of a planned child.
pub(super) fn seen_of<'a, O: Operator>(
    state: &'a mut OwnerState,
    child: &Child,
) -> Option<&'a mut SeenChild> {
    let (kind, name_hash) = id::<O>(child);
    state.children.get_mut(kind?, name_hash)
}

/// Whether nothing is known of a child that is to exist.
pub(super) fn is_unknown<O: Operator>(state: &OwnerState, child: &Child) -> bool {
    let (kind, name_hash) = id::<O>(child);
    let mut seen = state.children.iter();
    child.body.is_some() && !seen.any(|seen| kind.is_some_and(|kind| seen.is(kind, name_hash)))
}

/// What a field conflict of the child is called.
pub(super) fn conflict(child: &Child, path: &str) -> String {
    failure::in_conflict(child.kind.kind, &child.name, path)
}

/// The child is gone.
pub(super) fn forget<O: Operator>(state: &mut OwnerState, child: &Child) {
    let id = id::<O>(child);
    state
        .children
        .retain(|seen| (Some(seen.kind), seen.name_hash) != id);
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
    state.children.record(SeenChild {
        kind,
        name_hash: actual.name_hash,
        uid_hash: actual.uid.short(),
        resource_version: actual.resource_version,
        state: actual.state,
        marks: actual.marks,
        content: Content::Recorded(body.map(|body| child::last_applied(actual.uid, body))),
    });
}
