//! The words with which the pods of a child are refused: a quota, Pod Security, a webhook.
//!
//! Guarantees: one read for each child that says that its pods are refused, and none for others; the words are held
//! while a status is made, and not retained.
//! Leaves to others: what the status says (the plan), telling it (`failure_report`).

use crate::api::{Children, Operator, Owner};
use crate::reconcile::Reconciler;
use crate::reconcile::failure::Interrupt;

impl<O: Operator> Reconciler<O> {
    /// Adds the words to the `children` whose pods are refused.
    pub(super) async fn read_refusals(
        &self,
        owner: &Owner<O>,
        children: &mut Children,
    ) -> Result<(), Interrupt> {
        // The records know no names.
        let mut refused = self.plan(owner, children)?.children;
        refused.retain_mut(|child| {
            child.body = None;
            let namespace = child.namespace_of(&owner.meta.namespace);
            let state = children.get_in(namespace, &child.kind, &child.name);
            state.is_some_and(|state| state.refused)
        });
        for child in &refused {
            let actual = self.read_child(owner, child).await?;
            if let Some(words) = actual.and_then(|actual| actual.refusal) {
                let namespace = child.namespace_of(&owner.meta.namespace);
                children.record_refusal_in(namespace, &child.kind, &child.name, &words);
            }
        }
        Ok(())
    }
}
