//! How far a child is, as its status says.
//!
//! Guarantees: pure; a status of another shape tells nothing. What counts as ready is what `kubectl rollout status`
//! waits for. Leaves to others: what follows from it (the plan), the words of a refusal (`reconcile`).

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::model::PartialObject;

/// As many as an Event holds.
const WORDS: usize = 1_024;

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
    /// Whether its controller may not make its pods (`ReplicaFailure` is `True`): a quota, Pod Security, a webhook.
    /// [`Children::refusal`](crate::api::Children::refusal) has the words.
    pub refused: bool,
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
    #[serde(borrow, default)]
    message: Cow<'a, str>,
}

impl WorkloadCondition<'_> {
    fn is(&self, type_: &str, status: &str) -> bool {
        self.type_ == type_ && self.status == status
    }

    fn is_refusal(&self) -> bool {
        self.is("ReplicaFailure", "True")
    }
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
                .any(|c| c.is("Progressing", "False")),
            refused: status.conditions.iter().any(WorkloadCondition::is_refusal),
        }
    }
}

/// The words with which the pods of a workload are refused, from its status; the first [`WORDS`] characters of them.
pub(crate) fn refusal(status: &RawValue) -> Option<String> {
    let status: WorkloadStatus<'_> = serde_json::from_str(status.get()).ok()?;
    let mut conditions = status.conditions.iter();
    let refusal = conditions.find(|condition| condition.is_refusal())?;
    Some(refusal.message.chars().take(WORDS).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn state(status: &Value) -> ChildState {
        let raw = serde_json::value::to_raw_value(status).expect("JSON");
        ChildState::read(3, Some(&raw), true)
    }

    #[test]
    fn ready_is_what_kubectl_rollout_status_waits_for() {
        let counts = |replicas: i32, updated: i32, ready: i32, available: i32| {
            json!({
                "observedGeneration": 3, "replicas": replicas, "updatedReplicas": updated,
                "readyReplicas": ready, "availableReplicas": available,
            })
        };
        let daemon_set = |updated: i32, available: i32| {
            json!({
                "observedGeneration": 3, "desiredNumberScheduled": 3, "updatedNumberScheduled": updated,
                "numberReady": 3, "numberAvailable": available,
            })
        };
        let cases = [
            ("one pod, ready", counts(1, 1, 1, 1), 1, true),
            (
                "an old pod is ready, the new one is not",
                counts(2, 1, 1, 1),
                1,
                false,
            ),
            (
                "both new pods, one of them ready, and an old one",
                counts(3, 2, 2, 2),
                2,
                false,
            ),
            (
                "all new pods are ready, an old one is left",
                counts(3, 2, 3, 3),
                2,
                false,
            ),
            (
                "ready, but not for `minReadySeconds`",
                counts(2, 2, 2, 1),
                2,
                false,
            ),
            ("too few of the new ones", counts(1, 1, 1, 1), 2, false),
            (
                "scaled down: more than wanted, all new",
                counts(3, 3, 3, 3),
                1,
                true,
            ),
            ("none is wanted, none is there", counts(0, 0, 0, 0), 0, true),
            (
                "none is wanted, an old one is left",
                counts(1, 0, 1, 1),
                0,
                false,
            ),
            ("a DaemonSet on every node", daemon_set(3, 3), 0, true),
            (
                "a DaemonSet whose old pods are ready",
                daemon_set(1, 3),
                0,
                false,
            ),
            (
                "a DaemonSet whose new pods are not",
                daemon_set(3, 2),
                0,
                false,
            ),
        ];
        for (name, status, wanted, want) in cases {
            assert_eq!(state(&status).is_ready(wanted), want, "{name}");
        }
    }

    #[test]
    fn a_refusal_has_the_words_of_the_server() {
        let words = r#"pods "web-1" is forbidden: violates PodSecurity "restricted:latest""#;
        let status = |holds: &str| {
            json!({"conditions": [
                {"type": "Available", "status": "False", "message": "no"},
                {"type": "ReplicaFailure", "status": holds, "reason": "FailedCreate", "message": words},
            ]})
        };
        for (holds, want) in [("True", Some(words)), ("False", None)] {
            let raw = serde_json::value::to_raw_value(&status(holds)).expect("JSON");
            assert_eq!(refusal(&raw).as_deref(), want);
            assert_eq!(state(&status(holds)).refused, want.is_some());
        }
    }
}
