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
    /// When to compare again without an event.
    pub requeue: Requeue,
}

/// When an owner is compared with its children again although no event came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Requeue {
    /// With the periodic relist.
    #[default]
    Default,
    /// At the latest after this time. The shortest time of all owners is the period of the relist.
    After(Duration),
}
