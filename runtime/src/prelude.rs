//! What a small operator needs: `use tare_runtime::prelude::*;`.

pub use std::convert::Infallible;
pub use std::process::ExitCode;
pub use std::time::Duration;

pub use kube::{CustomResource, KubeSchema};
pub use schemars::JsonSchema;
pub use serde::{Deserialize, Serialize};
pub use serde_json::{Value, json};

pub use crate::api::{
    CONFIG_MAP, Child, Children, DEPLOYMENT, DeletedOwner, Failure, Kind, NoStatus, Operator,
    Owner, OwnerStatus, Plan, PlanError, Requeue, Retry, SERVICE, Writes,
};
pub use crate::app::program::Program;
