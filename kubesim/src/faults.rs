//! Faults that a test injects: a closure decides on every request, another on every watch event.
//!
//! Guarantees: without a closure nothing changes. A closure runs in the request path: it must be quick and
//! must not call the server. A SelfSubjectAccessReview asks it about a request that is not made. Leaves to others: carrying a fault out (requests: `serve::request`; watches: `api::watch`).

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

/// What the closure for requests is given.
#[derive(Debug)]
pub struct RequestFacts<'a> {
    pub user: &'a str,
    pub verb: &'a str,
    pub resource: &'a str,
    pub subresource: Option<&'a str>,
    pub namespace: Option<&'a str>,
    pub name: Option<&'a str>,
    /// How many requests of this user, verb and resource (with subresource) came before.
    pub nth: u64,
}

/// What happens to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequestFault {
    /// Nothing unusual.
    Pass,
    /// Never answered, never executed.
    Hang,
    /// Executed and answered later.
    Delay(Duration),
    /// Refused with this Status, not executed.
    Status {
        code: u16,
        reason: String,
        message: String,
        retry_after_s: Option<u32>,
    },
    /// Executed, then the connection is lost: the client sees an error.
    AfterDrop,
}

/// What the closure for watch events is given.
#[derive(Debug)]
pub struct WatchFacts<'a> {
    pub user: &'a str,
    pub resource: &'a str,
    /// `ADDED`, `MODIFIED`, `DELETED`; not called for bookmarks.
    pub event_type: &'a str,
    pub namespace: &'a str,
    pub name: &'a str,
    /// How many events this watch was about to send before.
    pub nth: u64,
}

/// What happens to a watch event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WatchFault {
    /// Nothing unusual.
    Pass,
    /// The event is lost in silence.
    Drop,
    /// The event carries an object that does not decode, in a valid line of JSON.
    Garbage,
    /// Half a line, then the end of the stream.
    Truncate,
    /// The end of the stream instead of the event.
    Close,
    /// The stream stays open and silent for ever.
    Stall,
    /// An ERROR event with code 410, then the end of the stream.
    Error410,
}

type RequestHook = Arc<dyn Fn(&RequestFacts<'_>) -> RequestFault + Send + Sync>;
type WatchHook = Arc<dyn Fn(&WatchFacts<'_>) -> WatchFault + Send + Sync>;

/// The faults in force; none to begin with.
#[derive(Default)]
pub struct Faults {
    request: RwLock<Option<RequestHook>>,
    watch: RwLock<Option<WatchHook>>,
}

impl Faults {
    /// Replaces the closure that decides on requests.
    pub fn on_request(
        &self,
        fault: impl Fn(&RequestFacts<'_>) -> RequestFault + Send + Sync + 'static,
    ) {
        *self.request.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(fault));
    }

    /// Replaces the closure that decides on watch events.
    pub fn on_watch(&self, fault: impl Fn(&WatchFacts<'_>) -> WatchFault + Send + Sync + 'static) {
        *self.watch.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(fault));
    }

    /// No faults from here on; streams that stall stay stalled.
    pub fn clear(&self) {
        *self.request.write().unwrap_or_else(PoisonError::into_inner) = None;
        *self.watch.write().unwrap_or_else(PoisonError::into_inner) = None;
    }

    pub(crate) fn request(&self, facts: &RequestFacts<'_>) -> RequestFault {
        let hook = self
            .request
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        hook.map_or(RequestFault::Pass, |hook| hook(facts))
    }

    pub(crate) fn watch(&self, facts: &WatchFacts<'_>) -> WatchFault {
        let hook = self
            .watch
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        hook.map_or(WatchFault::Pass, |hook| hook(facts))
    }
}
