//! Objects that an owner refers to and does not own: a Secret of its user, a class, all ConfigMaps with a label.
//!
//! Guarantees: data only. Leaves to others: reading and watching them (`reconcile`, `controller`).

use serde_json::Value;

use crate::api::kind::Kind;
use crate::model::{hash64, more64};

/// An object that an owner names, or all that it selects by their labels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    /// Which kind; one of [`Operator::REFERENCES`](crate::api::Operator::REFERENCES).
    pub kind: Kind,
    /// Its namespace; `None`: that of the owner. By labels, empty: all of them. Of a kind without namespaces it says nothing.
    pub namespace: Option<String>,
    /// Which of that kind.
    pub by: By,
}

/// Which objects of a kind an owner refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum By {
    /// The one with this name.
    Name(String),
    /// All that this selector takes, in the syntax of `kubectl get -l`: `app=web,tier in (gold, silver),!canary`. The empty
    /// one takes all.
    Labels(String),
}

impl Reference {
    /// An object in the namespace of the owner, or of a kind without namespaces.
    pub fn new(kind: Kind, name: impl Into<String>) -> Self {
        Self {
            kind,
            namespace: None,
            by: By::Name(name.into()),
        }
    }

    /// All objects in the namespace of the owner that a label selector takes, such as `app=web,tier in (gold, silver)`. A
    /// `LabelSelector` of the API becomes one by `kube::core::Selector`. They are found in [`References::all`].
    pub fn labelled(kind: Kind, selector: impl Into<String>) -> Self {
        Self {
            kind,
            namespace: None,
            by: By::Labels(selector.into()),
        }
    }

    /// The same in another namespace; by labels, empty: in all of them.
    #[must_use]
    pub fn in_namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = Some(namespace.into());
        self
    }

    /// Its place among the `declared` kinds; `None` where its kind is not declared.
    pub(crate) fn place(&self, declared: &[Kind]) -> Option<usize> {
        declared.iter().position(|kind| kind.is(&self.kind))
    }

    /// Where it is, of an owner in the namespace `owners`; `declared`: its kind, which may have no namespaces.
    pub(crate) fn namespace<'a>(&'a self, declared: &Kind, owners: &'a str) -> &'a str {
        match declared.namespaced {
            true => self.namespace.as_deref().unwrap_or(owners),
            false => "",
        }
    }
}

/// The objects that an owner refers to, as they are.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct References {
    found: Vec<(Reference, Vec<Value>)>,
}

impl References {
    /// The object; `None` where it is not there. By labels it is the first one.
    pub fn get(&self, reference: &Reference) -> Option<&Value> {
        self.all(reference).first()
    }

    /// The objects, in the order of their names; by labels there may be many. As in every list, those have no `kind` and no
    /// `apiVersion`.
    pub fn all(&self, reference: &Reference) -> &[Value] {
        let found = self.found.iter().find(|(found, _)| found.is(reference));
        found.map_or(&[], |(_, objects)| objects)
    }

    /// A digest, of 16 digits, of what the objects hold: all but their metadata and status. As an annotation of a pod template it
    /// rolls the pods when a Secret or a ConfigMap changes, and only then. Equal content has an equal digest in every version.
    pub fn digest(&self, reference: &Reference) -> String {
        let content = self.all(reference).iter().flat_map(Value::as_object);
        let fields = content.flatten().filter(|(name, _)| {
            // Lists leave out the first two.
            !["apiVersion", "kind", "metadata", "status"].contains(&name.as_str())
        });
        let digest = fields.fold(hash64(b""), |digest, (name, value)| {
            more64(
                more64(digest, name.as_bytes()),
                value.to_string().as_bytes(),
            )
        });
        format!("{digest:016x}")
    }

    /// The object is there. For tests of a plan.
    pub fn record(&mut self, reference: Reference, object: Value) {
        let mut found = self.found.iter_mut();
        match found.find(|(found, _)| found.is(&reference)) {
            Some((_, objects)) => objects.push(object),
            None => self.found.push((reference, vec![object])),
        }
    }
}

impl Reference {
    fn is(&self, other: &Reference) -> bool {
        self.kind.is(&other.kind) && (&self.namespace, &self.by) == (&other.namespace, &other.by)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::api::SECRET;

    #[test]
    fn the_digest_follows_the_content_alone() {
        let reference = Reference::new(SECRET, "password");
        let digest = |object: Value| {
            let mut references = References::default();
            references.record(reference.clone(), object);
            references.digest(&reference)
        };
        let secret = |version: &str, data: &str| json!({"kind": "Secret", "metadata": {"resourceVersion": version}, "data": {"a": data}});
        assert_eq!(digest(secret("1", "x")), digest(secret("2", "x")));
        assert_ne!(digest(secret("1", "x")), digest(secret("1", "y")));
        assert_ne!(
            digest(secret("1", "x")),
            References::default().digest(&reference)
        );
    }
}
