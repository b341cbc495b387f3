//! The children of an owner that are not in its plan: what an earlier plan made and this one leaves out.
//!
//! Guarantees: where names follow from those of the owners, no request; each child that may exist is then an
//! absent one of the plan. Other kinds cost one list for an owner whose spec or children changed.
//! Leaves to others: reading and deleting them, and only those whose controller is the owner (`children`).

use crate::api::{Child, Operator, Owner, kind_index};
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
        for child in plan.iter().filter(|child| child.body.is_some()) {
            if let Some(kind) = kind_index(O::KINDS, &child.kind) {
                self.names.learn(kind, &owner.meta.name, &child.name);
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
        let by_name = self.names.unplanned::<O>(&owner.meta.name, plan);
        plan.extend(by_name);
        for (kind, of) in KindId::children(O::KINDS.len()).zip(O::KINDS) {
            if !self.may_have_more(kind, state, plan, beside) {
                continue;
            }
            let (key, uid) = (owner.meta.key(), owner.meta.uid);
            let found = owned::list(&self.api, &self.paths, (kind, of), &key, uid).await?;
            for child in found {
                if !is_planned::<O>(plan, Some(kind), &child.name) {
                    plan.push(Child::absent(*of, child.name));
                }
            }
        }
        Ok(())
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
        let is_planned = |name_hash| {
            let of_kind = (Some(kind), name_hash);
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
                        && !is_planned(seen.name_hash)
                });
            }
        };
        let is_recorded = self.retention == Retention::Specs
            && state.children.complete
            && !triggers.has(Triggers::READ)
            && seen.all(|seen| is_planned(seen.name_hash));
        (self.names.is_irregular(kind) || (by_event && !self.names.is_complete())) && !is_recorded
    }
}
