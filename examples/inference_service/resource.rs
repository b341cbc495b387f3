//! The InferenceService resource, and why one fails.

use tare_runtime::prelude::*;

/// Which model to serve, and on which GPU.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(
    group = "ai.example.com",
    version = "v1",
    kind = "InferenceService",
    namespaced
)]
#[kube(
    status = "InferenceServiceStatus",
    doc = "A model server on GPUs and its Service."
)]
#[kube(
    printcolumn(name = "Model", type_ = "string", json_path = ".spec.model"),
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"),
    printcolumn(name = "Endpoint", type_ = "string", json_path = ".status.endpoint")
)]
pub struct InferenceServiceSpec {
    /// Name of the model, as the server knows it.
    #[schemars(required, length(min = 1))]
    pub model: Option<String>,
    /// How many servers run.
    #[schemars(range(min = 0))]
    pub replicas: i32,
    /// GPU that each server needs.
    #[schemars(extend("enum" = ["A100", "H100", "L40S"]))]
    pub gpu_type: String,
    /// Requests that a server handles at once; its own default if left out.
    #[schemars(range(min = 1))]
    pub max_batch_size: Option<i32>,
}

/// What was last observed of it.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default)]
pub struct InferenceServiceStatus {
    /// Servers that are ready.
    pub ready_replicas: i32,
    /// Where it answers, once it is ready.
    pub endpoint: Option<String>,
    /// Its phase.
    pub phase: Phase,
}

/// The phase of an InferenceService.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq)]
pub enum Phase {
    #[default]
    Pending,
    Provisioning,
    Ready,
    Failed,
}

impl OwnerStatus for InferenceServiceStatus {
    const OBSERVES: bool = false;
    fn ready(&self) -> bool {
        self.phase == Phase::Ready
    }
}

#[derive(Debug, PartialEq, thiserror::Error)]
pub enum InferenceError {
    #[error("Kubernetes API: {0}")]
    Kubernetes(String),
    #[error("missing field: {0}")]
    MissingField(&'static str),
    #[error("invalid GPU type: {0} (expected: A100, H100, L40S)")]
    InvalidGpuType(String),
    #[error("timeout: {0}")]
    Timeout(String),
}

impl PlanError for InferenceError {
    fn reason(&self) -> &'static str {
        match self {
            Self::Kubernetes(_) => "KubernetesApi",
            Self::MissingField(_) => "MissingField",
            Self::InvalidGpuType(_) => "InvalidGpuType",
            Self::Timeout(_) => "Timeout",
        }
    }
    fn retry(&self) -> Retry {
        Retry::From(Duration::from_secs(60))
    }
}

/// A failure of the library.
impl From<&Failure> for InferenceError {
    fn from(failure: &Failure) -> Self {
        match failure.reason {
            "Timeout" => Self::Timeout(failure.message.clone()),
            _ => Self::Kubernetes(failure.message.clone()),
        }
    }
}
