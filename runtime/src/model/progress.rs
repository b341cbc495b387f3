//! What a plan sees of a child's status.
//!
//! Guarantees: pure; a status of another shape tells nothing. Of a status only what its kind declares is kept. What counts
//! as ready is what `kubectl rollout status` waits for. Leaves to others: what follows from it (the plan), the words of a refusal (`reconcile`).

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::model::map_of;

/// Where a Deployment or StatefulSet has its counts.
pub(crate) const REPLICAS: &[&str] = &[
    "/observedGeneration",
    "/replicas",
    "/updatedReplicas",
    "/readyReplicas",
    "/availableReplicas",
];

/// Where a DaemonSet has them.
pub(crate) const SCHEDULED: &[&str] = &[
    "/observedGeneration",
    "/desiredNumberScheduled",
    "/updatedNumberScheduled",
    "/numberReady",
    "/numberAvailable",
];

/// As many as an Event holds.
const WORDS: usize = 1_024;

/// What a child tells of itself. To a plan a child of a kind that declares nothing of its status
/// ([`Kind::status`](crate::api::Kind::status)) tells only that it exists: all of this is then 0.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
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
    /// What else its kind declares: [`field`](Self::field) has it.
    pub fields: Fields,
}

/// Values of a status by their pointers, a JSON object. Boxed twice: most children have none, and those that are retained
/// take eight bytes then.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fields(Option<Box<Box<str>>>);

impl Fields {
    fn of(values: Map<String, Value>) -> Self {
        let json = (!values.is_empty()).then(|| Value::from(values).to_string().into());
        Self(json.map(Box::new))
    }

    fn values(&self) -> Map<String, Value> {
        let values = self.0.as_ref().map(|json| serde_json::from_str(json));
        values.and_then(Result::ok).unwrap_or_default()
    }
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

    /// What its status has at one of the pointers that its kind declares ([`Kind::status`](crate::api::Kind::status)), as
    /// `T`; `None` where there is nothing, or something else than a `T`. Counts of replicas are fields of their own.
    pub fn field<T: DeserializeOwned>(&self, pointer: &str) -> Option<T> {
        T::deserialize(self.fields.values().remove(pointer)?).ok()
    }

    /// The status (`True`, `False`, `Unknown`) of the condition `type_`, where the kind declares `/conditions`.
    pub fn condition(&self, type_: &str) -> Option<String> {
        let conditions: Vec<Value> = self.field("/conditions")?;
        let found = conditions.iter().find(|found| found["type"] == type_)?;
        found["status"].as_str().map(str::to_owned)
    }

    /// The same with `value` at `pointer`. For tests of a plan.
    #[must_use]
    pub fn with_field(mut self, pointer: &str, value: impl Into<Value>) -> Self {
        let mut values = self.fields.values();
        values.insert(pointer.to_owned(), value.into());
        self.fields = Fields::of(values);
        self
    }

    /// Reads of a `status` what its kind declares; one of another shape leaves that empty.
    pub(crate) fn read(generation: i64, status: Option<&RawValue>, declared: &[&str]) -> Self {
        let status = status.filter(|_| !declared.is_empty());
        let fields = status
            .and_then(|raw| fields(raw, declared))
            .unwrap_or_default();
        let status: WorkloadStatus<'_> = status
            .and_then(|raw| serde_json::from_str(raw.get()).ok())
            .unwrap_or_default();
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
            fields,
        }
    }
}

/// What a status has at the pointers that are no counters; `None` where none is declared.
fn fields(status: &RawValue, declared: &[&str]) -> Option<Fields> {
    let mut declared = declared
        .iter()
        .filter(|pointer| !REPLICAS.contains(pointer) && !SCHEDULED.contains(pointer))
        .peekable();
    declared.peek()?;
    let status: Value = serde_json::from_str(status.get()).ok()?;
    let found = declared.filter_map(|pointer| {
        let value = status.pointer(pointer)?;
        Some(((*pointer).to_owned(), value.clone()))
    });
    Some(Fields::of(map_of(found)))
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
        ChildState::read(3, Some(&raw), REPLICAS)
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

    #[test]
    fn a_plan_sees_what_the_kind_declares_and_nothing_else() {
        const CLAIM: &[&str] = &["/phase", "/capacity/storage"];
        const BALANCER: &[&str] = &["/loadBalancer/ingress"];
        const JOB: &[&str] = &["/succeeded", "/conditions"];
        let read = |declared: &[&str], status: Value| {
            let raw = serde_json::value::to_raw_value(&status).expect("JSON");
            ChildState::read(1, Some(&raw), declared)
        };
        let generation = || ChildState {
            generation: 1,
            ..ChildState::default()
        };
        let claim =
            json!({"phase": "Bound", "capacity": {"storage": "1Gi"}, "accessModes": ["RWO"]});
        let claim = read(CLAIM, claim);
        assert_eq!(claim.field("/phase"), Some("Bound".to_owned()));
        assert_eq!(claim.field("/capacity/storage"), Some("1Gi".to_owned()));
        assert_eq!(claim.field::<Value>("/accessModes"), None);
        assert_eq!(claim.field::<u32>("/phase"), None, "another type");
        let balancer = json!({"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}});
        let found = read(BALANCER, balancer.clone());
        let addresses: Vec<Value> = found.field("/loadBalancer/ingress").expect("addresses");
        assert_eq!(addresses[0]["ip"], "192.0.2.1");
        assert_eq!(read(&[], balancer), generation());
        let conditions = json!([{"type": "Complete", "status": "True"}]);
        let job = read(JOB, json!({"succeeded": 1, "conditions": conditions}));
        assert_eq!(job.condition("Complete").as_deref(), Some("True"));
        assert_eq!(job.condition("Failed"), None);
        assert_eq!(job.field("/succeeded"), Some(1));
        let same = generation().with_field("/succeeded", 1);
        assert_eq!(job, same.with_field("/conditions", conditions));
        let another = read(JOB, json!({"succeeded": 2}));
        assert_eq!(another.field("/succeeded"), Some(2));
        assert_eq!(read(JOB, json!("odd")).fields, Fields::default());
    }
}
