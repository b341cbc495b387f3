//! Reads what an owner names.
//!
//! Guarantees: a name is known to be named before it is read, so that a change after that is looked up; one read for each
//! name and plan, and nothing of it is retained.
//! Leaves to others: noticing changes (`controller::references`), what follows from them (the plan).

use std::sync::{Arc, Mutex, PoisonError};

use crate::api::{Operator, Owner};
use crate::http::request::{ApiError, OBJECT_BYTES, Request};
use crate::metrics::Verb;
use crate::model::Named;
use crate::reconcile::failure::Interrupt;
use crate::reconcile::{Reconciler, failure};

/// What owners were seen to name, as the workers and the watches share it.
#[derive(Clone, Default)]
pub(crate) struct SharedNames(Arc<Mutex<Named>>);

impl SharedNames {
    /// Looks at them or adds to them.
    pub fn with<T>(&self, look: impl FnOnce(&mut Named) -> T) -> T {
        look(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl<O: Operator> Reconciler<O> {
    /// Reads what the owner names into it.
    pub(super) async fn read_references(&self, owner: &mut Owner<O>) -> Result<(), Interrupt> {
        for reference in self.operator.references(owner) {
            let Some((index, key)) = reference.place(O::REFERENCES, &owner.meta.namespace) else {
                return Err(failure::undeclared_reference::<O>(&reference));
            };
            if key.namespace().is_empty() && O::REFERENCES[index].namespaced {
                return Err(failure::reference_without_namespace(&reference));
            }
            if reference.name.is_empty() {
                // Its path would be that of a list.
                continue;
            }
            self.referenced.with(|named| named.add(index, &key));
            let collection = &self.paths.references(index)[0];
            let path = collection.object_path(key.namespace(), key.name());
            let answer = self
                .api
                .call(Verb::Get, Request::get(&path), OBJECT_BYTES)
                .await;
            let object = match answer {
                Err(error) if error.code() == Some(404) => continue,
                answer => answer.and_then(|body| {
                    serde_json::from_slice(&body).map_err(|error| ApiError::undecodable(&error))
                }),
            };
            let object = object.map_err(|error| {
                failure::asked(error, "get", reference.kind.kind, &reference.name)
            })?;
            owner.references.record(reference, object);
        }
        Ok(())
    }
}
