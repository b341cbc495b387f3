//! One recovering stream of events for one kind.
//!
//! Guarantees: the stream never ends by itself. A stream that closes, breaks, stalls or holds an event
//! that cannot be decoded is opened again at the same resourceVersion, with a growing delay when that
//! keeps happening. When the server no longer has that resourceVersion (410, or it went backwards), the
//! stream says so once and shows nothing more. A server that was restored from a backup shows nothing up to the
//! resourceVersion that it is asked for; so, after a stream that did not end at its time, the server is asked
//! where it is before the next one is opened. The stream is always read: what to drop is the reader's choice.
//! Leaves to others: lists (`relist`), what an object means ([`Decode`]).

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use kube::client::Body;
use serde::Deserialize;
use tokio::time::{Instant, sleep_until, timeout};
use tracing::{debug, warn};

use crate::http::client;
use crate::http::collection::Collection;
use crate::http::request::{Api, Request};
use crate::http::server_status::ServerStatus;
use crate::metrics::Verb;
use crate::model::{KindId, ObjectKey, PartialObject, Uid, Versions, decoded};
use crate::watch::lines::{Line, Lines};
use crate::watch::{Decode, WatchEvent, WatchItem, revision};

/// How long the server keeps one watch open, s: as long as client-go asks for, minus its spread.
const WATCH_S: u64 = 290;
/// Beyond that the connection is dead.
const GRACE: Duration = Duration::from_secs(10);
/// A stream that ends within this of its time was ended by the server as asked. The server's clock starts one way
/// earlier, and the end is on its way as long.
const PUNCTUAL: Duration = Duration::from_secs(2);
/// Delay before a broken stream is opened again: the first, and the longest.
const REOPEN: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(30));

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

/// What an event that cannot be decoded may still say.
#[derive(Deserialize)]
struct NamedEvent {
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
    uid: Uid,
    #[serde(default)]
    resource_version: String,
}

/// The state of a watch.
enum State {
    /// Not open. It is opened at once.
    Closed,
    /// Not open after a failure. It is opened again at that time.
    Waiting(Instant),
    /// Open since `since`. The server ends every watch [`WATCH_S`] after that.
    Open { lines: Lines<Body>, since: Instant },
    /// The server no longer has the resourceVersion. Nothing follows.
    Expired,
}

/// The watch of one kind.
pub struct WatchStream<D> {
    api: Api,
    collection: Arc<Collection>,
    decoder: D,
    kind: KindId,
    part: usize,
    resource_version: u64,
    /// How far the server was by its answers, of which the stream may not have shown all.
    versions: Versions,
    state: State,
    /// Failures in a row.
    failures: u32,
    /// The last stream did not end at its time: the server may have been restored from a backup.
    doubted: bool,
}

impl<D: Decode> WatchStream<D> {
    /// Watches the collection of `kind` from `resource_version` on.
    pub fn new(
        api: Api,
        collection: Arc<Collection>,
        decoder: D,
        kind: KindId,
        resource_version: u64,
    ) -> Self {
        Self {
            api,
            collection,
            decoder,
            kind,
            part: 0,
            resource_version,
            versions: Versions::new(0),
            state: State::Closed,
            failures: 0,
            doubted: false,
        }
    }

    /// Of the collection only the part with this index.
    #[must_use]
    pub(crate) fn of_part(mut self, part: usize) -> Self {
        self.part = part;
        self
    }

    /// With what the server has answered: one that is behind that was restored from a backup.
    #[must_use]
    pub(crate) fn with_versions(mut self, versions: Versions) -> Self {
        self.versions = versions;
        self
    }

    /// The next item; nothing comes after `Expired`.
    pub async fn next(&mut self) -> WatchItem<D::Object> {
        loop {
            let event = match &mut self.state {
                State::Expired => std::future::pending().await,
                State::Waiting(at) => {
                    sleep_until(*at).await;
                    self.state = State::Closed;
                    continue;
                }
                State::Closed => Some(self.open().await),
                State::Open { lines, since } => {
                    // Counted from the opening: the server ends every watch by then.
                    let dead_at = match self.doubted {
                        true => *since + REOPEN.1,
                        false => *since + Duration::from_secs(WATCH_S) + GRACE,
                    };
                    let left = dead_at.saturating_duration_since(Instant::now());
                    let opened = *since;
                    match timeout(left, lines.next()).await {
                        Ok(Ok(line)) => self.on_line(line, opened),
                        Ok(Err(error)) => {
                            debug!(
                                kind = self.collection.plural(),
                                error = client::cause(&error),
                                "watch broke"
                            );
                            self.reopen("Broken");
                            None
                        }
                        // The server is asked again where it is.
                        Err(_) if self.doubted => {
                            self.state = State::Closed;
                            None
                        }
                        Err(_) => {
                            self.reopen("Stalled");
                            None
                        }
                    }
                }
            };
            if let Some(event) = event {
                return WatchItem {
                    kind: self.kind,
                    part: self.part,
                    resource_version: self.resource_version,
                    event,
                };
            }
        }
    }

    async fn open(&mut self) -> WatchEvent<D::Object> {
        if self.doubted {
            // As of before the question: an answer to a write may overtake the one to it.
            let known = self.versions.answered(self.kind).max(self.resource_version);
            match revision::newest(&self.api, &self.collection).await {
                Ok(newest) if mutant!(ReopenedAtNewest) => {
                    (self.resource_version, self.doubted) = (newest, false);
                }
                Ok(newest) if newest < known && !mutant!(BackwardsIgnored) => {
                    return self.expire(true);
                }
                Ok(_) => self.doubted = false,
                // The watch may be allowed where the list is not (yet). It stays in doubt and is opened again soon.
                Err(error) if matches!(error.code(), Some(400..=428 | 430..=499)) => {}
                Err(error) => {
                    self.reopen("Rejected");
                    return WatchEvent::Closed(error);
                }
            }
        }
        let path = self.collection.watch_path(self.resource_version, WATCH_S);
        let mut request = Request::get(&path);
        request.accept = self.collection.watched_as();
        match self.api.open(Verb::Watch, request).await {
            Ok(body) => {
                self.state = State::Open {
                    lines: Lines::new(body),
                    since: Instant::now(),
                };
                WatchEvent::Opened
            }
            Err(error) if error.code() == Some(410) => self.expire(false),
            Err(error) => {
                self.reopen(match error.is_of_missing_kind() {
                    true => "Missing",
                    false => "Rejected",
                });
                WatchEvent::Closed(error)
            }
        }
    }

    fn on_line(&mut self, line: Line, opened: Instant) -> Option<WatchEvent<D::Object>> {
        match line {
            Line::Whole(line) => self.decode(line),
            Line::TooLong => Some(self.skip(None, "the event is larger than its bound")),
            Line::End { truncated: true } => {
                self.reopen("Truncated");
                None
            }
            // A server that ends every watch at once must not be asked in a loop.
            Line::End { .. } if opened.elapsed() < Duration::from_secs(1) => {
                self.reopen("Closed");
                None
            }
            Line::End { .. } => {
                // Early: the server stopped. Late: this process stood still, and nobody watched since.
                self.doubted |= opened.elapsed().abs_diff(Duration::from_secs(WATCH_S)) > PUNCTUAL;
                self.state = State::Closed;
                self.failures = 0;
                None
            }
        }
    }

    fn expire(&mut self, backwards: bool) -> WatchEvent<D::Object> {
        self.api
            .metrics()
            .watch_restart(if backwards { "Backwards" } else { "Expired" });
        self.state = State::Expired;
        WatchEvent::Expired { backwards }
    }

    fn reopen(&mut self, reason: &'static str) {
        self.api.metrics().watch_restart(reason);
        let delay = REOPEN
            .0
            .saturating_mul(1 << self.failures.min(10))
            .min(REOPEN.1);
        self.failures = self.failures.saturating_add(1);
        self.doubted = true;
        self.state = State::Waiting(Instant::now() + delay);
    }

    fn decode(&mut self, line: Vec<u8>) -> Option<WatchEvent<D::Object>> {
        let event: Event<'_> = match decoded(&line) {
            Ok(event) => event,
            Err(error) => return Some(self.undecodable(&line, &error)),
        };
        if event.type_ == "ERROR" {
            return self.error_event(&line);
        }
        let version = event.object.metadata.resource_version;
        if version < self.resource_version {
            return Some(self.expire(true));
        }
        let object = match &*event.type_ {
            "BOOKMARK" => None,
            "ADDED" | "MODIFIED" | "DELETED" => {
                let deleted = event.type_ == "DELETED";
                match self.decoder.decode(self.kind, &event.object, deleted) {
                    Ok(object) => object,
                    Err(error) => return Some(self.undecodable(&line, &error)),
                }
            }
            other => {
                let cause = format!("unknown event type {other:?}");
                let metadata = &event.object.metadata;
                return Some(self.skip(Some((metadata.key(), metadata.uid)), &cause));
            }
        };
        drop(event);
        self.failures = 0;
        self.resource_version = version;
        Some(match object {
            Some(object) => WatchEvent::Object { object, line },
            None => WatchEvent::Bookmark,
        })
    }

    fn error_event(&mut self, line: &[u8]) -> Option<WatchEvent<D::Object>> {
        let status = decoded::<ErrorEvent>(line)
            .map(|event| event.object)
            .unwrap_or_default();
        Some(self.refused(status))
    }

    fn refused(&mut self, status: ServerStatus) -> WatchEvent<D::Object> {
        if status.code == 410 {
            return self.expire(false);
        }
        self.reopen("ErrorEvent");
        WatchEvent::Closed(status.into_error(None))
    }

    fn undecodable(&mut self, line: &[u8], error: &serde_json::Error) -> WatchEvent<D::Object> {
        // Its name can be read where something else in it is no text.
        let line = String::from_utf8_lossy(line);
        let Ok(NamedEvent {
            object: NamedObject { metadata },
        }) = serde_json::from_str(&line)
        else {
            // The `Status` of a refusal, passed on with the code of an answer.
            let status: ServerStatus = serde_json::from_str(&line).unwrap_or_default();
            return match status.code {
                0..400 => self.skip(None, &error.to_string()),
                _ => self.refused(status),
            };
        };
        // The resourceVersion moves on, or the same event would come again with the next opening.
        if let Ok(version) = metadata.resource_version.parse::<u64>() {
            self.resource_version = self.resource_version.max(version);
        }
        let key = ObjectKey::new(&metadata.namespace, &metadata.name);
        self.skip(Some((key, metadata.uid)), &error.to_string())
    }

    fn skip(&self, object: Option<(ObjectKey, Uid)>, cause: &str) -> WatchEvent<D::Object> {
        self.api.metrics().undecodable.fetch_add(1, Relaxed);
        let key = object.as_ref().map_or("(unknown)", |(key, _)| key.as_str());
        warn!(
            kind = self.collection.plural(),
            object = key,
            cause,
            "skipped an event that cannot be decoded"
        );
        WatchEvent::Skipped { object }
    }
}

#[cfg(test)]
mod tests;
