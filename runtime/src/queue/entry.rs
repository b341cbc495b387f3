//! One entry of the queue, and how far each watch has come.
//!
//! Guarantees: pure data. Leaves to others: the order of the entries and their bounds (`entries`).

use crate::model::{KindId, OwnerState, Triggers};
use crate::queue::arrivals::Arrivals;

/// What an entry waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// Has work and waits for a worker.
    Queued,
    /// A worker has it.
    InFlight,
    /// Waits until it is due: after a failure, or while events of children are merged.
    Delayed { due_ms: u64 },
    /// Written. Awaits confirmation by the watches, and the readiness of its children, at the latest until
    /// `until_ms`.
    Awaiting { until_ms: u64 },
}

impl State {
    /// When its wait ends, ms, where it has an end.
    pub(super) fn timer_ms(self) -> Option<u64> {
        match self {
            State::Delayed { due_ms: at_ms } | State::Awaiting { until_ms: at_ms } => Some(at_ms),
            State::Queued | State::InFlight => None,
        }
    }
}

/// An owner that has work, or whose last write is not yet confirmed.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) state: State,
    /// Only its uid while a worker has it.
    pub(super) owner: OwnerState,
    /// What arrived while a worker had it.
    pub(super) arrivals: Arrivals,
}

impl Entry {
    /// Whether the owner failed and waits to be tried again.
    pub(super) fn is_failing(&self) -> bool {
        matches!(self.state, State::Delayed { .. }) && self.owner.attempts > 0
    }

    /// Whether the owner was idle, and changes of its children are being merged.
    pub(super) fn is_merging(&self) -> bool {
        matches!(self.state, State::Delayed { .. })
            && self.owner.triggers.has(Triggers::CHILD)
            && self.owner.attempts == 0
    }

    /// Whether it waits before a status that another client may have written is compared, and for nothing else.
    pub(super) fn is_overwritten(&self) -> bool {
        let owner = &self.owner;
        matches!(self.state, State::Delayed { .. }) && owner.attempts == 0 && owner.overwritten > 0
    }

    /// Whether the owner is ready and every watch has shown our last writes.
    pub(super) fn is_confirmed(&self, revisions: &Revisions) -> bool {
        let owner = &self.owner;
        matches!(self.state, State::Awaiting { .. })
            && owner.status.ready
            && !owner.has_work()
            // Somebody changed a child. The count is kept for a while to detect a field conflict.
            && owner.corrections.is_none()
            // Somebody writes the status, too. The count is kept for a while, so that the pauses grow.
            && owner.overwritten == 0
            && revisions.have_reached(KindId::OWNER, owner.own_version)
            && owner
                .children
                .iter()
                .all(|record| revisions.have_reached(record.kind, record.resource_version))
    }
}

/// The newest resourceVersion that the watch of each kind has shown.
#[derive(Debug)]
pub(super) struct Revisions(Vec<u64>);

impl Revisions {
    /// None yet, for owners and `kinds` kinds of children.
    pub(super) fn new(kinds: usize) -> Self {
        Self(vec![0; kinds + 1])
    }

    /// The watch of `kind` has shown everything up to `resource_version`.
    pub(super) fn advance(&mut self, kind: KindId, resource_version: u64) {
        if let Some(newest) = self.0.get_mut(kind.index()) {
            *newest = resource_version.max(*newest);
        }
    }

    /// Whether the watch of `kind` has shown everything up to `resource_version`.
    pub(super) fn have_reached(&self, kind: KindId, resource_version: u64) -> bool {
        self.0
            .get(kind.index())
            .is_some_and(|newest| *newest >= resource_version)
    }

    /// The newest that each watch has shown, by index of the kind.
    pub(super) fn all(&self) -> &[u64] {
        &self.0
    }

    /// Forgets what the watches have shown.
    pub(super) fn forget(&mut self) {
        self.0.fill(0);
    }
}
