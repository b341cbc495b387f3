//! What is told of a failed reconcile, and of an owner whose children are in trouble.
//!
//! Guarantees: a status, a counter and a log line, and a Warning Event where it is new, all with the reason of one
//! [`Failure`].
//! Leaves to others: what a failure is (`failure`), when the owner is tried again (`queue`).

use std::panic::AssertUnwindSafe;

use tracing::{debug, warn};

use crate::api::{Children, Event, Failure, Operator, Owner, Retry};
use crate::model::{ObjectKey, OwnerState, millis};
use crate::queue::Outcome;
use crate::reconcile::child_records::is_seen;
use crate::reconcile::failure::{FIELD_CONFLICT, Interrupt, Told};
use crate::reconcile::{Reconciler, failure, owner};

/// With this time in a row that the status is set back, somebody is told. Three edits by hand are not.
const OVERWRITTEN_TOLD: u8 = 4;

impl<O: Operator> Reconciler<O> {
    /// Reports a failure as a status, a counter and a log line, and as a Warning Event when it is new.
    pub(super) async fn report(
        &self,
        key: &ObjectKey,
        state: &mut OwnerState,
        failure: &Failure,
        told: Told,
    ) -> Outcome {
        self.api.metrics().error(failure.reason);
        let retry = match failure.retry {
            Retry::Backoff => O::RETRY,
            named => named,
        };
        let is_told = match told {
            Told::AtOnce => true,
            // Without a second attempt it is told with the first.
            Told::Repeated => state.work.attempts > 0 || retry == Retry::AwaitChange,
            Told::Never => false,
        };
        let kind = &self.paths.owner_kind;
        let mut is_untold = false;
        if is_told {
            let written = self.write_failure(key, state, failure).await;
            let new = match &mut state.work.corrections {
                // Told once, although its status changes with its children.
                Some(all) if failure.reason == FIELD_CONFLICT => written.map(|_| all.tell()),
                _ => written,
            };
            match new {
                Ok(true) => self.warn(key, state, failure, told).await,
                Ok(false) => {
                    debug!(%kind, object = %key, reason = failure.reason, "{}", failure.message)
                }
                Err(interrupt) => {
                    debug!(%kind, object = %key, ?interrupt, "the failure could not be written");
                    is_untold = true;
                }
            }
        } else {
            debug!(%kind, object = %key, reason = failure.reason, "{}", failure.message);
        }
        match retry {
            Retry::Backoff => Outcome::Failed { base_ms: None },
            Retry::From(delay) => Outcome::Failed {
                base_ms: Some(millis(delay)),
            },
            // Nothing else would tell it.
            Retry::AwaitChange if is_untold => Outcome::Failed { base_ms: None },
            Retry::AwaitChange => Outcome::Stuck,
        }
    }

    /// The log and an Event tell of a failure that is new.
    async fn warn(&self, key: &ObjectKey, state: &OwnerState, failure: &Failure, told: Told) {
        let kind = &self.paths.owner_kind;
        warn!(%kind, object = %key, reason = failure.reason, "{}", failure.message);
        // The words of a server that fails differ from one attempt to the next: addresses, times.
        let tells_apart = match told {
            Told::Repeated => "",
            Told::AtOnce | Told::Never => failure.message.as_str(),
        };
        let event = ("Warning", failure.reason, failure.message.as_str());
        self.tell(key, state, event, tells_apart).await;
    }

    /// Writes an Event: its type, reason and message.
    async fn tell(
        &self,
        key: &ObjectKey,
        state: &OwnerState,
        event: (&str, &str, &str),
        tells_apart: &str,
    ) {
        let owner = (key, state.object.uid);
        self.events
            .write(&self.api, &self.paths, owner, event, tells_apart)
            .await;
    }

    /// The status was written. What is wrong with the children an Event, the log and a counter say too; what is no fault, an
    /// Event of type Normal.
    pub(super) async fn tell_written(
        &self,
        key: &ObjectKey,
        state: &OwnerState,
        degraded: Option<Failure>,
        event: Option<Event>,
    ) {
        if let Some(failure) = &degraded {
            self.api.metrics().error(failure.reason);
            self.warn(key, state, failure, Told::AtOnce).await;
        }
        if let Some(Event { reason, message }) = &event {
            self.tell(key, state, ("Normal", reason, message), message)
                .await;
        }
    }

    /// The status was written. Says once that another client keeps writing it too.
    pub(super) async fn tell_overwritten(&self, key: &ObjectKey, state: &OwnerState) {
        if state.work.overwritten != OVERWRITTEN_TOLD {
            return;
        }
        let failure = Failure {
            reason: FIELD_CONFLICT,
            message: "another client keeps writing /status; it is set back after pauses of up to 4 minutes"
                .to_owned(),
            retry: Retry::Backoff,
        };
        self.tell_written(key, state, Some(failure), None).await;
    }

    /// The children that the owner is known to have had, as they are: what a cache mode does not retain is read. What is
    /// read is not recorded, because nothing compares it with a plan.
    async fn all_children(
        &self,
        owner: &Owner<O>,
        state: &OwnerState,
    ) -> Result<Children, Interrupt> {
        let mut children = owner::children::<O>(&owner.meta.namespace, &state.children);
        if state.children.complete || owner::never_seen::<O>(&state.object) {
            return Ok(children);
        }
        for child in self.names.unplanned::<O>(&owner.meta.key(), &[]) {
            if is_seen::<O>(state, &child) {
                continue;
            }
            match self.requests.read(owner, &child).await {
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
    async fn write_failure(
        &self,
        key: &ObjectKey,
        state: &mut OwnerState,
        failure: &Failure,
    ) -> Result<bool, Interrupt> {
        // With the resourceVersion of an event of metadata alone an older status would replace it. The next attempt
        // reads it first.
        if state.object.status_in_doubt {
            return Err(Interrupt::Again);
        }
        let first = state.work.attempts == 0;
        let Ok(owner) = owner::rebuild::<O>(key, &state.object) else {
            return Ok(first);
        };
        let mut owner = owner;
        if mutant!(ObservedGoesBack) {
            owner.meta.observed_generation = None;
        }
        let children = self.all_children(&owner, state).await?;
        let status = AssertUnwindSafe(|| self.operator.failed(&owner, &children, failure));
        let Ok(Some(status)) = std::panic::catch_unwind(status) else {
            return Ok(first);
        };
        let before = state.object.status.digest;
        let written =
            tokio::time::timeout(self.deadline, self.write_status(key, state, status)).await;
        match written {
            Ok(result) => result.map(|()| state.object.status.digest != before),
            Err(_) => Err(failure::late(self.deadline)),
        }
    }
}
