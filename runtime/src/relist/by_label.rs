//! The children of a group of owners, found by the label that names their owner: for children that do not
//! sort like their owners, and for servers whose lists are in no order.
//!
//! Guarantees: what is held is bounded in bytes; a child is found whatever its name is. Without a page limit
//! kube-apiserver answers from its watch cache as of now (from 1.31 on; before that, and where the datastore
//! cannot tell how far it is, it reads the collection for each group).
//! Leaves to others: which owners (`merge`), what a difference is ([`Compare`]).

use std::ops::Range;

use crate::http::paths::Paths;
use crate::http::request::{Api, OBJECT_BYTES, Request};
use crate::metrics::Verb;
use crate::model::{KindId, ObjectKey, OwnerState, PartialObject};
use crate::relist::Compare;
use crate::relist::pages;
use crate::relist::pages::{ListError, PAGE_BYTES};
use crate::relist::strip::StripManagedFields;

/// Owners compared at once: their names fit into a URL, their children into a page.
pub(crate) const OWNERS: usize = 50;

/// The children of a group of owners, by kind.
pub(crate) struct ChildrenByLabel {
    kinds: Vec<Listed>,
}

struct Listed {
    kind: KindId,
    body: Vec<u8>,
    /// The key of the owner, and where the child is in `body`.
    items: Vec<(ObjectKey, Range<usize>)>,
}

impl ChildrenByLabel {
    /// Reads all children of `owners`.
    ///
    /// # Errors
    /// `TooLarge` when fewer owners should be asked for at once.
    pub async fn list(
        api: &Api,
        paths: &Paths,
        owners: &[(ObjectKey, OwnerState)],
    ) -> Result<Self, ListError> {
        let mut kinds = Vec::with_capacity(paths.len() - 1);
        for kind in KindId::children(paths.len() - 1) {
            let path = paths.children_path(kind, owners.iter().map(|(key, _)| key));
            let bound = match owners.len() {
                1 => OBJECT_BYTES,
                _ => PAGE_BYTES,
            };
            let failed = |error| ListError { kind, error };
            let strip = StripManagedFields::default();
            let body = api
                .call_into(Verb::List, Request::get(&path), bound, strip)
                .await
                .map_err(failed)?;
            let (_, ranges) = pages::split(&body).map_err(failed)?;
            let mut items = Vec::with_capacity(ranges.len());
            for range in ranges {
                let text = std::str::from_utf8(&body[range.clone()]);
                let object = text.ok().map(serde_json::from_str::<PartialObject<'_>>);
                // One that cannot be decoded is missing below, and then read by itself.
                if let Some(Ok(object)) = object
                    && let Some(owner) = paths.owner_of(&object.metadata)
                {
                    items.push((ObjectKey::new(&object.metadata.namespace, &owner), range));
                }
            }
            kinds.push(Listed { kind, body, items });
        }
        Ok(Self { kinds })
    }

    /// The children of the owner `key`.
    pub fn of<C: Compare>(&self, key: &ObjectKey, comparer: &C) -> Vec<(KindId, C::Child)> {
        let mut found = Vec::new();
        for Listed { kind, body, items } in &self.kinds {
            let mine = items.iter().filter(|(owner, _)| owner == key);
            found.extend(mine.filter_map(|(_, range)| {
                let raw = std::str::from_utf8(&body[range.clone()]).ok()?;
                Some((*kind, comparer.child(*kind, raw, None)?))
            }));
        }
        found
    }
}
