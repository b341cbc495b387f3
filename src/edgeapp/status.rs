//! The status of an EdgeApp, from what is observed of its Deployment.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tare_runtime::api::{Condition, Failure, Owner, OwnerStatus};
use tare_runtime::model::ChildState;

use crate::edgeapp::plan::{EdgeApps, OWNER_LABEL};

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
pub(crate) fn planned(owner: &Owner<EdgeApps>, deployment: Option<&ChildState>) -> EdgeAppStatus {
    let (generation, wanted) = (owner.meta.generation, owner.spec.replicas);
    let seen = deployment.copied().unwrap_or_default();
    let ready = seen.is_ready(wanted);
    let stalled = seen.is_current() && !ready && seen.stalled;

    let mut status = base_status(owner);
    status.replicas = seen.replicas;
    status.ready_replicas = seen.ready_replicas;
    let (phase, reason, message) = match (ready, stalled) {
        (true, _) => (Phase::Running, "AllReplicasReady", String::new()),
        (_, true) => (
            Phase::Failed,
            "ProgressDeadlineExceeded",
            format!(
                "Deployment {:?} made no progress within its deadline; see its pods",
                owner.meta.name
            ),
        ),
        _ => (
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
            message.clone(),
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
            stalled,
            reason,
            if stalled { message } else { String::new() },
            generation,
        ),
    ];
    status
}

/// The status of an EdgeApp that failed.
pub(crate) fn failed(
    owner: &Owner<EdgeApps>,
    deployment: Option<&ChildState>,
    failure: &Failure,
) -> EdgeAppStatus {
    let generation = owner.meta.generation;
    let mut status = base_status(owner);
    status.phase = Some(Phase::Failed);
    // The spec was not applied, so its generation is not observed.
    status.observed_generation = owner.meta.observed_generation;
    if let Some(seen) = deployment {
        (status.replicas, status.ready_replicas) = (seen.replicas, seen.ready_replicas);
    }
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
    let Owner { meta, spec } = owner;
    EdgeAppStatus {
        selector: Some(format!("{OWNER_LABEL}={}", meta.name)),
        endpoint: spec
            .port
            .map(|_| format!("{}.{}.svc:80", meta.name, meta.namespace)),
        observed_generation: Some(meta.generation),
        ..EdgeAppStatus::default()
    }
}
