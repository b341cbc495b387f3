//! A server that refuses or does not answer for minutes, while owners wait.

use kubesim::{RequestFacts, RequestFault, WatchFault};
use serde_json::json;
use tare_runtime::cache::Mode;

use crate::cluster::objects::web;
use crate::cluster::simulated::{Simulated, pass};

/// More than have entries.
const OWNERS: usize = 1_000;
/// Back-off has grown to minutes by then.
const OUTAGE_S: u64 = 300;
const WITHIN_S: u64 = 60;

/// The watches stay open, so that the operator knows of every owner and fails at each.
pub async fn owners_that_waited_through_an_outage_are_ready_soon_after(mode: Mode) {
    let cluster = Simulated::new(mode);
    let running = cluster.operate();
    running.until_ready().await;
    cluster.server.faults().on_request(unavailable);
    for n in 0..OWNERS {
        cluster.create(&format!("web-{n}"), web()).await;
    }
    pass(OUTAGE_S).await;
    cluster.server.faults().clear();
    pass(WITHIN_S).await;
    let all = cluster.server.objects("edgeapps");
    let ready = all.iter().filter(|one| one["status"]["phase"] == "Running");
    assert_eq!(ready.count(), OWNERS, "Running {WITHIN_S} s after");
    running.stop().await;
}

/// Back-off has grown to minutes, and no owner is tried that would show that the server answers again.
pub async fn owners_that_failed_in_silence_are_tried_when_a_watch_opens_again(mode: Mode) {
    let cluster = Simulated::new(mode);
    let running = cluster.operate();
    for name in ["web-0", "web-1", "other"] {
        cluster.create(name, web()).await;
    }
    cluster.until_all_running(3).await;
    cluster
        .server
        .faults()
        .on_request(|facts| match facts.user {
            "tare" => RequestFault::Hang,
            _ => RequestFault::Pass,
        });
    for name in ["web-0", "web-1"] {
        cluster.change(name, json!({ "image": "web:2" })).await;
    }
    pass(OUTAGE_S).await;
    // The watch of the EdgeApps ends, and is not answered when it is opened again.
    cluster
        .server
        .faults()
        .on_watch(|facts| match facts.resource {
            "edgeapps" => WatchFault::Close,
            _ => WatchFault::Pass,
        });
    cluster.change("other", json!({ "image": "web:2" })).await;
    pass(60).await;
    cluster.server.faults().clear();
    pass(WITHIN_S).await;
    for name in ["web-0", "web-1", "other"] {
        let deployment = cluster.get("deployments", name);
        let image = &deployment["spec"]["template"]["spec"]["containers"][0]["image"];
        assert_eq!(image, "web:2", "{name}");
        assert_eq!(cluster.phase(name), "Running");
    }
    running.stop().await;
}

fn unavailable(facts: &RequestFacts<'_>) -> RequestFault {
    match facts.user {
        "tare" => RequestFault::Status {
            code: 503,
            reason: "ServiceUnavailable".to_owned(),
            message: "no server".to_owned(),
            retry_after_s: None,
        },
        _ => RequestFault::Pass,
    }
}
