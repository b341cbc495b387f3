//! Whether a child that is there is ours.
//!
//! Guarantees: only a child whose controller is our owner, by its uid, is. One of an earlier owner of the same name is
//! waited for; any other is a collision, which names its controller.
//! Leaves to others: what is done then.

use crate::api::{Child, Operator, Owner};
use crate::http::paths::Paths;
use crate::reconcile::child::Actual;
use crate::reconcile::children::TERMINATING;
use crate::reconcile::failure;
use crate::reconcile::failure::Interrupt;

/// # Errors
/// It is not, or it is about to go.
pub(super) fn check_ours<O: Operator>(
    paths: &Paths,
    owner: &Owner<O>,
    child: &Child,
    actual: &Actual,
) -> Result<(), Interrupt> {
    if actual.deleting {
        return Err(Interrupt::Wait(TERMINATING));
    }
    if actual.owner == Some(owner.meta.uid) || mutant!(ForeignIsOurs) {
        return Ok(());
    }
    let namesake = format!("{} {:?}", paths.owner_kind, owner.meta.name);
    let of_our_group = actual.owner_group.as_deref() == Some(paths.owner_group());
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
        &paths.owner_kind,
    ))
}
