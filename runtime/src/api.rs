//! What an operator's author writes: a resource, a pure plan, nothing more.
//!
//! Guarantees: nothing here does I/O or reads a clock; a plan is a function of its arguments.
//! Leaves to others: when a plan is asked for and how it is brought about (`controller`, `apply`).

use std::future::{Future, ready};
use std::time::Duration;

use kube::core::object::HasSpec;
use kube::core::{NamespaceResourceScope, Resource};
use schemars::JsonSchema;
use serde::de::{DeserializeOwned, Deserializer, IgnoredAny};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::model::{ChildState, KindId, Meta, hash32};

/// The label that names a child's owner where the ownerReference is gone.
pub const OWNER_LABEL: &str = "tare.dev/owner";
/// The label that says which operator manages a child; every child is listed and watched by it.
pub const MANAGED_BY_LABEL: &str = "app.kubernetes.io/managed-by";

/// The spec of an operator's resource.
pub type Spec<O> = <<O as Operator>::Resource as HasSpec>::Spec;
/// The status of an operator's resource.
pub type Status<O> = <O as Operator>::Status;

/// An operator for one namespaced resource whose children live in the owner's namespace.
pub trait Operator: Send + Sync + 'static {
    /// The custom resource, from `#[derive(CustomResource)]`.
    type Resource: Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + HasSpec<Spec: DeserializeOwned + Send + Sync>;
    /// Its status: the type named in `#[kube(status = ..)]`, or [`NoStatus`].
    type Status: OwnerStatus;
    /// Why a plan cannot be made.
    type Error: PlanError;

    /// Field manager of every write, and the value of the managed-by label.
    const NAME: &'static str;
    /// Finalizer for ordered teardown and [`cleanup`](Self::cleanup); `None` leaves children to the
    /// garbage collector.
    const FINALIZER: Option<&'static str>;
    /// Every kind of child this operator may ever own, in the order in which they are taken down.
    const KINDS: &'static [Kind];
    /// How children are written.
    const WRITES: Writes = Writes::Patch;
    /// When an owner is tried again after the API server refused something or could not be reached.
    const RETRY: Retry = Retry::Backoff;

    /// What should exist for `owner`, and the status that follows from what does exist.
    ///
    /// # Errors
    /// The error says whether and when to try again ([`PlanError::retry`]).
    fn plan(
        &self,
        owner: &Owner<Self>,
        children: &Children,
    ) -> Result<Plan<Status<Self>>, Self::Error>;

    /// The status of an owner that could not be brought about; `None` writes none.
    fn failed(
        &self,
        owner: &Owner<Self>,
        children: &Children,
        failure: &Failure,
    ) -> Option<Status<Self>> {
        let _ = (owner, children, failure);
        None
    }

    /// Takes down what lives outside the cluster. Runs under the finalizer, after the children.
    fn cleanup(&self, owner: &Owner<Self>) -> impl Future<Output = Result<(), Self::Error>> + Send {
        let _ = owner;
        ready(Ok(()))
    }
}

/// One owner as a plan sees it: identity and spec. What was written to its status before is not
/// part of it, so that a plan cannot depend on its own past.
pub struct Owner<O: Operator + ?Sized> {
    /// Identity and life cycle.
    pub meta: Meta,
    /// What the user asked for.
    pub spec: Spec<O>,
}

/// How children are written. Both touch nothing that is not the owner's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Writes {
    /// Created by POST, changed by merge patch: the least work for the API server.
    Patch,
    /// Server-side apply from the first write on: `managedFields` tell which fields are ours.
    Apply,
}

/// What the runtime must know about a status. Implement it on the status type of the resource.
pub trait OwnerStatus: Serialize + DeserializeOwned + Send + Sync {
    /// Whether a status says which generation it speaks of. Where it does not, nothing on an owner
    /// tells that it was brought about: each event of it costs a comparison with its children, and
    /// every join compares all.
    const OBSERVES: bool = true;
    /// Whether there is one to write.
    const WRITTEN: bool = true;

    /// The generation that this status speaks of.
    fn observed_generation(&self) -> Option<i64> {
        None
    }
    /// Whether nothing more is awaited.
    fn ready(&self) -> bool;
    /// The conditions, whose transition times the runtime fills in.
    fn conditions(&mut self) -> &mut [Condition] {
        &mut []
    }
}

/// For resources without a status.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NoStatus;

impl OwnerStatus for NoStatus {
    const OBSERVES: bool = false;
    const WRITTEN: bool = false;
    fn ready(&self) -> bool {
        true
    }
}

impl Serialize for NoStatus {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_unit()
    }
}

impl<'de> Deserialize<'de> for NoStatus {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        IgnoredAny::deserialize(deserializer).map(|_| Self)
    }
}

/// A kind of child.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kind {
    /// `apps/v1`, or `v1` for the core group.
    pub api_version: &'static str,
    /// `Deployment`.
    pub kind: &'static str,
    /// `deployments`.
    pub plural: &'static str,
    /// Whether its status counts replicas, which a plan may wait for.
    pub workload: bool,
}

/// `apps/v1` Deployment.
pub const DEPLOYMENT: Kind = Kind {
    api_version: "apps/v1",
    kind: "Deployment",
    plural: "deployments",
    workload: true,
};
/// `v1` Service.
pub const SERVICE: Kind = Kind {
    api_version: "v1",
    kind: "Service",
    plural: "services",
    workload: false,
};
/// `v1` ConfigMap.
pub const CONFIG_MAP: Kind = Kind {
    api_version: "v1",
    kind: "ConfigMap",
    plural: "configmaps",
    workload: false,
};

/// One child of a plan: either wanted with a body, or wanted absent.
#[derive(Debug, Clone, PartialEq)]
pub struct Child {
    /// Which kind; one of [`Operator::KINDS`].
    pub kind: Kind,
    /// Name in the owner's namespace.
    pub name: String,
    /// What it must look like; `None` when it must not exist.
    pub body: Option<Value>,
    /// JSON pointers of fields the server never lets change: a difference there is a new child.
    pub immutable: &'static [&'static str],
}

impl Child {
    /// A child that must exist. `body` holds the fields that are ours (`spec`, `data`, extra
    /// `metadata`); a list is ours as a whole, a `null` must be absent, all else belongs to others.
    pub fn new(kind: Kind, name: impl Into<String>, body: Value) -> Self {
        Self {
            kind,
            name: name.into(),
            body: Some(body),
            immutable: &[],
        }
    }

    /// A child that must not exist (any more).
    pub fn absent(kind: Kind, name: impl Into<String>) -> Self {
        Self {
            kind,
            name: name.into(),
            body: None,
            immutable: &[],
        }
    }

    /// Names the fields that can only be changed by deleting and creating the child.
    #[must_use]
    pub fn immutable(mut self, pointers: &'static [&'static str]) -> Self {
        self.immutable = pointers;
        self
    }
}

/// What should be.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan<S> {
    /// Every child that must exist or must be absent.
    pub children: Vec<Child>,
    /// The status that follows from the children as they were observed.
    pub status: S,
    /// When to look again without a change.
    pub requeue: Requeue,
}

/// When an owner is looked at again although nothing changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Requeue {
    /// With the periodic join.
    #[default]
    Default,
    /// At the latest after this long; the shortest of all owners sets the period of the join.
    After(Duration),
    /// Only when something changes (and with the periodic join, which is the safety net).
    AwaitChange,
}

/// What is known of an owner's children when a plan is asked for.
#[derive(Debug, Clone, Default)]
pub struct Children {
    children: Vec<(KindId, u32, ChildState)>,
}

impl Children {
    /// The child's last seen state; `None` when it does not exist or was not seen yet.
    pub fn state<O: Operator>(&self, kind: &Kind, name: &str) -> Option<&ChildState> {
        let index = kind_index(O::KINDS, kind)?;
        let hash = hash32(name);
        self.children
            .iter()
            .find(|(k, h, _)| (*k, *h) == (index, hash))
            .map(|(_, _, state)| state)
    }

    /// Records what was seen of a child; a later record replaces an earlier one.
    pub fn record<O: Operator>(&mut self, kind: &Kind, name: &str, state: ChildState) {
        if let Some(index) = kind_index(O::KINDS, kind) {
            self.set(index, hash32(name), state);
        }
    }

    pub(crate) fn set(&mut self, kind: KindId, name_hash: u32, state: ChildState) {
        match self
            .children
            .iter_mut()
            .find(|(k, h, _)| (*k, *h) == (kind, name_hash))
        {
            Some(known) => known.2 = state,
            None => self.children.push((kind, name_hash, state)),
        }
    }
}

/// The place of `kind` in the operator's list.
pub(crate) fn kind_index(kinds: &[Kind], kind: &Kind) -> Option<KindId> {
    kinds
        .iter()
        .position(|k| k.plural == kind.plural)
        .and_then(KindId::child)
}

/// An error of a plan or of a cleanup.
pub trait PlanError: std::error::Error + Send + Sync {
    /// One word in CamelCase for the condition, the Event and the metric.
    fn reason(&self) -> &'static str;
    /// Whether and when trying again makes sense.
    fn retry(&self) -> Retry {
        Retry::Backoff
    }
}

/// For operators whose plan cannot fail.
impl PlanError for std::convert::Infallible {
    fn reason(&self) -> &'static str {
        match *self {}
    }
}

/// Whether and when a failed object is tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    /// With the per-object exponential back-off.
    Backoff,
    /// First after this long, then backing off exponentially from there.
    From(Duration),
    /// Not before something changes or the periodic join comes by.
    AwaitChange,
}

/// Why an owner could not be brought about, in the words of its conditions and Events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// One word in CamelCase: `Collision`, `Forbidden`, `Refused`, `Timeout`, ...
    pub reason: &'static str,
    /// What happened, to which object, what to do about it.
    pub message: String,
    /// Whether and when it is tried again.
    pub retry: Retry,
}

/// One condition of a status, as the Kubernetes API conventions define it.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// Name of the condition, in CamelCase.
    #[serde(rename = "type")]
    pub type_: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// Why the condition has this status, one word in CamelCase.
    pub reason: String,
    /// The same for a person to read.
    #[serde(default)]
    pub message: String,
    /// When `status` last changed. The runtime fills it in: a plan has no clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date-time"))]
    pub last_transition_time: Option<String>,
    /// The generation that the condition speaks of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}

impl Condition {
    /// A condition without a transition time, for `generation`.
    pub fn new(
        type_: &str,
        status: bool,
        reason: &str,
        message: impl Into<String>,
        generation: i64,
    ) -> Self {
        Self {
            type_: type_.to_owned(),
            status: if status { "True" } else { "False" }.to_owned(),
            reason: reason.to_owned(),
            message: message.into(),
            last_transition_time: None,
            observed_generation: Some(generation),
        }
    }
}
