//! The operator: one resource, its pure plan, and how its children are written.

use std::any::TypeId;
use std::borrow::Cow;
use std::future::{Future, ready};
use std::time::Duration;

use kube::core::object::HasSpec;
use kube::core::{ClusterResourceScope, NamespaceResourceScope, Resource};
use kube::{Api, Client};
use serde::de::DeserializeOwned;

use crate::api::child::{Child, Children};
use crate::api::error::{Failure, PlanError, Retry};
use crate::api::event::Event;
use crate::api::kind::Kind;
use crate::api::metric::Metric;
use crate::api::plan::Plan;
use crate::api::reference::{Reference, References};
use crate::api::status::OwnerStatus;
use crate::model::Meta;

/// The label that says which operator manages a child. Children are listed and watched by it; its
/// value is [`Operator::NAME`].
pub const MANAGED_BY_LABEL: &str = "app.kubernetes.io/managed-by";

/// The spec of an operator's resource.
pub type Spec<O> = <<O as Operator>::Resource as HasSpec>::Spec;
/// The status of an operator's resource.
pub type Status<O> = <O as Operator>::Status;

/// Whether objects are in namespaces; the scope of a resource says it.
pub trait OwnerScope: Sized {
    /// Whether they are.
    const NAMESPACED: bool;

    /// The objects in a namespace, where the kind has namespaces and one is given; all otherwise.
    fn objects<K>(client: Client, namespace: Option<&str>) -> Api<K>
    where
        K: Resource<DynamicType = (), Scope = Self>;
}

impl OwnerScope for NamespaceResourceScope {
    const NAMESPACED: bool = true;

    fn objects<K>(client: Client, namespace: Option<&str>) -> Api<K>
    where
        K: Resource<DynamicType = (), Scope = Self>,
    {
        match namespace {
            Some(namespace) => Api::namespaced(client, namespace),
            None => Api::all(client),
        }
    }
}

impl OwnerScope for ClusterResourceScope {
    const NAMESPACED: bool = false;

    fn objects<K>(client: Client, _: Option<&str>) -> Api<K>
    where
        K: Resource<DynamicType = (), Scope = Self>,
    {
        Api::all(client)
    }
}

/// An operator for one resource, in namespaces or of the whole cluster.
pub trait Operator: Send + Sync + 'static {
    /// The custom resource, from `#[derive(CustomResource)]`.
    type Resource: Resource<DynamicType = (), Scope: OwnerScope>
        + HasSpec<Spec: DeserializeOwned + Send + Sync>;
    /// Its status: the type named in `#[kube(status = ..)]`, or [`NoStatus`](crate::api::NoStatus).
    type Status: OwnerStatus;
    /// Why a plan cannot be made.
    type Error: PlanError;
    /// What [`observe`](Self::observe) finds; `()` where a plan needs nothing but the cluster.
    type Observed: Default + Send + Sync + 'static;

    /// Name of the operator: the field manager of every write, the value of the managed-by label, and
    /// the default prefix of its metrics.
    const NAME: &'static str;
    /// Finalizer for an ordered teardown and [`cleanup`](Self::cleanup). With `None` the garbage
    /// collector deletes the children, which are then where their owner can be their controller: in its namespace, or
    /// anywhere where it has none.
    const FINALIZER: Option<&'static str>;
    /// Finalizers of earlier versions of the operator. An owner that has one is freed of it.
    const RETIRED_FINALIZERS: &'static [&'static str] = &[];
    /// Every kind of child that this operator may own, in the order in which children are deleted.
    const KINDS: &'static [Kind];
    /// Every kind of object that an owner may refer to and does not own ([`references`](Self::references)).
    const REFERENCES: &'static [Kind] = &[];
    /// Whether a plan, an observation or [`is_paused`](Self::is_paused) looks at labels or annotations of the owner. Where none
    /// does, they are not kept while the owner waits, and are empty; a change of one still plans the owner again.
    const SEES_LABELS: bool = true;
    /// How children are written.
    const WRITES: Writes = Writes::Patch;
    /// When an owner is retried after the API server rejected a request or could not be reached.
    const RETRY: Retry = Retry::Backoff;

    /// How often all owners are compared with their children although no event came. The relist does it: one pass
    /// over the lists, however many owners there are. Without it, and where the period of the relist is configured,
    /// that holds.
    const DRIFT_PERIOD: Option<Duration> = None;

    /// What the owner refers to: a Secret of its user, a class, all ConfigMaps with a label. It is read before each plan, which
    /// finds it in [`Owner::references`], and nothing of it is retained. When an object changes, appears or goes, the plans of
    /// those are made again who name it, select it, or selected it when they were last read. An operator of one namespace
    /// notices changes in that one alone. What a selector takes may have 4 MiB together.
    fn references(&self, owner: &Owner<Self>) -> Vec<Reference> {
        let _ = owner;
        Vec::new()
    }

    /// What lives outside the cluster, or cannot be declared: asked for before each plan, which finds it in
    /// [`Owner::observed`] and stays a pure function. `previous` is the status as it was. It counts towards the time that
    /// a reconcile may take, and every relist asks for all owners once; a plan that is to be made again without an event
    /// says when ([`Plan::requeue`]).
    ///
    /// # Errors
    /// As those of a plan: the owner's status tells it, and it is retried as the error says.
    fn observe(
        &self,
        owner: &Owner<Self>,
        previous: Option<Status<Self>>,
    ) -> impl Future<Output = Result<Self::Observed, Self::Error>> + Send {
        let _ = (owner, previous);
        ready(Ok(Self::Observed::default()))
    }

    /// What should exist for `owner`, and the status that follows from what exists.
    ///
    /// # Errors
    /// The error says whether and when to retry ([`PlanError::retry`]).
    fn plan(
        &self,
        owner: &Owner<Self>,
        children: &Children,
    ) -> Result<Plan<Status<Self>>, Self::Error>;

    /// The status of an owner whose plan failed or could not be applied; `None` writes none.
    fn failed(
        &self,
        owner: &Owner<Self>,
        children: &Children,
        failure: &Failure,
    ) -> Option<Status<Self>> {
        let _ = (owner, children, failure);
        None
    }

    /// What is wrong with an owner whose plan is applied, as its children tell it: a rollout that makes no progress, pods
    /// that are refused. When its status is written, an Event, the log and a metric tell it too, with this reason and
    /// message: give the conditions of [`plan`](Self::plan)'s status the same. The owner is not retried for it.
    fn degraded(&self, owner: &Owner<Self>, children: &Children) -> Option<Failure> {
        let _ = (owner, children);
        None
    }

    /// What is to be told of an owner whose plan is applied and that is no fault, such as that its certificate is there. An
    /// Event of type Normal tells it once a status that differs is written with this plan, and never without such a write:
    /// neither a reconcile that changes nothing nor a start repeats it, and without a status nothing is told. The server
    /// takes one Event of the same reason and message for each owner as long as it keeps the first one, an hour by
    /// default: give it where there is something to tell, however often the status changes meanwhile, and say in the message
    /// what is new. Nothing is kept for it. It is lost where the program ends in between, or where more than 25 Events at
    /// once and one a second after that are told, which a metric counts.
    fn event(&self, owner: &Owner<Self>, children: &Children) -> Option<Event> {
        let _ = (owner, children);
        None
    }

    /// Whether the owner is to be left as it is, as by an annotation that its user sets: neither its children nor its status
    /// are written until the owner changes. Nothing of that is an error: no Event, no condition, no pauses that grow. An
    /// owner that is being deleted is torn down all the same.
    fn is_paused(&self, owner: &Owner<Self>) -> bool {
        let _ = owner;
        false
    }

    /// Deletes what lives outside the cluster. Runs under the finalizer, after the children are gone, for every
    /// owner that has the finalizer: also for one whose spec cannot be decoded or has no plan.
    ///
    /// The finalizer goes only after a cleanup that succeeded. A crash or a lost answer repeats the cleanup, so
    /// a second one must succeed too. One that fails, panics or takes longer than a reconcile may is repeated
    /// with back-off.
    fn cleanup(
        &self,
        owner: &DeletedOwner<Self>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send {
        let _ = owner;
        ready(Ok(()))
    }

    /// The label on every child that names its owner. It finds the children of one owner in a list,
    /// and the owner of a child that lost its owner reference. Its value is the owner's name, or, where that has
    /// more than 63 characters, its beginning and a digest
    /// ([`owner_label_value`](crate::model::owner_label_value)). `<group of the resource>/owner` unless
    /// the operator says otherwise.
    fn owner_label() -> Cow<'static, str> {
        match &*Self::Resource::group(&()) {
            // The group of the kinds of Kubernetes itself that have none.
            "" => "owner".into(),
            group => format!("{group}/owner").into(),
        }
    }

    /// What the operator counts or measures itself; each is on the page with the other metrics, under the same prefix, once
    /// the operator works.
    fn metrics() -> Vec<&'static Metric> {
        Vec::new()
    }

    /// What the names of the operator's metrics begin with, without the underscore after it: its
    /// [`NAME`](Self::NAME) with `_` for every character that a metric name cannot hold.
    fn metrics_prefix() -> String {
        prefix_of(Self::NAME)
    }
}

/// `name` with `_` for every character that the name of a metric cannot hold.
pub(crate) fn prefix_of(name: &str) -> String {
    name.replace(|c: char| !c.is_ascii_alphanumeric(), "_")
}

/// One owner as a plan sees it: identity, spec and what was observed for it. Its previous status is left out, so that a plan
/// cannot depend on an earlier plan.
pub struct Owner<O: Operator + ?Sized> {
    /// Identity and life cycle.
    pub meta: Meta,
    /// What the user wants.
    pub spec: Spec<O>,
    /// What it refers to, as far as that is there.
    pub references: References,
    /// What [`Operator::observe`] found.
    pub observed: O::Observed,
}

impl<O: Operator> Owner<O> {
    /// An owner that names nothing that is there, and of which nothing was observed. For tests of a plan.
    pub fn new(meta: Meta, spec: Spec<O>) -> Self {
        Self {
            meta,
            spec,
            references: References::default(),
            observed: O::Observed::default(),
        }
    }
}

/// Whether the owners of `O` are in namespaces.
pub(crate) const fn is_namespaced<O: Operator>() -> bool {
    <<O::Resource as Resource>::Scope as OwnerScope>::NAMESPACED
}

/// Whether children may be where their owners are not: known to the compiler, so that nothing of that is in other operators.
pub(crate) const fn may_be_elsewhere<O: Operator>() -> bool {
    !is_namespaced::<O>() || O::FINALIZER.is_some()
}

/// Whether owners cannot be the controllers of all children, which then bear labels instead.
pub(crate) const fn may_be_labelled<O: Operator>() -> bool {
    is_namespaced::<O>() && O::FINALIZER.is_some()
}

/// Whether the owner cannot be the controller of this child.
pub(crate) fn is_labelled<O: Operator>(child: &Child) -> bool {
    may_be_labelled::<O>() && child.namespace.is_some()
}

/// The annotation on each child that says which plan it was written from: `<group>/plan`.
pub(crate) fn mark_annotation<O: Operator>() -> String {
    match &*O::Resource::group(&()) {
        "" => "plan".to_owned(),
        group => format!("{group}/plan"),
    }
}

/// Whether there is anything for [`Operator::observe`] to find.
pub(crate) fn is_observed<O: Operator>() -> bool {
    TypeId::of::<O::Observed>() != TypeId::of::<()>()
}

/// Whether a plan of `O` needs more than the owner and its children, which only a worker reads.
pub(crate) fn needs_worker<O: Operator>() -> bool {
    is_observed::<O>() || !O::REFERENCES.is_empty()
}

/// An owner that is being deleted, as [`Operator::cleanup`] sees it. Identity is always known: name what lives
/// outside the cluster by the uid, and a broken spec does not matter.
pub struct DeletedOwner<O: Operator + ?Sized> {
    /// Identity and life cycle.
    pub meta: Meta,
    /// What the user wanted, where it can be decoded.
    pub spec: Result<Spec<O>, UndecodableSpec>,
    /// Whether its children stay in the cluster (`kubectl delete --cascade=orphan`).
    pub orphaned: bool,
}

/// A spec that is not of the operator's type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the spec is not what this version expects: {cause}")]
pub struct UndecodableSpec {
    /// The spec as it is stored, JSON.
    pub json: Box<str>,
    /// Why it cannot be decoded.
    pub cause: Box<str>,
}

/// How children are written. Neither way changes an object that belongs to somebody else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Writes {
    /// Created by POST, changed by merge patch: the least work for the API server.
    Patch,
    /// Server-side apply from the first write on: `managedFields` records which fields are ours.
    Apply,
}
