//! Namespaces that are being deleted.

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::cluster::Cluster;
use crate::cluster::objects::web;
use crate::cluster::user::JSON;

pub async fn a_terminating_namespace_is_left_to_end(cluster: Cluster) {
    let mut operator = cluster.operate().await;
    for n in 0..5 {
        cluster.create(&format!("web-{n}"), web()).await;
    }
    cluster.until_all_running(5).await;
    let namespace = cluster.namespace.clone();
    let path = format!("/api/v1/namespaces/{namespace}");
    let options = json!({ "apiVersion": "v1", "kind": "DeleteOptions" });
    cluster
        .request(Method::DELETE, &path, JSON, &options)
        .await
        .expect("delete the namespace");
    let deadline = Instant::now() + Duration::from_secs(90);
    loop {
        let found = cluster
            .request(Method::GET, &path, JSON, &Value::Null)
            .await;
        match found {
            Err(kube::Error::Api(status)) if status.code == 404 => break,
            Ok(left) => assert!(Instant::now() < deadline, "it never ended: {left}"),
            Err(error) => panic!("get the namespace: {error}"),
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    operator.assert_alive();
    operator.terminate().await;
}

/// A child cannot come back there: the server refuses with 403, as it does where a permission is missing.
pub async fn a_terminating_namespace_is_no_missing_permission(cluster: Cluster) {
    let mut operator = cluster.operate().await;
    cluster.create("web", web()).await;
    let before = cluster.until_running("web").await;
    // Without this finalizer the namespace controller takes nothing away, and the EdgeApp stays.
    let path = format!("/api/v1/namespaces/{}", cluster.namespace);
    let namespace = cluster
        .request(Method::GET, &path, JSON, &Value::Null)
        .await;
    let mut namespace = namespace.expect("get the namespace");
    namespace["spec"]["finalizers"] = json!([]);
    let finalize = format!("{path}/finalize");
    let finalized = cluster
        .request(Method::PUT, &finalize, JSON, &namespace)
        .await;
    finalized.expect("take the finalizer away");
    let options = json!({ "apiVersion": "v1", "kind": "DeleteOptions" });
    let deleted = cluster.request(Method::DELETE, &path, JSON, &options).await;
    deleted.expect("delete the namespace");

    cluster.delete("deployments", "web").await;
    let refused = || {
        let asked = cluster.answered("tare").into_iter();
        asked
            .filter(|one| one.verb == "create" && one.code == 403)
            .count()
    };
    let deadline = Instant::now() + Duration::from_secs(60);
    while refused() < 2 {
        assert!(Instant::now() < deadline, "{:?}", cluster.answered("tare"));
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let after = cluster.get("edgeapps", "web").await;
    assert_eq!(
        after["status"]["conditions"],
        before["status"]["conditions"]
    );
    let metrics = operator.metrics().await;
    assert!(
        !metrics.contains("tare_reconcile_errors_total{"),
        "{metrics}"
    );
    let log = std::fs::read_to_string(cluster.log()).expect("the log");
    assert!(!log.contains("may not"), "{log}");
    operator.until_ready().await;
    operator.assert_alive();
    operator.terminate().await;
    cluster.clone().end().await;
    // The second time, with nothing to wait for, it is gone at once.
    let deleted = cluster.request(Method::DELETE, &path, JSON, &options).await;
    deleted.expect("delete the namespace for good");
}
