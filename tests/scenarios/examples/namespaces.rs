//! Namespaces: a quota and a label in each, kept there.

use http::Method;
use k8s_openapi::api::core::v1::ResourceQuota;
use kubesim::BuiltIn;
use serde_json::{Value, json};

use super::{Launched, user_of};
use crate::cluster::Cluster;
use crate::cluster::objects::text;
use crate::cluster::user::MERGE;

#[allow(dead_code)] // its command line is tested as a process
#[path = "../../../examples/namespaces.rs"]
pub mod example;

/// On a real cluster it is for the Namespace of this scenario alone: others are those of other scenarios.
async fn start(cluster: &Cluster) -> Launched {
    edit(cluster, json!({"labels": {"scenario": cluster.namespace}})).await;
    let selector = format!("scenario={}", cluster.namespace);
    let args = ["--pods", "20", "--selector", &*selector];
    Launched::start(cluster, "namespaces", &args, |shared| {
        example::run(shared, 20)
    })
    .await
}

fn path(cluster: &Cluster) -> String {
    format!("/api/v1/namespaces/{}", cluster.namespace)
}

/// Merges `metadata` into the Namespace.
async fn edit(cluster: &Cluster, metadata: Value) {
    let patch = json!({"metadata": metadata});
    let path = path(cluster);
    let edited = cluster.request(Method::PATCH, &path, MERGE, &patch);
    edited.await.expect("edit the Namespace");
}

async fn until_pods(cluster: &Cluster, pods: &str) {
    let has = |quota: &Value| text(quota, "/spec/hard/pods") == pods;
    let what = format!("its quota is {pods} pods");
    cluster
        .until(&what, "resourcequotas", "standard", has)
        .await;
}

async fn until_labelled(cluster: &Cluster) {
    let has = |namespace: &Value| {
        text(
            namespace,
            "/metadata/labels/pod-security.kubernetes.io~1enforce",
        ) == "baseline"
    };
    cluster
        .until_at("it has its label", &path(cluster), has)
        .await;
}

pub async fn each_has_a_quota_and_a_label_which_are_set_back(cluster: Cluster) {
    if let Some(simulated) = cluster.as_simulated() {
        let quota = BuiltIn::of::<ResourceQuota>().short_name("quota").status();
        simulated.server.declare(quota);
    }
    let running = start(&cluster).await;
    until_pods(&cluster, "20").await;
    until_labelled(&cluster).await;
    edit(&cluster, json!({"annotations": {"example.com/pods": "50"}})).await;
    until_pods(&cluster, "50").await;
    let drift = json!({"spec": {"hard": {"pods": "1000"}}});
    cluster.patch("resourcequotas", "standard", drift).await;
    until_pods(&cluster, "50").await;
    cluster.delete("resourcequotas", "standard").await;
    until_pods(&cluster, "50").await;
    let label = json!({"labels": {"pod-security.kubernetes.io/enforce": "privileged"}});
    edit(&cluster, label).await;
    until_labelled(&cluster).await;

    // What is as it should be is not written.
    cluster.until_quiet(&[user_of(&cluster)]).await;
    let writes = cluster.writes(&[user_of(&cluster)]);
    edit(&cluster, json!({"annotations": {"team": "shop"}})).await;
    running.terminate().await;
    let running = start(&cluster).await;
    until_labelled(&cluster).await;
    cluster.until_quiet(&[user_of(&cluster)]).await;
    assert_eq!(
        cluster.writes(&[user_of(&cluster)]),
        writes + own_edits(&cluster)
    );
    running.terminate().await;
}

/// Writes of the scenario itself under the user of the program.
fn own_edits(cluster: &Cluster) -> usize {
    match cluster.as_simulated() {
        Some(_) => 0,
        // The annotation, and the label with which it starts.
        None => 2,
    }
}
