//! One entry of the queue.
//!
//! Guarantees: pure data. Leaves to others: the order of the entries and their bounds (`entries`).

use crate::model::{KindId, OwnerState, Triggers, Versions};
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
    /// Bytes of the specs that are kept here.
    pub(super) fn spec_bytes(&self) -> usize {
        self.owner.spec_bytes() + self.arrivals.spec_bytes()
    }

    /// Whether the owner failed and waits to be tried again.
    pub(super) fn is_failing(&self) -> bool {
        matches!(self.state, State::Delayed { .. }) && self.owner.work.attempts > 0
    }

    /// Whether the owner was idle, and changes of its children are being merged.
    pub(super) fn is_merging(&self) -> bool {
        matches!(self.state, State::Delayed { .. })
            && self.owner.work.triggers.has(Triggers::CHILD)
            && self.owner.work.attempts == 0
    }

    /// Whether it waits before a status that another client may have written is compared, and for nothing else.
    pub(super) fn is_overwritten(&self) -> bool {
        let owner = &self.owner;
        matches!(self.state, State::Delayed { .. })
            && owner.work.attempts == 0
            && owner.work.overwritten > 0
    }

    /// Whether the owner is ready and every watch has shown our last writes.
    pub(super) fn is_confirmed(&self, versions: &Versions) -> bool {
        let owner = &self.owner;
        matches!(self.state, State::Awaiting { .. })
            && owner.object.status.ready
            && !owner.has_work()
            // Somebody changed a child. The count is kept for a while to detect a field conflict.
            && owner.work.corrections.is_none()
            // Somebody writes the status, too. The count is kept for a while, so that the pauses grow.
            && owner.work.overwritten == 0
            && versions.have_shown(KindId::OWNER, owner.object.own_version)
            && owner
                .children
                .iter()
                .all(|record| versions.have_shown(record.kind, record.resource_version))
    }
}
