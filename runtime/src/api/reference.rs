//! Objects that an owner names and does not own: a Secret of its user, a class.
//!
//! Guarantees: data only. Leaves to others: reading and watching them (`reconcile`, `controller`).

use serde_json::Value;

use crate::api::kind::Kind;
use crate::model::ObjectKey;

/// An object that an owner names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    /// Which kind; one of [`Operator::REFERENCES`](crate::api::Operator::REFERENCES).
    pub kind: Kind,
    /// Its namespace; `None`: that of the owner, or none where its kind has none.
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
}

impl Reference {
    /// An object in the namespace of the owner, or of a kind without namespaces.
    pub fn new(kind: Kind, name: impl Into<String>) -> Self {
        Self {
            kind,
            namespace: None,
            name: name.into(),
        }
    }

    /// The same in another namespace.
    #[must_use]
    pub fn in_namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = Some(namespace.into());
        self
    }

    /// Its place among the `declared` kinds, and its key where an owner in `namespace` names it; `None` where its kind is not
    /// declared. One of a kind without namespaces is in none.
    pub(crate) fn place(&self, declared: &[Kind], namespace: &str) -> Option<(usize, ObjectKey)> {
        let place = declared.iter().position(|kind| kind.is(&self.kind))?;
        let namespace = match declared[place].namespaced {
            true => self.namespace.as_deref().unwrap_or(namespace),
            false => "",
        };
        Some((place, ObjectKey::new(namespace, &self.name)))
    }
}

/// The objects that an owner names, as they are.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct References {
    found: Vec<(Reference, Value)>,
}

impl References {
    /// The object; `None` where it is not there.
    pub fn get(&self, reference: &Reference) -> Option<&Value> {
        let is_it = |found: &&(Reference, Value)| {
            let found = &found.0;
            found.kind.is(&reference.kind)
                && (&found.namespace, &found.name) == (&reference.namespace, &reference.name)
        };
        self.found.iter().find(is_it).map(|(_, object)| object)
    }

    /// The object is there. For tests of a plan.
    pub fn record(&mut self, reference: Reference, object: Value) {
        self.found.push((reference, object));
    }
}
