//! What goes wrong around an operator on a real server, and that it ends as it should all the same.

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::world::{JSON, World, container, web};

pub async fn what_was_missed_while_it_was_down_is_found_at_the_start(world: World) {
    let operator = world.operate().await;
    for name in ["calm", "changed", "childless", "deleted", "edited"] {
        world.create(name, web()).await;
    }
    world.until_all_running(5).await;
    let calm = world.get("deployments", "calm").await;
    operator.kill();

    world.create("new", web()).await;
    let image = "registry.local/web:2";
    world.change("changed", json!({ "image": image })).await;
    world.delete("deployments", "childless").await;
    world.delete("services", "childless").await;
    world.delete("edgeapps", "deleted").await;
    let edit = json!({ "spec": { "replicas": 9 } });
    world.patch("deployments", "edited", edit).await;

    let operator = world.operate().await;
    world.until_gone("edgeapps", "deleted").await;
    world.until_gone("deployments", "deleted").await;
    let changed = |child: &Value| container(child)["image"] == image;
    world
        .until("the new image is there", "deployments", "changed", changed)
        .await;
    for resource in ["deployments", "services"] {
        world
            .until("it is back", resource, "childless", |child| {
                !child.is_null()
            })
            .await;
    }
    let set_back = |child: &Value| child["spec"]["replicas"] == 1;
    world
        .until("the edit is undone", "deployments", "edited", set_back)
        .await;
    world.until_all_running(5).await;
    assert_eq!(world.get("deployments", "calm").await, calm, "untouched");
    operator.terminate().await;
    world.end().await;
}

/// SIGKILL in the middle of a burst, several times over.
pub async fn killed_again_and_again_in_a_burst(world: World) {
    const COUNT: usize = 150;
    let names: Vec<String> = (0..COUNT).map(|n| format!("web-{n}")).collect();
    futures::future::join_all(names.iter().map(|name| world.create(name, web()))).await;
    for wave in 1..=4 {
        let operator = world.operate_as("tare").await;
        let some = wave * COUNT / 8;
        world
            .until("a part is done", "deployments", "", |list| {
                list["items"]
                    .as_array()
                    .is_some_and(|all| all.len() >= some)
            })
            .await;
        operator.kill();
    }
    let operator = world.operate().await;
    world.until_all_running(COUNT).await;
    for resource in ["deployments", "services"] {
        let mut owners: Vec<String> = world.all(resource).await.iter().map(owner_uid).collect();
        owners.sort();
        owners.dedup();
        assert_eq!(owners.len(), COUNT, "one of {resource} for each");
    }
    operator.terminate().await;
    world.end().await;
}

/// SIGTERM in the middle of a burst: it ends within its grace, and nothing is half done for long.
pub async fn terminated_in_a_burst_it_ends_in_time(world: World) {
    const COUNT: usize = 150;
    let operator = world.operate().await;
    let names: Vec<String> = (0..COUNT).map(|n| format!("web-{n}")).collect();
    futures::future::join_all(names.iter().map(|name| world.create(name, web()))).await;
    let asked = Instant::now();
    operator.terminate().await;
    assert!(
        asked.elapsed() < Duration::from_secs(6),
        "{:?}",
        asked.elapsed()
    );
    let operator = world.operate().await;
    world.until_all_running(COUNT).await;
    operator.terminate().await;
    world.end().await;
}

pub async fn a_terminating_namespace_is_left_to_end(world: World) {
    let mut operator = world.operate().await;
    for n in 0..5 {
        world.create(&format!("web-{n}"), web()).await;
    }
    world.until_all_running(5).await;
    let namespace = world.namespace.clone();
    let path = format!("/api/v1/namespaces/{namespace}");
    let options = json!({ "apiVersion": "v1", "kind": "DeleteOptions" });
    world
        .ask(http::Method::DELETE, &path, crate::world::JSON, &options)
        .await
        .expect("delete the namespace");
    let deadline = Instant::now() + Duration::from_secs(90);
    loop {
        let found = world
            .ask(http::Method::GET, &path, crate::world::JSON, &Value::Null)
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

/// A child cannot come back there: the server refuses with 403, as it does where a right is missing.
pub async fn a_terminating_namespace_is_no_missing_right(world: World) {
    let mut operator = world.operate().await;
    world.create("web", web()).await;
    let before = world.until_running("web").await;
    // Without this finalizer the namespace controller takes nothing away, and the EdgeApp stays.
    let path = format!("/api/v1/namespaces/{}", world.namespace);
    let namespace = world.ask(Method::GET, &path, JSON, &Value::Null).await;
    let mut namespace = namespace.expect("get the namespace");
    namespace["spec"]["finalizers"] = json!([]);
    let finalize = format!("{path}/finalize");
    let finalized = world.ask(Method::PUT, &finalize, JSON, &namespace).await;
    finalized.expect("take the finalizer away");
    let options = json!({ "apiVersion": "v1", "kind": "DeleteOptions" });
    let deleted = world.ask(Method::DELETE, &path, JSON, &options).await;
    deleted.expect("delete the namespace");

    world.delete("deployments", "web").await;
    let refused = || {
        let asked = world.asked("tare").into_iter();
        asked
            .filter(|one| one.verb == "create" && one.code == 403)
            .count()
    };
    let deadline = Instant::now() + Duration::from_secs(60);
    while refused() < 2 {
        assert!(Instant::now() < deadline, "{:?}", world.asked("tare"));
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let after = world.get("edgeapps", "web").await;
    assert_eq!(
        after["status"]["conditions"],
        before["status"]["conditions"]
    );
    let metrics = operator.metrics().await;
    assert!(
        !metrics.contains("tare_reconcile_errors_total{"),
        "{metrics}"
    );
    let log = std::fs::read_to_string(world.log()).expect("the log");
    assert!(!log.contains("may not"), "{log}");
    operator.until_ready().await;
    operator.assert_alive();
    operator.terminate().await;
    world.clone().end().await;
    // The second time, with nothing to wait for, it is gone at once.
    let deleted = world.ask(Method::DELETE, &path, JSON, &options).await;
    deleted.expect("delete the namespace for good");
}

/// Alone: it takes the EdgeApps of every namespace away.
pub async fn a_crd_removed_while_running_is_waited_for(world: World) {
    let mut operator = world.operate().await;
    world.create("web", web()).await;
    world.until_running("web").await;
    // What a failed scenario has left would wait for an operator that is gone.
    world.release_everywhere().await;
    let crd = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/edgeapps.tare.dev";
    let options = json!({ "apiVersion": "v1", "kind": "DeleteOptions" });
    world
        .ask(http::Method::DELETE, crd, crate::world::JSON, &options)
        .await
        .expect("delete the CRD");
    // The server deletes the EdgeApps first, and each of them is torn down in order.
    world.until_gone("deployments", "web").await;
    operator
        .until_answer("/readyz", "it says what is missing", |answer| {
            answer.contains("503") && answer.contains("run `tare install`")
        })
        .await;
    operator.assert_alive();
    world.site.install_crd().await;
    operator.until_ready().await;
    world.create("web", web()).await;
    world.until_running("web").await;
    operator.terminate().await;
    world.end().await;
}

/// Alone: every connection to the server is lost.
pub async fn an_api_server_that_restarts_is_met_again(world: World) {
    let mut operator = world.operate().await;
    world.create("before", web()).await;
    world.until_running("before").await;
    world.site.restart_api_server().await;
    world.create("after", web()).await;
    let image = "registry.local/web:2";
    world.change("before", json!({ "image": image })).await;
    world.until_all_running(2).await;
    let deployment = world.get("deployments", "before").await;
    assert_eq!(container(&deployment)["image"], image);
    operator.assert_alive();
    operator.terminate().await;
    world.end().await;
}

/// Alone: the server forgets its history, so that watches cannot go on where they were.
pub async fn a_history_that_was_compacted_is_joined_anew(world: World) {
    let mut operator = world.operate().await;
    world.create("web", web()).await;
    world.create("deleted", web()).await;
    world.until_all_running(2).await;
    // What it has seen last lies far behind when the server is back.
    operator.pause();
    for replicas in 2..12 {
        world.change("web", json!({ "replicas": replicas })).await;
    }
    world.delete("services", "web").await;
    world.delete("edgeapps", "deleted").await;
    world.site.compact().await;
    operator.resume();
    operator
        .until_figure("tare_watch_restarts_total{reason=\"Expired\"}", |times| {
            times >= 1.0
        })
        .await;
    world.until_gone("edgeapps", "deleted").await;
    let running = world.until_running("web").await;
    assert_eq!(running["status"]["readyReplicas"], 11);
    world
        .until("the Service is back", "services", "web", |one| {
            !one.is_null()
        })
        .await;
    operator.assert_alive();
    operator.terminate().await;
    world.end().await;
}

fn owner_uid(child: &Value) -> String {
    crate::world::text(child, "/metadata/ownerReferences/0/uid")
}
