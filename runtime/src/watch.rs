//! One recovering stream of events for one kind: the owner's, or a kind of child's.
//!
//! Guarantees: it never ends by itself; a stream that closes, breaks, stalls or holds an event that
//! cannot be decoded is opened again where it was, with a growing delay when that keeps happening;
//! when the server no longer has that place (410, or its revisions went backwards) it says so once
//! and is done with. The stream is always read: what to drop is the reader's choice.
//! Leaves to others: lists (`join`), what an event means (`queue`).

mod lines;

use std::borrow::Cow;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use kube::client::Body;
use serde::Deserialize;
use tokio::time::{Instant, sleep_until, timeout};
use tracing::{debug, warn};

use crate::api::Operator;
use crate::http::client;
use crate::http::paths::Paths;
use crate::http::request::{Api, ApiError, METADATA, Request, ServerStatus};
use crate::model::object::{ChildState, PartialObject, Uid, hash32};
use crate::queue::{ChildEvent, OwnerState};
use crate::reconcile::owner;
use crate::watch::lines::{Line, Lines};

/// How long the server keeps one watch open, s: as long as client-go asks for, minus its spread.
const WATCH_S: u64 = 290;
/// Beyond that the connection is dead.
const GRACE: Duration = Duration::from_secs(10);
/// Delay before a broken stream is opened again: the first, and the longest.
const REOPEN: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(30));

/// One thing that a watch has shown.
#[derive(Debug)]
pub struct WatchItem {
    /// 0 for owners, then the places of the kinds, from 1.
    pub kind: usize,
    /// Everything of this kind up to here has been shown; 0 when that is not known.
    pub resource_version: u64,
    /// What it was.
    pub event: WatchEvent,
}

/// What a watch has shown.
#[derive(Debug)]
pub enum WatchEvent {
    /// An owner as it is now.
    Owner {
        /// `namespace/name`.
        key: String,
        /// What it says.
        state: Box<OwnerState>,
    },
    /// An owner vanished, or stopped matching the selector.
    OwnerGone {
        /// `namespace/name`.
        key: String,
        /// Which one.
        uid: Uid,
    },
    /// A child changed.
    Child {
        /// `namespace/name` of its owner.
        owner: String,
        /// How.
        event: ChildEvent,
        /// The event as it came.
        line: Vec<u8>,
    },
    /// The watch is open.
    Opened,
    /// Nothing but progress.
    Bookmark,
    /// The server does not have this place any more: a join must find what was missed.
    Expired {
        /// Its revisions went backwards: nothing older compares.
        backwards: bool,
    },
    /// An object could not be decoded; it was skipped.
    Skipped,
    /// The watch cannot be opened now; it is tried again.
    Closed(ApiError),
}

#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow, rename = "type")]
    type_: Cow<'a, str>,
    #[serde(borrow)]
    object: PartialObject<'a>,
}

#[derive(Deserialize)]
struct ErrorEvent {
    object: ServerStatus,
}

/// The watch of one kind.
pub struct WatchStream<O> {
    api: Api,
    paths: Arc<Paths>,
    kind: usize,
    resource_version: u64,
    lines: Option<Lines<Body>>,
    opened: Instant,
    /// Failures in a row, and when to try again.
    failures: u32,
    retry_at: Option<Instant>,
    expired: bool,
    operator: PhantomData<fn() -> O>,
}

impl<O: Operator> WatchStream<O> {
    /// Watches `kind` (0: the owners) from `resource_version` on.
    pub fn new(api: Api, paths: Arc<Paths>, kind: usize, resource_version: u64) -> Self {
        Self {
            api,
            paths,
            kind,
            resource_version,
            lines: None,
            opened: Instant::now(),
            failures: 0,
            retry_at: None,
            expired: false,
            operator: PhantomData,
        }
    }

    /// The next thing seen; nothing comes after `Expired`.
    pub async fn next(&mut self) -> WatchItem {
        loop {
            if self.expired {
                std::future::pending::<()>().await;
            }
            if let Some(at) = self.retry_at {
                sleep_until(at).await;
                self.retry_at = None;
            }
            let Some(lines) = &mut self.lines else {
                let event = self.open().await;
                return self.item(event);
            };
            // Counted from the opening: the server ends every watch by then.
            let dead_at = self.opened + Duration::from_secs(WATCH_S) + GRACE;
            let line = match timeout(
                dead_at.saturating_duration_since(Instant::now()),
                lines.next(),
            )
            .await
            {
                Ok(Ok(line)) => line,
                Ok(Err(error)) => {
                    debug!(
                        kind = self.paths.plural(self.kind),
                        error = client::cause(&error),
                        "watch broke"
                    );
                    self.reopen("Broken");
                    continue;
                }
                Err(_) => {
                    self.reopen("Stalled");
                    continue;
                }
            };
            let event = match line {
                Line::Whole(line) => self.decode(line),
                Line::TooLong => Some(self.skip("(unknown)", "the event is larger than its bound")),
                Line::End { truncated } => {
                    if truncated {
                        self.reopen("Truncated");
                    } else if self.opened.elapsed() < Duration::from_secs(1) {
                        // A server that ends every watch at once must not be asked in a loop.
                        self.reopen("Closed");
                    } else {
                        self.lines = None;
                        self.failures = 0;
                    }
                    None
                }
            };
            if let Some(event) = event {
                return self.item(event);
            }
        }
    }

    fn item(&self, event: WatchEvent) -> WatchItem {
        WatchItem {
            kind: self.kind,
            resource_version: self.resource_version,
            event,
        }
    }

    async fn open(&mut self) -> WatchEvent {
        let path = self
            .paths
            .watch_path(self.kind, self.resource_version, WATCH_S);
        let mut request = Request::get(&path);
        request.accept = self.paths.watched_as(self.kind);
        match self.api.open(request).await {
            Ok(body) => {
                self.lines = Some(Lines::new(body));
                self.opened = Instant::now();
                WatchEvent::Opened
            }
            Err(error) if error.code() == Some(410) => self.expire(false),
            Err(error) => {
                self.reopen("Rejected");
                WatchEvent::Closed(error)
            }
        }
    }

    fn expire(&mut self, backwards: bool) -> WatchEvent {
        self.api
            .metrics()
            .watch_restart(if backwards { "Backwards" } else { "Expired" });
        self.lines = None;
        self.expired = true;
        WatchEvent::Expired { backwards }
    }

    fn reopen(&mut self, reason: &'static str) {
        self.api.metrics().watch_restart(reason);
        self.lines = None;
        let delay = REOPEN
            .0
            .saturating_mul(1 << self.failures.min(10))
            .min(REOPEN.1);
        self.failures = self.failures.saturating_add(1);
        self.retry_at = Some(Instant::now() + delay);
    }

    fn decode(&mut self, line: Vec<u8>) -> Option<WatchEvent> {
        let mut event = self.decode_event(&line)?;
        if let WatchEvent::Child { line: kept, .. } = &mut event {
            *kept = line;
        }
        Some(event)
    }

    fn decode_event(&mut self, line: &[u8]) -> Option<WatchEvent> {
        let event: Event<'_> = match serde_json::from_slice(line) {
            Ok(event) => event,
            Err(error) => return Some(self.undecodable(line, &error)),
        };
        if event.type_ == "ERROR" {
            return self.error_event(line);
        }
        let version = event.object.metadata.resource_version;
        if version < self.resource_version {
            return Some(self.expire(true));
        }
        let event = match &*event.type_ {
            "BOOKMARK" => WatchEvent::Bookmark,
            "ADDED" | "MODIFIED" | "DELETED" => match self.decode_object(&event) {
                Ok(Some(event)) => event,
                Ok(None) => WatchEvent::Bookmark,
                Err(error) => return Some(self.undecodable(line, &error)),
            },
            other => {
                return Some(self.skip(
                    &event.object.metadata.key(),
                    &format!("unknown event type {other:?}"),
                ));
            }
        };
        self.failures = 0;
        self.resource_version = version;
        Some(event)
    }

    fn decode_object(&self, event: &Event<'_>) -> Result<Option<WatchEvent>, serde_json::Error> {
        let (object, deleted) = (&event.object, event.type_ == "DELETED");
        if self.kind == 0 {
            let key = object.metadata.key();
            return Ok(Some(if deleted {
                WatchEvent::OwnerGone {
                    key,
                    uid: object.metadata.uid,
                }
            } else {
                let mut state = Box::new(owner::decode::<O>(object)?);
                state.metadata_only = self.paths.watched_as(0) == METADATA;
                WatchEvent::Owner { key, state }
            }));
        }
        Ok(
            child_event::<O>(object, self.kind - 1, deleted, &self.paths).map(|(owner, event)| {
                WatchEvent::Child {
                    owner,
                    event,
                    line: Vec::new(),
                }
            }),
        )
    }

    fn error_event(&mut self, line: &[u8]) -> Option<WatchEvent> {
        let status = serde_json::from_slice::<ErrorEvent>(line)
            .map(|event| event.object)
            .unwrap_or_default();
        if status.code == 410 {
            return Some(self.expire(false));
        }
        self.reopen("ErrorEvent");
        Some(WatchEvent::Closed(status.into_error(None)))
    }

    fn undecodable(&mut self, line: &[u8], error: &serde_json::Error) -> WatchEvent {
        #[derive(Deserialize)]
        struct Named {
            object: NamedObject,
        }
        #[derive(Deserialize)]
        struct NamedObject {
            metadata: Name,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Name {
            #[serde(default)]
            name: String,
            #[serde(default)]
            namespace: String,
            #[serde(default)]
            resource_version: String,
        }
        let Ok(Named {
            object: NamedObject { metadata },
        }) = serde_json::from_slice(line)
        else {
            return self.skip("(unknown)", &error.to_string());
        };
        // The place moves on, or the same event would come again with the next opening.
        if let Ok(version) = metadata.resource_version.parse::<u64>() {
            self.resource_version = self.resource_version.max(version);
        }
        self.skip(
            &format!("{}/{}", metadata.namespace, metadata.name),
            &error.to_string(),
        )
    }

    fn skip(&self, object: &str, cause: &str) -> WatchEvent {
        self.api.metrics().undecodable.fetch_add(1, Relaxed);
        warn!(
            kind = self.paths.plural(self.kind),
            object, cause, "skipped an event that cannot be decoded"
        );
        WatchEvent::Skipped
    }
}

/// What a child tells about itself, with its owner's key; `None` when it has no owner of our kind.
pub(crate) fn child_event<O: Operator>(
    object: &PartialObject<'_>,
    kind: usize,
    deleted: bool,
    paths: &Paths,
) -> Option<(String, ChildEvent)> {
    let meta = &object.metadata;
    let owner = meta.owner_name(&paths.owner_kind, &paths.owner_label)?;
    let key = format!("{}/{owner}", meta.namespace);
    let event = ChildEvent {
        kind: u8::try_from(kind).ok()?,
        name_hash: hash32(&meta.name),
        owner_uid: meta.controller().map(|reference| reference.uid),
        resource_version: meta.resource_version,
        deleted,
        state: ChildState::of(object, O::KINDS.get(kind)?.workload),
        differs: false,
    };
    Some((key, event))
}
