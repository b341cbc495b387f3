//! The children of a few owners at once, found by the label that names their owner: for children
//! that do not sort like their owners, and for servers whose lists are in no order.
//!
//! Guarantees: what is held is bounded in bytes; a child is found whatever its name is. Without a
//! page limit kube-apiserver answers from its watch cache as of now (from 1.31 on; before, and where
//! the datastore cannot tell how far it is, it reads the collection for each batch).
//! Leaves to others: which owners, and what a difference is (`join`).

use std::ops::Range;

use crate::api::Operator;
use crate::http::paths::Paths;
use crate::http::request::{Api, OBJECT_BYTES, Request};
use crate::metrics::Verb;
use crate::model::object::PartialObject;
use crate::queue::OwnerState;
use crate::reconcile::child::Actual;
use crate::relist::pages;
use crate::relist::pages::{ListError, PAGE_BYTES};
use crate::relist::strip::StripManagedFields;

/// Owners examined at once: their names fit into a URL, their children into a page.
pub(crate) const OWNERS: usize = 50;

/// Children as they came, by kind.
pub(crate) struct ChildrenByLabel {
    kinds: Vec<Listed>,
}

struct Listed {
    body: Vec<u8>,
    /// `namespace/name` of the owner, and where the child is.
    items: Vec<(String, Range<usize>)>,
}

impl ChildrenByLabel {
    /// Reads all children of `owners`.
    ///
    /// # Errors
    /// `TooLarge` when they should be asked for in smaller parts.
    pub async fn list<O: Operator>(
        api: &Api,
        paths: &Paths,
        owners: &[(String, OwnerState)],
    ) -> Result<Self, ListError> {
        let mut kinds = Vec::with_capacity(O::KINDS.len());
        for kind in 1..=O::KINDS.len() {
            let path = paths.children_path(kind, owners.iter().map(|(key, _)| key.as_str()));
            let bound = match owners.len() {
                1 => OBJECT_BYTES,
                _ => PAGE_BYTES,
            };
            let error = |error| ListError { kind, error };
            let body = api
                .call_into(
                    Verb::List,
                    Request::get(&path),
                    bound,
                    StripManagedFields::default(),
                )
                .await
                .map_err(error)?;
            let (_, ranges) = pages::split(&body).map_err(error)?;
            let mut items = Vec::with_capacity(ranges.len());
            for range in ranges {
                let text = std::str::from_utf8(&body[range.clone()]);
                let object = text.ok().map(serde_json::from_str::<PartialObject<'_>>);
                // One that cannot be read is missed below, and then read by itself.
                if let Some(Ok(object)) = object
                    && let Some(owner) = object
                        .metadata
                        .owner_name(&paths.owner_kind, &paths.owner_label)
                {
                    items.push((format!("{}/{owner}", object.metadata.namespace), range));
                }
            }
            kinds.push(Listed { body, items });
        }
        Ok(Self { kinds })
    }

    /// The children of the owner `key`, each with the place of its kind.
    pub fn of<O: Operator>(&self, key: &str) -> Vec<(u8, Actual)> {
        let mut found = Vec::new();
        for (kind, listed) in (0..).zip(&self.kinds) {
            let workload = O::KINDS.get(usize::from(kind)).is_some_and(|k| k.workload);
            let mine = listed.items.iter().filter(|(owner, _)| owner == key);
            found.extend(mine.filter_map(|(_, range)| {
                let raw = std::str::from_utf8(&listed.body[range.clone()]).ok()?;
                Some((kind, Actual::decode(raw, workload).ok()?))
            }));
        }
        found
    }
}
