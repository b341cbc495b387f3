//! The objects of one collection, or of its parts one after the other, page by page, in the order in which the server keeps
//! them.
//!
//! Guarantees: the first page is small and held, because a watch begins at the resourceVersion that may stand
//! at its end; further pages are large and read as objects are asked for. A page that breaks off is requested
//! again, smaller, and what was read of it is passed over: the token of a page stands for one revision, so the
//! objects are the same. A first page that is too large is requested again with fewer objects. An expired
//! continue token is replaced by the one that the error carries.
//! Leaves to others: what the objects mean (`merge`).

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use tracing::{debug, warn};

use crate::http::collection::Collection;
use crate::http::request::{Api, ApiError, OBJECT_BYTES};
use crate::model::{KindId, PartialObject};
use crate::relist::answer::{Answer, ListMeta};
use crate::relist::items::Item;

/// Objects on the first page. About 1.5 KB each are held.
const FIRST_OBJECTS: u32 = 100;
/// Further pages are as many times larger. kube-apiserver spends half of its CPU on a list of 20,000 objects in
/// pages of 500 that it spends in pages of 100.
const LARGER: u32 = 5;
/// The largest first page that is held, bytes; a single object may be larger.
pub(crate) const PAGE_BYTES: usize = 1 << 20;

/// A page that could not be read.
#[derive(Debug)]
pub struct ListError {
    /// The collection.
    pub kind: KindId,
    /// The cause.
    pub error: ApiError,
}

impl ListError {
    /// Whether the server does not serve this kind of child, so that there is none. Without owners there is nothing to
    /// relist.
    pub fn is_of_missing_kind(&self) -> bool {
        !self.kind.is_owner() && self.error.is_of_missing_kind()
    }

    /// Whether fewer objects should be requested at once.
    pub fn is_too_large(&self) -> bool {
        matches!(self.error, ApiError::TooLarge(_))
    }
}

/// The pages of one collection.
pub struct Pages {
    kind: KindId,
    /// One after the other, in the order of keys.
    parts: Vec<Arc<Collection>>,
    /// Index of the part that is being read.
    part: usize,
    /// The first page of that part was not read yet.
    is_next: bool,
    limit: u32,
    /// The token of the page at hand, or of the next one where there is no answer.
    token: Option<Box<str>>,
    answer: Option<Answer>,
    current: Option<Range<usize>>,
    /// Objects received of the page at hand.
    received: usize,
    /// Objects from `token` on that were read before the page broke off.
    skip: usize,
    /// `read` when a page broke off: a second time without progress is an error.
    broke_at: Option<usize>,
    started: bool,
    over: bool,
    read: usize,
    /// An object before the current one is not shown: it is too large, or cannot be decoded.
    passed_over: bool,
}

impl Pages {
    /// The collection of `kind`, in `parts` that are in the order of keys, from its start.
    pub fn new(kind: KindId, parts: Vec<Arc<Collection>>) -> Self {
        Self {
            kind,
            parts,
            part: 0,
            is_next: true,
            limit: FIRST_OBJECTS,
            token: None,
            answer: None,
            current: None,
            received: 0,
            skip: 0,
            broke_at: None,
            started: false,
            over: false,
            read: 0,
            passed_over: false,
        }
    }

    /// The kind of the collection.
    pub fn kind(&self) -> KindId {
        self.kind
    }

    /// Objects read so far.
    pub fn read(&self) -> usize {
        self.read
    }

    /// Reads the first page and returns its resourceVersion: no part is read as of before that.
    ///
    /// # Errors
    /// The page could not be read; the collection then starts over.
    pub async fn open(&mut self, api: &Api) -> Result<u64, ListError> {
        let kind = self.kind;
        let opened = async {
            let version = self.first_page(api).await?;
            self.started = true;
            self.take(api).await?;
            version.parse().map_err(|_| {
                ApiError::Undecodable("the list has no resourceVersion in decimal".into())
            })
        };
        opened.await.map_err(|error| ListError { kind, error })
    }

    /// There is no such collection: it is at its end.
    pub fn end(&mut self) {
        (self.started, self.over) = (true, true);
    }

    /// The current object as raw JSON; `None` at the end of the collection.
    pub fn current(&self) -> Option<&str> {
        let bytes = self.answer.as_ref()?.bytes(self.current.as_ref()?);
        // What is no text is no object either: decoding it fails.
        Some(std::str::from_utf8(bytes).unwrap_or_default())
    }

    /// The current object, decoded.
    pub fn object(&self) -> Option<Result<PartialObject<'_>, serde_json::Error>> {
        self.current().map(serde_json::from_str)
    }

    /// Whether an object between the last one that was done and the current one is not shown.
    pub fn has_passed_over(&self) -> bool {
        self.passed_over
    }

    /// The current object is done: what was passed over before it is of no owner that is still to come.
    pub fn done(&mut self) {
        self.passed_over = false;
    }

    /// The current object cannot be decoded.
    pub fn pass_over(&mut self) {
        self.passed_over = true;
    }

    /// Moves on by one object and reads the next page where there is one.
    ///
    /// # Errors
    /// The next page could not be read; calling again tries again.
    pub async fn advance(&mut self, api: &Api) -> Result<(), ListError> {
        self.current = None;
        self.fill(api).await
    }

    /// Reads on until there is a current object or the collection is at its end.
    ///
    /// # Errors
    /// The next page could not be read; calling again tries again.
    pub async fn fill(&mut self, api: &Api) -> Result<(), ListError> {
        let kind = self.kind;
        while self.started && self.current.is_none() && !self.over {
            let Err(error) = self.take(api).await else {
                continue;
            };
            if !self.breaks_off(&error) {
                return Err(ListError { kind, error });
            }
            debug!(
                kind = self.collection().plural(),
                %error,
                limit = self.limit,
                "a page broke off; requesting the rest of it"
            );
        }
        Ok(())
    }

    /// Prepares to request the rest of a page that broke off; false where nothing was read since the last time.
    fn breaks_off(&mut self, error: &ApiError) -> bool {
        let refused = matches!(error, ApiError::Status { .. });
        let progress = self.answer.is_some() && self.broke_at != Some(self.read);
        self.answer = None;
        self.skip += std::mem::take(&mut self.received);
        self.broke_at = Some(self.read);
        self.limit = (self.limit / 2).max(1);
        progress && !refused
    }

    /// Takes the next object from the answer, the next answer where there is none.
    async fn take(&mut self, api: &Api) -> Result<(), ApiError> {
        let answer = match &mut self.answer {
            Some(answer) => answer,
            None if self.is_next => {
                self.first_page(api).await?;
                return Ok(());
            }
            None => {
                let opened = self.next_page(api).await?;
                self.answer.insert(opened)
            }
        };
        let Some(item) = answer.next(api).await? else {
            self.token = next_token(answer.meta()?);
            if self.token.is_none() {
                self.over = self.part + 1 == self.parts.len();
                self.part += usize::from(!self.over);
                (self.is_next, self.limit) = (true, FIRST_OBJECTS);
            }
            self.answer = None;
            self.received = 0;
            return Ok(());
        };
        self.received += 1;
        if self.skip > 0 {
            self.skip -= 1;
            return Ok(());
        }
        self.read += 1;
        match item {
            Item::Whole(range) => self.current = Some(range),
            Item::TooLarge => {
                self.passed_over = true;
                api.metrics().undecodable.fetch_add(1, Relaxed);
                warn!(
                    kind = self.collection().plural(),
                    bytes = OBJECT_BYTES,
                    "passed over an object of a list that is larger than what is read"
                );
            }
        }
        Ok(())
    }

    /// The part that is being read.
    fn collection(&self) -> &Collection {
        &self.parts[self.part]
    }

    /// Requests the first page of a part and holds it; its resourceVersion.
    async fn first_page(&mut self, api: &Api) -> Result<String, ApiError> {
        loop {
            let path = self.collection().list_path(self.limit, None);
            let bound = match self.limit {
                1 => OBJECT_BYTES,
                _ => PAGE_BYTES,
            };
            let mut answer = Answer::open(api, self.collection(), &path).await?;
            match answer.hold(api, bound).await {
                Ok(()) => {
                    let version = answer.meta()?.resource_version;
                    self.answer = Some(answer);
                    self.is_next = false;
                    self.limit *= LARGER;
                    return Ok(version);
                }
                Err(ApiError::TooLarge(_)) if self.limit > 1 => {
                    self.limit = (self.limit / 4).max(1);
                    debug!(
                        kind = self.collection().plural(),
                        limit = self.limit,
                        "page too large; requesting fewer objects"
                    );
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Requests the page at `token`.
    async fn next_page(&mut self, api: &Api) -> Result<Answer, ApiError> {
        loop {
            let path = self
                .collection()
                .list_path(self.limit, self.token.as_deref());
            match Answer::open(api, self.collection(), &path).await {
                // Another token is of another revision: only at the start of a page are the objects the same.
                Err(ApiError::Status {
                    code: 410,
                    resume: Some(token),
                    ..
                }) if self.skip == 0 => self.token = Some(token),
                answer => return answer,
            }
        }
    }
}

fn next_token(meta: ListMeta) -> Option<Box<str>> {
    meta.resume.filter(|token| !token.is_empty())
}

#[cfg(test)]
mod tests;
