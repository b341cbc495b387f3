//! One event stream for each kind: the owners' and every kind of child's. Each stream recovers by itself.
//!
//! Guarantees: what a watch shows is passed on in the order of the server; the stream is always read.
//! Leaves to others: lists (`relist`), what an object means ([`Decode`]), what to drop (`controller`).

pub(crate) mod changes;
#[cfg(test)]
mod hostile;
mod lines;
mod revision;
mod stream;

use crate::http::request::ApiError;
use crate::model::{KindId, ObjectKey, PartialObject, Uid};

pub(crate) use crate::watch::revision::newest;
pub use crate::watch::stream::WatchStream;

/// Turns the objects of a watch into what its reader works with.
pub trait Decode {
    /// What becomes of an object.
    type Object;

    /// Decodes one object of `kind`; `None` where it concerns nobody.
    ///
    /// # Errors
    /// The object is not of the expected type.
    fn decode(
        &self,
        kind: KindId,
        object: &PartialObject<'_>,
        deleted: bool,
    ) -> Result<Option<Self::Object>, serde_json::Error>;
}

/// One item of a watch stream.
#[derive(Debug)]
pub struct WatchItem<T> {
    /// The kind that is watched.
    pub kind: KindId,
    /// Which part of its collection, by index: one for each namespace.
    pub part: usize,
    /// Everything of this part up to this resourceVersion has been shown; 0 when that is not known.
    pub resource_version: u64,
    /// What happened.
    pub event: WatchEvent<T>,
}

/// What happened on a watch.
#[derive(Debug)]
pub enum WatchEvent<T> {
    /// An object was added, changed or deleted.
    Object {
        /// The decoded object.
        object: T,
        /// The event as it came.
        line: Vec<u8>,
    },
    /// The watch is open.
    Opened,
    /// Only the resourceVersion moved on.
    Bookmark,
    /// The server no longer has the resourceVersion: a relist must find what was missed. Nothing follows.
    Expired {
        /// The resourceVersion went backwards: the server was restored, and nothing older compares.
        backwards: bool,
    },
    /// An object could not be decoded; it was skipped.
    Skipped {
        /// Its key and identity, where those could be decoded.
        object: Option<(ObjectKey, Uid)>,
    },
    /// The watch cannot be opened now; it is retried.
    Closed(ApiError),
}
