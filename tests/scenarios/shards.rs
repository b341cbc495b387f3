//! Operators that share a cluster by labels: each writes only for the owners that it selects.

use std::sync::{Arc, Mutex, PoisonError};

use kube::api::PostParams;
use kubesim::RequestFault;
use serde_json::{Value, json};
use tare::edgeapp::{EdgeApp, EdgeApps};
use tare_runtime::cache::Mode;
use tare_runtime::controller::Config;

use crate::cluster::Cluster;
use crate::cluster::simulated::{Running, Simulated, config, pass, web};

/// An operator for one shard.
fn operate(cluster: &Simulated, shard: &str) -> Running {
    let config = Config {
        selector: Some(format!("shard={shard}")),
        ..config()
    };
    let client = cluster.server.client(&format!("tare-{shard}"));
    cluster.operate_with(EdgeApps, client, config)
}

async fn create(cluster: &Simulated, name: &str, shard: &str) {
    let object: EdgeApp = serde_json::from_value(json!({
        "apiVersion": "tare.dev/v1alpha1", "kind": "EdgeApp",
        "metadata": {"name": name, "labels": {"shard": shard}}, "spec": web()}))
    .expect("a valid EdgeApp");
    let (api, how) = (cluster.edgeapps(), PostParams::default());
    api.create(&how, &object).await.expect("create the EdgeApp");
    cluster.until_phase(name, "Running").await;
}

pub async fn a_change_of_a_child_makes_only_its_own_shard_write(mode: Mode) {
    let cluster = Simulated::new(mode);
    let (a, b) = (operate(&cluster, "a"), operate(&cluster, "b"));
    a.until_ready().await;
    b.until_ready().await;
    create(&cluster, "apple", "a").await;
    create(&cluster, "berry", "b").await;
    pass(90).await;
    b.stop().await;

    let writes = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&writes);
    cluster.server.faults().on_request(move |facts| {
        if facts.user == "tare-a" && !matches!(facts.verb, "get" | "list" | "watch") {
            let write = format!("{} {} {:?}", facts.verb, facts.resource, facts.name);
            noted
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(write);
        }
        RequestFault::Pass
    });
    let user = Cluster::simulated(cluster.clone());
    let nine = json!({ "spec": { "replicas": 9 } });
    let replicas = |name: &str| cluster.get("deployments", name)["spec"]["replicas"].clone();
    user.patch("deployments", "berry", nine.clone()).await;
    user.delete("services", "berry").await;
    pass(60).await;
    let written: Vec<String> = writes
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .clone();
    assert!(written.is_empty(), "of another shard: {written:?}");
    assert_eq!(replicas("berry"), 9);

    // Its own are set back all the same, and so are those of the other by their own operator.
    user.patch("deployments", "apple", nine).await;
    cluster
        .until("apple is set back", |_| replicas("apple") == 1)
        .await;
    let b = operate(&cluster, "b");
    cluster
        .until("berry is set back", |_| replicas("berry") == 1)
        .await;
    let back = |cluster: &Simulated| cluster.get("services", "berry") != Value::Null;
    cluster.until("the Service is back", back).await;
    a.stop().await;
    b.stop().await;
}
