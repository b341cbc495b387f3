//! Ordered teardown of an owner that is being deleted: its children kind by kind, what lives outside
//! the cluster, then our finalizer.
//!
//! Guarantees: only our own children go, a foreign one of the same name survives; other people's
//! finalizers stay; with the `orphan` finalizer all children stay.

use std::time::Duration;

use serde_json::json;

use crate::api::{Child, Operator, Owner, kind_index};
use crate::queue::{Outcome, OwnerState, Triggers};
use crate::reconcile::Applier;
use crate::reconcile::children::record_of;
use crate::reconcile::failure;
use crate::reconcile::failure::Interrupt;
use crate::reconcile::owner;

/// How long a child with a finalizer of its own is waited for before it is looked at again; its
/// deletion is an event and comes sooner.
const LINGERING: Duration = Duration::from_secs(10);

impl<O: Operator> Applier<O> {
    pub(crate) async fn teardown(
        &self,
        key: &str,
        owner: &Owner<O>,
        state: &mut OwnerState,
    ) -> Result<Outcome, Interrupt> {
        let (Some(place), Some(finalizer)) = (state.finalizers.ours, O::FINALIZER) else {
            return Err(Interrupt::Gone);
        };
        // Without a plan the names are not known: those children go with their owner reference.
        if !state.finalizers.orphan
            && let Ok(plan) = self.plan(owner, &owner::children::<O>(state))
        {
            let mut children: Vec<&Child> = plan.children.iter().collect();
            children.sort_by_key(|child| kind_index(O::KINDS, &child.kind));
            for child in children {
                if self.take_down(owner, state, child).await? {
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

    /// Deletes one child; true while it lingers.
    async fn take_down(
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
                    // Once: one that lingers is read from then on.
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
