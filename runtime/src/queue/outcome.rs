//! What the queue does with something that is to be admitted, and how a worker left its owner.

use std::time::Duration;

use crate::model::{OwnerState, Triggers};

/// Whether the queue admitted an owner or a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// Nothing has to be done.
    Idle,
    /// An entry holds it; it will be reconciled.
    Accepted,
    /// The bounds are reached; a relist has to find it again.
    Rejected,
}

/// What left the queue before its time. A relist has to find it again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Evicted {
    /// Work that had not failed.
    pub work: bool,
    /// Owners that waited for their children. Only watches that are open bring them back.
    pub waiting: bool,
    /// Failing owners that a list of owners finds again, because they have work by themselves.
    pub failing_owners: bool,
    /// Failing owners that are found again only together with their children.
    pub failing_children: bool,
}

/// How a worker left its owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Everything is written as planned.
    Written {
        /// Whether the owner is ready, so that nothing more is awaited.
        ready: bool,
        /// When the plan wants to be computed again, where it names a time.
        requeue_after: Option<Duration>,
    },
    /// The children are written. The status is not final and yields to the work of others for a while.
    Yielded,
    /// The owner was deleted, or has nothing left for this operator to do.
    Gone,
    /// A newer object was met: start again at once.
    Again,
    /// Failed: back off, from `base_ms` where the failure names a delay.
    Failed {
        /// First delay, ms.
        base_ms: Option<u64>,
    },
    /// Only a change can help: it failed, or is to be left as it is.
    Stuck,
    /// Nothing failed, but something has to happen first, such as the end of a child that is being deleted.
    /// Retried after the delay, which grows, unless an event arrives sooner.
    Waits {
        /// First delay, ms.
        base_ms: u64,
    },
}

impl Outcome {
    /// What is left to do for an owner after it.
    pub(super) fn leave(self, owner: &mut OwnerState) {
        // What waits for anything else does not wait as a status that yields: it would be tried at once.
        if !matches!(self, Outcome::Yielded | Outcome::Again) {
            owner.work.status_yielded = false;
        }
        match self {
            Outcome::Written { .. } | Outcome::Gone => {
                owner.work.attempts = 0;
                owner.work.triggers = Triggers::default();
            }
            Outcome::Yielded => {
                owner.work.attempts = 0;
                owner.work.triggers = Triggers::STATUS;
            }
            Outcome::Stuck => {
                owner.work.triggers = Triggers::default();
                // Nobody has looked at them. The next plan that can be made is of a change, which reads them.
                owner.children.settle();
                owner.children.complete = false;
            }
            Outcome::Failed { .. } if mutant!(FailedForgotten) => {
                owner.work.triggers = Triggers::default();
                owner.children.settle();
            }
            // What failed is still to be done.
            Outcome::Again | Outcome::Failed { .. } | Outcome::Waits { .. } => {}
        }
    }
}
