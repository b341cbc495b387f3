//! The part of the loop about what owners refer to and do not own.
//!
//! Guarantees: a kind that may not be read, or that the server does not serve, is told as one of children is, and keeps no
//! owner from being planned that does not need it.
//! Leaves to others: who refers to what has changed (`references`), what an owner is told that needs it (`reconcile`).

use crate::api::Operator;
use crate::cache::Cache;
use crate::controller::engine::Controller;
use crate::controller::readiness::cause;
use crate::controller::references::Referrer;
use crate::model::{KindId, Triggers};

impl<O: Operator, C: Cache> Controller<O, C> {
    /// What follows for owners that refer to something.
    pub fn on_referrer(&mut self, referrer: Referrer) {
        if O::REFERENCES.is_empty() {
            return;
        }
        // After the kinds of children, as in the paths.
        let kind = |index| KindId::child(O::KINDS.len() + index);
        match referrer {
            Referrer::One(key, uid) => self.on_due(&key, uid, Triggers::REFRESH),
            Referrer::All => self.request_all(),
            Referrer::Opened((index, part)) => {
                let Some(kind) = kind(index) else { return };
                let was_closed = self.readiness.opened(kind, part);
                let was_missing = self.readiness.appeared(kind);
                if was_closed || was_missing {
                    self.queue.retry_failing();
                    self.publish_readiness();
                }
            }
            Referrer::Closed((index, part), verb, error) => {
                let Some(kind) = kind(index) else { return };
                match error.is_of_missing_kind() {
                    true => self.readiness.missing(kind, &self.paths),
                    false => {
                        let because = cause::<O>(&self.paths, verb, kind, &error);
                        self.readiness.closed(kind, part, because);
                    }
                }
                self.publish_readiness();
            }
        }
    }
}
