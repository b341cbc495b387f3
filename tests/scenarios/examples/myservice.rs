//! MyService: children whose names do not sort like those of their owners.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Service;
use kube::api::{Api, DeleteParams, Patch, PatchParams};
use kubesim::RequestFault;
use serde_json::{Value, json};
use tare_runtime::cache::Mode;

use super::Example::MyService;
use super::{edit_replicas, until_replicas};
use crate::cluster::Cluster;
use crate::cluster::objects::container;
use crate::cluster::simulated::{Simulated, pass};

#[allow(dead_code)] // its command line is tested as a process
#[path = "../../../examples/myservice.rs"]
pub mod example;

fn spec() -> Value {
    json!({ "image": "nginx:1.27", "replicas": 3 })
}

pub async fn it_makes_both_children_follows_its_spec_heals_and_goes(cluster: Cluster) {
    MyService.install(&cluster).await;
    let operator = MyService.operate(&cluster).await;
    MyService.create(&cluster, "hello", spec()).await;
    let deployment = until_replicas(&cluster, "hello-deployment", 3).await;
    let template = &deployment["spec"]["template"];
    assert_eq!(container(&deployment)["name"], "hello-container");
    assert_eq!(template["metadata"]["labels"], json!({ "app": "hello" }));
    let service = cluster.until_there("services", "hello-service").await;
    assert_eq!(service["spec"]["selector"], json!({ "app": "hello" }));
    let port = &service["spec"]["ports"][0];
    assert_eq!(
        (&port["port"], &port["targetPort"], &port["protocol"]),
        (&80.into(), &80.into(), &"TCP".into())
    );
    MyService
        .change(&cluster, "hello", json!({ "replicas": 5 }))
        .await;
    until_replicas(&cluster, "hello-deployment", 5).await;
    cluster.assert_stays_idle(&[MyService.user(&cluster)]).await;
    operator.terminate().await;

    edit_replicas(&cluster, "hello-deployment", 9).await;
    cluster.delete("services", "hello-service").await;
    cluster.until_gone("services", "hello-service").await;
    let operator = MyService.operate(&cluster).await;
    until_replicas(&cluster, "hello-deployment", 5).await;
    cluster.until_there("services", "hello-service").await;
    cluster.delete("myservices", "hello").await;
    cluster.until_gone("myservices", "hello").await;
    cluster.until_gone("deployments", "hello-deployment").await;
    cluster.until_gone("services", "hello-service").await;
    cluster.assert_stays_idle(&[MyService.user(&cluster)]).await;
    let deployment = cluster.get("deployments", "hello-deployment").await;
    assert!(deployment.is_null(), "it was created again");
    operator.terminate().await;
}

async fn until_made(cluster: &Simulated, name: &str, replicas: i32) {
    let what = format!("{name} has {replicas} replicas and a Service");
    let (deployment, service) = (format!("{name}-deployment"), format!("{name}-service"));
    cluster
        .until(&what, |cluster| {
            cluster.get("deployments", &deployment)["spec"]["replicas"] == replicas
                && !cluster.get("services", &service).is_null()
        })
        .await;
}

pub async fn drift_of_two_among_many_is_found_with_few_requests(mode: Mode) {
    let simulated = Simulated::new(mode);
    let cluster = Cluster::simulated(simulated.clone());
    MyService.install(&cluster).await;
    let running = MyService.run_in(&simulated);
    // `a-1` sorts before `a-1-1`, `a-1-deployment` after `a-1-1-deployment`.
    let names: Vec<String> = (0..120)
        .map(|n| format!("a{}", format!("-{}", n % 7).repeat(n / 7 + 1)))
        .collect();
    for name in &names {
        MyService.create(&cluster, name, spec()).await;
    }
    for name in &names {
        until_made(&simulated, name, 3).await;
    }
    pass(120).await;
    running.stop().await;

    let deployments: Api<Deployment> = simulated.api();
    let services: Api<Service> = simulated.api();
    let edited = &names[17];
    let lost = &names[90];
    let patch = Patch::Merge(json!({"spec": {"replicas": 9}}));
    let (edited_child, how) = (format!("{edited}-deployment"), PatchParams::default());
    let patched = deployments.patch(&edited_child, &how, &patch).await;
    patched.expect("edit a Deployment");
    let lost_child = format!("{lost}-service");
    let deleted = services.delete(&lost_child, &DeleteParams::default()).await;
    deleted.expect("delete a Service");
    let (gets, lists, writes) = (
        simulated.reads(),
        simulated.requests("list", "deployments"),
        simulated.writes(),
    );
    let running = MyService.run_in(&simulated);
    until_made(&simulated, edited, 3).await;
    until_made(&simulated, lost, 3).await;
    running.until_ready().await;
    pass(30).await;
    // The first page, and one list for all 120 owners.
    assert_eq!(simulated.requests("list", "deployments") - lists, 1 + 1);
    assert_eq!(simulated.writes() - writes, 2);
    // Pages of three kinds and watches; the two owners and their children.
    let reads = simulated.reads() - gets;
    assert!(reads < 30, "{reads} reads for 2 of 120");
    running.stop().await;
}

pub async fn a_spec_that_changes_before_an_event_of_a_child_is_applied_to_all_children(mode: Mode) {
    let simulated = Simulated::new(mode);
    let cluster = Cluster::simulated(simulated.clone());
    MyService.install(&cluster).await;
    let operator = MyService.operate(&cluster).await;
    MyService.create(&cluster, "hello", spec()).await;
    cluster.until_there("services", "hello-service").await;
    pass(120).await;
    // The watch of the owners is away for a moment, and the Service takes long: what the owners' watch shows then
    // is what the worker has read.
    let away = Arc::new(AtomicBool::new(true));
    let is_away = Arc::clone(&away);
    simulated.server.faults().on_request(move |facts| {
        match (facts.user, facts.verb, facts.resource) {
            ("tare", "watch", "myservices") if is_away.load(Relaxed) => RequestFault::Status {
                code: 503,
                reason: "ServiceUnavailable".to_owned(),
                message: "later".to_owned(),
                retry_after_s: None,
            },
            ("tare", "create", "services") => RequestFault::Delay(Duration::from_secs(6)),
            _ => RequestFault::Pass,
        }
    });
    simulated.server.close_watches();
    pass(1).await;
    MyService
        .change(&cluster, "hello", json!({ "image": "nginx:1.28" }))
        .await;
    cluster.delete("services", "hello-service").await;
    pass(3).await;
    away.store(false, Relaxed);
    let is_new = |child: &Value| container(child)["image"] == "nginx:1.28";
    let what = "the Deployment has the new image";
    cluster
        .until(what, "deployments", "hello-deployment", is_new)
        .await;
    cluster.until_there("services", "hello-service").await;
    operator.terminate().await;
}
