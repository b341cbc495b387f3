//! A kind of Kubernetes itself as data: what its Go type, its defaults and its strategy in kube-apiserver say.
//!
//! Guarantees: a declaration is made of values only, and one line serves a kind; objects pass through the Rust type of
//! `k8s-openapi`, so wrong types are refused and unknown fields go. Leaves to others: the table of what is served from
//! the start ([`crate::model::built_ins`]), and applying it ([`crate::defaults`]).

use std::any::TypeId;

use k8s_openapi::{NamespaceResourceScope, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::model::kind::Rules;

/// Decodes an object as its type and encodes it again.
pub(crate) type Typed = fn(&Value) -> Result<Value, serde_json::Error>;

/// A kind of Kubernetes, declared.
///
/// Fields are named by JSON pointers, with two additions: `*` is every item of a list, and a name that ends in `?` is
/// followed only where it is there.
///
/// ```
/// use k8s_openapi::api::storage::v1::StorageClass;
/// use kubesim::{BuiltIn, Options, Server};
///
/// let server = Server::new(Options::default());
/// server.declare(BuiltIn::of::<StorageClass>().default("/reclaimPolicy", "Delete"));
/// ```
#[derive(Clone, Debug)]
pub struct BuiltIn {
    pub(crate) group: &'static str,
    pub(crate) version: &'static str,
    pub(crate) plural: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) namespaced: bool,
    pub(crate) short_name: Option<&'static str>,
    pub(crate) is_in_all: bool,
    pub(crate) has_status: bool,
    pub(crate) has_generation: bool,
    /// A change of annotations raises the generation too.
    pub(crate) counts_annotations: bool,
    /// A write of the status leaves the labels as they are.
    pub(crate) status_keeps_labels: bool,
    pub(crate) scales: bool,
    pub(crate) needs_revision: bool,
    pub(crate) created_by_update: bool,
    pub(crate) shown_when_deleted: bool,
    pub(crate) has_typed_zeros: bool,
    pub(crate) typed: Option<Typed>,
    pub(crate) template: Option<&'static str>,
    /// The selector has to select the template; the word is the kind in messages.
    pub(crate) selects: Option<&'static str>,
    pub(crate) defaults: Vec<Default>,
    pub(crate) stamps: Vec<Default>,
    pub(crate) quantities: Vec<&'static str>,
    pub(crate) checks: Vec<Check>,
    pub(crate) atomic: &'static [&'static str],
    pub(crate) structs: &'static [&'static str],
    pub(crate) own_finalizer: Option<&'static str>,
    pub(crate) ready: Option<Ready>,
    pub(crate) rules: Rules,
}

/// A value for a field that is missing or an empty text.
#[derive(Clone, Debug)]
pub(crate) struct Default {
    pub(crate) when: Vec<When>,
    pub(crate) at: &'static str,
    pub(crate) value: Value,
}

/// A condition of a default. A pointer without a slash in front is a field beside the one that is set.
#[derive(Clone, Debug)]
pub enum When {
    Is(&'static str, Value),
    Has(&'static str),
    Lacks(&'static str),
    /// Two fields of the object are the same.
    Same(&'static str, &'static str),
}

/// What is refused.
#[derive(Clone, Debug)]
pub(crate) enum Check {
    /// Missing, empty or zero. The field's name in the answer is the last text, or the pointer's.
    Required(&'static str, &'static str, &'static str),
    /// This value counts as missing.
    Not(&'static str, &'static str, &'static str),
    NotNegative(&'static str),
    Immutable(&'static str),
    /// Nothing below the pointer may change but these fields.
    Fixed(&'static str, &'static [&'static str], &'static str),
}

/// How an object becomes ready without anything that runs.
#[derive(Clone, Debug)]
pub(crate) enum Ready {
    Deployment,
    /// What is merged into the object when it is ready, and what when it is not.
    Rule {
        ready: Value,
        waiting: Value,
    },
}

impl BuiltIn {
    /// The kind of a type: its names, its scope, and the shape of its objects.
    pub fn of<K>() -> BuiltIn
    where
        K: Resource + DeserializeOwned + Serialize,
        K::Scope: 'static,
    {
        BuiltIn {
            group: K::GROUP,
            version: K::VERSION,
            plural: K::URL_PATH_SEGMENT,
            kind: K::KIND,
            namespaced: TypeId::of::<K::Scope>() == TypeId::of::<NamespaceResourceScope>(),
            short_name: None,
            is_in_all: false,
            has_status: false,
            has_generation: false,
            counts_annotations: false,
            status_keeps_labels: false,
            scales: false,
            needs_revision: false,
            created_by_update: false,
            shown_when_deleted: false,
            has_typed_zeros: true,
            typed: Some(round_trip::<K>),
            template: None,
            selects: None,
            defaults: Vec::new(),
            stamps: Vec::new(),
            quantities: Vec::new(),
            checks: Vec::new(),
            atomic: &[],
            structs: &[],
            own_finalizer: None,
            ready: None,
            rules: Rules::Data,
        }
    }

    /// The name that kubectl knows beside the plural.
    pub fn short_name(mut self, name: &'static str) -> BuiltIn {
        self.short_name = Some(name);
        self
    }

    /// It has a `status` subresource.
    pub fn status(mut self) -> BuiltIn {
        self.has_status = true;
        self
    }

    /// It counts changes of everything but metadata and status in `metadata.generation`.
    pub fn generation(mut self) -> BuiltIn {
        self.has_generation = true;
        self
    }

    /// It has a `scale` subresource over `spec.replicas`, `status.replicas` and `spec.selector`.
    pub fn scale(mut self) -> BuiltIn {
        self.scales = true;
        self
    }

    /// It has a pod template here, which is given the defaults of Pods.
    pub fn template(mut self, at: &'static str) -> BuiltIn {
        self.template = Some(at);
        self
    }

    /// The value of a field that is missing. A text that begins with `$at ` and a pointer is the value there.
    pub fn default(self, at: &'static str, value: impl Into<Value>) -> BuiltIn {
        self.with_default(Vec::new(), at, value.into())
    }

    /// The same on a condition.
    pub fn default_when(self, when: When, at: &'static str, value: impl Into<Value>) -> BuiltIn {
        self.with_default(vec![when], at, value.into())
    }

    /// A map from names to quantities, which are stored in canonical form.
    pub fn quantities(mut self, at: &'static str) -> BuiltIn {
        self.quantities.push(at);
        self
    }

    /// A field that may not be missing, empty or zero.
    pub fn required(self, at: &'static str) -> BuiltIn {
        self.check(Check::Required(at, "", ""))
    }

    /// A field that stays as it is.
    pub fn immutable(self, at: &'static str) -> BuiltIn {
        self.check(Check::Immutable(at))
    }

    /// What is merged into an object `ready_delay` after it was created, or after each change of the spec where the
    /// status has an `observedGeneration`. The texts `$name`, `$uid`, `$now`, `$generation` stand for the object's own;
    /// `$at POINTER` is the value of a field, `$number POINTER` is 0 where the field has no number, and `$count
    /// POINTER` is left out where it is 0.
    pub fn ready(mut self, ready: Value) -> BuiltIn {
        self.ready = Some(Ready::Rule {
            ready,
            waiting: Value::Null,
        });
        self
    }

    /// What is merged into an object that [`crate::Readiness`] does not let become ready.
    pub fn waiting(mut self, instead: Value) -> BuiltIn {
        if let Some(Ready::Rule { waiting, .. }) = &mut self.ready {
            *waiting = instead;
        }
        self
    }

    fn with_default(mut self, when: Vec<When>, at: &'static str, value: Value) -> BuiltIn {
        self.defaults.push(Default { when, at, value });
        self
    }

    pub(crate) fn check(mut self, check: Check) -> BuiltIn {
        self.checks.push(check);
        self
    }

    /// A value that the server sets when the object is created, and that no field manager owns. Lists and maps are added to.
    pub(crate) fn stamp(
        mut self,
        when: Vec<When>,
        at: &'static str,
        value: impl Into<Value>,
    ) -> BuiltIn {
        let value = value.into();
        self.stamps.push(Default { when, at, value });
        self
    }

    /// The rules of the kind are code of its own.
    pub(crate) fn rules(mut self, rules: Rules) -> BuiltIn {
        self.rules = rules;
        self
    }

    /// Part of the category `all`.
    pub(crate) fn in_all(mut self) -> BuiltIn {
        self.is_in_all = true;
        self
    }

    pub(crate) fn counts_annotations(mut self) -> BuiltIn {
        self.counts_annotations = true;
        self
    }

    pub(crate) fn status_keeps_labels(mut self) -> BuiltIn {
        self.status_keeps_labels = true;
        self
    }

    /// An update has to say what it updates (`AllowUnconditionalUpdate`).
    pub(crate) fn needs_revision(mut self) -> BuiltIn {
        self.needs_revision = true;
        self
    }

    /// An update creates what is missing (`AllowCreateOnUpdate`).
    pub(crate) fn created_by_update(mut self) -> BuiltIn {
        self.created_by_update = true;
        self
    }

    /// A deletion answers with the object (`ReturnDeletedObject`).
    pub(crate) fn shown_when_deleted(mut self) -> BuiltIn {
        self.shown_when_deleted = true;
        self
    }

    /// Zero values of the spec stay.
    pub(crate) fn keeps_zeros(mut self) -> BuiltIn {
        self.has_typed_zeros = false;
        self
    }

    /// Objects are stored as they are sent.
    pub(crate) fn untyped(mut self) -> BuiltIn {
        self.typed = None;
        self
    }

    pub(crate) fn selects(mut self, word: &'static str) -> BuiltIn {
        self.selects = Some(word);
        self
    }

    /// Lists and maps that other kinds merge, and this one replaces.
    pub(crate) fn atomic(mut self, fields: &'static [&'static str]) -> BuiltIn {
        self.atomic = fields;
        self
    }

    /// Fields that always exist here, and may be missing in other kinds.
    pub(crate) fn structs(mut self, fields: &'static [&'static str]) -> BuiltIn {
        self.structs = fields;
        self
    }

    /// A finalizer that every object gets, and that goes once the object is deleted: no Pod uses it.
    pub(crate) fn own_finalizer(mut self, finalizer: &'static str) -> BuiltIn {
        self.own_finalizer = Some(finalizer);
        self.stamp(
            Vec::new(),
            "/metadata/finalizers",
            Value::Array(vec![Value::from(finalizer)]),
        )
    }

    pub(crate) fn ready_as_deployment(mut self) -> BuiltIn {
        self.ready = Some(Ready::Deployment);
        self
    }
}

fn round_trip<K: DeserializeOwned + Serialize>(object: &Value) -> Result<Value, serde_json::Error> {
    serde_json::to_value(K::deserialize(object)?)
}
