//! The status of an EdgeApp, from what is observed of its Deployment.
//!
//! Guarantees: pure; the endpoint can be connected to once pods are ready; what is wrong has the reason and the message
//! in its conditions that the runtime tells by an Event and a metric. Leaves to others: the plan (`plan`).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tare_runtime::api::{Children, Condition, DEPLOYMENT, Failure, Owner, OwnerStatus, Retry};
use tare_runtime::model::ChildState;

use crate::edgeapp::plan::{EdgeApps, OWNER_LABEL, SERVICE_PORT};

/// What was last observed of an EdgeApp.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct EdgeAppStatus {
    /// Where the EdgeApp stands, in one word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<Phase>,
    /// Pods that exist.
    #[serde(default)]
    pub replicas: i32,
    /// Pods that are ready.
    #[serde(default)]
    pub ready_replicas: i32,
    /// Label selector of the pods, for the scale subresource.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selector: Option<String>,
    /// Address of the Service inside the cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
    /// The generation of the spec that this status speaks of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Ready, Progressing and Degraded, as the Kubernetes API conventions define conditions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 8), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
}

/// Where an EdgeApp stands.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Accepted; nothing exists yet.
    Pending,
    /// The children exist and are becoming ready.
    Progressing,
    /// Every replica is ready.
    Running,
    /// It failed; the conditions say why.
    Failed,
    /// Written by version 0.1.0 only: it is being deleted.
    Terminating,
}

impl OwnerStatus for EdgeAppStatus {
    fn observed_generation(&self) -> Option<i64> {
        self.observed_generation
    }

    fn ready(&self) -> bool {
        self.phase == Some(Phase::Running)
    }

    fn conditions(&mut self) -> &mut [Condition] {
        &mut self.conditions
    }
}

/// The status of an EdgeApp whose plan was made.
pub(crate) fn planned(owner: &Owner<EdgeApps>, children: &Children) -> EdgeAppStatus {
    let (generation, wanted) = (owner.meta.generation, owner.spec.replicas);
    let seen = progress(owner, children);
    let degraded = degraded(owner, children);

    let mut status = base_status(owner);
    status.replicas = seen.replicas;
    status.ready_replicas = seen.ready_replicas;
    let (phase, reason, message) = match &degraded {
        _ if seen.is_ready(wanted) => (Phase::Running, "AllReplicasReady", String::new()),
        Some(failure) => (Phase::Failed, failure.reason, failure.message.clone()),
        None => (
            Phase::Progressing,
            "WaitingForReplicas",
            format!("waiting for {wanted} ready replicas"),
        ),
    };
    status.phase = Some(phase);
    status.conditions = vec![
        Condition::new(
            "Ready",
            phase == Phase::Running,
            reason,
            message,
            generation,
        ),
        Condition::new(
            "Progressing",
            phase == Phase::Progressing,
            reason,
            "",
            generation,
        ),
        Condition::new(
            "Degraded",
            degraded.is_some(),
            reason,
            degraded.map(|failure| failure.message).unwrap_or_default(),
            generation,
        ),
    ];
    status
}

/// What is wrong with an EdgeApp whose children are as planned.
pub(crate) fn degraded(owner: &Owner<EdgeApps>, children: &Children) -> Option<Failure> {
    let name = owner.meta.name.as_ref();
    let seen = progress(owner, children);
    // Before, its conditions are about an older spec.
    let is_waiting = seen.is_current() && !seen.is_ready(owner.spec.replicas);
    let (reason, message) = match is_waiting {
        true if seen.refused => {
            let words = children.refusal(&DEPLOYMENT, name);
            let words = words.unwrap_or("its condition ReplicaFailure says why");
            (
                "ReplicaFailure",
                format!("Deployment {name:?} may not make its pods: {words}"),
            )
        }
        true if seen.stalled => (
            "ProgressDeadlineExceeded",
            format!("Deployment {name:?} made no progress within its deadline; see its pods"),
        ),
        _ => return None,
    };
    Some(Failure {
        reason,
        message,
        retry: Retry::AwaitChange,
    })
}

/// How far its Deployment is.
fn progress(owner: &Owner<EdgeApps>, children: &Children) -> ChildState {
    let seen = children.get(&DEPLOYMENT, &owner.meta.name);
    seen.cloned().unwrap_or_default()
}

/// The status of an EdgeApp that failed.
pub(crate) fn failed(
    owner: &Owner<EdgeApps>,
    children: &Children,
    failure: &Failure,
) -> EdgeAppStatus {
    let generation = owner.meta.generation;
    let mut status = base_status(owner);
    status.phase = Some(Phase::Failed);
    // The spec was not applied, so its generation is not observed.
    status.observed_generation = owner.meta.observed_generation;
    let seen = progress(owner, children);
    (status.replicas, status.ready_replicas) = (seen.replicas, seen.ready_replicas);
    status.conditions = vec![
        Condition::new(
            "Ready",
            false,
            failure.reason,
            failure.message.clone(),
            generation,
        ),
        Condition::new("Progressing", false, failure.reason, "", generation),
        Condition::new(
            "Degraded",
            true,
            failure.reason,
            failure.message.clone(),
            generation,
        ),
    ];
    status
}

/// What every status has.
fn base_status(owner: &Owner<EdgeApps>) -> EdgeAppStatus {
    let Owner { meta, spec, .. } = owner;
    // A headless Service maps no ports: its name leads to the pods, and they listen on theirs.
    let port = match spec.headless {
        Some(true) => spec.port,
        _ => spec.port.map(|_| SERVICE_PORT),
    };
    EdgeAppStatus {
        selector: Some(format!("{OWNER_LABEL}={}", meta.name)),
        endpoint: port.map(|port| format!("{}.{}.svc:{port}", meta.name, meta.namespace)),
        observed_generation: Some(meta.generation),
        ..EdgeAppStatus::default()
    }
}
