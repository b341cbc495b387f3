//! Echo: the order of finalizer and Deployment, also when the operator is killed in between.

use kubesim::RequestFault;
use serde_json::{Value, json};

use super::Example::Echo;
use super::until_replicas;
use crate::cluster::Cluster;
use crate::cluster::objects::container;
use crate::cluster::simulated::pass;
use example::{Action, action};

#[allow(dead_code)] // its command line is tested as a process
#[path = "../../../examples/echo.rs"]
pub mod example;

pub fn the_action_follows_from_deletion_and_finalizer() {
    for (deleting, deployed, wanted) in [
        (false, false, Action::Create),
        (false, true, Action::NoOp),
        (true, false, Action::Delete),
        (true, true, Action::Delete),
    ] {
        assert_eq!(action(deleting, deployed), wanted, "{deleting} {deployed}");
    }
}

/// On a simulated cluster, no request of the operator for `verb` on `resource` is answered from here
/// on; a real one has no such fault.
fn stall(cluster: &Cluster, verb: &'static str, resource: &'static str) {
    if let Some(simulated) = cluster.as_simulated() {
        simulated.server.faults().on_request(move |facts| {
            match facts.user == "tare" && facts.verb == verb && facts.resource == resource {
                true => RequestFault::Hang,
                false => RequestFault::Pass,
            }
        });
    }
}

fn clear_faults(cluster: &Cluster) {
    if let Some(simulated) = cluster.as_simulated() {
        simulated.server.faults().clear();
    }
}

fn has_finalizer(echo: &Value) -> bool {
    echo["metadata"]["finalizers"] == json!(["echoes.example.com/finalizer"])
}

async fn until_it_has_its_finalizer(cluster: &Cluster) {
    let what = "it has its finalizer";
    cluster.until(what, "echoes", "hello", has_finalizer).await;
}

pub async fn it_has_its_finalizer_before_its_deployment_and_follows_replicas(cluster: Cluster) {
    Echo.install(&cluster).await;
    stall(&cluster, "create", "deployments");
    let operator = Echo.operate(&cluster).await;
    Echo.create(&cluster, "hello", json!({ "replicas": 2 }))
        .await;
    until_it_has_its_finalizer(&cluster).await;
    if cluster.as_simulated().is_some() {
        assert!(cluster.get("deployments", "hello").await.is_null());
    }
    clear_faults(&cluster);
    let deployment = until_replicas(&cluster, "hello", 2).await;
    let container = container(&deployment);
    assert_eq!(container["image"], "inanimate/echo-server:latest");
    assert_eq!(container["ports"][0]["containerPort"], 8080);
    assert_eq!(deployment["metadata"]["labels"]["app"], "hello");
    Echo.change(&cluster, "hello", json!({ "replicas": 4 }))
        .await;
    until_replicas(&cluster, "hello", 4).await;
    cluster.delete("echoes", "hello").await;
    cluster.until_gone("echoes", "hello").await;
    operator.terminate().await;
}

/// On a simulated cluster it is killed exactly between finalizer and Deployment, on a real one
/// wherever it happens to be.
pub async fn killed_at_its_start_and_at_its_end_it_finishes(cluster: Cluster) {
    Echo.install(&cluster).await;
    stall(&cluster, "create", "deployments");
    let operator = Echo.operate(&cluster).await;
    Echo.create(&cluster, "hello", json!({ "replicas": 2 }))
        .await;
    if cluster.as_simulated().is_some() {
        until_it_has_its_finalizer(&cluster).await;
        pass(1).await;
    }
    operator.kill().await;
    if cluster.as_simulated().is_some() {
        assert!(cluster.get("deployments", "hello").await.is_null());
    }
    clear_faults(&cluster);
    let operator = Echo.operate(&cluster).await;
    until_replicas(&cluster, "hello", 2).await;
    until_it_has_its_finalizer(&cluster).await;

    if cluster.as_simulated().is_some() {
        pass(5).await;
    }
    stall(&cluster, "patch", "echoes");
    cluster.delete("echoes", "hello").await;
    if cluster.as_simulated().is_some() {
        cluster.until_gone("deployments", "hello").await;
        pass(1).await;
    }
    operator.kill().await;
    if cluster.as_simulated().is_some() {
        assert!(has_finalizer(&cluster.get("echoes", "hello").await));
    }
    clear_faults(&cluster);
    let operator = Echo.operate(&cluster).await;
    cluster.until_gone("echoes", "hello").await;
    cluster.until_gone("deployments", "hello").await;
    operator.terminate().await;
}
