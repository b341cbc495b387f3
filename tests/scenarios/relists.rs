//! What a relist finds about owners that are at work meanwhile.

use std::time::Duration;

use kube::api::{Patch, PatchParams};
use kubesim::RequestFault;
use serde_json::json;
use tare_runtime::cache::Mode;

use crate::cluster::objects::web;
use crate::cluster::simulated::{Simulated, pass};

/// Owners on more than one page of a list.
const OWNERS: usize = 150;

/// The readiness of a Deployment changes while the second page of owners is on its way. The page then shows an
/// older owner than the one whose status was written meanwhile, and a Service that is missing.
pub async fn what_a_page_shows_of_an_owner_that_was_written_since_is_done(mode: Mode) {
    let cluster = Simulated::new(mode);
    let running = cluster.operate();
    for n in 0..OWNERS {
        cluster.create(&format!("web-{n:03}"), web()).await;
    }
    cluster.until_all_running(OWNERS).await;
    running.stop().await;

    let last = format!("web-{:03}", OWNERS - 1);
    let services = cluster.api::<k8s_openapi::api::core::v1::Service>();
    let deleted = services.delete(&last, &Default::default()).await;
    deleted.expect("delete the Service");
    let listed = cluster.requests("list", "edgeapps");
    let faults = cluster.server.faults();
    faults.on_request(move |facts| {
        match (facts.user, facts.verb, facts.resource) {
            // The second page.
            ("tare", "list", "edgeapps") if facts.nth == listed + 1 => {
                RequestFault::Delay(Duration::from_secs(10))
            }
            _ => RequestFault::Pass,
        }
    });
    let running = cluster.operate();
    pass(3).await;
    let not_ready = json!({ "status": {
        "readyReplicas": 0, "availableReplicas": 0, "unavailableReplicas": 1,
    }});
    let deployments = cluster.api::<k8s_openapi::api::apps::v1::Deployment>();
    let (how, patch) = (PatchParams::default(), Patch::Merge(&not_ready));
    let told = deployments.patch_status(&last, &how, &patch).await;
    told.expect("a node may say so");
    cluster.until_phase(&last, "Progressing").await;
    assert!(cluster.get("services", &last).is_null(), "not found yet");
    pass(20).await;
    assert!(!cluster.get("services", &last).is_null(), "found, and lost");
    running.stop().await;
}
