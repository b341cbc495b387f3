//! The children of an owner: the wanted ones, the observed ones.

use k8s_openapi::Metadata;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Serialize;
use serde_json::{Value, json};

use crate::api::kind::Kind;
use crate::model::{ChildState, hash32};

/// One child of a plan: an object that must exist, or one that must be absent.
#[derive(Debug, Clone, PartialEq)]
pub struct Child {
    /// Which kind; one of [`Operator::KINDS`](crate::api::Operator::KINDS).
    pub kind: Kind,
    /// Name in the owner's namespace.
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
            name: name.into(),
            body: Some(body),
            immutable: &[],
        }
    }

    /// A child that must exist, from an object of `k8s_openapi`: its name, and every field that is set but `status`. Labels,
    /// annotations, lists and maps are as in [`new`](Self::new).
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
            // The operator's declaration says what a plan looks at.
            status: &[],
        };
        let name = object.metadata().name.clone().unwrap_or_default();
        // An object of the API can always be written as JSON.
        Self::new(kind, name, json!(object))
    }

    /// A child that must not exist.
    pub fn absent(kind: Kind, name: impl Into<String>) -> Self {
        Self {
            kind,
            name: name.into(),
            body: None,
            immutable: &[],
        }
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
    seen: Vec<Observed>,
}

/// One of them.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Observed {
    kind: Kind,
    name_hash: u32,
    state: ChildState,
    /// The words with which its pods are refused. They are read when a status is made, and not retained.
    refusal: Option<Box<str>>,
}

impl Children {
    /// The last observed state of a child; `None` when it does not exist or was not observed yet. Of a kind without
    /// [`Kind::status`] it says no more than that the child exists.
    pub fn get(&self, kind: &Kind, name: &str) -> Option<&ChildState> {
        self.observed(kind, hash32(name)).map(|seen| &seen.state)
    }

    /// The server's words, where the pods of a child are refused ([`ChildState::refused`]): a quota that is exceeded, a
    /// profile of Pod Security that is violated.
    pub fn refusal(&self, kind: &Kind, name: &str) -> Option<&str> {
        self.observed(kind, hash32(name))?.refusal.as_deref()
    }

    /// Records the state of a child; a later record replaces an earlier one. For tests of a plan.
    pub fn record(&mut self, kind: &Kind, name: &str, state: ChildState) {
        self.set(kind, hash32(name), state);
    }

    /// Records the words with which the pods of a child are refused that is recorded.
    pub fn record_refusal(&mut self, kind: &Kind, name: &str, words: &str) {
        let name_hash = hash32(name);
        let mut seen = self.seen.iter_mut();
        if let Some(seen) = seen.find(|seen| seen.is(kind, name_hash)) {
            seen.refusal = Some(words.into());
        }
    }

    /// Whether the pods of one are refused.
    pub(crate) fn any_refused(&self) -> bool {
        self.seen.iter().any(|seen| seen.state.refused)
    }

    pub(crate) fn set(&mut self, kind: &Kind, name_hash: u32, state: ChildState) {
        let mut all = self.seen.iter_mut();
        match all.find(|seen| seen.is(kind, name_hash)) {
            Some(seen) => seen.state = state,
            None => self.seen.push(Observed {
                kind: *kind,
                name_hash,
                state,
                refusal: None,
            }),
        }
    }

    fn observed(&self, kind: &Kind, name_hash: u32) -> Option<&Observed> {
        self.seen.iter().find(|seen| seen.is(kind, name_hash))
    }
}

impl Observed {
    fn is(&self, kind: &Kind, name_hash: u32) -> bool {
        self.name_hash == name_hash && self.kind.is(kind)
    }
}
