//! What is told of a failed reconcile, and of an owner whose children are in trouble.
//!
//! Guarantees: a status, a counter and a log line, and a Warning Event where it is new, all with the reason of one
//! [`Failure`].
//! Leaves to others: what a failure is (`failure`), when the owner is tried again (`queue`).

use std::panic::AssertUnwindSafe;

use tracing::{debug, warn};

use crate::api::{Children, Event, Failure, Operator, Owner, Retry};
use crate::model::millis;
use crate::queue::Outcome;
use crate::reconcile::child::child_id;
use crate::reconcile::failure::{FIELD_CONFLICT, Interrupt, Told};
use crate::reconcile::{Task, failure, owner};

/// With this time in a row that the status is set back, somebody is told. Three edits by hand are not.
const OVERWRITTEN_TOLD: u8 = 4;

impl<O: Operator> Task<'_, O> {
    /// Reports a failure as a status, a counter and a log line, and as a Warning Event when it is new.
    pub(super) async fn report(&mut self, failure: &Failure, told: Told) -> Outcome {
        self.shared.api.metrics().error(failure.reason);
        let retry = match failure.retry {
            Retry::Backoff => O::RETRY,
            named => named,
        };
        let is_told = match told {
            Told::AtOnce => true,
            // Without a second attempt it is told with the first.
            Told::Repeated => self.state.work.attempts > 0 || retry == Retry::AwaitChange,
            Told::Never => false,
        };
        let written = match is_told {
            true => self.write_failure(failure).await,
            false => Ok(false),
        };
        let new = match &mut self.state.work.corrections {
            // Told once, although its status changes with its children.
            Some(all) if is_told && failure.reason == FIELD_CONFLICT => written.map(|_| all.tell()),
            _ => written,
        };
        let (kind, key) = (&self.shared.paths.owner_kind, self.key);
        match &new {
            Ok(true) => self.warn(failure, told).await,
            Ok(false) => {
                debug!(%kind, object = %key, reason = failure.reason, "{}", failure.message);
            }
            Err(interrupt) => {
                debug!(%kind, object = %key, ?interrupt, "the failure could not be written");
            }
        }
        match retry {
            Retry::Backoff => Outcome::Failed { base_ms: None },
            Retry::From(delay) => Outcome::Failed {
                base_ms: Some(millis(delay)),
            },
            // Nothing else would tell it.
            Retry::AwaitChange if new.is_err() => Outcome::Failed { base_ms: None },
            Retry::AwaitChange => Outcome::Stuck,
        }
    }

    /// The log and an Event tell of a failure that is new.
    async fn warn(&self, failure: &Failure, told: Told) {
        let (kind, key) = (&self.shared.paths.owner_kind, self.key);
        warn!(%kind, object = %key, reason = failure.reason, "{}", failure.message);
        // The words of a server that fails differ from one attempt to the next: addresses, times.
        let tells_apart = match told {
            Told::Repeated => "",
            Told::AtOnce | Told::Never => failure.message.as_str(),
        };
        let event = ("Warning", failure.reason, failure.message.as_str());
        self.tell(event, tells_apart).await;
    }

    /// The status was written. What is wrong with the children, and once that another client keeps writing it too, an
    /// Event, the log and a counter say as well; what is no fault, an Event of type Normal.
    pub(super) async fn tell_written(&self, degraded: Option<Failure>, event: Option<Event>) {
        let is_overwritten = self.state.work.overwritten == OVERWRITTEN_TOLD;
        let overwritten = is_overwritten.then(|| Failure {
            reason: FIELD_CONFLICT,
            message: "another client keeps writing /status; it is set back after pauses of up to 4 minutes"
                .to_owned(),
            retry: Retry::Backoff,
        });
        for failure in overwritten.iter().chain(&degraded) {
            self.shared.api.metrics().error(failure.reason);
            self.warn(failure, Told::AtOnce).await;
        }
        if let Some(Event { reason, message }) = &event {
            self.tell(("Normal", reason, message), message).await;
        }
    }

    /// The children that the owner is known to have had, as they are: what a cache mode does not retain is read. What is
    /// read is not recorded, because nothing compares it with a plan.
    async fn all_children(&self, owner: &Owner<O>) -> Result<Children, Interrupt> {
        let (shared, seen) = (self.shared, &self.state.children);
        let mut children = self.children();
        if seen.complete || owner::never_seen::<O>(&self.state.object) {
            return Ok(children);
        }
        for child in shared.names.unplanned::<O>(self.key, &[]) {
            if seen.has(child_id::<O>(&child)) {
                continue;
            }
            match shared.read_child(owner, &child).await {
                Ok(Some(actual)) if actual.owner == Some(owner.meta.uid) => {
                    let told = owner::told(&child.kind, &actual.state);
                    children.record(&child.kind, &child.name, told);
                }
                Err(interrupt) if !interrupt.is_refusal() => return Err(interrupt),
                // It is gone, or somebody else's, or may not be read: the plan sees it in no mode.
                Ok(_) | Err(_) => {}
            }
        }
        Ok(children)
    }

    /// Writes the failure to the status. Returns whether it is new: to the status, or, where the status does
    /// not report failures, since the last success.
    async fn write_failure(&mut self, failure: &Failure) -> Result<bool, Interrupt> {
        // With the resourceVersion of an event of metadata alone an older status would replace it. The next attempt
        // reads it first.
        if self.state.object.status_in_doubt {
            return Err(Interrupt::Again);
        }
        let first = self.state.work.attempts == 0;
        let Ok(mut owner) = owner::rebuild::<O>(self.key, &self.state.object) else {
            return Ok(first);
        };
        if mutant!(ObservedGoesBack) {
            owner.meta.observed_generation = None;
        }
        let children = self.all_children(&owner).await?;
        let operator = &self.shared.operator;
        let status = AssertUnwindSafe(|| operator.failed(&owner, &children, failure));
        let Ok(Some(status)) = std::panic::catch_unwind(status) else {
            return Ok(first);
        };
        let (before, deadline) = (self.state.object.status.digest, self.shared.deadline);
        match tokio::time::timeout(deadline, self.write_status(status)).await {
            Ok(result) => result.map(|()| self.state.object.status.digest != before),
            Err(_) => Err(failure::late(deadline)),
        }
    }
}
