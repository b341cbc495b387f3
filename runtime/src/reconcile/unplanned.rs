//! The children of an owner that are not in its plan: what an earlier plan made and this one leaves out.
//!
//! Guarantees: where names follow from those of the owners, no request; each child that may exist is then an
//! absent one of the plan. Other kinds cost one list for an owner whose spec or children changed.
//! Leaves to others: reading and deleting them, and only those whose controller is the owner (`children`).

use crate::api::{Child, Operator, Owner, kind_index, may_be_labelled};
use crate::model::{Content, KindId, OwnerState, Retention, Triggers};
use crate::reconcile::child_names::is_planned;
use crate::reconcile::child_records::id;
use crate::reconcile::failure::Interrupt;
use crate::reconcile::{Reconciler, owned};

/// Why children beside the plan are looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Beside {
    /// All children are compared.
    Compared,
    /// Only those that are to be looked at.
    Pending,
    /// The owner is being deleted. Its finalizer must not go before them: until a relist has shown what earlier processes
    /// left, they are listed.
    Deleted,
}

impl<O: Operator> Reconciler<O> {
    /// Remembers the names of planned children.
    pub(super) fn learn_names(&self, owner: &Owner<O>, plan: &[Child]) {
        let key = owner.meta.key();
        for child in plan.iter().filter(|child| child.body.is_some()) {
            if let Some(kind) = kind_index(O::KINDS, &child.kind) {
                let namespace = child.namespace_of(key.namespace());
                self.names.learn(kind, &key, (namespace, &child.name));
            }
        }
    }

    /// Adds the children that may exist beside the plan to it, as absent: by their names, and where those do not tell, by
    /// the label of their owner.
    pub(super) async fn add_unplanned(
        &self,
        owner: &Owner<O>,
        state: &OwnerState,
        plan: &mut Vec<Child>,
        beside: Beside,
    ) -> Result<(), Interrupt> {
        if mutant!(UnplannedStays) {
            return Ok(());
        }
        let (key, uid) = (owner.meta.key(), owner.meta.uid);
        let by_name = self.names.unplanned::<O>(&key, plan);
        plan.extend(by_name);
        for (kind, of) in KindId::children(O::KINDS.len()).zip(O::KINDS) {
            if !self.may_have_more(kind, state, plan, beside) {
                continue;
            }
            let elsewhere = self.are_elsewhere(kind);
            let listed = owned::list(&self.api, &self.paths, (kind, of), &key, uid, elsewhere);
            for child in listed.await? {
                let place = (child.namespace.as_str(), child.name.as_str());
                if !is_planned::<O>(plan, Some(kind), key.namespace(), place) {
                    plan.push(child.absent(*of, key.namespace()));
                }
            }
        }
        Ok(())
    }

    /// Whether children of this kind may be where their owners are not.
    pub(super) fn are_elsewhere(&self, kind: KindId) -> bool {
        may_be_labelled::<O>() && self.names.are_elsewhere(kind)
    }

    /// Whether names do not tell which children of this kind there may be, and neither do records. Until the first relist
    /// has ended it has not shown every name; owners that it finds itself are read anew, and their children were on its
    /// pages.
    fn may_have_more(
        &self,
        kind: KindId,
        state: &OwnerState,
        plan: &[Child],
        beside: Beside,
    ) -> bool {
        let triggers = state.work.triggers;
        let is_planned = |place_hash| {
            let of_kind = (Some(kind), place_hash);
            plan.iter().any(|child| id::<O>(child) == of_kind)
        };
        let mut seen = state.children.iter().filter(|seen| seen.kind == kind);
        let by_event = match beside {
            Beside::Compared => triggers.has(Triggers::SPEC) && !triggers.has(Triggers::REFRESH),
            Beside::Deleted => true,
            Beside::Pending => {
                return seen.any(|seen| {
                    seen.content.is_pending()
                        && seen.content != Content::Gone
                        && !is_planned(seen.place_hash)
                });
            }
        };
        let is_recorded = self.retention == Retention::Specs
            && state.children.complete
            && !triggers.has(Triggers::READ)
            && seen.all(|seen| is_planned(seen.place_hash));
        (self.names.is_irregular(kind) || (by_event && !self.names.is_complete())) && !is_recorded
    }
}
