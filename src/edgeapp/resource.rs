//! The spec of an EdgeApp (`tare.dev/v1alpha1`, namespaced, short name `ea`).
//!
//! Guarantees: the types here and in `status` are the only source of `deploy/base/crd.yaml`; a test
//! compares the two.

use std::collections::BTreeMap;

use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::edgeapp::status::EdgeAppStatus;

/// What the application should be.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[kube(
    group = "tare.dev",
    version = "v1alpha1",
    kind = "EdgeApp",
    plural = "edgeapps",
    shortname = "ea",
    namespaced,
    doc = "An application on the edge: a Deployment and, with a port, a Service of the same name.",
    status = "EdgeAppStatus",
    derive = "PartialEq",
    derive = "Default",
    annotation("tare.dev/crd-revision", "1"),
    validation = Rule::new("self.metadata.name.matches('^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$')")
        .message("the name becomes a Service: at most 63 characters of a-z, 0-9 and '-', a letter first, no dots"),
    scale(
        spec_replicas_path = ".spec.replicas",
        status_replicas_path = ".status.replicas",
        label_selector_path = ".status.selector"
    ),
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"),
    printcolumn(name = "Ready", type_ = "integer", json_path = ".status.readyReplicas"),
    printcolumn(name = "Replicas", type_ = "integer", json_path = ".spec.replicas"),
    printcolumn(name = "Image", type_ = "string", json_path = ".spec.image", priority = 1),
    printcolumn(name = "Endpoint", type_ = "string", json_path = ".status.endpoint", priority = 1),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("!has(self.headless) || !self.headless || has(self.port)")
        .message("headless needs a port: without one there is no Service")
)]
pub struct EdgeAppSpec {
    /// Container image, for example `registry.local/shop/web:1.4`.
    #[schemars(length(min = 1, max = 1024), regex(pattern = r"^\S+$"))]
    pub image: String,

    /// How many pods run. 0 keeps the Deployment and stops its pods.
    #[serde(default = "one_replica")]
    #[schemars(range(min = 0, max = 1000))]
    pub replicas: i32,

    /// Port the container listens on. With it a Service maps port 80 to it; without it there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 65535))]
    pub port: Option<i32>,

    /// Makes the Service headless: no cluster IP, DNS answers with the pods.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headless: Option<bool>,

    /// Environment of the container.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 256), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub env: Vec<EnvVar>,

    /// What the container asks for and may use at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resources: Option<Resources>,

    /// An extended resource that each pod needs, for example `{resource: nvidia.com/gpu, count: 1}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accelerator: Option<Accelerator>,
}

/// One variable of the container's environment.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
pub struct EnvVar {
    /// Name of the variable.
    #[schemars(
        length(min = 1, max = 256),
        regex(pattern = r"^[-._a-zA-Z][-._a-zA-Z0-9]*$")
    )]
    pub name: String,
    /// Its value; `$(OTHER)` refers to an earlier variable.
    #[serde(default)]
    #[schemars(length(max = 32768))]
    pub value: String,
}

/// Quantities by resource name, such as `cpu: 50m` and `memory: 64Mi`.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
pub struct Resources {
    /// What is set aside for the container.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "quantities")]
    pub requests: BTreeMap<String, Quantity>,
    /// What the container may use at most.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "quantities")]
    pub limits: BTreeMap<String, Quantity>,
}

/// A Kubernetes quantity such as `50m` or `64Mi`; a plain number is taken as it stands.
#[derive(Serialize, JsonSchema, Clone, Debug, Default, PartialEq)]
#[serde(transparent)]
pub struct Quantity(pub String);

impl<'de> Deserialize<'de> for Quantity {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Either {
            Text(String),
            Number(serde_json::Number),
        }
        Ok(Quantity(match Either::deserialize(deserializer)? {
            Either::Text(text) => text,
            Either::Number(number) => number.to_string(),
        }))
    }
}

/// An extended resource and how many of it each pod needs.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
pub struct Accelerator {
    /// Name of the extended resource, with its domain.
    #[schemars(
        length(min = 3, max = 317),
        regex(pattern = r"^[a-z0-9.-]+/[A-Za-z0-9._-]+$")
    )]
    pub resource: String,
    /// How many of it.
    #[serde(default = "one_replica")]
    #[schemars(range(min = 1, max = 64))]
    pub count: i32,
}

fn one_replica() -> i32 {
    1
}

/// A map of quantities in the form that the API server itself uses for int-or-string values.
fn quantities(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({
        "type": "object",
        "maxProperties": 16,
        "additionalProperties": {
            "x-kubernetes-int-or-string": true,
            "pattern": r"^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$"
        }
    })
}
