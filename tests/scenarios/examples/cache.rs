//! Cache: four kinds of children, a password that rolls them, labels of the owner, a pause.

use serde_json::{Value, json};

use super::Example;
use crate::cluster::Cluster;
use crate::cluster::objects::{condition, text};
use crate::cluster::operator::Operator;
use crate::cluster::user::MERGE;

#[allow(dead_code)] // its command line is tested as a process
#[path = "../../../examples/cache.rs"]
pub mod example;

const CHILDREN: [&str; 4] = [
    "configmaps",
    "services",
    "statefulsets",
    "poddisruptionbudgets",
];

fn spec() -> Value {
    json!({"image": "valkey/valkey:9", "replicas": 2, "memoryMib": 64, "passwordSecret": "password"})
}

fn secret(password: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "password"},
        "stringData": {"password": password},
    })
}

async fn start(cluster: &Cluster) -> Operator {
    Example::Cache.install(cluster).await;
    let operator = Example::Cache.operate(cluster).await;
    cluster.make("secrets", secret("one")).await;
    let mut cache = Example::Cache.object("hello", spec());
    cache["metadata"]["labels"] = json!({"team": "shop"});
    cluster.make("caches", cache).await;
    operator
}

/// Waits until the condition Ready has this reason.
async fn until_reason(cluster: &Cluster, reason: &str) -> Value {
    let has = |cache: &Value| condition(cache, "Ready")["reason"] == reason;
    let what = format!("hello is {reason}");
    cluster.until(&what, "caches", "hello", has).await
}

/// Makes the pods of the StatefulSet ready, where no controller does: on a real cluster.
async fn become_ready(cluster: &Cluster) {
    let set = cluster.until_there("statefulsets", "hello").await;
    if cluster.as_simulated().is_some() {
        return;
    }
    let replicas = &set["spec"]["replicas"];
    let status = json!({"status": {
        "observedGeneration": set["metadata"]["generation"], "replicas": replicas,
        "updatedReplicas": replicas, "readyReplicas": replicas, "availableReplicas": replicas,
    }});
    let path = format!("{}/status", cluster.path("statefulsets", "hello"));
    let made = cluster.request(http::Method::PATCH, &path, MERGE, &status);
    made.await.expect("make its pods ready");
}

/// The digest of the password in the template of the pods.
fn password(set: &Value) -> String {
    text(
        set,
        "/spec/template/metadata/annotations/example.com~1password",
    )
}

pub async fn its_children_have_its_labels_and_go_with_it(cluster: Cluster) {
    let operator = start(&cluster).await;
    become_ready(&cluster).await;
    until_reason(&cluster, "Running").await;
    for kind in CHILDREN {
        let child = cluster.get(kind, "hello").await;
        assert_eq!(text(&child, "/metadata/labels/team"), "shop", "{kind}");
    }
    let service = cluster.get("services", "hello").await;
    assert_eq!(service["spec"]["clusterIP"], "None");
    let label = json!({"metadata": {"labels": {"team": "web"}}});
    cluster.patch("caches", "hello", label).await;
    for kind in CHILDREN {
        let has = |child: &Value| text(child, "/metadata/labels/team") == "web";
        let what = format!("the other label is on its {kind}");
        cluster.until(&what, kind, "hello", has).await;
    }
    let drift = json!({"spec": {"replicas": 9}});
    cluster.patch("statefulsets", "hello", drift).await;
    let is_set_back = |set: &Value| set["spec"]["replicas"] == 2;
    let what = "its replicas are set back";
    cluster
        .until(what, "statefulsets", "hello", is_set_back)
        .await;
    become_ready(&cluster).await;
    cluster
        .assert_stays_idle(&[Example::Cache.user(&cluster)])
        .await;
    cluster.delete("caches", "hello").await;
    for kind in CHILDREN {
        cluster.until_gone(kind, "hello").await;
    }
    operator.terminate().await;
}

pub async fn another_password_rolls_it_and_a_label_of_the_secret_does_not(cluster: Cluster) {
    let operator = start(&cluster).await;
    let first = cluster.until_there("statefulsets", "hello").await;
    let label = json!({"metadata": {"labels": {"team": "web"}}});
    cluster.patch("secrets", "password", label).await;
    cluster.until_quiet(&[Example::Cache.user(&cluster)]).await;
    let same = cluster.get("statefulsets", "hello").await;
    assert_eq!(password(&same), password(&first));
    let other = json!({"stringData": {"password": "two"}});
    cluster.patch("secrets", "password", other).await;
    let is_rolled = |set: &Value| password(set) != password(&first);
    let what = "the pods are rolled";
    cluster
        .until(what, "statefulsets", "hello", is_rolled)
        .await;
    operator.terminate().await;
}

pub async fn it_waits_for_its_password(cluster: Cluster) {
    Example::Cache.install(&cluster).await;
    let operator = Example::Cache.operate(&cluster).await;
    Example::Cache.create(&cluster, "hello", spec()).await;
    let cache = until_reason(&cluster, "NoPassword").await;
    let message = text(condition(&cache, "Ready"), "/message");
    assert_eq!(
        message,
        "there is no Secret \"password\" with the key \"password\"; create it"
    );
    cluster.make("secrets", secret("one")).await;
    become_ready(&cluster).await;
    until_reason(&cluster, "Running").await;
    operator.terminate().await;
}

pub async fn paused_it_is_left_as_it_is(cluster: Cluster) {
    let operator = start(&cluster).await;
    become_ready(&cluster).await;
    until_reason(&cluster, "Running").await;
    let paused = |value: Value| json!({"metadata": {"annotations": {"example.com/paused": value}}});
    cluster
        .patch("caches", "hello", paused(json!("true")))
        .await;
    cluster
        .patch("caches", "hello", json!({"spec": {"replicas": 3}}))
        .await;
    cluster.until_quiet(&[Example::Cache.user(&cluster)]).await;
    let set = cluster.get("statefulsets", "hello").await;
    assert_eq!(set["spec"]["replicas"], 2);
    cluster.patch("caches", "hello", paused(Value::Null)).await;
    let is_scaled = |set: &Value| set["spec"]["replicas"] == 3;
    let what = "the change is applied";
    cluster
        .until(what, "statefulsets", "hello", is_scaled)
        .await;
    operator.terminate().await;
}
