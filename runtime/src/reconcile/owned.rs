//! The children of one owner, found by the label that names their owner.
//!
//! Guarantees: only children that are this very owner's, by uid; answers are bounded: where all of
//! them are too large for one, they come one by one.
//! Leaves to others: what is done about them (`teardown`).

use std::iter::once;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::api::{Child, Kind};
use crate::http::paths::Paths;
use crate::http::request::{Api, ApiError, METADATA_LIST, OBJECT_BYTES, Request};
use crate::metrics::Verb;
use crate::model::{KindId, ObjectKey, PartialObject, Uid, decoded};
use crate::reconcile::failure;
use crate::reconcile::failure::Interrupt;

/// A child of an owner.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct OwnedChild {
    pub namespace: String,
    pub name: String,
    pub uid: Uid,
    pub resource_version: u64,
    pub deleting: bool,
}

impl OwnedChild {
    /// As one that is to be absent, of an owner in the namespace `of_owner`.
    pub fn absent(self, kind: Kind, of_owner: &str) -> Child {
        let child = Child::absent(kind, self.name);
        match self.namespace == of_owner {
            true => child,
            false => child.in_namespace(self.namespace),
        }
    }
}

#[derive(Deserialize)]
struct List<'a> {
    #[serde(borrow, default)]
    items: Option<Vec<&'a RawValue>>,
}

/// The children of the owner `key` with the uid `owner`; `elsewhere`: also those that are not in its namespace. Where they
/// are too many for one answer, it is the first of them.
pub(super) async fn list(
    api: &Api,
    paths: &Paths,
    (id, kind): (KindId, &Kind),
    key: &ObjectKey,
    owner: Uid,
    elsewhere: bool,
) -> Result<Vec<OwnedChild>, Interrupt> {
    let mut found = Vec::new();
    for all in paths.children_paths(id, once(key), elsewhere) {
        let one = format!("{all}&limit=1");
        let answer = match read(api, &all).await {
            Err(ApiError::TooLarge(_)) => read(api, &one).await,
            answer => answer,
        };
        if answer.as_ref().is_err_and(ApiError::is_of_missing_kind) {
            continue;
        }
        let owned = answer.and_then(|answer| owned_by(&answer, paths, owner));
        found
            .extend(owned.map_err(|error| failure::asked(error, "list", kind.kind, key.as_str()))?);
    }
    Ok(found)
}

async fn read(api: &Api, path: &str) -> Result<Vec<u8>, ApiError> {
    let mut request = Request::get(path);
    request.accept = METADATA_LIST;
    api.call(Verb::List, request, OBJECT_BYTES).await
}

fn owned_by(answer: &[u8], paths: &Paths, owner: Uid) -> Result<Vec<OwnedChild>, ApiError> {
    let list: List<'_> = decoded(answer).map_err(|error| ApiError::undecodable(&error))?;
    let objects = list
        .items
        .unwrap_or_default()
        .into_iter()
        .filter_map(|raw| {
            // What cannot be decoded cannot be told to be ours.
            serde_json::from_str::<PartialObject<'_>>(raw.get()).ok()
        });
    let ours = objects.filter(|object| {
        let of = paths.owner_of(&object.metadata);
        of.is_some_and(|of| of.uid == Some(owner))
    });
    Ok(ours
        .map(|object| OwnedChild {
            uid: object.metadata.uid,
            resource_version: object.metadata.resource_version,
            deleting: object.metadata.deleting(),
            namespace: object.metadata.namespace.into_owned(),
            name: object.metadata.name.into_owned(),
        })
        .collect())
}
