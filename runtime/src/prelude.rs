//! What a small operator needs: `use tare_runtime::prelude::*;`.

pub use std::convert::Infallible;
pub use std::process::ExitCode;
pub use std::time::Duration;

pub use kube::{CustomResource, KubeSchema};
pub use schemars::JsonSchema;
pub use serde::{Deserialize, Serialize};
pub use serde_json::{Value, json};

pub use crate::api::{
    CLUSTER_ROLE, CLUSTER_ROLE_BINDING, CONFIG_MAP, CRON_JOB, Child, Children, Condition,
    DAEMON_SET, DEPLOYMENT, DeletedOwner, Event, Failure, HORIZONTAL_POD_AUTOSCALER, INGRESS, JOB,
    Kind, LOAD_BALANCER, Metric, NAMESPACE, NETWORK_POLICY, NoStatus, Operator, Owner, OwnerStatus,
    PERSISTENT_VOLUME, PERSISTENT_VOLUME_CLAIM, POD, POD_DISRUPTION_BUDGET, PRIORITY_CLASS, Plan,
    PlanError, ROLE, ROLE_BINDING, ReadyStatus, Reference, References, Requeue, Retry, SECRET,
    SERVICE, SERVICE_ACCOUNT, STATEFUL_SET, STORAGE_CLASS, Writes,
};
pub use crate::app::front::{Place, Shared};
pub use crate::app::program::Program;
pub use crate::model::ChildState;
