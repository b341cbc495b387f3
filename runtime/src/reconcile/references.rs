//! Reads what an owner refers to.
//!
//! Guarantees: what is referred to is known before it is read, so that a change after that is looked up; one read for each
//! name and plan, one paged list for each selector, of a bounded size, and nothing of either is retained.
//! Leaves to others: noticing changes (`controller::references`), what follows from them (the plan).

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;

use crate::api::{By, Operator, Owner};
use crate::http::collection::Collection;
use crate::http::request::{Api, ApiError, OBJECT_BYTES, Request};
use crate::metrics::Verb;
use crate::model::{KindId, Named, ObjectKey, Selected, decoded, selector};
use crate::reconcile::failure::Interrupt;
use crate::reconcile::{Reconciler, failure};
use crate::relist::pages::{ListError, Pages};

/// What owners were seen to refer to, as the workers and the watches share it.
#[derive(Clone, Default)]
pub(crate) struct SharedNames(Arc<Mutex<Referenced>>);

/// What owners were seen to refer to.
#[derive(Default)]
pub(crate) struct Referenced {
    /// What they name, and the labels by which they select.
    pub named: Named,
    /// What they have read by labels.
    pub selected: Selected,
}

impl SharedNames {
    /// Looks at them or adds to them.
    pub fn with<T>(&self, look: impl FnOnce(&mut Referenced) -> T) -> T {
        look(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A list that is being read, to its end on every path.
struct Reading<'a>(&'a SharedNames);

impl<'a> Reading<'a> {
    fn new(names: &'a SharedNames) -> Self {
        names.with(|all| all.selected.begin());
        Self(names)
    }
}

impl Drop for Reading<'_> {
    fn drop(&mut self) {
        self.0.with(|all| all.selected.end());
    }
}

impl<O: Operator> Reconciler<O> {
    /// Reads what the owner refers to into it.
    pub(super) async fn read_references(&self, owner: &mut Owner<O>) -> Result<(), Interrupt> {
        for reference in self.operator.references(owner) {
            let Some(index) = reference.place(O::REFERENCES) else {
                return Err(failure::undeclared_reference::<O>(&reference));
            };
            if !owner.references.all(&reference).is_empty() {
                // Said twice.
                continue;
            }
            let kind = &O::REFERENCES[index];
            let namespace = reference.namespace(kind, &owner.meta.namespace);
            let found = match &reference.by {
                // Its path would be that of a list.
                By::Name(name) if name.is_empty() => continue,
                By::Name(name) if namespace.is_empty() && kind.namespaced => {
                    return Err(failure::reference_without_namespace(kind, name));
                }
                By::Name(name) => {
                    let key = ObjectKey::new(namespace, name);
                    Vec::from_iter(self.read_named(index, &key).await?)
                }
                By::Labels(labels) => {
                    let reader = owner.meta.key();
                    Box::pin(self.read_labelled(index, namespace, labels, &reader)).await?
                }
            };
            for object in found {
                owner.references.record(reference.clone(), object);
            }
        }
        Ok(())
    }

    /// The object with this key, of the kind with this index; `None` where it is not there.
    async fn read_named(&self, index: usize, key: &ObjectKey) -> Result<Option<Value>, Interrupt> {
        self.referenced.with(|all| all.named.add(index, key));
        let collection = &self.paths.references(index)[0];
        let path = collection.object_path(key.namespace(), key.name());
        let answer = self
            .api
            .call(Verb::Get, Request::get(&path), OBJECT_BYTES)
            .await;
        let object = match answer {
            Err(error) if error.code() == Some(404) && !error.is_of_missing_kind() => {
                return Ok(None);
            }
            answer => answer.and_then(|body| value(&body)),
        };
        let kind = &O::REFERENCES[index];
        object
            .map(Some)
            .map_err(|error| failure::unread(error, "get", kind, key.name()))
    }

    /// All objects that `labels` selects, of the kind with this index. `reader`: the owner for which they are read.
    async fn read_labelled(
        &self,
        index: usize,
        namespace: &str,
        labels: &str,
        reader: &ObjectKey,
    ) -> Result<Vec<Value>, Interrupt> {
        let required = selector::requirements(labels);
        self.referenced.with(|all| {
            for label in selector::rarest(&required) {
                all.named.add(index, &ObjectKey::new(namespace, &label));
            }
        });
        let _reading = Reading::new(&self.referenced);
        let parts = self.paths.references(index);
        let parts = match namespace {
            // In all that the operator watches.
            "" => parts.iter().map(|part| Collection::clone(part)).collect(),
            _ => vec![parts[0].within(namespace)],
        };
        let selected = |part: Collection| Arc::new(part.selected_by(Some(labels), None));
        let kind = &O::REFERENCES[index];
        let found = list(&self.api, parts.into_iter().map(selected).collect()).await;
        let found = found.map_err(|error| failure::unread(error, "list", kind, labels))?;
        self.referenced.with(|all| {
            let reader = all.selected.owner(reader);
            for (key, _) in &found {
                all.selected.read(reader, index, key);
            }
        });
        Ok(found.into_iter().map(|(_, object)| object).collect())
    }
}

/// All objects of these parts, which have at most [`OBJECT_BYTES`] together.
async fn list(api: &Api, parts: Vec<Arc<Collection>>) -> Result<Vec<(ObjectKey, Value)>, ApiError> {
    let mut pages = Pages::new(KindId::OWNER, parts);
    let mut found = Vec::new();
    let mut bytes = 0;
    let asked = |error: ListError| error.error;
    pages.open(api).await.map_err(asked)?;
    pages.fill(api).await.map_err(asked)?;
    while let Some(json) = pages.current() {
        bytes += json.len();
        if bytes > OBJECT_BYTES {
            return Err(ApiError::TooLarge(OBJECT_BYTES));
        }
        let object: Value = value(json.as_bytes())?;
        let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
        let key = ObjectKey::new(text("namespace"), text("name"));
        found.push((key, object));
        pages.advance(api).await.map_err(asked)?;
    }
    Ok(found)
}

fn value(json: &[u8]) -> Result<Value, ApiError> {
    decoded(json).map_err(|error| ApiError::undecodable(&error))
}
