//! What an operator's author writes.
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
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
    /// When `status` last changed. The runtime fills it in: a plan has no clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date-time"))]
    pub last_transition_time: Option<String>,
    /// The generation that the condition speaks of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}
