//! One owner against its children as they were found: what its plan asks for.
//!
//! Guarantees: no request; the slots of what was found are noted on the owner's work.
//! Leaves to others: finding the children (`join`, `batch`), what a difference is (`drift`).

use std::sync::atomic::Ordering::Relaxed;

use crate::api::{Child, Operator, Owner, OwnerStatus, Status, kind_index};
use crate::cache::Retention;
use crate::queue::{ChildRecord, OwnerState, Triggers};
use crate::reconcile::child::{Actual, last_applied, with_labels};
use crate::reconcile::drift;
use crate::reconcile::owner;
use crate::relist::Relist;

impl<O: Operator> Relist<O> {
    /// The children at hand that are named like the owner `key`.
    pub(crate) fn at_hand(&self, key: &str) -> Vec<(u8, Actual)> {
        let kinds = (0..).zip(O::KINDS).zip(self.pages.iter().skip(1));
        kinds
            .filter_map(|((place, kind), pages)| {
                let actual = Actual::read(pages.current()?, kind.workload, key)?;
                Some((place, actual))
            })
            .collect()
    }

    /// What the owner's plan says about its children as they were found; nothing where the owner has
    /// work of its own.
    pub(crate) fn compare(
        &mut self,
        key: &str,
        state: &mut OwnerState,
        found: &[(u8, Actual)],
    ) -> Triggers {
        if state.deleting || !owner::triggers_beside_children::<O>(state).is_empty() {
            return Triggers::default();
        }
        for (kind, actual) in found {
            state.record_child(ChildRecord {
                kind: *kind,
                name_hash: actual.name_hash,
                resource_version: actual.resource_version,
                state: actual.state,
                last_applied: None,
            });
        }
        state.children_complete = true;
        let Some((owner, plan)) = owner::plan(&*self.operator, key, state) else {
            return Triggers::CHECK;
        };
        if self.ordered
            && let Some(child) = plan.children.iter().find(|c| c.name != *owner.meta.name)
        {
            self.unordered(&format!(
                "{} {:?} is not named like its owner",
                child.kind.kind, child.name
            ));
            return Triggers::default();
        }
        let mut differs = false;
        for child in &plan.children {
            differs |= self.child_differs(child, &owner, state, found);
        }
        if differs {
            return Triggers::CHECK;
        }
        let mut status = plan.status;
        if owner::remember::<O>(&mut status).digest != state.status.digest {
            // The worker reads what the status follows from.
            return Triggers::CHECK;
        }
        if !Status::<O>::OBSERVES {
            state.status.observed_generation = Some(state.generation);
        }
        Triggers::default()
    }

    fn child_differs(
        &self,
        child: &Child,
        owner: &Owner<O>,
        state: &mut OwnerState,
        found: &[(u8, Actual)],
    ) -> bool {
        let uid = owner.meta.uid;
        let place = kind_index(O::KINDS, &child.kind);
        let key = format!("{}/{}", owner.meta.namespace, child.name);
        let actual = found
            .iter()
            .find(|(kind, actual)| Some(*kind) == place && actual.key == key)
            .map(|(_, actual)| actual);
        let differs = match (&child.body, actual) {
            (None, None) => false,
            (None, Some(actual)) => actual.owner == Some(uid),
            (Some(_), None) => true,
            (Some(body), Some(actual)) => {
                let body = with_labels::<O>(body.clone(), &owner.meta.name);
                let differs =
                    actual.owner != Some(uid) || drift::differs(&body, &actual.value).is_some();
                if let Some(record) = state.record(place, actual.name_hash)
                    && !differs
                    && self.retention == Retention::Specs
                {
                    record.last_applied = Some(last_applied(actual.uid, &body, child.immutable));
                }
                differs
            }
        };
        if differs {
            self.api.metrics().drift.fetch_add(1, Relaxed);
        }
        differs
    }
}
