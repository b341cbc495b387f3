//! The children of a group of owners, found by the label that names their owner: for children that do not
//! sort like their owners, and for servers whose lists are in no order.
//!
//! Guarantees: what is held is bounded in bytes; a child is found whatever its name is. Without a page limit
//! kube-apiserver answers from its watch cache as of now (from 1.31 on; before that, and where the datastore
//! cannot tell how far it is, it reads the collection for each group).
//! Leaves to others: which owners (`merge`), what a difference is ([`Compare`]).

use std::ops::Range;

use crate::http::paths::Paths;
use crate::http::request::{Api, ApiError, OBJECT_BYTES};
use crate::model::{KindId, ObjectKey, OwnerState, PartialObject};
use crate::relist::Compare;
use crate::relist::answer::Answer;
use crate::relist::items::Item;
use crate::relist::pages::{ListError, PAGE_BYTES};

/// Owners compared at once. The server looks at every child for each group, so groups are large; what is held
/// of their children is about 1.5 KB each.
pub(crate) const OWNERS: usize = 250;
/// The names of a group, bytes: with the rest of the URL they fit into the 8 KB that proxies accept. The comma
/// between two names is three bytes there.
pub(crate) const NAMES_BYTES: usize = 6_000;

/// The children of a group of owners, by kind.
pub(crate) struct ChildrenByLabel {
    kinds: Vec<Listed>,
}

struct Listed {
    kind: KindId,
    body: Vec<u8>,
    /// The key of the owner, and where the child is in `body`.
    items: Vec<(ObjectKey, Range<usize>)>,
    /// One cannot be decoded: it may be the child of any of the owners.
    passed_over: bool,
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
            let keys = owners.iter().map(|(key, _)| key);
            let lists = paths.children_paths(kind, keys, paths.may_be_labelled());
            let bound = match owners.len() {
                1 => OBJECT_BYTES,
                _ => PAGE_BYTES,
            };
            let listed = Listed::read(api, paths, kind, &lists, bound).await;
            match listed.map_err(|error| ListError { kind, error }) {
                Err(error) if error.is_of_missing_kind() => {}
                listed => kinds.push(listed?),
            }
        }
        Ok(Self { kinds })
    }

    /// Whether every child could be decoded.
    pub fn is_complete(&self) -> bool {
        self.kinds.iter().all(|listed| !listed.passed_over)
    }

    /// The children of the owner `key`.
    pub fn of<C: Compare>(&self, key: &ObjectKey, comparer: &C) -> Vec<(KindId, C::Child)> {
        let mut found = Vec::new();
        for Listed {
            kind, body, items, ..
        } in &self.kinds
        {
            let mine = items.iter().filter(|(owner, _)| owner == key);
            found.extend(mine.filter_map(|(_, range)| {
                let raw = std::str::from_utf8(&body[range.clone()]).ok()?;
                Some((*kind, comparer.child(*kind, raw, None)?))
            }));
        }
        found
    }
}

impl Listed {
    /// Reads these lists.
    async fn read(
        api: &Api,
        paths: &Paths,
        kind: KindId,
        lists: &[String],
        bound: usize,
    ) -> Result<Self, ApiError> {
        let mut listed = Self {
            kind,
            body: Vec::new(),
            items: Vec::new(),
            passed_over: false,
        };
        for path in lists {
            listed.add(api, paths, path, bound).await?;
        }
        Ok(listed)
    }

    /// Reads the list at `path`, with the others up to `bound` bytes.
    async fn add(
        &mut self,
        api: &Api,
        paths: &Paths,
        path: &str,
        bound: usize,
    ) -> Result<(), ApiError> {
        let mut answer = Answer::open(api, paths.collection(self.kind), path).await?;
        while let Some(item) = answer.next(api).await? {
            let Item::Whole(range) = item else {
                return Err(ApiError::TooLarge(bound));
            };
            let bytes = answer.bytes(&range);
            if self.body.len() + bytes.len() > bound {
                return Err(ApiError::TooLarge(bound));
            }
            let text = std::str::from_utf8(bytes);
            let object = text.ok().map(serde_json::from_str::<PartialObject<'_>>);
            // One that cannot be decoded is missing below, and then read by itself.
            let Some(Ok(object)) = object else {
                self.passed_over = true;
                continue;
            };
            if let Some(owner) = paths.owner_of(&object.metadata) {
                let from = self.body.len();
                self.items.push((owner.key(), from..from + bytes.len()));
                self.body.extend_from_slice(bytes);
            }
        }
        answer.meta()?;
        Ok(())
    }
}
