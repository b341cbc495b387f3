//! Children as events have shown them to an owner at rest: what they spare.
//!
//! Guarantees: what an event showed is only ever used with the resourceVersion that it came with, so
//! that a newer child is never changed by it. Leaves to others: comparing and writing (`children`).

use crate::api::{Child, Kind, Operator, Owner, kind_index};
use crate::model::object::{ChildState, hash32};
use crate::queue::{ChildRecord, ChildSnapshot, OwnerState, SnapshotContent};
use crate::reconcile::Applier;
use crate::reconcile::child::Actual;
use crate::reconcile::children::record_of;
use crate::reconcile::failure::Interrupt;

impl<O: Operator> Applier<O> {
    /// Makes the children that events have shown what the plan says, and leaves the others alone:
    /// nothing tells that they changed. Whether a status may follow: whether a workload was shown.
    pub(crate) async fn ensure_snapshots(
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
                // To a plan it only exists, and a ready owner has it.
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

    /// The child as an event showed it, or as it is read now.
    pub(crate) async fn child_as_shown(
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
        self.read_child(kind, namespace, name).await
    }
}

/// What the events have shown of a planned child.
pub(crate) fn snapshot_of<'a, O: Operator>(
    snapshots: &'a [ChildSnapshot],
    child: &Child,
) -> Option<&'a SnapshotContent> {
    let kind = kind_index(O::KINDS, &child.kind)?;
    let place = (kind, hash32(&child.name));
    snapshots
        .iter()
        .find(|snapshot| (snapshot.kind, snapshot.name_hash) == place)
        .map(|snapshot| &snapshot.content)
}
