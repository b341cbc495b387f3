use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Patch, PatchParams};
use kube::runtime::watcher;
use kube::{Api, Client, Resource, ResourceExt};
use tare_runtime::free::{Action, Controller};
use tare_runtime::prelude::*;

#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(group = "example.com", version = "v1", kind = "Page", namespaced)]
pub struct PageSpec { text: String }

async fn reconcile(page: Arc<Page>, client: Arc<Client>) -> Result<Action, kube::Error> {
    let (name, namespace) = (page.name_any(), page.namespace().unwrap_or_default());
    let maps = Api::<ConfigMap>::namespaced(Client::clone(&client), &namespace);
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"text": page.spec.text},
        "metadata": {"name": name, "ownerReferences": [page.controller_owner_ref(&())]}});
    maps.patch(&name, &PatchParams::apply("pages").force(), &Patch::Apply(map)).await?;
    Ok(Action::requeue(Duration::from_secs(300)))
}

async fn run(client: Client) {
    Controller::new(Api::<Page>::all(client.clone()), watcher::Config::default())
        .owns(Api::<ConfigMap>::all(client.clone()), watcher::Config::default())
        .shutdown_on_signal()
        .run(reconcile, |_, _, _| Action::back_off(), Arc::new(client))
        .for_each(async |done| if let Err(error) = done { eprintln!("{error}") })
        .await;
}

#[tokio::main]
async fn main() -> Result<(), kube::Error> {
    run(Client::try_default().await?).await;
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_page_has_a_config_map() {
    let server = kubesim::Server::new(kubesim::Options::default());
    server.install(&Program::of::<Page>("an operator for Pages", "0.1.0").crd()).expect("its CRD is served");
    let controller = tokio::spawn(run(server.client("pages")));
    let page = Page::new("hello", PageSpec { text: "one".to_owned() });
    let pages = Api::<Page>::namespaced(server.client("user"), "default");
    pages.create(&Default::default(), &page).await.expect("it is created");
    let maps = Api::<ConfigMap>::namespaced(server.client("user"), "default");
    let is_there = async || maps.get_opt("hello").await.is_ok_and(|map| map.is_some());
    tare_runtime::testing::until("the ConfigMap is there", is_there).await;
    controller.abort();
}
