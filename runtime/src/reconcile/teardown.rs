//! Ordered teardown of an owner that is being deleted: first its children, kind by kind, then what lives
//! outside the cluster, then our finalizer.
//!
//! Guarantees: only our own children are deleted; a foreign object of the same name stays. Finalizers of
//! others stay. With the `orphan` finalizer all children stay.

use std::time::Duration;

use serde_json::json;

use crate::api::{Child, Operator, Owner, kind_index};
use crate::model::{ObjectKey, OwnerState, Triggers};
use crate::queue::Outcome;
use crate::reconcile::Reconciler;
use crate::reconcile::children::record_of;
use crate::reconcile::failure;
use crate::reconcile::failure::Interrupt;
use crate::reconcile::owner;

/// How long a child with a finalizer of its own is waited for before it is read again; its deletion is an
/// event and usually arrives sooner.
const LINGERING: Duration = Duration::from_secs(10);

impl<O: Operator> Reconciler<O> {
    pub(crate) async fn teardown(
        &self,
        key: &ObjectKey,
        owner: &Owner<O>,
        state: &mut OwnerState,
    ) -> Result<Outcome, Interrupt> {
        let (Some(place), Some(finalizer)) = (state.finalizers.ours, O::FINALIZER) else {
            return Err(Interrupt::Gone);
        };
        // Without a plan the names are not known: the garbage collector deletes those children.
        if !state.finalizers.orphan
            && let Ok(plan) = self.plan(owner, &owner::children::<O>(state))
        {
            let mut children: Vec<&Child> = plan.children.iter().collect();
            children.sort_by_key(|child| kind_index(O::KINDS, &child.kind));
            for child in children {
                if self.delete_owned(owner, state, child).await? {
                    self.write_status(key, state, plan.status).await?;
                    return Err(Interrupt::Wait(LINGERING));
                }
            }
            self.operator
                .cleanup(owner)
                .await
                .map_err(|error| failure::planned(&error))?;
        }
        let path = format!("/metadata/finalizers/{place}");
        let remove = [
            json!({"op": "test", "path": path, "value": finalizer}),
            json!({"op": "remove", "path": path}),
        ];
        self.patch_owner(key, "", state, &remove).await?;
        Ok(Outcome::Gone)
    }

    /// Deletes one child; true while it still exists.
    async fn delete_owned(
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
                            .delete_child(namespace, child, last_applied.uid, version)
                            .await;
                    }
                }
                None if complete => return Ok(false),
                None => {}
            }
        }
        let actual = self.read_child(&child.kind, namespace, &child.name).await?;
        let Some(actual) = actual.filter(|actual| actual.owner == Some(owner.meta.uid)) else {
            return Ok(false);
        };
        if actual.deleting {
            return Ok(true);
        }
        self.delete_child(namespace, child, actual.uid, actual.resource_version)
            .await
    }
}
