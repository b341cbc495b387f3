//! HelmChart and HelmChartConfig, as k3s has them.
//!
//! Leaves to others: the CRDs, which are those of helm-controller itself (`workloads/helmchart/crds`).

use std::collections::BTreeMap;

use kube::CustomResource;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Which chart is installed, from where, with which values.
#[derive(CustomResource, Serialize, Deserialize, Clone, Debug, Default)]
#[kube(
    group = "helm.cattle.io",
    version = "v1",
    kind = "HelmChart",
    namespaced
)]
#[kube(schema = "disabled", status = "HelmChartStatus")]
#[serde(rename_all = "camelCase", default)]
pub struct HelmChartSpec {
    pub target_namespace: String,
    pub create_namespace: bool,
    pub chart: String,
    pub version: String,
    pub repo: String,
    #[serde(rename = "repoCA")]
    pub repo_ca: String,
    #[serde(rename = "repoCAConfigMap")]
    pub repo_ca_config_map: Option<Named>,
    /// Numbers and texts.
    pub set: BTreeMap<String, Value>,
    pub values: Option<Value>,
    pub values_content: String,
    pub values_secrets: Vec<SecretSpec>,
    pub helm_version: String,
    pub bootstrap: bool,
    pub take_ownership: bool,
    pub server_side: String,
    pub force_conflicts: bool,
    pub chart_content: String,
    pub job_image: String,
    pub back_off_limit: Option<i32>,
    pub timeout: Option<String>,
    pub failure_policy: String,
    pub auth_secret: Option<Named>,
    pub auth_pass_credentials: bool,
    #[serde(rename = "insecureSkipTLSVerify")]
    pub insecure_skip_tls_verify: bool,
    #[serde(rename = "plainHTTP")]
    pub plain_http: bool,
    pub docker_registry_secret: Option<Named>,
    pub pod_security_context: Option<Value>,
    pub security_context: Option<Value>,
    pub driver: String,
}

/// How it stands.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub struct HelmChartStatus {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub job_name: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<HelmChartCondition>,
}

/// A condition without times.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
pub struct HelmChartCondition {
    #[serde(rename = "type")]
    pub type_: String,
    pub status: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
}

impl HelmChartCondition {
    pub fn new(type_: &str, status: bool, reason: &str, message: impl Into<String>) -> Self {
        Self {
            type_: type_.to_owned(),
            status: if status { "True" } else { "False" }.to_owned(),
            reason: reason.to_owned(),
            message: message.into(),
        }
    }
}

/// What is changed of a HelmChart of the same name, which another system manages.
#[derive(CustomResource, Serialize, Deserialize, Clone, Debug, Default)]
#[kube(group = "helm.cattle.io", version = "v1", kind = "HelmChartConfig")]
#[kube(namespaced, schema = "disabled")]
#[serde(rename_all = "camelCase", default)]
pub struct HelmChartConfigSpec {
    pub values: Option<Value>,
    pub values_content: String,
    pub values_secrets: Vec<SecretSpec>,
    pub failure_policy: String,
    pub server_side: String,
    pub force_conflicts: Option<bool>,
}

/// Keys of a Secret that hold values.
#[derive(Serialize, Deserialize, Clone, Debug, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct SecretSpec {
    pub name: String,
    pub keys: Vec<String>,
    /// A change of the Secret is no upgrade, and it may be missing.
    pub ignore_updates: bool,
}

/// An object in the namespace of the chart.
#[derive(Serialize, Deserialize, Clone, Debug, Default)]
#[serde(default)]
pub struct Named {
    pub name: String,
}

/// A chart, with what a Job is made from. All of it comes from the object; nothing is asked of the server.
#[derive(Clone, Copy)]
pub struct Chart<'a> {
    pub name: &'a str,
    pub namespace: &'a str,
    pub spec: &'a HelmChartSpec,
    /// What changes it, where that is there.
    pub config: Option<&'a HelmChartConfigSpec>,
    pub is_deleted: bool,
}

impl Chart<'_> {
    /// The Job that installs, or the one that deletes.
    pub fn job_name(&self) -> String {
        let action = if self.is_deleted { "delete" } else { "install" };
        format!("helm-{action}-{}", self.name)
    }

    /// Where its release is.
    pub fn target_namespace(&self) -> &str {
        match &*self.spec.target_namespace {
            "" => self.namespace,
            target => target,
        }
    }

    /// The name of the Secret with its values.
    pub fn values_name(&self) -> String {
        format!("chart-values-{}", self.name)
    }

    /// The name of the ConfigMap with its content.
    pub fn content_name(&self) -> String {
        format!("chart-content-{}", self.name)
    }

    /// Secrets of others whose change is an upgrade, in the order in which they are hashed.
    pub fn followed_secrets(&self) -> impl Iterator<Item = &str> {
        let of_config = self.config.iter().flat_map(|config| &config.values_secrets);
        let all = self.spec.values_secrets.iter().chain(of_config);
        all.filter(|secret| !secret.ignore_updates && secret.name != self.values_name())
            .map(|secret| &*secret.name)
    }

    /// Where the chart comes from, for a person.
    pub fn source(&self, url: Option<&str>) -> String {
        let spec = self.spec;
        let (chart, version, repo) = (&spec.chart, &spec.version, &spec.repo);
        match () {
            () if !spec.chart_content.is_empty() => match url {
                Some(url) => format!("inline spec.chartContent from {url}"),
                None => "inline spec.chartContent".to_owned(),
            },
            () if chart.starts_with("oci://") && version.is_empty() => {
                format!("latest stable version from OCI registry {chart}")
            }
            () if chart.starts_with("oci://") => {
                format!("version {version} from OCI registry {chart}")
            }
            () if chart.contains("://") => chart.clone(),
            () if version.is_empty() => {
                format!("latest stable version of {chart} from chart repository {repo}")
            }
            () => format!("{chart} version {version} from chart repository {repo}"),
        }
    }
}
