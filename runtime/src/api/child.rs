//! The children of an owner: the wanted ones, the observed ones.

use k8s_openapi::Metadata;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Serialize;
use serde_json::{Value, json};

use crate::api::kind::Kind;
use crate::model::{ChildState, place_hash};

/// One child of a plan: an object that must exist, or one that must be absent.
#[derive(Debug, Clone, PartialEq)]
pub struct Child {
    /// Which kind; one of [`Operator::KINDS`](crate::api::Operator::KINDS).
    pub kind: Kind,
    /// Its namespace; `None`: that of the owner; empty where its kind has none.
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
    /// The wanted fields; `None` when the child must be absent.
    pub body: Option<Value>,
    /// JSON pointers of fields that the server never lets change: where one differs, the child is
    /// deleted and created again.
    pub immutable: &'static [&'static str],
}

impl Child {
    /// A child that must exist. `body` holds the fields that the operator sets (`spec`, `data`, labels and
    /// annotations). A list is set as a whole, and so is a map that the API calls atomic (a selector).
    /// `null` removes a field, and fields that are not named stay as they are.
    pub fn new(kind: Kind, name: impl Into<String>, body: Value) -> Self {
        Self {
            kind,
            namespace: None,
            name: name.into(),
            body: Some(body),
            immutable: &[],
        }
    }

    /// A child that must exist, from an object of `k8s_openapi`: its name, its namespace where it names one, and every field
    /// that is set but `status`. Labels, annotations, lists and maps are as in [`new`](Self::new).
    ///
    /// ```
    /// use tare_runtime::api::Child;
    /// use tare_runtime::k8s_openapi::api::core::v1::ConfigMap;
    ///
    /// let mut map = ConfigMap::default();
    /// map.metadata.name = Some("settings".to_owned());
    /// map.data = Some([("colour".to_owned(), "blue".to_owned())].into());
    /// let child = Child::of(&map);
    /// assert_eq!((child.kind.plural, &*child.name), ("configmaps", "settings"));
    /// ```
    pub fn of<K: Metadata<Ty = ObjectMeta> + Serialize>(object: &K) -> Self {
        let kind = Kind {
            api_version: K::API_VERSION,
            kind: K::KIND,
            plural: K::URL_PATH_SEGMENT,
            // The operator's declaration says whether it is in a namespace, and what a plan looks at.
            namespaced: true,
            status: &[],
        };
        let metadata = object.metadata();
        let name = metadata.name.clone().unwrap_or_default();
        Self {
            namespace: metadata.namespace.clone(),
            // An object of the API can always be written as JSON.
            ..Self::new(kind, name, json!(object))
        }
    }

    /// A child that must not exist.
    pub fn absent(kind: Kind, name: impl Into<String>) -> Self {
        Self {
            kind,
            namespace: None,
            name: name.into(),
            body: None,
            immutable: &[],
        }
    }

    /// The same in another namespace than the owner's. Every child of an owner without a namespace needs one, where its kind
    /// has namespaces. A child that its owner cannot be the controller of, because it is elsewhere and the owner is in a
    /// namespace, bears labels that name the owner instead, and goes under the operator's
    /// [`FINALIZER`](crate::api::Operator::FINALIZER), which it therefore needs.
    #[must_use]
    pub fn in_namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = Some(namespace.into());
        self
    }

    /// The namespace that it is in where its owner is in `of_owner`.
    pub(crate) fn namespace_of<'a>(&'a self, of_owner: &'a str) -> &'a str {
        self.namespace.as_deref().unwrap_or(of_owner)
    }

    /// Whether it is the child with this namespace and name of an owner in `of_owner`.
    pub(crate) fn is_at(&self, of_owner: &str, place: (&str, &str)) -> bool {
        (self.namespace_of(of_owner), self.name.as_str()) == place
    }

    /// Names the fields whose value is fixed when the child is created.
    #[must_use]
    pub fn immutable(mut self, pointers: &'static [&'static str]) -> Self {
        self.immutable = pointers;
        self
    }
}

/// The observed children of an owner, as its plan sees them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Children {
    /// The namespace of the owner.
    namespace: Box<str>,
    seen: Vec<Observed>,
}

/// One of them.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Observed {
    kind: Kind,
    place_hash: u32,
    state: ChildState,
    /// The words with which its pods are refused. They are read when a status is made, and not retained.
    refusal: Option<Box<str>>,
}

impl Children {
    /// The last observed state of a child in the namespace of its owner, or of a kind without namespaces; `None` when it does
    /// not exist or was not observed yet. Of a kind without [`Kind::status`] it says no more than that the child exists.
    pub fn get(&self, kind: &Kind, name: &str) -> Option<&ChildState> {
        self.get_in("", kind, name)
    }

    /// The same of a child in any namespace.
    pub fn get_in(&self, namespace: &str, kind: &Kind, name: &str) -> Option<&ChildState> {
        let seen = self.observed(kind, self.place_hash(namespace, name));
        seen.map(|seen| &seen.state)
    }

    /// The server's words, where the pods of a child are refused ([`ChildState::refused`]): a quota that is exceeded, a
    /// profile of Pod Security that is violated.
    pub fn refusal(&self, kind: &Kind, name: &str) -> Option<&str> {
        self.refusal_in("", kind, name)
    }

    /// The same of a child in another namespace.
    pub fn refusal_in(&self, namespace: &str, kind: &Kind, name: &str) -> Option<&str> {
        let seen = self.observed(kind, self.place_hash(namespace, name));
        seen?.refusal.as_deref()
    }

    /// Records the state of a child; a later record replaces an earlier one. For tests of a plan.
    pub fn record(&mut self, kind: &Kind, name: &str, state: ChildState) {
        self.record_in("", kind, name, state);
    }

    /// The same of a child in another namespace.
    pub fn record_in(&mut self, namespace: &str, kind: &Kind, name: &str, state: ChildState) {
        self.set(kind, self.place_hash(namespace, name), state);
    }

    /// Records the words with which the pods of a child are refused that is recorded.
    pub fn record_refusal(&mut self, kind: &Kind, name: &str, words: &str) {
        self.record_refusal_in("", kind, name, words);
    }

    /// The same of a child in another namespace.
    pub fn record_refusal_in(&mut self, namespace: &str, kind: &Kind, name: &str, words: &str) {
        let place_hash = self.place_hash(namespace, name);
        let mut seen = self.seen.iter_mut();
        if let Some(seen) = seen.find(|seen| seen.is(kind, place_hash)) {
            seen.refusal = Some(words.into());
        }
    }

    /// Those of an owner in `namespace`; nothing was observed.
    pub(crate) fn of_owner_in(namespace: &str) -> Self {
        Self {
            namespace: namespace.into(),
            seen: Vec::new(),
        }
    }

    fn place_hash(&self, namespace: &str, name: &str) -> u32 {
        place_hash(&self.namespace, namespace, name)
    }

    /// Whether the pods of one are refused.
    pub(crate) fn any_refused(&self) -> bool {
        self.seen.iter().any(|seen| seen.state.refused)
    }

    pub(crate) fn set(&mut self, kind: &Kind, place_hash: u32, state: ChildState) {
        let mut all = self.seen.iter_mut();
        match all.find(|seen| seen.is(kind, place_hash)) {
            Some(seen) => seen.state = state,
            None => self.seen.push(Observed {
                kind: *kind,
                place_hash,
                state,
                refusal: None,
            }),
        }
    }

    fn observed(&self, kind: &Kind, place_hash: u32) -> Option<&Observed> {
        self.seen.iter().find(|seen| seen.is(kind, place_hash))
    }
}

impl Observed {
    fn is(&self, kind: &Kind, place_hash: u32) -> bool {
        self.place_hash == place_hash && self.kind.is(kind)
    }
}
