//! An owner's identity as its plan sees it.

use std::collections::BTreeMap;

use crate::model::{ObjectKey, Uid};

/// Identity and life cycle of an owner.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Meta {
    /// Name.
    pub name: Box<str>,
    /// Namespace.
    pub namespace: Box<str>,
    /// Identity across re-creations under the same name.
    pub uid: Uid,
    /// Revision of the object as it was seen.
    pub resource_version: u64,
    /// Moves with the spec.
    pub generation: i64,
    /// The generation that its status speaks of.
    pub observed_generation: Option<i64>,
    /// Whether the object waits for its finalizers to go.
    pub deleting: bool,
    /// When it was created, seconds since 1970; 0 where that is not known.
    pub created_s: u64,
    /// Its labels. A change of one plans the owner again.
    pub labels: BTreeMap<String, String>,
    /// Its annotations, without what kubectl keeps there. A change of one plans the owner again.
    pub annotations: BTreeMap<String, String>,
}

impl Meta {
    /// The key of the owner.
    pub fn key(&self) -> ObjectKey {
        ObjectKey::new(&self.namespace, &self.name)
    }
}
