//! The spec of an EdgeApp: its children follow it.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use kube::api::{Api, PostParams};
use kubesim::RequestFault;
use serde_json::{Value, json};
use tare::edgeapp::{EdgeApp, EdgeApps};
use tare_runtime::cache::Mode;
use tare_runtime::controller::Config;

use crate::cluster::Cluster;
use crate::cluster::objects::{container, foreign_deployment, is_running, text, web};
use crate::cluster::simulated::{Simulated, config, pass};

pub async fn scale_image_and_env_follow_the_spec(cluster: Cluster) {
    let operator = cluster.operate().await;
    cluster.create("web", web()).await;
    cluster.until_running("web").await;

    let scale = json!({ "spec": { "replicas": 3 } });
    cluster.patch("edgeapps", "web/scale", scale).await;
    let three = |object: &Value| is_running(object) && object["status"]["readyReplicas"] == 3;
    cluster
        .until("three replicas are ready", "edgeapps", "web", three)
        .await;
    let scale = cluster.get("edgeapps", "web/scale").await;
    assert_eq!(scale["status"]["replicas"], 3);
    assert_eq!(scale["status"]["selector"], "tare.dev/owner=web");

    cluster
        .change("web", json!({ "image": "registry.local/web:2" }))
        .await;
    cluster.until_running("web").await;
    let deployment = cluster.get("deployments", "web").await;
    assert_eq!(container(&deployment)["image"], "registry.local/web:2");

    let fewer = json!([{ "name": "A", "value": "1" }]);
    cluster.change("web", json!({ "env": fewer })).await;
    cluster.until_running("web").await;
    let deployment = cluster.get("deployments", "web").await;
    assert_eq!(container(&deployment)["env"], fewer);

    cluster.change("web", json!({ "env": null })).await;
    cluster.until_running("web").await;
    let deployment = cluster.get("deployments", "web").await;
    assert_eq!(container(&deployment)["env"], Value::Null);
    operator.terminate().await;
    cluster.end().await;
}

pub async fn an_immutable_field_recreates_the_service_and_without_a_port_it_is_deleted(
    cluster: Cluster,
) {
    let operator = cluster.operate().await;
    cluster.create("web", web()).await;
    cluster.until_running("web").await;
    let headless = cluster.get("services", "web").await;
    assert_eq!(headless["spec"]["clusterIP"], "None");

    for headless_again in [json!(null), json!(false)] {
        let before = cluster.get("services", "web").await;
        cluster
            .change("web", json!({ "headless": headless_again }))
            .await;
        let addressed = |service: &Value| {
            let ip = text(service, "/spec/clusterIP");
            !ip.is_empty() && ip != "None"
        };
        let service = cluster
            .until("it has a cluster IP", "services", "web", addressed)
            .await;
        assert_ne!(service["metadata"]["uid"], before["metadata"]["uid"]);

        cluster.change("web", json!({ "headless": true })).await;
        let is_headless = |service: &Value| service["spec"]["clusterIP"] == "None";
        cluster
            .until("it is headless again", "services", "web", is_headless)
            .await;
    }

    let without = json!({ "port": null, "headless": null });
    cluster.change("web", without).await;
    cluster.until_gone("services", "web").await;
    let running = cluster.until_running("web").await;
    assert_eq!(running["status"].get("endpoint"), None);
    let deployment = cluster.get("deployments", "web").await;
    assert_eq!(container(&deployment).get("ports"), None);
    operator.terminate().await;
    cluster.end().await;
}

/// A selector cannot be changed. One of ours with another selector was made by hand, or by another version.
pub async fn a_deployment_with_another_selector_is_recreated(cluster: Cluster) {
    let owner = cluster.create("web", web()).await;
    let owner = json!([{
        "apiVersion": "tare.dev/v1alpha1", "kind": "EdgeApp", "name": "web", "controller": true,
        "uid": owner["metadata"]["uid"],
    }]);
    let old = cluster
        .make("deployments", foreign_deployment("web", owner))
        .await;
    let operator = cluster.operate().await;
    cluster.until_running("web").await;
    let new = cluster.get("deployments", "web").await;
    assert_ne!(new["metadata"]["uid"], old["metadata"]["uid"]);
    let selector = &new["spec"]["selector"]["matchLabels"];
    assert_eq!(*selector, json!({ "tare.dev/owner": "web" }));
    operator.terminate().await;
    cluster.end().await;
}

pub async fn a_quantity_that_the_server_normalises_is_no_drift(cluster: Cluster) {
    let operator = cluster.operate().await;
    let mut spec = web();
    spec["resources"] = json!({
        "requests": { "cpu": "0.05", "memory": "1024Ki" },
        "limits": { "cpu": "1000m", "memory": 134_217_728 },
    });
    spec["accelerator"] = json!({ "resource": "nvidia.com/gpu", "count": 2 });
    cluster.create("web", spec).await;
    cluster.until_running("web").await;
    let made = cluster.get("deployments", "web").await;
    let limits = &container(&made)["resources"]["limits"];
    assert_eq!(limits["cpu"], "1");
    assert_eq!(limits["nvidia.com/gpu"], "2");
    operator.terminate().await;

    // A restart compares every field of the plan with what the server made of it.
    let operator = cluster.operate().await;
    let drift = operator.figure("tare_drift_total").await;
    assert_eq!(drift, 0.0, "the server's own spelling is not a change");
    let after = cluster.get("deployments", "web").await;
    assert_eq!(
        after["metadata"]["resourceVersion"],
        made["metadata"]["resourceVersion"]
    );
    operator.terminate().await;
    cluster.end().await;
}

pub async fn a_newer_spec_that_arrives_during_a_reconcile_wins(mode: Mode) {
    let cluster = Simulated::new(mode);
    // The creation of the Deployment takes a second; the spec changes twice meanwhile.
    let begun = Arc::new(AtomicBool::new(false));
    let begins = Arc::clone(&begun);
    cluster
        .server
        .faults()
        .on_request(move |facts| match (facts.verb, facts.resource) {
            ("create", "deployments") => {
                begins.store(true, Relaxed);
                RequestFault::Delay(Duration::from_secs(1))
            }
            _ => RequestFault::Pass,
        });
    let running = cluster.operate();
    running.until_ready().await;
    cluster.create("web", web()).await;
    cluster
        .until("the reconcile has begun", |_| begun.load(Relaxed))
        .await;
    cluster.change("web", json!({"image": "web:2"})).await;
    cluster.change("web", json!({"image": "web:3"})).await;
    cluster
        .until("the newest spec is observed", |cluster| {
            cluster.get("edgeapps", "web")["status"]["observedGeneration"] == 3
        })
        .await;
    let deployment = cluster.get("deployments", "web");
    assert_eq!(container(&deployment)["image"], "web:3");
    running.stop().await;
}

pub async fn only_selected_owners_of_the_chosen_namespace_are_reconciled(mode: Mode) {
    let cluster = Simulated::new(mode);
    let config = Config {
        namespaces: vec!["default".to_owned()],
        selector: Some("tier=edge".to_owned()),
        ..config()
    };
    let running = cluster.operate_with(EdgeApps, cluster.server.client("tare"), config);
    running.until_ready().await;
    cluster.create("plain", web()).await;
    let mut labelled: EdgeApp = serde_json::from_value(json!({
        "apiVersion": "tare.dev/v1alpha1", "kind": "EdgeApp",
        "metadata": {"name": "chosen", "labels": {"tier": "edge"}}, "spec": web()}))
    .expect("a valid EdgeApp");
    let how = PostParams::default();
    let created = cluster.edgeapps().create(&how, &labelled).await;
    created.expect("create the selected EdgeApp");
    labelled.metadata.name = Some("elsewhere".to_owned());
    let other: Api<EdgeApp> = Api::namespaced(cluster.client.clone(), "kube-system");
    let created = other.create(&how, &labelled).await;
    created.expect("create an EdgeApp in another namespace");
    cluster.until_phase("chosen", "Running").await;
    pass(60).await;
    assert_eq!(cluster.phase("plain"), "");
    let elsewhere = cluster
        .server
        .object("edgeapps", "kube-system", "elsewhere");
    assert!(elsewhere.is_some_and(|object| object["status"].is_null()));
    running.stop().await;
}
