//! Where the server is now, as the resourceVersion of a list of one object.
//!
//! Guarantees: the server answers as of now, not from a cache that is behind, so that the answer is never below
//! what it has shown before, unless it was restored from a backup. Leaves to others: what follows (`stream`).

use serde::Deserialize;

use crate::http::collection::Collection;
use crate::http::request::{Api, ApiError, METADATA_LIST, OBJECT_BYTES, Request};
use crate::metrics::Verb;
use crate::model::decoded;

#[derive(Deserialize)]
struct List {
    metadata: ListMeta,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ListMeta {
    resource_version: String,
}

/// The resourceVersion of the collection.
///
/// # Errors
/// The request failed, or the answer has no resourceVersion in decimal.
pub(crate) async fn newest(api: &Api, collection: &Collection) -> Result<u64, ApiError> {
    let path = collection.revision_path();
    let mut request = Request::get(&path);
    request.accept = METADATA_LIST;
    let body = api.call(Verb::List, request, OBJECT_BYTES).await?;
    let list: List = decoded(&body).map_err(|error| ApiError::undecodable(&error))?;
    let version = list.metadata.resource_version.parse();
    version.map_err(|_| ApiError::Undecodable("the list has no resourceVersion in decimal".into()))
}
