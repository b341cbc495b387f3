//! What a reconcile asks for next.

use std::sync::Arc;
use std::time::Duration;

/// What becomes of an object after its reconcile. Made as in kube: [`Action::requeue`], [`Action::await_change`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Action(pub(super) Next);

/// When an object is reconciled again without a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    Never,
    After(Duration),
    /// After a pause that doubles with each failure in a row.
    BackOff,
}

impl Action {
    /// Reconciles the object again after `duration`, at the latest.
    #[must_use]
    pub const fn requeue(duration: Duration) -> Self {
        Self(Next::After(duration))
    }

    /// Does nothing until a change is seen.
    #[must_use]
    pub const fn await_change() -> Self {
        Self(Next::Never)
    }

    /// For an error policy: tries the object again after a pause that doubles with each failure of this object in a row,
    /// from 1 s to 5 minutes, with a jitter of a quarter.
    #[must_use]
    pub const fn back_off() -> Self {
        Self(Next::BackOff)
    }
}

/// The error policy [`Action::back_off`], for any object, error and context.
pub fn back_off<K, E, Context>(_: Arc<K>, _: &E, _: Arc<Context>) -> Action {
    Action::back_off()
}
