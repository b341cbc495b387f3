//! How far a child is, as its status says.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::model::PartialObject;

/// What a child tells about its progress. To a plan a child of a kind without replicas tells only
/// that it exists: all of this is then 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ChildState {
    /// Generation of the child's spec.
    pub generation: i64,
    /// The generation its own controller has seen.
    pub observed_generation: i64,
    /// Pods that exist, of every template; of a DaemonSet, pods that should exist.
    pub replicas: i32,
    /// Pods of the newest template, ready or not.
    pub updated_replicas: i32,
    /// Pods that are ready, of every template.
    pub ready_replicas: i32,
    /// Pods that have been ready for `minReadySeconds`, of every template.
    pub available_replicas: i32,
    /// Whether its controller gave up waiting (`Progressing` is `False`).
    pub stalled: bool,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct WorkloadStatus<'a> {
    #[serde(default)]
    observed_generation: i64,
    // The second names are those of a DaemonSet.
    #[serde(default, alias = "desiredNumberScheduled")]
    replicas: i32,
    #[serde(default, alias = "updatedNumberScheduled")]
    updated_replicas: i32,
    #[serde(default, alias = "numberReady")]
    ready_replicas: i32,
    #[serde(default, alias = "numberAvailable")]
    available_replicas: i32,
    #[serde(borrow, default)]
    conditions: Vec<WorkloadCondition<'a>>,
}

#[derive(Deserialize)]
struct WorkloadCondition<'a> {
    #[serde(borrow, rename = "type")]
    type_: Cow<'a, str>,
    #[serde(borrow)]
    status: Cow<'a, str>,
}

impl ChildState {
    /// Whether its controller has seen its newest spec: before, it tells of an older one.
    pub fn is_current(&self) -> bool {
        self.generation > 0 && self.observed_generation >= self.generation
    }

    /// Whether its rollout is complete, as `kubectl rollout status` waits for it: it is current, at least `wanted`
    /// pods are of its newest template, none of an older one is left, and all of them are available, which is ready
    /// for `minReadySeconds`. Pods of the old and of the new template are never added up: while an old one is left,
    /// nothing tells which of them are ready.
    pub fn is_ready(&self, wanted: i32) -> bool {
        self.is_current()
            && self.updated_replicas >= wanted
            && self.replicas <= self.updated_replicas
            && self.available_replicas >= self.updated_replicas
    }

    /// Reads the counters of `object`; a status of another shape leaves them at zero.
    pub(crate) fn of(object: &PartialObject<'_>, workload: bool) -> Self {
        Self::read(object.metadata.generation, object.status, workload)
    }

    /// The same from its parts.
    pub(crate) fn read(generation: i64, status: Option<&RawValue>, workload: bool) -> Self {
        let status: WorkloadStatus<'_> = match status {
            Some(raw) if workload => serde_json::from_str(raw.get()).unwrap_or_default(),
            _ => WorkloadStatus::default(),
        };
        Self {
            generation,
            observed_generation: status.observed_generation,
            replicas: status.replicas,
            updated_replicas: status.updated_replicas,
            ready_replicas: status.ready_replicas,
            available_replicas: status.available_replicas,
            stalled: status
                .conditions
                .iter()
                .any(|c| c.type_ == "Progressing" && c.status == "False"),
        }
    }
}
