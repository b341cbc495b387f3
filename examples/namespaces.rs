//! Namespaces: a controller of a kind of Kubernetes itself, which has no namespace. It keeps a quota and labels in each.
//!
//! Every Namespace but those of Kubernetes (`kube-…`) has the ResourceQuota `standard` and the label of Pod Security that is
//! set here. The annotation `example.com/pods` of a Namespace is another limit for it; `--selector` leaves others out.
//!
//! `cargo run --example namespaces -- run --pods 20`, and in another terminal
//! `kubectl create namespace shop && kubectl -n shop get quota`

use std::sync::Arc;

use k8s_openapi::api::core::v1::{Namespace, ResourceQuota};
use kube::api::{Patch, PatchParams};
use kube::{Api, Client, Resource, ResourceExt, runtime::watcher::Config};
use tare_runtime::app::cli;
use tare_runtime::free::{Action, Controller, back_off};
use tare_runtime::prelude::*;

const SECURITY: (&str, &str) = ("pod-security.kubernetes.io/enforce", "baseline");

pub struct Context {
    client: Client,
    /// Pods in a Namespace that says nothing.
    pods: u32,
}

async fn reconcile(
    namespace: Arc<Namespace>,
    context: Arc<Context>,
) -> Result<Action, kube::Error> {
    let name = namespace.name_any();
    if name.starts_with("kube-") || namespace.metadata.deletion_timestamp.is_some() {
        return Ok(Action::await_change());
    }
    let ours = PatchParams::apply("namespaces").force();
    if namespace
        .labels()
        .get(SECURITY.0)
        .is_none_or(|level| level != SECURITY.1)
    {
        let labelled = Patch::Apply(json!({
            "apiVersion": "v1", "kind": "Namespace", "metadata": {"labels": {SECURITY.0: SECURITY.1}},
        }));
        let namespaces = Api::<Namespace>::all(context.client.clone());
        namespaces.patch(&name, &ours, &labelled).await?;
    }
    let asked = namespace.annotations().get("example.com/pods");
    let pods = asked.map_or_else(|| context.pods.to_string(), String::clone);
    let quotas = Api::<ResourceQuota>::namespaced(context.client.clone(), &name);
    let found = quotas
        .get_opt("standard")
        .await?
        .and_then(|quota| quota.spec?.hard);
    if found.is_none_or(|hard| hard.get("pods").is_none_or(|found| found.0 != pods)) {
        let quota = Patch::Apply(json!({
            "apiVersion": "v1", "kind": "ResourceQuota", "spec": {"hard": {"pods": pods}},
            "metadata": {"name": "standard", "ownerReferences": [namespace.controller_owner_ref(&())]},
        }));
        quotas.patch("standard", &ours, &quota).await?;
    }
    Ok(Action::await_change())
}

pub async fn run(shared: Shared, pods: u32) {
    let controller = |place: &Place| {
        Controller::new(place.objects::<Namespace>(), place.selected())
            .owns(place.objects::<ResourceQuota>(), Config::default())
    };
    let client = shared.client.clone();
    let context = Arc::new(Context { client, pods });
    shared.run(controller, reconcile, back_off, context).await;
}

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1).collect();
    let Ok(pods) = cli::option(&mut arguments, "--pods", 100) else {
        return ExitCode::from(2);
    };
    Program::several(
        "namespaces",
        "a quota in each Namespace",
        env!("TARE_VERSION"),
    )
    .controller("namespaces", move |shared| run(shared, pods))
    .main(arguments)
}
