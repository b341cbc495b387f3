//! What the author of an operator writes: a resource, its status, a pure plan.
//!
//! Guarantees: nothing here does I/O or reads a clock; a plan is a function of its arguments.
//! Leaves to others: when a plan is made (`controller`) and how it is applied (`reconcile`).

mod child;
mod error;
mod operator;
mod plan;
mod status;

pub(crate) use crate::api::child::kind_index;
pub use crate::api::child::{CONFIG_MAP, Child, Children, DEPLOYMENT, Kind, SERVICE};
pub use crate::api::error::{Failure, PlanError, Retry};
pub(crate) use crate::api::operator::prefix_of;
pub use crate::api::operator::{
    DeletedOwner, MANAGED_BY_LABEL, Operator, Owner, Spec, Status, UndecodableSpec, Writes,
};
pub use crate::api::plan::{Plan, Requeue};
pub use crate::api::status::{Condition, NoStatus, OwnerStatus};
