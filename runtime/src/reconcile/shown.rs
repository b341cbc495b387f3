//! Children as events have shown them to an owner at rest: what they spare.
//!
//! Guarantees: what an event showed is only ever used with the resourceVersion that it came with, so
//! that a newer child is never changed by it. Leaves to others: comparing and writing (`children`).

use crate::api::{Child, Kind, Operator, Owner, kind_index};
use crate::model::object::{ChildState, hash32};
use crate::queue::{Shown, Sight, Slot, Work};
use crate::reconcile::Applier;
use crate::reconcile::child::Actual;
use crate::reconcile::children::slot_of;
use crate::reconcile::failure::Stop;

impl<O: Operator> Applier<O> {
    /// Makes the children that events have shown what the plan says, and leaves the others alone:
    /// nothing tells that they changed. Whether a status may follow: whether a workload was shown.
    pub(crate) async fn ensure_shown(
        &self,
        owner: &Owner<O>,
        work: &mut Work,
        children: &[Child],
        shown: &[Shown],
    ) -> Result<bool, Stop> {
        let mut workload_shown = false;
        for child in children {
            if let Some(sight) = sight_of::<O>(shown, child) {
                workload_shown |= child.kind.workload;
                self.ensure(owner, work, child.clone(), false, Some(sight))
                    .await?;
            }
        }
        if !workload_shown {
            return Ok(false);
        }
        for child in children {
            let unknown = child.body.is_some() && slot_of::<O>(work, child).is_none();
            match kind_index(O::KINDS, &child.kind) {
                Some(_) if unknown && child.kind.workload => {
                    self.ensure(owner, work, child.clone(), false, None).await?;
                }
                // To a plan it only exists, and a ready owner has it.
                Some(kind) if unknown => work.see(Slot {
                    kind,
                    name_hash: hash32(&child.name),
                    resource_version: 0,
                    state: ChildState::default(),
                    proof: None,
                }),
                _ => {}
            }
        }
        Ok(true)
    }

    /// The child as an event showed it, or as it is read now.
    pub(crate) async fn look(
        &self,
        kind: &Kind,
        namespace: &str,
        name: &str,
        sight: Option<&Sight>,
    ) -> Result<Option<Actual>, Stop> {
        if let Some(Sight::Object(json)) = sight
            && let Ok(actual) = Actual::decode(json, kind.workload)
        {
            return Ok(Some(actual));
        }
        self.read_child(kind, namespace, name).await
    }
}

/// What the events have shown of a planned child.
pub(crate) fn sight_of<'a, O: Operator>(shown: &'a [Shown], child: &Child) -> Option<&'a Sight> {
    let kind = kind_index(O::KINDS, &child.kind)?;
    let place = (kind, hash32(&child.name));
    shown
        .iter()
        .find(|shown| (shown.kind, shown.name_hash) == place)
        .map(|shown| &shown.sight)
}
