//! Ordered teardown of an owner that is being deleted: its children kind by kind, what lives outside
//! the cluster, then our finalizer.
//!
//! Guarantees: only our own children go, a foreign one of the same name survives; other people's
//! finalizers stay; with the `orphan` finalizer all children stay.

use std::time::Duration;

use serde_json::json;

use crate::api::{Child, Operator, Owner, kind_index};
use crate::queue::{Reasons, Verdict, Work};
use crate::reconcile::Applier;
use crate::reconcile::children::slot_of;
use crate::reconcile::failure;
use crate::reconcile::failure::Stop;
use crate::reconcile::owner;

/// How long a child with a finalizer of its own is waited for before it is looked at again; its
/// deletion is an event and comes sooner.
const LINGERING: Duration = Duration::from_secs(10);

impl<O: Operator> Applier<O> {
    pub(crate) async fn teardown(
        &self,
        key: &str,
        owner: &Owner<O>,
        work: &mut Work,
    ) -> Result<Verdict, Stop> {
        let (Some(place), Some(finalizer)) = (work.finalizers.ours, O::FINALIZER) else {
            return Err(Stop::Gone);
        };
        // Without a plan the names are not known: those children go with their owner reference.
        if !work.finalizers.orphan
            && let Ok(plan) = self.plan(owner, &owner::children::<O>(work))
        {
            let mut children: Vec<&Child> = plan.children.iter().collect();
            children.sort_by_key(|child| kind_index(O::KINDS, &child.kind));
            for child in children {
                if self.take_down(owner, work, child).await? {
                    self.write_status(key, work, plan.status).await?;
                    return Err(Stop::Wait(LINGERING));
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
        self.patch_owner(key, "", work, &remove).await?;
        Ok(Verdict::Gone)
    }

    /// Deletes one child; true while it lingers.
    async fn take_down(
        &self,
        owner: &Owner<O>,
        work: &mut Work,
        child: &Child,
    ) -> Result<bool, Stop> {
        let namespace = &owner.meta.namespace;
        if self.keeps_proofs && !work.reasons.has(Reasons::READ) {
            let complete = work.slots_complete;
            match slot_of::<O>(work, child) {
                Some(slot) => {
                    // Once: one that lingers is read from then on.
                    if let Some(proof) = slot.proof.take() {
                        let version = slot.resource_version;
                        return self
                            .delete_child(namespace, child, proof.uid, version)
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
