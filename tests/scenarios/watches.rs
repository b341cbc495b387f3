//! Watch streams that lose, repeat, end, stall or begin late, and servers that go away.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::time::Duration;

use http::Method;
use kube::Client;
use kubesim::{RequestFault, WatchFault};
use serde_json::json;
use tare::edgeapp::EdgeApps;
use tare_runtime::cache::Mode;
use tare_runtime::metrics::Verb;
use tokio::time::Instant;

use crate::cluster::Cluster;
use crate::cluster::objects::{container, web};
use crate::cluster::simulated::{Simulated, assert_same, config, lossy, pass};
use crate::cluster::user::JSON;

/// It takes the EdgeApps of every namespace away.
pub async fn a_crd_that_is_deleted_while_running_is_waited_for(cluster: Cluster) {
    let mut operator = cluster.operate().await;
    cluster.create("web", web()).await;
    cluster.until_running("web").await;
    // The EdgeApps of a failed scenario would wait for an operator that has ended.
    cluster.release_everywhere().await;
    let crd = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/edgeapps.tare.dev";
    let options = json!({ "apiVersion": "v1", "kind": "DeleteOptions" });
    let deleted = cluster.request(Method::DELETE, crd, JSON, &options).await;
    deleted.expect("delete the CRD");
    // The server deletes the EdgeApps first. The garbage collector deletes their children unless their kind is
    // gone when it comes to them (`deploy/README.md`, "The CRD was deleted").
    operator.until_not_ready("CRD is not installed").await;
    operator.assert_alive();
    cluster.install_crd().await;
    operator.until_ready().await;
    // On kine no watch may show the first object of a new kind.
    cluster.create("again", web()).await;
    let made = Instant::now();
    cluster.until_running("again").await;
    let took = made.elapsed();
    assert!(took <= Duration::from_secs(62), "found after {took:?}");
    operator.terminate().await;
    cluster.end().await;
}

/// Alone: every connection to the server is lost.
pub async fn an_api_server_that_restarts_is_used_again(cluster: Cluster) {
    let mut operator = cluster.operate().await;
    cluster.create("before", web()).await;
    cluster.until_running("before").await;
    cluster.as_real().plane.restart_api_server().await;
    cluster.create("after", web()).await;
    let image = "registry.local/web:2";
    cluster.change("before", json!({ "image": image })).await;
    cluster.until_all_running(2).await;
    let deployment = cluster.get("deployments", "before").await;
    assert_eq!(container(&deployment)["image"], image);
    operator.assert_alive();
    operator.terminate().await;
    cluster.end().await;
}

/// Alone: the server forgets its history, so that watches cannot go on where they were.
pub async fn a_compacted_history_is_relisted(cluster: Cluster) {
    let mut operator = cluster.operate().await;
    cluster.create("web", web()).await;
    cluster.create("deleted", web()).await;
    cluster.until_all_running(2).await;
    // What it has seen last lies far behind when the server is back.
    operator.as_process().pause();
    for replicas in 2..12 {
        cluster.change("web", json!({ "replicas": replicas })).await;
    }
    cluster.delete("services", "web").await;
    cluster.delete("edgeapps", "deleted").await;
    cluster.as_real().plane.compact().await;
    operator.as_process().resume();
    operator
        .until_figure("tare_watch_restarts_total{reason=\"Expired\"}", |times| {
            times >= 1.0
        })
        .await;
    cluster.until_gone("edgeapps", "deleted").await;
    let running = cluster.until_running("web").await;
    assert_eq!(running["status"]["readyReplicas"], 11);
    cluster
        .until("the Service is back", "services", "web", |one| {
            !one.is_null()
        })
        .await;
    operator.assert_alive();
    operator.terminate().await;
    cluster.end().await;
}

/// A spread of small numbers that is the same in every run.
fn dice(seed: u32) -> impl Fn() -> u32 {
    let state = AtomicU32::new(seed);
    move || {
        let mut x = state.load(Relaxed);
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
        state.store(x, Relaxed);
        x
    }
}

/// Creates, changes and deletes, the same way in every cluster.
async fn work(cluster: &Simulated) {
    for n in 0..60 {
        cluster.create(&format!("web-{n}"), web()).await;
    }
    for n in 0..20 {
        cluster
            .change(
                &format!("web-{n}"),
                json!({"image": "web:2", "port": null, "headless": null}),
            )
            .await;
    }
    for n in 20..30 {
        cluster
            .change(&format!("web-{n}"), json!({"replicas": 3}))
            .await;
    }
    for n in 50..60 {
        cluster.delete(&format!("web-{n}")).await;
    }
    pass(120).await;
}

pub async fn lost_watch_events_and_a_restart_end_in_the_same_state_as_a_calm_run(mode: Mode) {
    let calm = Simulated::new(mode);
    let operator = calm.operate();
    operator.until_ready().await;
    work(&calm).await;

    let rough = Simulated::new(mode);
    let roll = dice(0x2545_f491);
    rough.server.faults().on_watch(move |facts| {
        match facts.user == "tare" && roll().is_multiple_of(5) {
            true => WatchFault::Drop,
            false => WatchFault::Pass,
        }
    });
    let client = || rough.server.client("tare");
    let first = rough.operate_with(EdgeApps, client(), lossy());
    first.until_ready().await;
    work(&rough).await;
    first.kill().await;
    let second = rough.operate_with(EdgeApps, client(), lossy());
    second.until_ready().await;
    // Whatever was lost after the restart is found by the periodic relist.
    pass(1_500).await;
    assert_same(&rough.essence(), &calm.essence());
    for running in [operator, second] {
        running.stop().await;
    }
}

pub async fn a_watch_stream_recovers_from_every_fault(mode: Mode) {
    for fault in [
        WatchFault::Close,
        WatchFault::Truncate,
        WatchFault::Garbage,
        WatchFault::Stall,
        WatchFault::Error410,
    ] {
        let mut cluster = Simulated::new(mode);
        if fault == WatchFault::Stall {
            let because = "silence is noticed when the server should have ended the watch";
            cluster = cluster.waiting_up_to(Duration::from_secs(310), because);
        }
        // While there is no owner, a list each minute looks for the first one.
        cluster.create("first", web()).await;
        let running = cluster.operate();
        running.until_ready().await;
        let once = AtomicBool::new(true);
        let hit = fault.clone();
        cluster.server.faults().on_watch(move |facts| {
            match facts.name == "web-3" && once.swap(false, Relaxed) {
                true => hit.clone(),
                false => WatchFault::Pass,
            }
        });
        for n in 0..8 {
            cluster.create(&format!("web-{n}"), web()).await;
        }
        // The one that could not be decoded is read.
        for n in 0..8 {
            cluster.until_phase(&format!("web-{n}"), "Running").await;
        }
        if fault == WatchFault::Garbage {
            assert_eq!(
                running.metrics.undecodable.load(Relaxed),
                1,
                "skipped and counted"
            );
        } else {
            assert!(
                running.metrics.watch_restarts() >= 1,
                "{fault:?} is counted"
            );
        }
        running.stop().await;
    }
}

pub async fn repeated_410_answers_relist_with_growing_pauses(mode: Mode) {
    let cluster = Simulated::new(mode);
    let gone = Arc::new(AtomicBool::new(true));
    let refuse = Arc::clone(&gone);
    cluster.server.faults().on_request(move |facts| {
        match facts.verb == "watch" && refuse.load(Relaxed) {
            true => RequestFault::Status {
                code: 410,
                reason: "Expired".to_owned(),
                message: "too old resource version".to_owned(),
                retry_after_s: None,
            },
            false => RequestFault::Pass,
        }
    });
    let running = cluster.operate();
    pass(600).await;
    let lists = cluster.requests("list", "edgeapps");
    assert!((5..40).contains(&lists), "{lists} lists in ten minutes");
    gone.store(false, Relaxed);
    cluster.create("web", web()).await;
    cluster.until_phase("web", "Running").await;
    running.stop().await;
}

pub async fn a_child_that_becomes_ready_before_its_watch_opens_is_not_missed(mode: Mode) {
    let cluster = Simulated::new(mode);
    cluster.server.faults().on_request(|facts| {
        match (facts.verb, facts.resource, facts.nth) {
            // The owners are watched already; the Deployments are listed, and so watched, late.
            ("list", "deployments", 0) => RequestFault::Delay(Duration::from_secs(10)),
            _ => RequestFault::Pass,
        }
    });
    let started = tokio::time::Instant::now();
    let running = cluster.operate();
    pass(1).await;
    for n in 0..20 {
        cluster.create(&format!("web-{n}"), web()).await;
    }
    for n in 0..20 {
        cluster.until_phase(&format!("web-{n}"), "Running").await;
    }
    assert!(
        started.elapsed() < Duration::from_secs(30),
        "left to the next relist: {:?}",
        started.elapsed()
    );
    running.stop().await;
}

pub async fn a_server_that_goes_away_is_waited_for(mode: Mode) {
    let cluster = Simulated::new(mode);
    let away = Arc::new(AtomicBool::new(false));
    let (client, gone) = (cluster.server.client("tare"), Arc::clone(&away));
    let service = tower::service_fn(move |request: http::Request<kube::client::Body>| {
        let (client, gone) = (client.clone(), gone.load(Relaxed));
        async move {
            if gone {
                return Err(tower::BoxError::from("connection refused"));
            }
            client.send(request).await.map_err(tower::BoxError::from)
        }
    });
    let running = cluster.operate_with(EdgeApps, Client::new(service, "default"), config());
    running.until_ready().await;
    away.store(true, Relaxed);
    cluster.server.close_watches();
    cluster.create("web", web()).await;
    let requests = || {
        [Verb::Watch, Verb::List]
            .map(|verb| running.metrics.requests(verb))
            .iter()
            .sum::<u64>()
    };
    let before = requests();
    pass(300).await;
    assert!(
        requests() - before < 60,
        "{} requests in five minutes",
        requests() - before
    );
    assert!(
        running
            .metrics
            .readiness()
            .is_err_and(|because| because.contains("connection refused"))
    );
    assert_eq!(cluster.phase("web"), "");
    away.store(false, Relaxed);
    cluster.until_phase("web", "Running").await;
    running.until_ready().await;
    running.stop().await;
}
