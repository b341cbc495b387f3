//! The words with which the pods of a child are refused: a quota, Pod Security, a webhook.
//!
//! Guarantees: one read for each child that says that its pods are refused, and none for others; the words are held
//! while a status is made, and not retained.
//! Leaves to others: what the status says (the plan), telling it (`failure_report`).

use crate::api::{Child, Children, Operator, Owner};
use crate::http::paths::Paths;
use crate::http::request::{ApiError, OBJECT_BYTES, Request};
use crate::metrics::Verb;
use crate::model;
use crate::model::{PartialObject, decoded};
use crate::reconcile::failure::Interrupt;
use crate::reconcile::{Reconciler, failure};

impl<O: Operator> Reconciler<O> {
    /// Adds the words to the `children` whose pods are refused.
    pub(super) async fn read_refusals(
        &self,
        owner: &Owner<O>,
        children: &mut Children,
    ) -> Result<(), Interrupt> {
        // The records know no names.
        let planned = self.plan(owner, children)?.children.into_iter();
        let is_refused = |child: &Child| {
            let namespace = child.namespace_of(&owner.meta.namespace);
            let state = children.get_in(namespace, &child.kind, &child.name);
            state.is_some_and(|state| state.refused)
        };
        let refused: Vec<_> = planned
            .filter(is_refused)
            .map(|child| Child {
                body: None,
                ..child
            })
            .collect();
        for child in refused {
            let namespace = child.namespace_of(&owner.meta.namespace);
            if let Some(words) = self.refusal(&child, namespace).await? {
                children.record_refusal_in(namespace, &child.kind, &child.name, &words);
            }
        }
        Ok(())
    }

    /// The words of one child; `None` where its pods are refused no more.
    async fn refusal(&self, child: &Child, namespace: &str) -> Result<Option<String>, Interrupt> {
        let (kind, name) = (&child.kind, child.name.as_str());
        let path = Paths::child_path(kind, namespace, name);
        let request = Request::get(&path);
        let answer = match self.api.call(Verb::Get, request, OBJECT_BYTES).await {
            Err(error) if error.code() == Some(404) => return Ok(None),
            answer => answer,
        };
        let words = answer.and_then(|answer| {
            let object: PartialObject<'_> =
                decoded(&answer).map_err(|error| ApiError::undecodable(&error))?;
            Ok(object.status.and_then(model::refusal))
        });
        words.map_err(|error| failure::asked(error, "get", kind.kind, name))
    }
}
