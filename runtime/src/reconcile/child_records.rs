//! What an owner's state knows of its planned children.
//!
//! Guarantees: pure. Leaves to others: what is known of a child (`model`), bringing it to the plan (`children`).

use crate::api::{Child, Operator, kind_index};
use crate::model::{ChildId, OwnerState, SeenChild, place_hash};

/// What the corrections of an owner call the child.
pub(crate) fn id<O: Operator>(child: &Child) -> ChildId {
    // Of a child beside its owner, no namespace is named.
    let namespace = child.namespace.as_deref().unwrap_or_default();
    let place_hash = place_hash("", namespace, &child.name);
    (kind_index(O::KINDS, &child.kind), place_hash)
}

/// What is known of a planned child.
pub(super) fn seen_of<'a, O: Operator>(
    state: &'a mut OwnerState,
    child: &Child,
) -> Option<&'a mut SeenChild> {
    let (kind, place_hash) = id::<O>(child);
    state.children.get_mut(kind?, place_hash)
}

/// Whether something is known of a child.
pub(super) fn is_seen<O: Operator>(state: &OwnerState, child: &Child) -> bool {
    let (kind, place_hash) = id::<O>(child);
    let mut seen = state.children.iter();
    seen.any(|seen| kind.is_some_and(|kind| seen.is(kind, place_hash)))
}

/// Whether nothing is known of a child that is to exist.
pub(super) fn is_unknown<O: Operator>(state: &OwnerState, child: &Child) -> bool {
    child.body.is_some() && !is_seen::<O>(state, child)
}

/// The child is gone.
pub(super) fn forget<O: Operator>(state: &mut OwnerState, child: &Child) {
    let id = id::<O>(child);
    state
        .children
        .retain(|seen| (Some(seen.kind), seen.place_hash) != id);
}
