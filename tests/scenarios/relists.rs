//! What a relist finds about owners that are at work meanwhile, and beside objects that are too large to read.

use std::time::Duration;

use kube::api::{Patch, PatchParams};
use kubesim::{RequestFault, WatchFault};
use serde_json::{Value, json};
use tare_runtime::cache::Mode;

use crate::cluster::Cluster;
use crate::cluster::objects::{foreign_deployment, web};
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

/// The list of owners is older than the status that a worker writes, and the list of Deployments newer than what that
/// worker knows. No watch shows the Deployment.
pub async fn readiness_that_only_a_page_shows_of_an_owner_that_was_written_since_is_told(
    mode: Mode,
) {
    let cluster = Simulated::new(mode);
    let because = "silence is noticed when the server should have ended the watch";
    let cluster = cluster.waiting_up_to(Duration::from_secs(320), because);
    let faults = cluster.server.faults();
    faults.on_watch(|facts| match (facts.user, facts.resource, facts.name) {
        ("tare", "deployments", _) => WatchFault::Stall,
        // It makes the operator list everything.
        ("tare", "edgeapps", "other") => WatchFault::Error410,
        _ => WatchFault::Pass,
    });
    faults.on_request(
        |facts| match (facts.user, facts.verb, facts.resource, facts.subresource) {
            ("tare", "patch", "edgeapps", Some("status")) if facts.nth == 0 => {
                RequestFault::Delay(Duration::from_secs(3))
            }
            ("tare", "list", "deployments", _) if facts.nth > 0 => {
                RequestFault::Delay(Duration::from_secs(5))
            }
            _ => RequestFault::Pass,
        },
    );
    let running = cluster.operate();
    running.until_ready().await;
    cluster.create("web", web()).await;
    pass(1).await;
    cluster.create("other", web()).await;
    cluster.until_phase("web", "Running").await;
    running.stop().await;
}

/// kube-apiserver answers with six bytes for each `<`: with 5 MB for an object that it stores with 850 KB.
pub async fn an_object_larger_than_what_is_read_stops_no_other(cluster: Cluster) {
    let mut large = foreign_deployment("large", Value::Null);
    large["metadata"]["labels"]["app.kubernetes.io/managed-by"] = "tare".into();
    large["spec"]["template"]["spec"]["containers"][0]["env"] =
        json!([{ "name": "LARGE", "value": "<".repeat(850_000) }]);
    cluster.make("deployments", large).await;
    cluster.create("before", web()).await;
    let operator = cluster.operate().await;
    cluster.until_running("before").await;
    cluster.create("web", web()).await;
    cluster.until_running("web").await;
    operator.terminate().await;
    cluster.end().await;
}
