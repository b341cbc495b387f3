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
use crate::model::KindId;
use crate::queue::Outcome;
use crate::reconcile::failure::Interrupt;
use crate::reconcile::unplanned::Beside;
use crate::reconcile::{Task, failure, owner};

/// How long a child with a finalizer of its own is waited for before it is read again; its deletion is an
/// event and usually arrives sooner.
const LINGERING: Duration = Duration::from_secs(10);

/// How long children that were deleted are given before they are listed again.
const DELETED: Duration = Duration::from_secs(1);

impl<O: Operator> Task<'_, O> {
    /// Tears down an owner: first its children, kind by kind, then what lives outside the cluster, then our
    /// finalizer. With the `orphan` finalizer all children stay. An operator without a finalizer leaves the
    /// children to the garbage collector, and frees the owner of those that it used before.
    pub(super) async fn tear_down(&mut self) -> Result<Outcome, Interrupt> {
        // An earlier version promised the cleanup with a finalizer that is retired now.
        let finalizers = &self.state.object.finalizers;
        let promised = finalizers.ours.or(finalizers.retired).is_some();
        let Some(finalizer) = O::FINALIZER.filter(|_| promised) else {
            self.remove_retired_finalizers().await?;
            return Err(Interrupt::Gone);
        };
        // As what an operator may not need (`attempt_once`).
        self.remove_all(finalizer).boxed().await?;
        Ok(Outcome::Gone)
    }

    /// Removes the children, what lives outside the cluster, and the finalizers.
    async fn remove_all(&mut self, finalizer: &str) -> Result<(), Interrupt> {
        let (operator, key) = (&*self.shared.operator, self.key);
        if !self.state.object.finalizers.orphan && !mutant!(ChildrenLeftAtTeardown) {
            match owner::plan(operator, key, &self.state.object, &self.state.children) {
                Some((owner, plan)) => self.delete_planned(&owner, plan).await?,
                None => self.delete_found().await?,
            }
        }
        if !mutant!(CleanupSkipped) {
            let owner = owner::deleted(key, &self.state.object);
            let cleanup = operator.cleanup(&owner).await;
            cleanup.map_err(|error| failure::cleanup(&error))?;
        }
        self.remove_retired_finalizers().await?;
        self.remove_finalizer(finalizer).await
    }

    async fn delete_planned(
        &mut self,
        owner: &Owner<O>,
        plan: Plan<Status<O>>,
    ) -> Result<(), Interrupt> {
        let mut children = plan.children;
        self.add_unplanned(&mut children, Beside::Deleted).await?;
        children.sort_by_key(|child| kind_index(O::KINDS, &child.kind));
        for child in &children {
            if self.delete_owned(owner, child).await? {
                self.write_status(plan.status).await?;
                return Err(Interrupt::Wait(LINGERING));
            }
        }
        Ok(())
    }

    /// Deletes the children of an owner without a plan, which could name them.
    async fn delete_found(&self) -> Result<(), Interrupt> {
        let uid = self.state.object.uid;
        for kind in KindId::children(O::KINDS.len()) {
            let found = self.shared.list_owned(kind, self.key, uid).await?;
            let any = !found.is_empty();
            for one in found.into_iter().filter(|one| !one.deleting) {
                let namespace = self.key.namespace();
                let deleted = self.shared.delete_child(namespace, &one.child, one.version);
                deleted.await?;
            }
            if any {
                // Listed again: there may be more, and finalizers of others may keep some.
                return Err(Interrupt::Wait(DELETED));
            }
        }
        Ok(())
    }
}
