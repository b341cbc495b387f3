//! What an EdgeApp says of a Deployment that does not get on: a new image that never starts, pods that are refused.
//!
//! Where pods are made, the real controllers of Deployments make them; nobody starts them, because there is no node.

use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use tare_runtime::cache::Mode;

use crate::cluster::Cluster;
use crate::cluster::objects::{condition, text};
use crate::cluster::simulated::{Simulated, pass};
use crate::shipped::installed;

const WORDS: &str = "pods \"web-1\" is forbidden: exceeded quota: none, requested: pods=1";

/// Writes the status of the Deployment `web` for its newest spec, as its controller does.
async fn says(cluster: &Simulated, mut status: Value) {
    let generation = cluster.get("deployments", "web")["metadata"]["generation"].clone();
    status["observedGeneration"] = generation;
    let deployments = cluster.api::<k8s_openapi::api::apps::v1::Deployment>();
    let (how, patch) = (
        PatchParams::default(),
        Patch::Merge(json!({ "status": status })),
    );
    let said = deployments.patch_status("web", &how, &patch);
    said.await.expect("a controller may say so");
}

fn one_of_one() -> Value {
    json!({"replicas": 1, "updatedReplicas": 1, "readyReplicas": 1, "availableReplicas": 1, "unavailableReplicas": null})
}

pub async fn an_old_pod_that_is_ready_does_not_stand_for_a_new_one(mode: Mode) {
    let cluster = Simulated::never_ready(mode);
    let running = cluster.operate();
    running.until_ready().await;
    cluster.create("web", json!({ "image": "web:1" })).await;
    pass(5).await;
    says(&cluster, one_of_one()).await;
    cluster.until_phase("web", "Running").await;
    cluster
        .change("web", json!({ "image": "web:does-not-exist" }))
        .await;
    pass(5).await;
    let mut surged = one_of_one();
    (surged["replicas"], surged["unavailableReplicas"]) = (2.into(), 1.into());
    says(&cluster, surged).await;
    pass(10).await;
    let web = cluster.get("edgeapps", "web");
    assert_eq!(web["status"]["observedGeneration"], 2);
    assert_eq!(web["status"]["phase"], "Progressing");
    assert_eq!(condition(&web, "Ready")["status"], "False");
    says(&cluster, one_of_one()).await;
    cluster.until_phase("web", "Running").await;
    running.stop().await;
}

pub async fn pods_that_are_refused_are_told_in_the_words_of_the_server(mode: Mode) {
    let cluster = Simulated::never_ready(mode);
    let running = cluster.operate();
    running.until_ready().await;
    cluster.create("web", json!({ "image": "web:1" })).await;
    cluster.until_phase("web", "Progressing").await;
    pass(5).await;
    let reads = cluster.requests("get", "deployments");
    let refused = json!({
        "type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": WORDS,
    });
    says(
        &cluster,
        json!({"replicas": null, "updatedReplicas": null, "conditions": [refused]}),
    )
    .await;
    cluster
        .until("the condition tells it", |cluster| {
            cluster.condition("web", "Degraded")["status"] == "True"
        })
        .await;
    pass(60).await;
    let degraded = cluster.condition("web", "Degraded");
    assert_eq!(degraded["reason"], "ReplicaFailure");
    assert!(text(&degraded, "/message").ends_with(WORDS), "{degraded}");
    let events = cluster.server.objects("events");
    assert_eq!(events.len(), 1, "it is told once: {events:?}");
    assert_eq!(events[0]["reason"], "ReplicaFailure");
    assert!(text(&events[0], "/message").ends_with(WORDS), "{events:?}");
    let counted = "tare_reconcile_errors_total{reason=\"ReplicaFailure\"} 1";
    let metrics = running.rendered_metrics();
    assert!(metrics.contains(counted), "{metrics}");
    let read = cluster.requests("get", "deployments") - reads;
    assert_eq!(read, 1, "for its words");

    says(&cluster, json!({ "conditions": [] })).await;
    cluster
        .until("nothing is wrong any more", |cluster| {
            cluster.condition("web", "Degraded")["status"] == "False"
        })
        .await;
    assert_eq!(cluster.phase("web"), "Progressing");
    running.stop().await;
}

/// A namespace in which pods are refused by Pod Security, and one with a quota that is used up.
pub async fn pods_that_pod_security_or_a_quota_refuses_are_told(cluster: Cluster) {
    let _person = installed(&cluster).await;
    let operator = cluster.operate().await;
    let web = json!({ "image": "registry.local/web:1", "replicas": 2 });
    let namespace = format!("/api/v1/namespaces/{}", cluster.namespace);

    let restricted = json!({ "metadata": { "labels": {
        "pod-security.kubernetes.io/enforce": "restricted" } } });
    merge(&cluster, &namespace, &restricted).await;
    cluster.create("insecure", web.clone()).await;
    until_told(&cluster, "insecure", "violates PodSecurity").await;
    let free = json!({ "metadata": { "labels": { "pod-security.kubernetes.io/enforce": null } } });
    merge(&cluster, &namespace, &free).await;
    until_free(&cluster, "insecure").await;

    let quota = json!({
        "apiVersion": "v1", "kind": "ResourceQuota", "metadata": { "name": "none" },
        "spec": { "hard": { "pods": "0" } },
    });
    cluster.make("resourcequotas", quota).await;
    // The controller of quotas does not run: without a status a quota is not enforced.
    let used = json!({ "status": { "hard": { "pods": "0" }, "used": { "pods": "0" } } });
    let path = format!("{namespace}/resourcequotas/none/status");
    merge(&cluster, &path, &used).await;
    cluster.create("many", web).await;
    until_told(&cluster, "many", "exceeded quota").await;
    cluster.delete("resourcequotas", "none").await;
    until_free(&cluster, "many").await;
    operator.terminate().await;
}

async fn merge(cluster: &Cluster, path: &str, patch: &Value) {
    let merged = cluster
        .request(
            http::Method::PATCH,
            path,
            crate::cluster::user::MERGE,
            patch,
        )
        .await;
    merged.unwrap_or_else(|error| panic!("patch {path}: {error}"));
}

/// The condition and an Event have these words of the server.
async fn until_told(cluster: &Cluster, name: &str, words: &str) {
    let told = cluster.until_degraded(name, "ReplicaFailure").await;
    let message = text(condition(&told, "Degraded"), "/message");
    assert!(message.contains(words), "{message}");
    let has_event = |events: &Value| {
        let mut events = events["items"].as_array().into_iter().flatten();
        events.any(|event| {
            event["involvedObject"]["kind"] == "EdgeApp"
                && event["involvedObject"]["name"] == name
                && event["reason"] == "ReplicaFailure"
                && text(event, "/message").contains(words)
        })
    };
    cluster
        .until("an Event tells it", "events", "", has_event)
        .await;
}

/// The text goes once pods are made: the controller of ReplicaSets tries again with growing pauses.
async fn until_free(cluster: &Cluster, name: &str) {
    let is_free = |web: &Value| {
        web["status"]["replicas"] == 2 && condition(web, "Degraded")["status"] == "False"
    };
    let what = format!("nothing is wrong with {name}");
    cluster.until(&what, "edgeapps", name, is_free).await;
}

/// The pod of the old image is ready, and nobody starts the one of the new image.
pub async fn a_new_image_that_never_starts_is_not_ready(cluster: Cluster) {
    let _person = installed(&cluster).await;
    let operator = cluster.operate().await;
    cluster
        .create("web", json!({ "image": "registry.local/web:1" }))
        .await;
    let pods = |count: usize| {
        move |list: &Value| {
            list["items"].as_array().is_some_and(|all| {
                let is_its = |pod: &&Value| pod["metadata"]["labels"]["tare.dev/owner"] == "web";
                all.iter().filter(is_its).count() == count
            })
        }
    };
    let list = cluster.until("its pod is made", "pods", "", pods(1)).await;
    let name = text(&list["items"][0], "/metadata/name");
    // As a kubelet says it.
    let now = "2026-11-27T12:00:00Z";
    let conditions: Vec<Value> = ["ContainersReady", "Ready"]
        .map(|type_| json!({ "type": type_, "status": "True", "lastTransitionTime": now }))
        .into();
    let ready = json!({ "status": { "phase": "Running", "conditions": conditions } });
    cluster
        .patch("pods", &format!("{name}/status"), ready)
        .await;
    cluster.until_running("web").await;

    cluster
        .change("web", json!({ "image": "registry.local/absent:1" }))
        .await;
    cluster
        .until("the new pod is made", "pods", "", pods(2))
        .await;
    let both = |deployment: &Value| {
        let status = &deployment["status"];
        status["observedGeneration"] == 2
            && status["replicas"] == 2
            && status["updatedReplicas"] == 1
    };
    let what = "the Deployment has an old and a new pod";
    cluster.until(what, "deployments", "web", both).await;
    cluster.until_quiet(&["tare"]).await;
    let web = cluster.get("edgeapps", "web").await;
    assert_eq!(web["status"]["observedGeneration"], 2);
    assert_eq!(web["status"]["phase"], "Progressing", "{web}");
    assert_eq!(condition(&web, "Ready")["status"], "False");
    operator.terminate().await;
}
