//! The status of an owner, and the conditions in it.

use schemars::JsonSchema;
use serde::de::{DeserializeOwned, Deserializer, IgnoredAny};
use serde::{Deserialize, Serialize};

use crate::model::Meta;

/// What the runtime must know about a status. Implement it on the status type of the resource.
pub trait OwnerStatus: Serialize + DeserializeOwned + Send + Sync {
    /// Whether the status has an observed generation. Without one, nothing on an owner shows that its
    /// spec was applied: each event of the owner costs a comparison with its children, and every relist
    /// compares all owners.
    const OBSERVES: bool = true;
    /// Whether the resource has a status to write.
    const WRITTEN: bool = true;

    /// The types of the conditions that are this operator's, where another client writes conditions into the same status:
    /// theirs then stay as they are. Name those of earlier versions, too, so that they go. Empty: all conditions are its
    /// own, and what another client adds is taken away again. Either way everything else in the status is its own.
    const CONDITIONS: &'static [&'static str] = &[];

    /// The generation of the spec that this status is about.
    fn observed_generation(&self) -> Option<i64> {
        None
    }
    /// Whether the owner is ready, so that no further event is awaited.
    fn ready(&self) -> bool;
    /// The conditions. The runtime sets their transition times.
    fn conditions(&mut self) -> &mut [Condition] {
        &mut []
    }
}

/// For resources without a status.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NoStatus;

impl OwnerStatus for NoStatus {
    const OBSERVES: bool = false;
    const WRITTEN: bool = false;
    fn ready(&self) -> bool {
        true
    }
}

impl Serialize for NoStatus {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_unit()
    }
}

impl<'de> Deserialize<'de> for NoStatus {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        IgnoredAny::deserialize(deserializer).map(|_| Self)
    }
}

/// A status of the generation that was observed and the condition `Ready`: what `kubectl wait --for=condition=Ready` needs.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct ReadyStatus {
    /// The generation of the spec that the condition is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// `Ready`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
}

impl ReadyStatus {
    /// Of an owner that is ready or not, for a reason of one word in CamelCase and with a message for a person.
    pub fn new(owner: &Meta, is_ready: bool, reason: &str, message: impl Into<String>) -> Self {
        let ready = Condition::new("Ready", is_ready, reason, message, owner.generation);
        Self {
            observed_generation: Some(owner.generation),
            conditions: vec![ready],
        }
    }
}

impl OwnerStatus for ReadyStatus {
    fn observed_generation(&self) -> Option<i64> {
        self.observed_generation
    }

    fn ready(&self) -> bool {
        let mut conditions = self.conditions.iter();
        conditions.any(|condition| condition.type_ == "Ready" && condition.status == "True")
    }

    fn conditions(&mut self) -> &mut [Condition] {
        &mut self.conditions
    }
}

/// One condition of a status, as the Kubernetes API conventions define it.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// Name of the condition, in CamelCase.
    #[serde(rename = "type")]
    pub type_: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// Why the condition has this status, one word in CamelCase.
    pub reason: String,
    /// The same for a person to read.
    #[serde(default)]
    pub message: String,
    /// When `status` last changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date-time"))]
    pub last_transition_time: Option<String>,
    /// The generation of the spec that the condition is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}

impl Condition {
    /// A condition without a transition time, for `generation`.
    pub fn new(
        type_: &str,
        status: bool,
        reason: &str,
        message: impl Into<String>,
        generation: i64,
    ) -> Self {
        Self {
            type_: type_.to_owned(),
            status: if status { "True" } else { "False" }.to_owned(),
            reason: reason.to_owned(),
            message: message.into(),
            last_transition_time: None,
            observed_generation: Some(generation),
        }
    }
}
