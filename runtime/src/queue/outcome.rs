//! What the queue answers to an offer, and what a worker answers to the queue.

use std::time::Duration;

/// What became of something offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// Nothing has to be done about it.
    Idle,
    /// It is held and will be worked on.
    Accepted,
    /// There was no room; a join has to find it again.
    Rejected,
}

/// How a worker left its owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// All is written as the plan says; `ready` when nothing more is awaited.
    Written {
        /// Nothing more is awaited.
        ready: bool,
        /// When the owner wants to be looked at again, if it named a time.
        requeue_after: Option<Duration>,
    },
    /// The owner is gone, or it is not ours to work on.
    Gone,
    /// Something changed underneath: start again at once.
    Again,
    /// Failed; back off, from `base_ms` where the failure names a delay of its own.
    Failed {
        /// First delay, ms.
        base_ms: Option<u64>,
    },
    /// Failed in a way that only a change can mend.
    Stuck,
    /// Nothing failed: something has to go first, such as a child that is being deleted. To be looked at
    /// again after so long, and ever later, unless an event comes sooner.
    Waits {
        /// First delay, ms.
        base_ms: u64,
    },
}

impl Outcome {
    /// The first delay that it names, ms.
    pub(crate) fn base_ms(self) -> Option<u64> {
        match self {
            Outcome::Failed { base_ms } => base_ms,
            Outcome::Waits { base_ms } => Some(base_ms),
            _ => None,
        }
    }
}
