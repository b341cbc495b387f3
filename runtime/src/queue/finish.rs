//! What becomes of an owner that a worker returns.

use crate::model::{ObjectKey, OwnerState, Triggers};
use crate::queue::arrivals::Meanwhile;
use crate::queue::entry::State;
use crate::queue::limits::backoff_ms;
use crate::queue::owner::pause_ms;
use crate::queue::{Admission, Outcome, Queue, WITHOUT_SPEC_FROM};

impl Queue {
    /// A worker returns the owner that it took. An owner that was deleted and created again meanwhile is another
    /// one, and may be rejected.
    pub fn finish(
        &mut self,
        key: &ObjectKey,
        mut owner: OwnerState,
        outcome: Outcome,
        now_ms: u64,
    ) -> Admission {
        let Some(mut arrivals) = self.entries.returned(key) else {
            return Admission::Idle;
        };
        let (own, pause_ms) = match arrivals.update_owner(&mut owner, self.entries.finalizer) {
            Meanwhile::Deleted => {
                self.entries.remove(key);
                return Admission::Idle;
            }
            Meanwhile::Recreated(mut shown) => {
                let of_children = arrivals.of_children_of(shown.object.uid);
                shown.work.request(of_children);
                self.entries.remove(key);
                return self.insert_with_work(key, *shown);
            }
            Meanwhile::Same(own) => (own, None),
            Meanwhile::Overwritten(own) => {
                let pause_ms = pause_ms(&mut owner, self.entries.limits.merge_ms);
                (own, Some(pause_ms))
            }
        };
        if outcome == Outcome::Gone && own.is_empty() {
            self.entries.remove(key);
            return Admission::Idle;
        }
        outcome.leave(&mut owner);
        arrivals.update_children(&mut owner);
        let is_calm = !owner.has_work();
        owner.work.request(own);
        if let Some(pause_ms) = pause_ms
            && matches!(outcome, Outcome::Written { .. })
            && is_calm
        {
            let due_ms = now_ms + pause_ms;
            self.entries.put_back(key, owner, State::Delayed { due_ms });
            self.entries.drop_specs(key);
            return Admission::Accepted;
        }
        self.put_back(key, owner, outcome, now_ms);
        Admission::Accepted
    }

    /// The entry of an owner that a worker has returned goes on.
    fn put_back(&mut self, key: &ObjectKey, mut owner: OwnerState, outcome: Outcome, now_ms: u64) {
        match outcome {
            Outcome::Failed { base_ms } => return self.delay(key, owner, base_ms, now_ms),
            Outcome::Waits { base_ms } => return self.delay(key, owner, Some(base_ms), now_ms),
            _ => {}
        }
        // What becomes ready meanwhile is what the status waits for.
        let only_status = owner.work.triggers.without(Triggers::STATUS).is_empty()
            && !owner.children.are_pending();
        if outcome == Outcome::Yielded && only_status {
            let due_ms = now_ms + self.entries.limits.yield_ms;
            self.entries.put_back(key, owner, State::Delayed { due_ms });
            return self.entries.drop_specs(key);
        }
        let keep_ms = if matches!(outcome, Outcome::Written { ready: true, .. }) {
            if !owner.has_work() {
                owner.object.body = None;
            }
            self.entries.limits.confirm_ms
        } else {
            self.entries.limits.progress_ms
        };
        let until_ms = now_ms + keep_ms;
        self.entries
            .put_back(key, owner, State::Awaiting { until_ms });
        self.requeue_or_settle(key);
        self.entries.drop_specs(key);
    }

    /// Backs off, longer after each failure in a row.
    fn delay(&mut self, key: &ObjectKey, mut owner: OwnerState, base_ms: Option<u64>, now_ms: u64) {
        owner.work.attempts = owner.work.attempts.saturating_add(1);
        if owner.work.attempts >= WITHOUT_SPEC_FROM {
            owner.drop_bodies();
        }
        let after_ms = backoff_ms(
            &self.entries.limits,
            owner.work.attempts,
            base_ms,
            &mut self.random,
        );
        let due_ms = now_ms + after_ms;
        self.entries.put_back(key, owner, State::Delayed { due_ms });
        self.entries.drop_specs(key);
    }
}
