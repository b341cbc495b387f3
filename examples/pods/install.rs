//! A CRD from a Rust type: derived, applied, and served when this returns.

use std::time::Duration;

use anyhow::Context;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Patch, PatchParams};
use kube::runtime::wait::{await_condition, conditions};
use kube::{Api, Client, CustomResource, CustomResourceExt, KubeSchema, ResourceExt};
use serde::{Deserialize, Serialize};

use super::screen::Screen;

/// A note in the cluster.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(
    group = "example.com",
    version = "v1",
    kind = "Note",
    namespaced,
    doc = "A note in the cluster.",
    printcolumn(name = "Text", type_ = "string", json_path = ".spec.text"),
    printcolumn(
        name = "Age",
        type_ = "date",
        json_path = ".metadata.creationTimestamp"
    )
)]
pub struct NoteSpec {
    /// Selection there is to remember.
    #[schemars(length(min = 1, max = 1024))]
    pub text: String,
}

/// Server-side apply: again and again gives the same, and a changed type changes the CRD.
pub async fn install<K: CustomResourceExt>(client: Client, screen: &Screen) -> anyhow::Result<()> {
    const TIMEOUT: Duration = Duration::from_secs(30);
    let (crds, crd): (Api<CustomResourceDefinition>, _) = (Api::all(client), K::crd());
    let name = crd.name_any();
    let ours = PatchParams::apply("pods-example").force();
    crds.patch(&name, &ours, &Patch::Apply(&crd)).await?;
    let served = await_condition(crds, &name, conditions::is_crd_established());
    let served = tokio::time::timeout(TIMEOUT, served).await;
    served.with_context(|| format!("{name} is not served after {} s", TIMEOUT.as_secs()))??;
    screen.line(format_args!("{name} is Established"))?;
    Ok(())
}
