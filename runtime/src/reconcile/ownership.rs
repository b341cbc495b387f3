//! Whether a child that is there is ours, and how one that lost its owner becomes ours again.
//!
//! Guarantees: ours is only a child whose controller is our owner, by its uid, or, where that cannot be its controller, one
//! that bears its uid as a label and has no controller. One of an earlier owner of the same name is waited for, if the
//! garbage collector will delete it. One that bears our labels with the name of our owner, and has no controller, is an
//! orphan of ours: it is adopted, by its uid and resourceVersion, once the server has said that our owner is there and is
//! not being deleted. (The garbage collector deletes what an owner adopts that is going.) Any other is a collision, which
//! says to whom the child belongs.
//! Leaves to others: bringing it to its plan (`children`).

use http::Method;
use serde_json::json;
use tracing::info;

use crate::api::{Child, MANAGED_BY_LABEL, Operator, Owner, is_labelled, is_namespaced};
use crate::http::paths::{Paths, place_labels};
use crate::http::request::{METADATA, OBJECT_BYTES, Request};
use crate::metrics::Verb;
use crate::model::{PartialObject, decoded, owner_label_value, sealed_uid};
use crate::reconcile::child::Actual;
use crate::reconcile::children::TERMINATING;
use crate::reconcile::failure::Interrupt;
use crate::reconcile::owner_requests::is_failed_test;
use crate::reconcile::{JSON_PATCH, Reconciler, failure, guarded, write};

/// Whose a child is that may be brought to its plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Claim {
    /// It bears the uid of our owner.
    Ours,
    /// It was made for an owner of this name, and has no controller any more.
    Orphan,
}

/// # Errors
/// It is another's, or it is about to go.
pub(super) fn claim<O: Operator>(
    paths: &Paths,
    owner: &Owner<O>,
    child: &Child,
    actual: &Actual,
) -> Result<Claim, Interrupt> {
    if actual.deleting {
        return Err(Interrupt::Wait(TERMINATING));
    }
    if actual.owner == Some(owner.meta.uid) || mutant!(ForeignIsOurs) {
        return Ok(Claim::Ours);
    }
    let namesake = format!("{} {:?}", paths.owner_kind, owner.meta.name);
    let of_our_group = actual.owner_group.as_deref() == Some(paths.owner_group());
    let belongs = match &actual.owner_text {
        // It belongs to an earlier owner of the same name; the garbage collector will delete it.
        Some(text) if of_our_group && *text == namesake => {
            return Err(Interrupt::Wait(TERMINATING));
        }
        Some(text) if *text == namesake => {
            let group = actual.owner_group.as_deref().unwrap_or_default();
            format!("belongs to {text} of group {group}")
        }
        Some(text) => format!("belongs to {text}"),
        None => match made_for::<O>(paths, child, actual) {
            // Another uid than ours is that of an owner that is gone: ours has its name now.
            Some((namespace, name))
                if namespace == &*owner.meta.namespace
                    && name == owner_label_value(&owner.meta.name) =>
            {
                return Ok(Claim::Orphan);
            }
            Some((namespace, name)) if namespace == &*owner.meta.namespace => {
                format!("was made for {} {name:?}", paths.owner_kind)
            }
            Some((namespace, name)) => {
                format!("was made for {} {name:?} in {namespace}", paths.owner_kind)
            }
            None => "was not made by this operator".to_owned(),
        },
    };
    let namespace = child
        .namespace
        .as_deref()
        .filter(|namespace| !namespace.is_empty());
    let named = namespace.map(|namespace| format!("{namespace}/{}", child.name));
    Err(failure::collision(
        child.kind.kind,
        named.as_ref().unwrap_or(&child.name),
        &belongs,
        &paths.owner_kind,
    ))
}

/// Namespace and name of the owner that a child of this operator was made for, as its labels say. One that its owner can
/// control is made for one that can.
fn made_for<'a, O: Operator>(
    paths: &Paths,
    child: &Child,
    actual: &'a Actual,
) -> Option<(&'a str, &'a str)> {
    let labels = &actual.value["metadata"]["labels"];
    let is_ours = labels[MANAGED_BY_LABEL] == *paths.manager;
    let name = labels[&paths.owner_label].as_str().filter(|_| is_ours)?;
    let namespace = match (is_labelled::<O>(child), is_namespaced::<O>()) {
        (true, _) => labels[&place_labels::<O>()[0]].as_str()?,
        (false, true) => actual.key.namespace(),
        (false, false) => "",
    };
    Some((namespace, name))
}

impl<O: Operator> Reconciler<O> {
    /// Makes an orphan a child of `owner`: that is its controller then, beside the references that it has, or the one whose
    /// uid its label says.
    pub(super) async fn adopt(
        &self,
        owner: &Owner<O>,
        child: &Child,
        orphan: &Actual,
    ) -> Result<Actual, Interrupt> {
        self.check_stays(owner).await?;
        let add = if is_labelled::<O>(child) {
            let [_, uid] = place_labels::<O>().map(|label| label.replace('/', "~1"));
            json!({"op": "add", "path": format!("/metadata/labels/{uid}"), "value": sealed_uid(owner.meta.uid, &owner.meta.key())})
        } else {
            let reference = self.reference(owner);
            match orphan.references {
                0 => {
                    json!({"op": "add", "path": "/metadata/ownerReferences", "value": [reference]})
                }
                _ => {
                    json!({"op": "add", "path": "/metadata/ownerReferences/-", "value": reference})
                }
            }
        };
        let patch = guarded(orphan.version(), &[add]);
        let path = self.write_path(owner, child, &child.name);
        let request = write(Method::PATCH, &path, (JSON_PATCH, &patch));
        let (kind, name) = (child.kind.kind, child.name.as_str());
        match self.api.call(Verb::Patch, request, OBJECT_BYTES).await {
            Ok(answer) => {
                info!(kind, object = %owner.meta.key(), name, "adopted a child without a controller");
                self.decode(&answer, &child.kind)
            }
            Err(error) if matches!(error.code(), Some(404 | 409)) || is_failed_test(&error) => {
                Err(Interrupt::Again)
            }
            Err(error) => Err(failure::not_written(error, "adopt", kind, name)),
        }
    }

    /// The owner is there and is not being deleted, as the server says now: a watch may be behind.
    async fn check_stays(&self, owner: &Owner<O>) -> Result<(), Interrupt> {
        let key = owner.meta.key();
        let path = self.paths.owner_path(&key);
        let mut request = Request::get(&path);
        request.accept = METADATA;
        let answer = match self.api.call(Verb::Get, request, OBJECT_BYTES).await {
            Err(error) if error.code() == Some(404) => return Err(Interrupt::Again),
            answer => answer.map_err(|error| self.asked_owner(error, "get", &key))?,
        };
        let PartialObject { metadata, .. } =
            decoded(&answer).map_err(|error| self.garbled_owner(&error, "get", &key))?;
        match metadata.uid == owner.meta.uid && !metadata.deleting() {
            true => Ok(()),
            false => Err(Interrupt::Again),
        }
    }
}
