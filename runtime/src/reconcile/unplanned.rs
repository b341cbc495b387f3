//! The children of an owner that are not in its plan: what an earlier plan made and this one leaves out.
//!
//! Guarantees: where names follow from those of the owners, no request; each child that may exist is then an
//! absent one of the plan. Other kinds cost one list for an owner whose spec or children changed.
//! Leaves to others: reading and deleting them, and only those whose controller is the owner (`children`).

use crate::api::{Child, Operator, may_be_labelled};
use crate::model::{Content, KindId, ObjectKey, SeenChild, Triggers};
use crate::reconcile::child::child_id;
use crate::reconcile::child_names::is_planned;
use crate::reconcile::failure::Interrupt;
use crate::reconcile::{Reconciler, Task};

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
    pub(super) fn learn_names(&self, key: &ObjectKey, plan: &[Child]) {
        for child in plan.iter().filter(|child| child.body.is_some()) {
            let (kind, _) = child_id::<O>(child);
            let place = (child.namespace_of(key.namespace()), child.name.as_str());
            self.names.learn(kind, key, place);
        }
    }

    /// Whether children of this kind may be where their owners are not.
    pub(super) fn are_elsewhere(&self, kind: KindId) -> bool {
        may_be_labelled::<O>() && self.names.are_elsewhere(kind)
    }
}

impl<O: Operator> Task<'_, O> {
    /// Adds the children that may exist beside the plan to it, as absent: by their names, and where those do not tell, by
    /// the label of their owner.
    pub(super) async fn add_unplanned(
        &self,
        plan: &mut Vec<Child>,
        beside: Beside,
    ) -> Result<(), Interrupt> {
        if mutant!(UnplannedStays) {
            return Ok(());
        }
        let (shared, key) = (self.shared, self.key);
        plan.extend(shared.names.unplanned::<O>(key, plan));
        for kind in KindId::children(O::KINDS.len()) {
            if !self.may_have_more(kind, plan, beside) {
                continue;
            }
            let uid = self.state.object.uid;
            for one in shared.list_owned(kind, key, uid).await? {
                let namespace = one.child.namespace_of(key.namespace());
                let place = (namespace, one.child.name.as_str());
                if !is_planned::<O>(plan, kind, key.namespace(), place) {
                    plan.push(one.child);
                }
            }
        }
        Ok(())
    }

    /// Whether names do not tell which children of this kind there may be, and neither do records. Until the first relist
    /// has ended it has not shown every name; owners that it finds itself are read anew, and their children were on its
    /// pages.
    fn may_have_more(&self, kind: KindId, plan: &[Child], beside: Beside) -> bool {
        let (names, triggers) = (&self.shared.names, self.state.work.triggers);
        let is_planned =
            |seen: &SeenChild| plan.iter().any(|child| child_id::<O>(child) == seen.id());
        let mut seen = self.state.children.iter().filter(|seen| seen.kind == kind);
        let by_event = match beside {
            Beside::Compared => triggers.has(Triggers::SPEC) && !triggers.has(Triggers::REFRESH),
            Beside::Deleted => true,
            Beside::Pending => {
                return seen.any(|seen| {
                    seen.content.is_pending() && seen.content != Content::Gone && !is_planned(seen)
                });
            }
        };
        let is_recorded = self.retains() && self.state.children.complete && seen.all(is_planned);
        (names.is_irregular(kind) || (by_event && !names.is_complete())) && !is_recorded
    }
}
