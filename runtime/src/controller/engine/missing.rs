//! The part of the loop about kinds of children that the server does not serve: their CRD is not installed.
//!
//! Guarantees: such a kind keeps no other from being listed and watched. The server is asked for it again at growing
//! pauses, half a minute at most; once it is there it is listed and watched, and the owners that failed are tried.
//! Leaves to others: what an owner that needs it is told (`reconcile`).

use std::sync::Arc;

use crate::api::Operator;
use crate::cache::Cache;
use crate::controller::engine::Controller;
use crate::model::KindId;
use crate::reconcile::observe::{Observed, Observer};
use crate::watch::{WatchEvent, WatchStream};

/// No list tells where the watch of a kind begins that is not there.
const NOWHERE: u64 = 0;

impl<O: Operator, C: Cache> Controller<O, C> {
    /// The server does not serve `kind`. Its watch, which opens once it does, tells when that is.
    pub(super) fn on_missing(&mut self, kind: KindId) {
        self.readiness.missing(kind, &self.paths);
        self.publish_readiness();
        if !self.watches.is_open(kind) {
            let observer = Observer::<O>::new(Arc::clone(&self.paths), Arc::clone(&self.names));
            let collection = Arc::clone(self.paths.collection(kind));
            let stream = WatchStream::new(self.api.clone(), collection, observer, kind, NOWHERE);
            self.watches.open(kind, stream);
        }
    }

    /// The server serves `kind` no more. Owners that had a child of it are found by a relist: what goes with its kind may
    /// come as no event.
    pub(super) fn on_kind_gone(&mut self, kind: KindId) {
        self.on_missing(kind);
        self.request_all();
    }

    /// The running relist has found that the server does not serve `kind`.
    pub(super) fn on_missing_list(&mut self, kind: KindId) {
        if let Some(running) = &mut self.relist {
            running.opening -= 1;
            // The list of the owners was read before: what was known of the kind by then went with it.
            let owners_version = running.revisions.first().copied();
            running.revisions.push(owners_version.unwrap_or(NOWHERE));
        }
        self.on_missing(kind);
    }

    /// What the watch of a kind says that the server did not serve. Where it begins is not known, so that nothing that
    /// it shows is relied on: a relist opens another one.
    pub(super) fn on_probe(&mut self, kind: KindId, event: &WatchEvent<Observed>) {
        if matches!(event, WatchEvent::Closed(_)) {
            return;
        }
        self.watches.close(kind);
        self.on_appeared(kind);
        self.request_all();
    }

    /// The server serves `kind`.
    pub(super) fn on_appeared(&mut self, kind: KindId) {
        if self.readiness.appeared(kind) {
            self.queue.retry_failing();
        }
    }
}
