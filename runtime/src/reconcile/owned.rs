//! The children of one owner, found by the label that names their owner.
//!
//! Guarantees: only children that are this very owner's, by uid; answers are bounded: where all of
//! them are too large for one, they come one by one.
//! Leaves to others: what is done about them (`teardown`).

use std::iter::once;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::api::{Child, Operator};
use crate::http::request::{ApiError, METADATA_LIST, OBJECT_BYTES, Request};
use crate::metrics::Verb;
use crate::model::{KindId, ObjectKey, PartialObject, Uid, decoded};
use crate::reconcile::failure::Interrupt;
use crate::reconcile::{Reconciler, failure};

/// A child of an owner.
pub(super) struct Owned {
    /// As one that is to be absent.
    pub child: Child,
    pub version: (Uid, u64),
    pub deleting: bool,
}

/// Some objects.
#[derive(Deserialize)]
pub(super) struct List<'a> {
    #[serde(borrow, default)]
    pub items: Option<Vec<&'a RawValue>>,
}

impl<O: Operator> Reconciler<O> {
    /// The children of this kind of the owner `key` with the uid `owner`. Where they are too many for one answer, it is the
    /// first of them.
    pub(super) async fn list_owned(
        &self,
        id: KindId,
        key: &ObjectKey,
        owner: Uid,
    ) -> Result<Vec<Owned>, Interrupt> {
        let mut found = Vec::new();
        let Some(kind) = id.of(O::KINDS) else {
            return Ok(found);
        };
        let asked = |error| failure::asked(error, "list", kind.kind, key.as_str());
        for all in self
            .paths
            .children_paths(id, once(key), self.are_elsewhere(id))
        {
            let answer = match self.read_list(&all).await {
                Err(ApiError::TooLarge(_)) => self.read_list(&format!("{all}&limit=1")).await,
                answer => answer,
            };
            let answer = match answer {
                Err(error) if error.is_of_missing_kind() => continue,
                answer => answer.map_err(asked)?,
            };
            let list: List<'_> =
                decoded(&answer).map_err(|error| asked(ApiError::undecodable(&error)))?;
            for raw in list.items.into_iter().flatten() {
                // What cannot be decoded cannot be told to be ours.
                let Ok(PartialObject { metadata, .. }) = serde_json::from_str(raw.get()) else {
                    continue;
                };
                let of = self.paths.owner_of(&metadata);
                if of.is_none_or(|of| of.uid != Some(owner)) {
                    continue;
                }
                let mut child = Child::absent(*kind, &*metadata.name);
                if metadata.namespace != key.namespace() {
                    child = child.in_namespace(&*metadata.namespace);
                }
                found.push(Owned {
                    child,
                    version: (metadata.uid, metadata.resource_version),
                    deleting: metadata.deleting(),
                });
            }
        }
        Ok(found)
    }

    async fn read_list(&self, path: &str) -> Result<Vec<u8>, ApiError> {
        let mut request = Request::get(path);
        request.accept = METADATA_LIST;
        self.api.call(Verb::List, request, OBJECT_BYTES).await
    }
}
