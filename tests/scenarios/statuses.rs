//! A status that another client writes too: somebody by hand, or a second replica without leader election.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use k8s_openapi::api::core::v1::Service;
use kube::api::{Api, DeleteParams, Patch, PatchParams};
use serde_json::json;
use tare_runtime::cache::Mode;
use tokio::time::Instant;

use crate::cache_modes::with_idle_web;
use crate::cluster::Cluster;
use crate::cluster::objects::web;
use crate::cluster::simulated::{Simulated, pass};

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
