//! Watches: a cursor in a resource's history, read as fast as the client takes it.
//!
//! Guarantees: every change after the starting revision is shown once and in order, as ADDED,
//! MODIFIED or DELETED from the selector's point of view; nothing is buffered per watch. A watch
//! that had caught up and then falls [`LAG_EVENTS`] behind, or off the end of history, is closed,
//! as kube-apiserver closes a watcher that stalls.

mod line;

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::Stream;
use tokio::time::Instant;

use crate::api::list::{in_namespace, parse_revision};
use crate::api::query::{Query, Shape};
use crate::faults::{WatchFacts, WatchFault};
use crate::model::kind::Kind;
use crate::model::record::Record;
use crate::model::selector::Selector;
use crate::model::status::ApiError;
use crate::schema::field_error::FieldError;
use crate::signal::Changes;
use crate::state::Inner;
use crate::store::{Change, Event, TableId};

/// How far a watch may fall behind once it has caught up.
const LAG_EVENTS: usize = 10_000;
/// Events taken from history at a time.
const BATCH_EVENTS: usize = 256;
/// Lines are sent together up to this size.
const CHUNK_BYTES: usize = 32 * 1024;

/// An open watch.
pub(crate) struct Watch {
    inner: Arc<Inner>,
    table: TableId,
    kind: Arc<Kind>,
    user: String,
    namespace: Option<String>,
    selector: Selector,
    shape: Shape,
    /// Events up to here have been taken.
    cursor: u64,
    /// It has sent everything there was, at least once.
    caught_up: bool,
    /// There is nothing left to take from history now.
    idle: bool,
    changed: Changes,
    cut: Changes,
    initial: VecDeque<Arc<Record>>,
    /// The revision of the bookmark that ends the initial events, until it is sent.
    initial_end: Option<u64>,
    waiting: VecDeque<Arc<Event>>,
    bookmark_due: Option<Instant>,
    deadline: Instant,
    nth: u64,
    state: Mode,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Mode {
    Open,
    /// The starting revision is forgotten, and the client has not been told yet.
    TooOld,
    Stalled,
    Closed,
}

/// Where a watch starts, by `sendInitialEvents` and `resourceVersion`.
enum Start {
    /// Everything that is there, then changes.
    Initial {
        with_end: bool,
    },
    From(u64),
    Now,
}

impl Watch {
    pub(crate) fn open(
        inner: &Arc<Inner>,
        table: TableId,
        kind: Arc<Kind>,
        user: &str,
        namespace: Option<&str>,
        query: &Query,
        shape: Shape,
    ) -> Result<Watch, ApiError> {
        let selector = Selector::parse(&kind.plural, &query.label_selector, &query.field_selector)?;
        let start = start(query)?;
        let now = Instant::now();
        let changed = inner
            .store
            .subscribe(table)
            .ok_or_else(ApiError::no_such_path)?;
        let cut = inner.cut.subscribe();
        let timeout = query
            .timeout_s
            .map_or_else(|| inner.default_watch_timeout(), Duration::from_secs);

        let state = inner.store.lock();
        let objects = state.table(table).ok_or_else(ApiError::no_such_path)?;
        let (cursor, initial, initial_end) = match start {
            Start::Initial { with_end } => {
                let initial = objects
                    .objects
                    .values()
                    .filter(|r| in_namespace(r, namespace) && selector.matches(r))
                    .cloned()
                    .collect();
                (state.revision, initial, with_end.then_some(state.revision))
            }
            Start::Now => (state.revision, VecDeque::new(), None),
            Start::From(revision) => (revision, VecDeque::new(), None),
        };
        // Refused inside the stream, not as an HTTP status: so does kube-apiserver's watch cache.
        let mode = if objects.remembers(cursor) {
            Mode::Open
        } else {
            Mode::TooOld
        };
        drop(state);

        Ok(Watch {
            inner: inner.clone(),
            table,
            kind,
            user: user.to_owned(),
            namespace: namespace.map(str::to_owned),
            selector,
            shape,
            cursor,
            caught_up: false,
            idle: false,
            changed,
            cut,
            initial,
            initial_end,
            waiting: VecDeque::new(),
            bookmark_due: query
                .bookmarks
                .then(|| next_bookmark(now, now + timeout, inner.options.bookmark_every)),
            deadline: now + timeout,
            nth: 0,
            state: mode,
        })
    }

    /// The stream of lines, ended by deadline, cut, fault or the end of the resource.
    pub(crate) fn lines(self) -> impl Stream<Item = Result<Bytes, Infallible>> + Send {
        futures::stream::unfold(self, |mut watch| async move {
            let chunk = watch.next_chunk().await?;
            Some((Ok(chunk), watch))
        })
    }

    async fn next_chunk(&mut self) -> Option<Bytes> {
        loop {
            match self.state {
                Mode::Open => {}
                Mode::Closed => return None,
                Mode::TooOld => {
                    self.state = Mode::Closed;
                    let message = format!(
                        "too old resource version: {} ({})",
                        self.cursor,
                        self.inner.store.revision()
                    );
                    return Some(Bytes::from(line::expired(&message)));
                }
                Mode::Stalled => {
                    // Silent; the server can still end it.
                    let _ = self.cut.changed().await;
                    return None;
                }
            }
            if self.waiting.is_empty() {
                self.take_events();
            }
            let chunk = self.encode_waiting();
            if !chunk.is_empty() {
                return Some(Bytes::from(chunk));
            }
            let drained = self.waiting.is_empty() && self.initial.is_empty();
            if self.state == Mode::Open
                && self.idle
                && drained
                && let Some(line) = self.wait().await
            {
                return Some(line);
            }
        }
    }

    /// Moves the cursor forward by at most one batch.
    fn take_events(&mut self) {
        let state = self.inner.store.lock();
        let Some(table) = state.table(self.table) else {
            self.state = Mode::Closed;
            return;
        };
        if !table.remembers(self.cursor) {
            self.state = Mode::Closed;
            return;
        }
        // Marked before reading, so that a commit in between wakes the next wait.
        self.changed.mark_unchanged();
        let lag = table.behind(self.cursor).saturating_sub(BATCH_EVENTS);
        self.waiting
            .extend(table.since(self.cursor).take(BATCH_EVENTS).cloned());
        if self.caught_up && lag > LAG_EVENTS {
            self.waiting.clear();
            self.state = Mode::Closed;
            return;
        }
        self.idle = lag == 0;
        if self.idle {
            self.caught_up = true;
            self.cursor = self.cursor.max(state.revision);
        } else {
            self.cursor = self
                .waiting
                .back()
                .map_or(self.cursor, |e| e.record.revision);
        }
    }

    fn encode_waiting(&mut self) -> Vec<u8> {
        let mut out = Vec::new();
        while self.state == Mode::Open && out.len() < CHUNK_BYTES {
            if let Some(record) = self.initial.pop_front() {
                self.send(&mut out, "ADDED", &record);
                continue;
            }
            if let Some(revision) = self.initial_end.take() {
                out.extend_from_slice(&line::bookmark(revision, true, &self.kind, self.shape));
                continue;
            }
            let Some(event) = self.waiting.pop_front() else {
                break;
            };
            match (self.seen_as(&event), &event.previous) {
                // Left the selection: the last state in it, at the revision of the change.
                (Some("DELETED"), Some(previous)) if event.change == Change::Modified => {
                    let last = previous.deleted_at(event.record.revision);
                    self.send(&mut out, "DELETED", &last);
                }
                (Some(kind), _) => self.send(&mut out, kind, &event.record),
                (None, _) => {}
            }
        }
        out
    }

    /// The event from the selector's point of view.
    fn seen_as(&self, event: &Event) -> Option<&'static str> {
        if !in_namespace(&event.record, self.namespace.as_deref()) {
            return None;
        }
        let before = event
            .previous
            .as_ref()
            .is_some_and(|previous| self.selector.matches(previous));
        let after = event.change != Change::Deleted && self.selector.matches(&event.record);
        match (before, after) {
            (false, true) => Some("ADDED"),
            (true, true) => Some("MODIFIED"),
            (true, false) => Some("DELETED"),
            (false, false) => None,
        }
    }

    fn send(&mut self, out: &mut Vec<u8>, event_type: &str, record: &Record) {
        let facts = WatchFacts {
            user: &self.user,
            resource: &self.kind.plural,
            event_type,
            namespace: record.namespace(),
            name: record.name(),
            nth: self.nth,
        };
        self.nth += 1;
        match self.inner.faults.watch(&facts) {
            WatchFault::Pass => line::event(out, event_type, record, &self.kind, self.shape),
            WatchFault::Drop => {}
            WatchFault::Garbage => line::garbage(out, event_type, record, &self.kind),
            WatchFault::Truncate => {
                let mut whole = Vec::new();
                line::event(&mut whole, event_type, record, &self.kind, self.shape);
                out.extend_from_slice(&whole[..whole.len() / 2]);
                self.state = Mode::Closed;
            }
            WatchFault::Close => self.state = Mode::Closed,
            WatchFault::Stall => self.state = Mode::Stalled,
            WatchFault::Error410 => {
                out.extend_from_slice(&line::expired(
                    "The resourceVersion for the provided watch is too old.",
                ));
                self.state = Mode::Closed;
            }
        }
    }

    /// Sleeps until there is something to do; a line if it is a bookmark that is due.
    async fn wait(&mut self) -> Option<Bytes> {
        let bookmark_at = self.bookmark_due.unwrap_or(self.deadline);
        // In this order, so that a simulation repeats exactly.
        tokio::select! {
            biased;
            changed = self.changed.changed() => {
                if changed.is_err() {
                    self.state = Mode::Closed;
                }
                None
            }
            _ = self.cut.changed() => {
                self.state = Mode::Closed;
                None
            }
            () = tokio::time::sleep_until(self.deadline) => {
                self.state = Mode::Closed;
                None
            }
            () = tokio::time::sleep_until(bookmark_at), if self.bookmark_due.is_some() => {
                let every = self.inner.options.bookmark_every;
                self.bookmark_due = Some(next_bookmark(Instant::now(), self.deadline, every));
                let line = line::bookmark(self.cursor, false, &self.kind, self.shape);
                Some(Bytes::from(line))
            }
        }
    }
}

/// Periodically, and 2 s before the end, so that the next watch starts as late as possible
/// (`nextBookmarkTime` in apiserver v0.36.4, `pkg/storage/cacher/cache_watcher.go`).
fn next_bookmark(now: Instant, deadline: Instant, every: Duration) -> Instant {
    const BEFORE_THE_END: Duration = Duration::from_secs(2);
    match deadline.checked_sub(BEFORE_THE_END) {
        Some(last) if last > now => last.min(now + every),
        _ => now + every,
    }
}

fn start(query: &Query) -> Result<Start, ApiError> {
    let from = query.resource_version.as_str();
    let invalid = |field: &str, why: &str| {
        ApiError::invalid_options("ListOptions", &FieldError::forbidden(field, why))
    };
    if query.send_initial_events.is_some() {
        if query.resource_version_match != "NotOlderThan" {
            return Err(invalid(
                "resourceVersionMatch",
                "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
            ));
        }
    } else if !query.resource_version_match.is_empty() {
        return Err(invalid(
            "resourceVersionMatch",
            "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
        ));
    }
    Ok(match (query.send_initial_events, from) {
        (Some(true), _) => Start::Initial {
            with_end: query.bookmarks,
        },
        (Some(false), "" | "0") => Start::Now,
        (None, "" | "0") => Start::Initial { with_end: false },
        (_, revision) => Start::From(parse_revision(revision)?),
    })
}
