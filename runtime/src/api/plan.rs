//! The plan: which children should exist, which status follows, when to reconcile again.

use std::time::Duration;

use crate::api::child::Child;

/// The wanted state of one owner.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan<S> {
    /// Every child that must exist or must be absent.
    pub children: Vec<Child>,
    /// The status that follows from the children as they were observed.
    pub status: S,
    /// When to compute the plan of this owner again without an event.
    pub requeue: Requeue,
}

impl<S> Plan<S> {
    /// These children and this status, and no time of its own.
    pub fn new(children: impl IntoIterator<Item = Child>, status: S) -> Self {
        Self {
            children: children.into_iter().collect(),
            status,
            requeue: Requeue::Default,
        }
    }
}

/// When the plan of an owner is computed again, and compared with its children, although no event came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Requeue {
    /// With the periodic relist.
    #[default]
    Default,
    /// This owner at the latest after this time (1 s at least). It costs a read of the owner and of each child, less
    /// where the cache retains them. For a bounded number of owners
    /// ([`Config::requeues`](crate::controller::Config::requeues)): those that do not fit wait for the periodic
    /// relist, which a warning says once. To compare all owners at a period,
    /// declare [`DRIFT_PERIOD`](crate::api::Operator::DRIFT_PERIOD).
    After(Duration),
}
