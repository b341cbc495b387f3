//! Whether the controller is ready, and if not, why.
//!
//! Guarantees: a cause is logged once. It is ready after the first full relist while every watch is open and every
//! kind can be listed. A kind of child that the server does not serve is told and is no cause: owners that do not need
//! it are reconciled.

use tracing::{info, warn};

use crate::api::Operator;
use crate::http::paths::Paths;
use crate::http::request::ApiError;
use crate::metrics::Metrics;
use crate::model::KindId;

/// Whether the controller is ready.
#[derive(Debug)]
pub(crate) struct Readiness {
    /// By index of the kind and of its part: why its watch is not open.
    closed: Vec<Vec<Option<String>>>,
    /// By index of the kind: whether the server does not serve it.
    missing: Vec<bool>,
    /// The kind that the last relist could not list, and why.
    unlisted: Option<(KindId, String)>,
    /// Whether a full relist has ended.
    pub relisted: bool,
}

impl Readiness {
    /// Not ready; `kinds` collections are watched.
    pub fn new(kinds: usize) -> Self {
        Self {
            closed: vec![Vec::new(); kinds],
            missing: vec![false; kinds],
            unlisted: None,
            relisted: false,
        }
    }

    /// The watch of this part of `kind` works. True where it did not.
    pub fn opened(&mut self, kind: KindId, part: usize) -> bool {
        let closed = self.closed[kind.index()].get_mut(part);
        closed.is_some_and(|closed| closed.take().is_some())
    }

    /// The server does not serve `kind`.
    pub fn missing(&mut self, kind: KindId, paths: &Paths) {
        self.closed[kind.index()].clear();
        self.unlisted.take_if(|(unlisted, _)| *unlisted == kind);
        if !std::mem::replace(&mut self.missing[kind.index()], true) {
            let kind = paths.plural(kind);
            warn!(
                kind,
                "this cluster does not serve {kind}: the CRD is not installed. Owners that need it fail; others are \
                 reconciled (retrying)"
            );
        }
    }

    /// Whether the server did not serve `kind` when it was last asked.
    pub fn is_missing(&self, kind: KindId) -> bool {
        self.missing[kind.index()]
    }

    /// The server serves `kind`. True where it did not.
    pub fn appeared(&mut self, kind: KindId) -> bool {
        std::mem::take(&mut self.missing[kind.index()])
    }

    /// The watch of this part of `kind` cannot be opened.
    pub fn closed(&mut self, kind: KindId, part: usize, because: String) {
        let parts = &mut self.closed[kind.index()];
        if parts.len() <= part {
            parts.resize(part + 1, None);
        }
        let closed = &mut parts[part];
        if closed.as_ref() != Some(&because) {
            warn!("{because}");
            *closed = Some(because);
        }
    }

    /// A relist could not list `kind`.
    pub fn unlisted(&mut self, kind: KindId, because: String) {
        let unlisted = Some((kind, because));
        if self.unlisted != unlisted {
            if let Some((_, because)) = &unlisted {
                warn!("{because}");
            }
            self.unlisted = unlisted;
        }
    }

    /// A relist has read its lists: all of them, or only the owners'.
    pub fn listed(&mut self, all: bool) {
        self.relisted |= all;
        // A relist of owners says nothing of the children's lists.
        self.unlisted.take_if(|(kind, _)| all || kind.is_owner());
    }

    /// Publishes the state.
    pub fn publish(&self, metrics: &Metrics, after_ms: u64) {
        let causes = self.closed.iter().flatten().flatten();
        let causes = causes.chain(self.unlisted.as_ref().map(|(_, because)| because));
        if let Some(because) = causes.last() {
            metrics.set_not_ready(because);
        } else if self.relisted && metrics.set_ready() {
            info!(after_ms, "ready");
        }
    }
}

/// Why `kind` cannot be read, and what to do about it.
pub(crate) fn cause<O: Operator>(
    paths: &Paths,
    verb: &str,
    kind: KindId,
    error: &ApiError,
) -> String {
    let plural = paths.plural(kind);
    match (error.code(), error.missing_permission()) {
        (Some(404), _) if kind.is_owner() => format!(
            "the {} CRD is not installed: run `{} install` (retrying)",
            paths.owner_kind,
            O::NAME
        ),
        (_, Some(permission)) => {
            format!("may not {permission}: grant that to this operator's role (retrying): {error}")
        }
        (Some(401 | 403), None) => format!("may not {verb} {plural}: {error} (retrying)"),
        _ => format!("cannot read {plural}: {error} (retrying)"),
    }
}
