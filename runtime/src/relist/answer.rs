//! The answer to a list, item by item.
//!
//! Guarantees: it is read from the connection only as far as items are asked for, so that a large page needs
//! no large buffer. Each wait for bytes has the deadline of a request; the whole answer has none, so that a
//! slow link is not an error. One item is at most [`OBJECT_BYTES`] large; a larger one is passed over and said.
//! Leaves to others: going on after an answer that broke off (`pages`).

use std::ops::Range;

use http_body_util::BodyExt;
use kube::client::Body;
use serde::Deserialize;

use crate::http::collection::Collection;
use crate::http::request::{Api, ApiError, OBJECT_BYTES, Request, unreachable};
use crate::metrics::Verb;
use crate::model::decoded;
use crate::relist::items::{Item, Items};

/// The largest list without its items, bytes.
const FRAME_BYTES: usize = 64 << 10;

/// What a list says of itself.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ListMeta {
    #[serde(default)]
    pub resource_version: String,
    #[serde(default, rename = "continue")]
    pub resume: Option<Box<str>>,
}

#[derive(Deserialize)]
struct Frame {
    metadata: ListMeta,
}

/// An answer that is being read.
pub(crate) struct Answer {
    body: Option<Body>,
    items: Items,
}

impl Answer {
    /// Sends the request for the list of `collection` at `path`.
    ///
    /// # Errors
    /// The server answers with an error, not in time, or cannot be reached.
    pub async fn open(api: &Api, collection: &Collection, path: &str) -> Result<Self, ApiError> {
        let mut request = Request::get(path);
        request.accept = collection.listed_as();
        let body = api.open(Verb::List, request).await?;
        Ok(Self {
            body: Some(body),
            items: Items::new(OBJECT_BYTES, collection.managed().clone()),
        })
    }

    /// The next item; `None` at the end of the answer.
    ///
    /// # Errors
    /// The answer broke off, or nothing came within the deadline.
    pub async fn next(&mut self, api: &Api) -> Result<Option<Item>, ApiError> {
        loop {
            if let Some(item) = self.items.next() {
                return Ok(Some(item));
            }
            if !self.receive(api).await? {
                return Ok(None);
            }
        }
    }

    /// Receives the rest of the answer and holds it.
    ///
    /// # Errors
    /// As for [`Answer::next`]; `TooLarge` if it takes more than `bound` bytes.
    pub async fn hold(&mut self, api: &Api, bound: usize) -> Result<(), ApiError> {
        while self.receive(api).await? {
            if self.items.held_bytes() > bound {
                return Err(ApiError::TooLarge(bound));
            }
        }
        Ok(())
    }

    /// Receives some bytes; false at the end of the answer.
    async fn receive(&mut self, api: &Api) -> Result<bool, ApiError> {
        let Some(body) = &mut self.body else {
            return Ok(false);
        };
        let deadline = api.deadline();
        let received = tokio::time::timeout(deadline, body.frame()).await;
        match received.map_err(|_| ApiError::Timeout(deadline))? {
            None => self.body = None,
            Some(frame) => {
                if let Some(data) = frame.map_err(unreachable)?.data_ref() {
                    self.items.push(data);
                }
            }
        }
        match self.items.frame().len() > FRAME_BYTES {
            true => Err(ApiError::TooLarge(FRAME_BYTES)),
            false => Ok(self.body.is_some()),
        }
    }

    /// The bytes of an item.
    pub fn bytes(&self, item: &Range<usize>) -> &[u8] {
        self.items.bytes().get(item.clone()).unwrap_or_default()
    }

    /// What the list says of itself, once all of it was received.
    ///
    /// # Errors
    /// It is not a list, or it broke off.
    pub fn meta(&self) -> Result<ListMeta, ApiError> {
        let frame: Frame =
            decoded(self.items.frame()).map_err(|error| ApiError::undecodable(&error))?;
        Ok(frame.metadata)
    }
}
