//! EdgeApp, `tare.dev/v1alpha1`: the types of `deploy/base/crd.yaml`, written down once more so that the
//! baseline depends on nothing of the operator it is compared with.
//!
//! Leaves the schema to the CRD, which the API server holds objects to: it is not generated here.

use std::collections::BTreeMap;

use anyhow::bail;
use k8s_openapi::api::core::v1::EnvVar;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::api::{Api, ListParams};
use kube::{CustomResource, CustomResourceExt};
use serde::{Deserialize, Serialize};

/// What the application should be.
#[derive(CustomResource, Deserialize, Serialize, Clone, Debug)]
#[kube(
    group = "tare.dev",
    version = "v1alpha1",
    kind = "EdgeApp",
    plural = "edgeapps",
    shortname = "ea",
    namespaced,
    schema = "disabled",
    status = "EdgeAppStatus"
)]
#[serde(rename_all = "camelCase")]
pub struct EdgeAppSpec {
    pub image: String,
    #[serde(default = "one")]
    pub replicas: i32,
    pub port: Option<i32>,
    pub headless: Option<bool>,
    #[serde(default)]
    pub env: Vec<EnvVar>,
    pub resources: Option<Resources>,
    pub accelerator: Option<Accelerator>,
}

/// Quantities by resource name; the schema allows `1` as well as `"1"`.
#[derive(Deserialize, Serialize, Clone, Debug, Default)]
pub struct Resources {
    #[serde(default)]
    pub requests: BTreeMap<String, IntOrString>,
    #[serde(default)]
    pub limits: BTreeMap<String, IntOrString>,
}

/// An extended resource that each pod needs.
#[derive(Deserialize, Serialize, Clone, Debug)]
pub struct Accelerator {
    pub resource: String,
    #[serde(default = "one")]
    pub count: i32,
}

/// What was last observed.
#[derive(Deserialize, Serialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct EdgeAppStatus {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<Phase>,
    #[serde(default)]
    pub replicas: i32,
    #[serde(default)]
    pub ready_replicas: i32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selector: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
}

/// Where an EdgeApp stands.
#[derive(Deserialize, Serialize, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    Pending,
    Progressing,
    Running,
    Failed,
    Terminating,
}

fn one() -> i32 {
    1
}

/// Says how to install the CRD if the API server does not know EdgeApps.
pub async fn check_installed(apps: &Api<EdgeApp>) -> anyhow::Result<()> {
    if let Err(error) = apps.list(&ListParams::default().limit(1)).await {
        bail!(
            "cannot list {}: {error}; is the CRD installed? kubectl apply -f deploy/base/crd.yaml",
            EdgeApp::crd_name()
        );
    }
    Ok(())
}
