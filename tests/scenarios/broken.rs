//! One object that cannot be decoded and one whose plan panics, among a thousand.

use std::convert::Infallible;

use futures::StreamExt;
use http::Method;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tare_runtime::api::{
    CONFIG_MAP, Child, Children, Kind, NoStatus, Operator, Owner, Plan, Requeue,
};
use tare_runtime::controller::Config;

use crate::cluster::Cluster;
use crate::cluster::objects::text;
use crate::cluster::simulated::{Running, config};
use crate::cluster::user::JSON;

const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
pub const OBJECTS: usize = 1_000;
/// Requests of the user at once.
const AT_ONCE: usize = 16;
/// Their neighbours are on the same page of a list, and in the same moment in the queue.
pub const UNDECODABLE: usize = OBJECTS / 2;
pub const PANICKING: usize = UNDECODABLE + 1;

/// What becomes a ConfigMap.
#[derive(CustomResource, Serialize, Deserialize, JsonSchema, Clone, Debug)]
#[kube(
    group = "example.com",
    version = "v1",
    kind = "Fragile",
    plural = "fragiles",
    namespaced
)]
pub struct FragileSpec {
    image: String,
}

struct Fragiles;

impl Operator for Fragiles {
    type Resource = Fragile;
    type Status = NoStatus;
    type Error = Infallible;
    type Observed = ();
    const NAME: &'static str = "fragile-operator";
    const FINALIZER: Option<&'static str> = Some("fragile.example.com/cleanup");
    const KINDS: &'static [Kind] = &[CONFIG_MAP];

    fn plan(&self, owner: &Owner<Self>, _: &Children) -> Result<Plan<NoStatus>, Infallible> {
        let image = &owner.spec.image;
        assert!(image != "panic", "this image is not for plans");
        let body = json!({ "data": { "image": image } });
        Ok(Plan {
            children: vec![Child::new(CONFIG_MAP, &*owner.meta.name, body)],
            status: NoStatus,
            requeue: Requeue::Default,
        })
    }
}

/// A definition that lets `image` be anything, as one that is older or newer than the operator may.
fn definition() -> Value {
    let anything = json!({ "x-kubernetes-preserve-unknown-fields": true });
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": "fragiles.example.com" },
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": { "kind": "Fragile", "plural": "fragiles", "singular": "fragile" },
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": {
                "openAPIV3Schema": { "type": "object", "properties": {
                    "spec": { "type": "object", "properties": { "image": anything } },
                } },
            } }],
        },
    })
}

pub async fn install(cluster: &Cluster) {
    let installed = cluster
        .request(Method::POST, CRDS, JSON, &definition())
        .await;
    match installed {
        // Another cache mode's scenario on the same server.
        Err(kube::Error::Api(status)) if status.code == 409 => {}
        installed => drop(installed.expect("install the CRD")),
    }
    let path = cluster.path("fragiles", "");
    let is_served = |list: &Value| list["items"].is_array();
    cluster
        .until_at("the kind is served", &path, is_served)
        .await;
}

pub async fn operate(cluster: &Cluster) -> Running {
    let client = match cluster.as_simulated() {
        Some(simulated) => simulated.server.client("tare"),
        None => cluster.client.clone(),
    };
    let config = Config {
        namespaces: vec![cluster.namespace.clone()],
        ..config()
    };
    let running = Running::start(Fragiles, cluster.mode, cluster.timeout, client, config);
    running.until_ready().await;
    running
}

pub async fn create(cluster: &Cluster, name: &str, image: Value) {
    let object = json!({
        "apiVersion": "example.com/v1", "kind": "Fragile",
        "metadata": { "name": name }, "spec": { "image": image },
    });
    cluster.make("fragiles", object).await;
}

pub fn is_broken(n: usize) -> bool {
    [UNDECODABLE, PANICKING].contains(&n)
}

pub fn name(n: usize) -> String {
    format!("o-{n:04}")
}

/// Waits until these are the ConfigMaps of all owners: `None` where an owner has none.
pub async fn until_all_have(cluster: &Cluster, image: impl Fn(usize) -> Option<&'static str>) {
    let wanted: Vec<(String, String)> = (0..OBJECTS)
        .filter_map(|n| Some((name(n), image(n)?.to_owned())))
        .collect();
    let what = format!("{} ConfigMaps are as planned", wanted.len());
    let are_as_planned = |list: &Value| {
        let items = list["items"].as_array();
        let own = items
            .into_iter()
            .flatten()
            .filter(|one| !one["metadata"]["ownerReferences"].is_null());
        let found = own.map(|one| (text(one, "/metadata/name"), text(one, "/data/image")));
        found.eq(wanted.iter().cloned())
    };
    cluster.until(&what, "configmaps", "", are_as_planned).await;
}

pub fn spec(image: Value) -> Value {
    json!({ "spec": { "image": image } })
}

pub async fn an_undecodable_and_a_panicking_object_among_a_thousand(cluster: Cluster) {
    install(&cluster).await;
    let operator = operate(&cluster).await;
    // A real server has to discover the kind of an owner before it lets children have it.
    create(&cluster, &name(0), json!("web:1")).await;
    cluster.until_there("configmaps", &name(0)).await;
    let creations = (1..OBJECTS).map(|n| {
        let image = match n {
            UNDECODABLE => json!({ "not": "a text" }),
            PANICKING => json!("panic"),
            _ => json!("web:1"),
        };
        let cluster = &cluster;
        async move { create(cluster, &name(n), image).await }
    });
    let creations = futures::stream::iter(creations).buffer_unordered(AT_ONCE);
    creations.collect::<Vec<()>>().await;
    until_all_have(&cluster, |n| (!is_broken(n)).then_some("web:1")).await;

    // Their neighbours follow their specs, and a start finds what the neighbours lack.
    let near = UNDECODABLE - 5..UNDECODABLE + 7;
    for n in near.clone().filter(|n| !is_broken(*n)) {
        cluster
            .patch("fragiles", &name(n), spec(json!("web:2")))
            .await;
    }
    let image = |n: usize| match near.contains(&n) {
        true => (!is_broken(n)).then_some("web:2"),
        false => Some("web:1"),
    };
    until_all_have(&cluster, image).await;
    operator.stop().await;
    cluster.delete("configmaps", &name(UNDECODABLE - 1)).await;
    let operator = operate(&cluster).await;
    until_all_have(&cluster, image).await;
    assert!(operator.is_alive());
    let metrics = operator.rendered_metrics();
    for reason in ["Panic", "Undecodable"] {
        let label = format!("reason={reason:?}");
        assert!(metrics.contains(&label), "{reason} is not in {metrics}");
    }

    // Two that were good have a child and a finalizer. All four can be deleted.
    let (first, second) = (UNDECODABLE - 2, PANICKING + 2);
    cluster
        .patch("fragiles", &name(first), spec(json!(7)))
        .await;
    cluster
        .patch("fragiles", &name(second), spec(json!("panic")))
        .await;
    let deleted = [UNDECODABLE, PANICKING, first, second];
    for n in deleted {
        cluster.delete("fragiles", &name(n)).await;
    }
    for n in deleted {
        cluster.until_gone("fragiles", &name(n)).await;
    }
    assert_eq!(cluster.all("fragiles").await.len(), OBJECTS - deleted.len());
    until_all_have(&cluster, |n| image(n).filter(|_| !deleted.contains(&n))).await;
    operator.stop().await;
}
