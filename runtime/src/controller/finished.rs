//! A reconcile that ended.

use crate::model::{ObjectKey, OwnerState, Triggers};
use crate::queue::Outcome;

/// A reconcile that ended.
pub(crate) struct Finished {
    pub key: ObjectKey,
    pub state: OwnerState,
    pub outcome: Outcome,
    /// When it began, ms.
    pub begun_ms: u64,
    /// How often resourceVersions had started over when it began.
    pub epoch: u32,
}

impl Finished {
    /// Whether the owner had failed, and has not this time.
    pub fn succeeds_after_a_failure(&self) -> bool {
        self.state.work.attempts > 0
            && matches!(self.outcome, Outcome::Written { .. } | Outcome::Yielded)
    }

    /// The server was restored from a backup meanwhile: what was read and written may not be there.
    pub fn start_over(&mut self) {
        self.state.forget_revisions();
        let anew = Triggers::REFRESH.with(Triggers::CHECK).with(Triggers::READ);
        self.state.work.request(anew);
        match self.outcome {
            Outcome::Failed { .. } | Outcome::Waits { .. } => {}
            Outcome::Written { .. }
            | Outcome::Yielded
            | Outcome::Gone
            | Outcome::Again
            | Outcome::Stuck => self.outcome = Outcome::Again,
        }
    }
}
