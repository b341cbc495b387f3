//! The objects of one collection, page by page, in the order in which the server keeps them.
//!
//! Guarantees: one page is held at a time and it is bounded in bytes: one that is too large is asked
//! for again, smaller; `managedFields` are never held; an expired token goes on with the one that the
//! error brings.
//! Leaves to others: what the objects mean (`join`).

use std::ops::Range;

use serde::Deserialize;
use serde_json::value::RawValue;
use tracing::debug;

use crate::http::paths::Paths;
use crate::http::request::{Api, ApiError, OBJECT_BYTES, Request};
use crate::metrics::Verb;
use crate::model::object::PartialObject;
use crate::relist::strip::StripManagedFields;

/// Objects asked for at once. About 3 KB each on the wire.
const PAGE_OBJECTS: u32 = 100;
/// The largest page that is read, bytes; a single object may be larger.
pub(crate) const PAGE_BYTES: usize = 1 << 20;

#[derive(Deserialize)]
struct Body<'a> {
    metadata: ListMeta,
    #[serde(borrow, default)]
    items: Option<Vec<&'a RawValue>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ListMeta {
    #[serde(default)]
    resource_version: String,
    #[serde(default, rename = "continue")]
    resume: Option<Box<str>>,
}

/// Where the objects of a list are in its body.
///
/// # Errors
/// It is no list.
pub(crate) fn split(body: &[u8]) -> Result<(ListMeta, Vec<Range<usize>>), ApiError> {
    let base = body.as_ptr() as usize;
    let page: Body<'_> =
        serde_json::from_slice(body).map_err(|error| ApiError::undecodable(&error))?;
    let items = page.items.unwrap_or_default();
    let ranges = items.iter().map(|raw| {
        let start = raw.get().as_ptr() as usize - base;
        start..start + raw.get().len()
    });
    Ok((page.metadata, ranges.collect()))
}

/// A page that could not be read.
#[derive(Debug)]
pub struct ListError {
    /// Of which collection.
    pub kind: usize,
    /// Why not.
    pub error: ApiError,
}

impl ListError {
    /// Whether less should be asked for at once.
    pub fn is_too_large(&self) -> bool {
        matches!(self.error, ApiError::TooLarge(_))
    }
}

/// The pages of one collection.
pub struct Pages {
    kind: usize,
    limit: u32,
    resume: Option<Box<str>>,
    body: Vec<u8>,
    items: std::vec::IntoIter<Range<usize>>,
    current: Option<Range<usize>>,
    started: bool,
    read: usize,
}

impl Pages {
    /// The collection `kind` of the paths, from its start.
    pub fn new(kind: usize) -> Self {
        Self {
            kind,
            limit: PAGE_OBJECTS,
            resume: None,
            body: Vec::new(),
            items: Vec::new().into_iter(),
            current: None,
            started: false,
            read: 0,
        }
    }

    /// Objects on the pages so far.
    pub fn read(&self) -> usize {
        self.read
    }

    /// Reads the first page.
    ///
    /// # Errors
    /// The page could not be read; the collection then starts over.
    pub async fn open(&mut self, api: &Api, paths: &Paths) -> Result<u64, ListError> {
        let kind = self.kind;
        let version = self.fetch(api, paths).await?;
        self.started = true;
        self.current = self.items.next();
        version.parse().map_err(|_| ListError {
            kind,
            error: ApiError::Undecodable("the list has no resourceVersion in decimal".into()),
        })
    }

    /// The object at hand, as raw JSON; `None` when the current page is used up.
    pub fn current(&self) -> Option<&str> {
        std::str::from_utf8(self.body.get(self.current.clone()?)?).ok()
    }

    /// The object at hand, decoded.
    pub fn object(&self) -> Option<Result<PartialObject<'_>, serde_json::Error>> {
        self.current().map(serde_json::from_str)
    }

    /// Moves on by one object and reads the next page where there is one.
    ///
    /// # Errors
    /// The next page could not be read; calling again tries again.
    pub async fn advance(&mut self, api: &Api, paths: &Paths) -> Result<(), ListError> {
        self.current = self.items.next();
        self.fill(api, paths).await
    }

    /// Reads on until an object is at hand or the collection is at its end.
    ///
    /// # Errors
    /// The next page could not be read; calling again tries again.
    pub async fn fill(&mut self, api: &Api, paths: &Paths) -> Result<(), ListError> {
        while self.started && self.current.is_none() && self.resume.is_some() {
            self.fetch(api, paths).await?;
            self.current = self.items.next();
        }
        if self.current.is_none() {
            self.body = Vec::new();
        }
        Ok(())
    }

    async fn fetch(&mut self, api: &Api, paths: &Paths) -> Result<String, ListError> {
        let kind = self.kind;
        let page = self.page(api, paths).await;
        page.map_err(|error| ListError { kind, error })
    }

    async fn page(&mut self, api: &Api, paths: &Paths) -> Result<String, ApiError> {
        self.body = Vec::new();
        let body = loop {
            let path = paths.list_path(self.kind, self.limit, self.resume.as_deref());
            let bound = if self.limit == 1 {
                OBJECT_BYTES
            } else {
                PAGE_BYTES
            };
            match api
                .call_into(
                    Verb::List,
                    Request::get(&path),
                    bound,
                    StripManagedFields::default(),
                )
                .await
            {
                Ok(body) => break body,
                Err(ApiError::TooLarge(_)) if self.limit > 1 => {
                    self.limit = (self.limit / 4).max(1);
                    debug!(
                        kind = paths.plural(self.kind),
                        limit = self.limit,
                        "page too large, asking for less"
                    );
                }
                Err(ApiError::Status {
                    code: 410,
                    resume: Some(token),
                    ..
                }) => self.resume = Some(token),
                Err(error) => return Err(error),
            }
        };
        let (metadata, items) = split(&body)?;
        let ListMeta {
            resource_version,
            resume,
        } = metadata;
        self.resume = resume.filter(|token| !token.is_empty());
        self.read += items.len();
        self.items = items.into_iter();
        self.body = body;
        Ok(resource_version)
    }
}
