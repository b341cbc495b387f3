//! Requests about one owner: read it, write its status, add and remove the finalizer.
//!
//! Guarantees: every write names the uid and the resourceVersion that are known; the status is written only
//! when it differs. Leaves to others: what the status says (`reconcile`), its digest (`owner`).

use std::sync::atomic::Ordering::Relaxed;

use futures::FutureExt;
use http::Method;
use serde_json::{Value, json};

use crate::api::{Operator, OwnerStatus, Status, is_observed};
use crate::http::request::{ApiError, METADATA, OBJECT_BYTES, Request};
use crate::metrics::Verb;
use crate::model::{
    LARGE_BYTES, ObjectKey, OwnerObject, PartialObject, SeenChildren, Triggers, Uid, decoded,
    large_bytes,
};
use crate::reconcile::failure::Interrupt;
use crate::reconcile::owned::List;
use crate::reconcile::{JSON_PATCH, Reconciler, Task, failure, guarded, owner, write};

impl<O: Operator> Task<'_, O> {
    /// Reads the owner; what is known of its children stays if its uid is the same.
    pub(super) async fn read_owner(&mut self) -> Result<(), Interrupt> {
        let (shared, state) = (self.shared, &mut self.state);
        if state.work.triggers.has(Triggers::CHILD) {
            let reads = &shared.api.metrics().owner_reads_for_children;
            reads.fetch_add(1, Relaxed);
        }
        let is_large = state.object.large_bytes > 0;
        let read = match shared.fetch_owner(self.key, is_large).await {
            Err(Interrupt::Large) => {
                state.object.large_bytes = u32::MAX;
                return Err(Interrupt::Large);
            }
            read => read?,
        };
        let is_known = (state.object.uid, state.object.generation) == (read.uid, read.generation);
        if state.object.uid != read.uid && state.object.uid != Uid::default() {
            state.children = SeenChildren::default();
            state.object.own_version = 0;
            state.work.corrections = None;
        }
        state.refresh(read);
        let own = owner::triggers_beside_children::<O>(&state.object);
        if own.is_empty() && state.object.deleting {
            return Err(Interrupt::Gone);
        }
        state.work.request(own);
        // Its status does not tell whether this spec was applied, and the event of the owner may be still to come.
        if !Status::<O>::OBSERVES && !is_known && !mutant!(ReadSpecIsApplied) {
            state.work.request(Triggers::CHECK);
        }
        Ok(())
    }

    /// Adds our finalizer where it is missing, and then removes those that the operator no longer uses: at every
    /// moment one of them holds the owner for its cleanup.
    pub(super) async fn set_finalizers(&mut self) -> Result<(), Interrupt> {
        let lacks_finalizer = self.state.object.lacks_finalizer(O::FINALIZER.is_some());
        if let Some(finalizer) = O::FINALIZER.filter(|_| lacks_finalizer) {
            // As what an operator may not need (`attempt_once`).
            self.add_finalizer(finalizer).boxed().await?;
        }
        self.remove_retired_finalizers().await
    }

    async fn add_finalizer(&mut self, finalizer: &str) -> Result<(), Interrupt> {
        let add = match self.state.object.finalizers.count {
            0 => json!({"op": "add", "path": "/metadata/finalizers", "value": [finalizer]}),
            _ => json!({"op": "add", "path": "/metadata/finalizers/-", "value": finalizer}),
        };
        self.patch_owner("", &[add]).await
    }

    /// Removes our finalizer, if the owner has it.
    pub(super) async fn remove_finalizer(&mut self, finalizer: &str) -> Result<(), Interrupt> {
        let Some(place) = self.state.object.finalizers.ours else {
            return Ok(());
        };
        let path = format!("/metadata/finalizers/{place}");
        let remove = [
            json!({"op": "test", "path": path, "value": finalizer}),
            json!({"op": "remove", "path": path}),
        ];
        self.patch_owner("", &remove).await
    }

    /// Removes the finalizers that the operator no longer uses, with one write for each.
    pub(super) async fn remove_retired_finalizers(&mut self) -> Result<(), Interrupt> {
        for _ in O::RETIRED_FINALIZERS {
            let Some(place) = self.state.object.finalizers.retired else {
                break;
            };
            // No `test`: with this uid and resourceVersion the list is the one that is known.
            let path = format!("/metadata/finalizers/{place}");
            let remove = json!({"op": "remove", "path": path});
            self.patch_owner("", &[remove]).await?;
        }
        Ok(())
    }

    /// Writes the status if it differs from the one last written.
    pub(super) async fn write_status(&mut self, mut status: Status<O>) -> Result<(), Interrupt> {
        if !Status::<O>::WRITTEN {
            return Ok(());
        }
        let state = &mut self.state;
        let mut memory = owner::remember::<O>(&mut status);
        if memory.digest == state.object.status.digest {
            state.work.overwritten = 0;
            return Ok(());
        }
        let now_s = self.shared.api.now_s();
        let before = &state.object.status;
        owner::stamp(status.conditions(), before, &mut memory, now_s);
        // Replaced at once, so that nothing of an earlier one is left.
        let value = owner::written::<O>(&status, before);
        let value = value.map_err(|error| failure::unreadable(&error))?;
        memory.foreign = before.foreign.clone();
        if let Some(body) = &mut state.object.body
            && is_observed::<O>()
        {
            body.keep_status(&value.to_string());
        }
        let replace = json!({"op": "add", "path": "/status", "value": value});
        // Until it is answered it may have been executed: which status the owner has is not known.
        let triggers = state.work.triggers;
        state.work.triggers = triggers.with(Triggers::REFRESH);
        state.object.status_in_doubt = true;
        let written = self.patch_owner("/status", &[replace]).await;
        let state = &mut self.state;
        if written.as_ref().is_err_and(Interrupt::is_refusal) {
            state.object.status_in_doubt = false;
        }
        written?;
        (state.work.triggers, state.object.status) = (triggers, memory);
        state.object.status_in_doubt = false;
        Ok(())
    }

    /// Patches the owner if its uid and resourceVersion are those that we know.
    async fn patch_owner(
        &mut self,
        subresource: &str,
        operations: &[Value],
    ) -> Result<(), Interrupt> {
        let (shared, state) = (self.shared, &mut self.state);
        let version = (state.object.uid, state.object.resource_version);
        let path = shared.paths.owner_path(self.key) + subresource + "?fieldManager=" + O::NAME;
        let mut request = write(
            Method::PATCH,
            &path,
            (JSON_PATCH, &guarded(version, operations)),
        );
        request.accept = METADATA;
        match shared.api.call(Verb::Patch, request, OBJECT_BYTES).await {
            Ok(body) => {
                // It was executed. What is known of the owner is old: the next attempt reads it.
                let object: PartialObject<'_> = decoded(&body)
                    .map_err(|error| shared.garbled_owner(&error, "patch", self.key))?;
                state.object.resource_version = object.metadata.resource_version;
                state.object.own_version = object.metadata.resource_version;
                state.object.finalizers = owner::finalizers::<O>(&object.metadata.finalizers);
                Ok(())
            }
            Err(error) if error.code() == Some(404) => Err(Interrupt::Gone),
            // 422: a `test` failed, so it is another object, or its list of finalizers changed.
            Err(error) if matches!(error.code(), Some(409)) || is_failed_test(&error) => {
                Err(Interrupt::Again)
            }
            Err(error) => Err(shared.asked_owner(error, "patch", self.key)),
        }
    }
}

impl<O: Operator> Reconciler<O> {
    /// The owner as it is now. One that is not selected is gone: a child of it, whose event leads here, belongs to
    /// another shard. One that is not known to be `large` and is: interrupted.
    async fn fetch_owner(&self, key: &ObjectKey, large: bool) -> Result<OwnerObject, Interrupt> {
        let (verb, path) = match self.paths.selected_owner_path(key) {
            Some(path) => (Verb::List, path),
            None => (Verb::Get, self.paths.owner_path(key)),
        };
        let limit = match large {
            true => OBJECT_BYTES,
            false => LARGE_BYTES,
        };
        let body = match self.api.call(verb, Request::get(&path), limit).await {
            Ok(body) => body,
            Err(error) if error.code() == Some(404) => return Err(Interrupt::Gone),
            Err(ApiError::TooLarge(LARGE_BYTES)) => return Err(Interrupt::Large),
            Err(error) => return Err(self.asked_owner(error, "get", key)),
        };
        // It says nothing of the spec, which is decoded later: it broke off, or something on the way spoiled it.
        let unreadable = |error: serde_json::Error| match mutant!(BrokenAnswerIsFinal) {
            true => failure::unreadable(&error),
            false => self.garbled_owner(&error, "get", key),
        };
        let object = match verb {
            Verb::List => {
                let selected: List<'_> = decoded(&body).map_err(unreadable)?;
                let Some(raw) = selected.items.into_iter().flatten().next() else {
                    return Err(Interrupt::Gone);
                };
                serde_json::from_str(raw.get())
            }
            _ => decoded(&body),
        };
        let object: PartialObject<'_> = object.map_err(unreadable)?;
        Ok(OwnerObject {
            large_bytes: large_bytes(body.len()),
            ..owner::decode::<O>(&object)
        })
    }

    /// An answer that cannot be decoded. Nothing but another request shows that it can be.
    pub(super) fn garbled_owner(
        &self,
        error: &serde_json::Error,
        verb: &str,
        key: &ObjectKey,
    ) -> Interrupt {
        self.asked_owner(ApiError::undecodable(error), verb, key)
    }

    /// What a request about an owner that failed means for it.
    pub(super) fn asked_owner(&self, error: ApiError, verb: &str, key: &ObjectKey) -> Interrupt {
        failure::asked(error, verb, &self.paths.owner_kind, key.as_str())
    }
}

/// Whether a JSON patch did not apply, because a `test` failed or what it speaks of is not there: it is another
/// object, or another list of finalizers, than the one that is known. kube-apiserver then answers with one fixed
/// message and names no object (`jsonPatcher.applyJSPatch` in apiserver, `NewGenericServerResponse` in
/// apimachinery). Validation and admission answer 422 with messages of their own.
pub(super) fn is_failed_test(error: &ApiError) -> bool {
    const NOT_APPLIED: &str = "the server rejected our request due to an error in our request";
    matches!(error, ApiError::Status { code: 422, reason, message, .. }
        if &**reason == "Invalid" && &**message == NOT_APPLIED)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(message: &str) -> ApiError {
        ApiError::Status {
            code: 422,
            reason: "Invalid".into(),
            message: message.into(),
            retry_after: None,
            resume: None,
            namespace_terminating: false,
        }
    }

    #[test]
    fn only_a_patch_that_does_not_apply_is_a_conflict() {
        let not_applied = "the server rejected our request due to an error in our request";
        assert!(is_failed_test(&answer(not_applied)));
        for refused in [
            "Site.example.com \"test\" is invalid: spec.image: Invalid value: \"latest\"",
            "admission webhook \"test.example.com\" denied the request",
            &format!("{not_applied} (patch sites.example.com web)"),
        ] {
            assert!(!is_failed_test(&answer(refused)), "{refused}");
        }
    }
}
