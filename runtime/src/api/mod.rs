//! What the author of an operator writes: a resource, its status, a pure plan.
//!
//! Guarantees: nothing here does I/O or reads a clock; a plan is a function of its arguments.
//! Leaves to others: when a plan is made (`controller`) and how it is applied (`reconcile`).

mod child;
mod error;
mod event;
mod kind;
mod metric;
mod operator;
mod plan;
mod reference;
mod status;

pub use crate::api::child::{Child, Children};
pub use crate::api::error::{Failure, PlanError, Retry};
pub use crate::api::event::Event;
pub(crate) use crate::api::kind::kind_index;
pub use crate::api::kind::{
    CLUSTER_ROLE, CLUSTER_ROLE_BINDING, CONFIG_MAP, CRON_JOB, DAEMON_SET, DEPLOYMENT,
    HORIZONTAL_POD_AUTOSCALER, INGRESS, JOB, Kind, LOAD_BALANCER, NAMESPACE, NETWORK_POLICY,
    PERSISTENT_VOLUME, PERSISTENT_VOLUME_CLAIM, POD, POD_DISRUPTION_BUDGET, PRIORITY_CLASS, ROLE,
    ROLE_BINDING, SECRET, SERVICE, SERVICE_ACCOUNT, STATEFUL_SET, STORAGE_CLASS,
};
pub use crate::api::metric::Metric;
#[cfg(test)]
pub(crate) use crate::api::metric::OWN;
pub use crate::api::operator::{
    DeletedOwner, MANAGED_BY_LABEL, Operator, Owner, OwnerScope, Spec, Status, UndecodableSpec,
    Writes,
};
pub(crate) use crate::api::operator::{
    is_labelled, is_namespaced, is_observed, mark_annotation, may_be_elsewhere, may_be_labelled,
    needs_worker, prefix_of,
};
pub use crate::api::plan::{Plan, Requeue};
pub use crate::api::reference::{By, Reference, References};
pub use crate::api::status::{Condition, NoStatus, OwnerStatus, ReadyStatus};
