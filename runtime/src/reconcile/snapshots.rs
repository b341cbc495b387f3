//! Children as events showed them while their owner was idle: these snapshots spare reads.
//!
//! Guarantees: a snapshot is only used with its own resourceVersion, so that a newer child is never changed
//! because of it. Leaves to others: comparing and writing (`children`).

use crate::api::{Child, Kind, Operator, Owner, kind_index};
use crate::model::{ChildRecord, ChildSnapshot, ChildState, OwnerState, SnapshotContent, hash32};
use crate::reconcile::Reconciler;
use crate::reconcile::child::Actual;
use crate::reconcile::children::record_of;
use crate::reconcile::failure::Interrupt;

impl<O: Operator> Reconciler<O> {
    /// Brings the children that events have shown to the plan, and leaves the others alone: nothing says that
    /// they changed. Returns whether a workload was among them, so that the status may change.
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

    /// The child as an event showed it, or else as it is read now.
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

/// The snapshot of a planned child.
pub(crate) fn snapshot_of<'a, O: Operator>(
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
