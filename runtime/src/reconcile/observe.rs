//! What a watch shows of owners and children.

use std::marker::PhantomData;
use std::sync::Arc;

use serde::de::Error;

use crate::api::{Operator, may_be_labelled};
use crate::http::paths::Paths;
use crate::http::request::METADATA;
use crate::model::{
    ChildEvent, ChildState, Content, KindId, ObjectKey, OwnerState, PartialObject, SeenChild, Uid,
    place_hash,
};
use crate::reconcile::child_names::ChildNames;
use crate::reconcile::owner;
use crate::watch::Decode;

/// An owner or a child, as a watch shows it.
#[derive(Debug)]
pub enum Observed {
    /// An owner as it is now.
    Owner {
        /// Its key.
        key: ObjectKey,
        /// Its state.
        state: Box<OwnerState>,
    },
    /// An owner was deleted, or no longer matches the selector.
    OwnerGone {
        /// Its key.
        key: ObjectKey,
        /// Its identity.
        uid: Uid,
    },
    /// A child changed.
    Child {
        /// The key of its owner.
        owner: ObjectKey,
        /// The change.
        event: ChildEvent,
    },
}

/// Decodes what the watches of one operator show.
pub struct Observer<O> {
    paths: Arc<Paths>,
    names: Arc<ChildNames>,
    operator: PhantomData<fn() -> O>,
}

impl<O: Operator> Observer<O> {
    /// A decoder for the collections of `paths`, which remembers the `names` of children.
    pub fn new(paths: Arc<Paths>, names: Arc<ChildNames>) -> Self {
        Self {
            paths,
            names,
            operator: PhantomData,
        }
    }
}

impl<O: Operator> Decode for Observer<O> {
    type Object = Observed;

    fn decode(
        &self,
        kind: KindId,
        object: &PartialObject<'_>,
        deleted: bool,
    ) -> Result<Option<Observed>, serde_json::Error> {
        if !kind.is_owner() {
            let metadata = &object.metadata;
            if may_be_labelled::<O>() && !deleted && self.paths.is_mislabelled(metadata) {
                // Only a relist finds the owner, which misses it.
                return Err(serde_json::Error::custom("its labels name no owner"));
            }
            let Some((owner, event)) = child_event::<O>(object, kind, deleted, &self.paths) else {
                return Ok(None);
            };
            if event.owner_uid.is_some() && !deleted {
                let place = (&*metadata.namespace, &*metadata.name);
                self.names.learn(kind, &owner, place);
            }
            return Ok(Some(Observed::Child { owner, event }));
        }
        let key = object.metadata.key();
        if deleted {
            let uid = object.metadata.uid;
            return Ok(Some(Observed::OwnerGone { key, uid }));
        }
        if object.metadata.uid == Uid::default() {
            return Err(serde_json::Error::custom("the object has no uid"));
        }
        let mut state = Box::new(OwnerState::from(owner::decode::<O>(object)));
        state.object.metadata_only = self.paths.collection(kind).watched_as() == METADATA;
        Ok(Some(Observed::Owner { key, state }))
    }
}

/// A change of a child, with its owner's key; `None` when it has and had no owner of our kind. A child that another
/// controller has taken over differs from the plan of the owner that it had.
pub(crate) fn child_event<O: Operator>(
    object: &PartialObject<'_>,
    kind: KindId,
    deleted: bool,
    paths: &Paths,
) -> Option<(ObjectKey, ChildEvent)> {
    let meta = &object.metadata;
    let ours = paths.owner_of(meta);
    let is_taken_over = ours.is_none();
    let owner = ours.or_else(|| {
        paths
            .labelled_owner_of(meta)
            .filter(|_| !mutant!(TakenOverIgnored))
    })?;
    let declared = kind.of(O::KINDS)?.status;
    let state = ChildState::read(meta.generation, object.status, declared);
    // A kind without a generation (Service, ConfigMap, Secret): nothing in the event says what changed.
    let is_unclear = state.generation == 0 && !mutant!(UnclearIsUnchanged);
    let event = ChildEvent {
        owner_uid: owner.uid.filter(|_| !is_taken_over),
        child: SeenChild {
            kind,
            place_hash: place_hash(&owner.namespace, &meta.namespace, &meta.name),
            uid_hash: meta.uid.short(),
            resource_version: meta.resource_version,
            state,
            // Without a generation every change is compared.
            marks: if meta.generation == 0 {
                0
            } else {
                meta.marks()
            },
            content: match deleted {
                true => Content::Gone,
                false if is_taken_over || is_unclear => Content::Unread,
                false => Content::ByGeneration,
            },
        },
    };
    Some((owner.key(), event))
}
