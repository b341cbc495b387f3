//! A status that another client writes too: somebody by hand, or a second replica without leader election.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use k8s_openapi::api::core::v1::Service;
use kube::api::{Api, DeleteParams, Patch, PatchParams};
use kubesim::{Options, RequestFault};
use serde_json::json;
use tare::edgeapp::EdgeApps;
use tare_runtime::cache::Mode;
use tare_runtime::controller::Config;
use tokio::time::Instant;

use crate::cache_modes::with_idle_web;
use crate::cluster::Cluster;
use crate::cluster::objects::web;
use crate::cluster::simulated::{Simulated, config, pass};

pub async fn a_status_that_another_client_writes_is_set_back(cluster: Cluster) {
    let operator = cluster.operate().await;
    cluster.create("web", web()).await;
    cluster.until_running("web").await;
    for idle_s in [0, 70] {
        // The EdgeApp is idle on the simulated cluster, where a minute costs nothing.
        if cluster.as_simulated().is_some() {
            pass(idle_s).await;
        }
        let wrong = json!({ "status": { "phase": "Progressing", "readyReplicas": 0 } });
        cluster.patch("edgeapps", "web/status", wrong).await;
        let written = Instant::now();
        cluster.until_running("web").await;
        let took = written.elapsed();
        assert!(took < Duration::from_secs(5), "set back after {took:?}");
    }
    operator.terminate().await;
    cluster.end().await;
}

async fn write_status(cluster: &Simulated) {
    let wrong = Patch::Merge(json!({ "status": { "phase": "Progressing" } }));
    cluster
        .edgeapps()
        .patch_status("web", &PatchParams::default(), &wrong)
        .await
        .expect("write the status");
}

/// Status writes of the operator while another client writes that status at once each time, for `seconds`.
async fn contended_for(cluster: &Simulated, seconds: u64) -> u64 {
    let before = cluster.requests("patch", "edgeapps/status");
    for _ in 0..seconds * 5 {
        if cluster.phase("web") == "Running" {
            write_status(cluster).await;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    cluster.requests("patch", "edgeapps/status") - before
}

pub async fn pauses_grow_where_another_client_writes_the_status_each_time(mode: Mode) {
    let (cluster, running) = with_idle_web(mode).await;
    // After 1, 2, 4, … 256 and 256 s.
    let writes = contended_for(&cluster, 1_200).await;
    assert!((9..=12).contains(&writes), "{writes} writes in 20 minutes");
    let events = cluster.server.objects("events");
    assert_eq!(events.len(), 1, "it is told once: {events:?}");
    let message = events[0]["message"].to_string();
    assert!(message.contains("another client"), "{message}");

    // What happens to its children does not wait for that.
    let services: Api<Service> = cluster.api();
    let how = DeleteParams::default();
    services.delete("web", &how).await.expect("delete it");
    pass(3).await;
    assert!(!cluster.get("services", "web").is_null());

    pass(400).await;
    assert_eq!(cluster.phase("web"), "Running");
    assert_eq!(running.metrics.entries.load(Relaxed), 0);
    running.stop().await;
}

/// The status of a new spec yields while other EdgeApps wait for the only worker. Before it is written, something harmless
/// happens to a child of that EdgeApp.
pub async fn a_status_that_has_yielded_is_written_after_a_harmless_change_of_a_child(mode: Mode) {
    let ready_delay = Duration::from_secs(40);
    let cluster = Simulated::with(
        mode,
        Options {
            ready_delay,
            ..Options::default()
        },
    );
    let config = Config {
        concurrency: 1,
        ..config()
    };
    let running = cluster.operate_with(EdgeApps, cluster.server.client("tare"), config);
    running.until_ready().await;
    cluster.create("web", web()).await;
    cluster.until_phase("web", "Running").await;
    pass(70).await;
    cluster
        .server
        .faults()
        .on_request(|facts| match facts.user {
            "tare" => RequestFault::Delay(Duration::from_millis(100)),
            _ => RequestFault::Pass,
        });
    for n in 0..60 {
        cluster.create(&format!("other-{n}"), web()).await;
    }
    cluster.change("web", json!({ "image": "web:2" })).await;
    let image = "/spec/template/spec/containers/0/image";
    let what = "its Deployment has the new image";
    cluster
        .until(what, |cluster| {
            cluster.get("deployments", "web").pointer(image) == Some(&json!("web:2"))
        })
        .await;
    let harmless = Patch::Merge(json!({ "metadata": { "annotations": { "example.com/a": "b" } } }));
    let services = cluster.api::<Service>();
    services
        .patch("web", &PatchParams::default(), &harmless)
        .await
        .expect("annotate the Service");
    // Its Deployment becomes ready after 40 s: that would have the status written, too.
    let began = Instant::now();
    cluster
        .until("the status speaks of the new spec", |cluster| {
            cluster.get("edgeapps", "web")["status"]["observedGeneration"] == 2
        })
        .await;
    assert!(
        began.elapsed() < Duration::from_secs(30),
        "{:?}",
        began.elapsed()
    );
    running.stop().await;
}
