//! A list of all objects, page by page, as the queue has room.
//!
//! Guarantees: of a page only what was received and not taken is held. What changes while the list is read is left to the
//! watch, which shows it. Leaves to others: when to list, what follows.

use std::collections::HashMap;
use std::sync::Arc;

use futures::stream::{BoxStream, StreamExt, unfold};

use crate::http::collection::{Collection, ManagedFields};
use crate::http::request::{Api, ApiError};
use crate::model::{KindId, ObjectKey, PartialObject};
use crate::relist::pages::{ListError, Pages};

/// What a list is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Every object is reconciled that was changed after that resourceVersion; every one where it is 0.
    All { after: u64 },
    /// Objects that name a related one that has changed.
    Naming,
    /// Objects with a mark that is due by then, ms.
    Marked { until_ms: u64 },
}

/// What a list shows.
#[derive(Debug)]
pub(crate) enum Listed {
    /// `json` is empty where what the list shows may be older than what a watch has shown.
    Object {
        key: ObjectKey,
        json: Vec<u8>,
    },
    Done,
    Failed(ApiError),
}

/// A list that is being read.
pub(crate) struct Pass {
    pub purpose: Purpose,
    pub began_ms: u64,
    listed: BoxStream<'static, Listed>,
    /// Where the list is: servers list in the order of the keys. `None` where this one does not.
    at: Option<ObjectKey>,
    /// Objects further on that the watch has shown since, and whether they were asked for: what the list says of them may be
    /// older.
    changed: HashMap<ObjectKey, bool>,
}

impl Pass {
    /// `parts`: what is listed, in the order of keys.
    pub fn new<'a>(
        purpose: Purpose,
        api: Api,
        parts: impl IntoIterator<Item = &'a Collection>,
        began_ms: u64,
    ) -> Self {
        let parts = parts.into_iter().cloned().map(|part| match purpose {
            Purpose::All { .. } => part.listed_with(ManagedFields::All),
            Purpose::Naming => part,
            Purpose::Marked { .. } => part.listed_as_metadata(),
        });
        let reading = Reading {
            purpose,
            api,
            pages: Pages::new(KindId::OWNER, parts.map(Arc::new).collect()),
            is_open: false,
        };
        let listed = unfold(reading, |mut reading| async {
            let listed = reading.next().await.unwrap_or_else(Listed::Failed);
            Some((listed, reading))
        });
        Self {
            purpose,
            began_ms,
            listed: listed.boxed(),
            at: Some(ObjectKey::new("", "")),
            changed: HashMap::new(),
        }
    }

    /// The watch shows the object. `is_asked_for`: it is reconciled for that.
    pub fn changed(&mut self, key: &ObjectKey, is_asked_for: bool) {
        let is_ahead = self.at.as_ref().is_some_and(|at| key > at);
        if is_ahead && matches!(self.purpose, Purpose::All { .. }) {
            self.changed.insert(key.clone(), is_asked_for);
        }
    }

    /// What the list shows next; nothing after `Done` and `Failed`. Nothing is lost where the future is
    /// dropped before it is done.
    pub async fn next(&mut self) -> Listed {
        loop {
            let (key, json) = match self.listed.next().await {
                Some(Listed::Object { key, json }) => (key, json),
                Some(listed) => return listed,
                None => return Listed::Done,
            };
            self.at = self.at.take().filter(|at| *at <= key);
            let is_ordered = self.at.is_some();
            self.at = is_ordered.then(|| key.clone());
            let json = match self.changed.remove(&key) {
                Some(true) => continue,
                None if is_ordered => json,
                // It is read when its turn comes.
                Some(false) | None => Vec::new(),
            };
            return Listed::Object { key, json };
        }
    }
}

struct Reading {
    purpose: Purpose,
    api: Api,
    pages: Pages,
    is_open: bool,
}

impl Reading {
    async fn next(&mut self) -> Result<Listed, ApiError> {
        loop {
            self.advance().await.map_err(|error| error.error)?;
            let Some(json) = self.pages.current() else {
                return Ok(Listed::Done);
            };
            // What cannot be decoded here cannot be named either.
            let Ok(object) = serde_json::from_str::<PartialObject<'_>>(json) else {
                continue;
            };
            let key = object.metadata.key();
            let json = match self.purpose {
                Purpose::Marked { .. } => Vec::new(),
                Purpose::Naming => json.into(),
                Purpose::All { after } if object.metadata.resource_version > after => json.into(),
                Purpose::All { .. } => continue,
            };
            return Ok(Listed::Object { key, json });
        }
    }

    async fn advance(&mut self) -> Result<(), ListError> {
        if self.is_open {
            return self.pages.advance(&self.api).await;
        }
        self.pages.open(&self.api).await?;
        self.is_open = true;
        self.pages.fill(&self.api).await
    }
}
