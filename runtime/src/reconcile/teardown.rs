//! The teardown of an owner that is being deleted: its children, what lives outside the cluster, our finalizer.
//!
//! Guarantees: the finalizer goes only after a cleanup that succeeded, and the cleanup runs only after the
//! children are gone. Every owner can be deleted: where the spec cannot be decoded, or its plan panics or is an
//! error, the children are found by their label. Each step may be repeated, so a crash between any two of them
//! loses nothing. Finalizers of others stay.
//! Leaves to others: when it is tried again (`queue`), children without a finalizer of ours (kube's garbage
//! collector).

use std::time::Duration;

use futures::FutureExt;

use crate::api::{Operator, Owner, Plan, Status, kind_index};
use crate::model::{KindId, ObjectKey, OwnerState};
use crate::queue::Outcome;
use crate::reconcile::failure::Interrupt;
use crate::reconcile::unplanned::Beside;
use crate::reconcile::{Reconciler, failure, owned, owner};

/// How long a child with a finalizer of its own is waited for before it is read again; its deletion is an
/// event and usually arrives sooner.
const LINGERING: Duration = Duration::from_secs(10);

/// How long children that were deleted are given before they are listed again.
const DELETED: Duration = Duration::from_secs(1);

impl<O: Operator> Reconciler<O> {
    /// Tears down an owner: first its children, kind by kind, then what lives outside the cluster, then our
    /// finalizer. With the `orphan` finalizer all children stay. An operator without a finalizer leaves the
    /// children to the garbage collector, and frees the owner of those that it used before.
    pub(super) async fn tear_down(
        &self,
        key: &ObjectKey,
        state: &mut OwnerState,
    ) -> Result<Outcome, Interrupt> {
        // An earlier version promised the cleanup with a finalizer that is retired now.
        let promised = state
            .object
            .finalizers
            .ours
            .or(state.object.finalizers.retired)
            .is_some();
        let Some(finalizer) = O::FINALIZER.filter(|_| promised) else {
            self.remove_retired_finalizers(key, state).await?;
            return Err(Interrupt::Gone);
        };
        // As what an operator may not need (`attempt_once`).
        self.remove_all(key, state, finalizer).boxed().await?;
        Ok(Outcome::Gone)
    }

    /// Removes the children, what lives outside the cluster, and the finalizers.
    async fn remove_all(
        &self,
        key: &ObjectKey,
        state: &mut OwnerState,
        finalizer: &str,
    ) -> Result<(), Interrupt> {
        if !state.object.finalizers.orphan && !mutant!(ChildrenLeftAtTeardown) {
            match owner::plan(&*self.operator, key, &state.object, &state.children) {
                Some((owner, plan)) => self.delete_planned(key, &owner, state, plan).await?,
                None => self.delete_found(key, state).await?,
            }
        }
        if !mutant!(CleanupSkipped) {
            let cleanup = self
                .operator
                .cleanup(&owner::deleted(key, &state.object))
                .await;
            cleanup.map_err(|error| failure::cleanup(&error))?;
        }
        self.remove_retired_finalizers(key, state).await?;
        self.remove_finalizer(key, state, finalizer).await
    }

    async fn delete_planned(
        &self,
        key: &ObjectKey,
        owner: &Owner<O>,
        state: &mut OwnerState,
        plan: Plan<Status<O>>,
    ) -> Result<(), Interrupt> {
        let mut children = plan.children;
        self.add_unplanned(owner, state, &mut children, Beside::Deleted)
            .await?;
        children.sort_by_key(|child| kind_index(O::KINDS, &child.kind));
        for child in &children {
            if self.delete_owned(owner, state, child).await? {
                self.write_status(key, state, plan.status).await?;
                return Err(Interrupt::Wait(LINGERING));
            }
        }
        Ok(())
    }

    /// Deletes the children of an owner without a plan, which could name them.
    async fn delete_found(&self, key: &ObjectKey, state: &OwnerState) -> Result<(), Interrupt> {
        for (id, kind) in KindId::children(O::KINDS.len()).zip(O::KINDS) {
            let (of, elsewhere) = ((id, kind), self.are_elsewhere(id));
            let listed = owned::list(&self.api, &self.paths, of, key, state.object.uid, elsewhere);
            let found = listed.await?;
            let any = !found.is_empty();
            for one in found.into_iter().filter(|one| !one.deleting) {
                let (uid, version) = (one.uid, one.resource_version);
                let child = one.absent(*kind, key.namespace());
                self.requests
                    .delete(key.namespace(), &child, uid, version)
                    .await?;
            }
            if any {
                // Listed again: there may be more, and finalizers of others may keep some.
                return Err(Interrupt::Wait(DELETED));
            }
        }
        Ok(())
    }
}
