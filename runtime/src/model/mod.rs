//! The nouns of the runtime: keys, kinds, objects, and what is remembered of owners and children.
//!
//! Guarantees: no I/O and no clock; no other room is imported.

mod body;
mod child;
mod corrections;
mod hash;
mod json;
mod key;
mod kind_id;
mod label;
mod meta;
mod named;
mod object;
mod owner_state;
mod progress;
mod retention;
mod selected;
pub(crate) mod selector;
mod timestamp;
mod triggers;
mod uid;
mod versions;

pub use crate::model::body::Body;
pub use crate::model::child::{
    Change, ChildEvent, ChildId, Content, LastApplied, SeenChild, SeenChildren,
};
pub use crate::model::corrections::Corrections;
pub use crate::model::key::ObjectKey;
pub use crate::model::kind_id::KindId;
pub use crate::model::label::owner_label_value;
pub(crate) use crate::model::label::{sealed_uid, uid_in};
pub use crate::model::meta::Meta;
pub use crate::model::owner_state::{
    Finalizers, ForeignConditions, OwnerObject, OwnerState, OwnerWork, StatusRecord, Transition,
};
pub(crate) use crate::model::owner_state::{LARGE_BYTES, large_bytes};
pub use crate::model::progress::{ChildState, Fields};
pub use crate::model::retention::Retention;
pub use crate::model::triggers::Triggers;
pub use crate::model::uid::Uid;
pub use crate::model::versions::Versions;

pub(crate) use crate::model::hash::{hash32, hash64, more64, place_hash};
pub(crate) use crate::model::json::decoded;
pub(crate) use crate::model::named::Named;
pub(crate) use crate::model::object::{
    Labels, PartialMetadata, PartialObject, Text, group, map_of,
};
pub(crate) use crate::model::progress::{REPLICAS, SCHEDULED, refusal};
pub(crate) use crate::model::selected::Selected;
pub(crate) use crate::model::timestamp::{millis, now_s, rfc3339, seconds};
