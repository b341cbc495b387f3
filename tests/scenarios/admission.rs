//! Bounds of the workqueue: what is not admitted is found again by a relist.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use kube::api::{Patch, PatchParams};
use kubesim::{RequestFault, WatchFault};
use serde_json::json;
use tare::edgeapp::EdgeApps;
use tare_runtime::cache::Mode;
use tare_runtime::controller::Config;
use tare_runtime::controller::Limits;

use crate::cluster::objects::web;
use crate::cluster::simulated::{Running, Simulated, config, pass};
use crate::permissions::Refusal;

/// An operator with other bounds, ready.
async fn operate(cluster: &Simulated, limits: Limits) -> Running {
    let config = Config { limits, ..config() };
    let running = cluster.operate_with(EdgeApps, cluster.server.client("tare"), config);
    running.until_ready().await;
    running
}

/// Creates so many at once and waits until all are Running; their names.
async fn all_running(cluster: &Simulated, count: u32) -> Vec<String> {
    let names: Vec<String> = (0..count).map(|n| format!("web-{n}")).collect();
    futures::future::join_all(names.iter().map(|name| cluster.create(name, web()))).await;
    until_all(cluster, &names, "Running").await;
    names
}

async fn until_all(cluster: &Simulated, names: &[String], phase: &str) {
    let all = |cluster: &Simulated| names.iter().all(|name| cluster.phase(name) == phase);
    cluster.until(&format!("all are {phase}"), all).await;
}

pub async fn owners_that_never_become_ready_are_released_after_their_deadline(mode: Mode) {
    let cluster = Simulated::never_ready(mode);
    let running = cluster.operate();
    running.until_ready().await;
    for n in 0..40 {
        cluster.create(&format!("web-{n}"), web()).await;
    }
    pass(60).await;
    assert_eq!(
        running.metrics.entries.load(Relaxed),
        40,
        "they are waited for"
    );
    let writes = cluster.writes();
    pass(700).await;
    assert_eq!(
        running.metrics.entries.load(Relaxed),
        0,
        "their progress deadline has passed"
    );
    assert_eq!(cluster.writes(), writes);
    running.stop().await;
}

pub async fn events_that_are_not_admitted_are_found_by_a_relist(mode: Mode) {
    let cluster = Simulated::new(mode);
    let limits = Limits {
        entries: 8,
        spec_bytes: 1_024,
        ..Limits::default()
    };
    let running = operate(&cluster, limits).await;
    all_running(&cluster, 200).await;
    assert!(
        running.metrics.dropped_events.load(Relaxed) > 0,
        "the bound was reached"
    );
    assert!(running.metrics.relists_requested.load(Relaxed) > 0);
    running.stop().await;
}

pub async fn more_children_fail_at_once_than_are_admitted_and_every_owner_says_so(mode: Mode) {
    const OWNERS: u32 = 80;
    let cluster = Simulated::new(mode);
    let limits = Limits {
        entries: 8,
        ..Limits::default()
    };
    let running = operate(&cluster, limits).await;
    let names = all_running(&cluster, OWNERS).await;

    // A node goes, and comes back: all at once, while none of them waits for anything.
    let started = tokio::time::Instant::now();
    for (ready, phase) in [(0, "Progressing"), (2, "Running")] {
        pass(30).await;
        let status = json!({"status": {
            "readyReplicas": ready, "availableReplicas": ready, "unavailableReplicas": 2 - ready,
        }});
        let (deployments, how) = (cluster.api::<Deployment>(), PatchParams::default());
        let patch = Patch::Merge(&status);
        let told = names
            .iter()
            .map(|name| deployments.patch_status(name, &how, &patch));
        for answer in futures::future::join_all(told).await {
            answer.expect("a node may say so");
        }
        until_all(&cluster, &names, phase).await;
    }
    let took = started.elapsed();
    assert!(
        took.as_secs() < 400,
        "left to the periodic relist: {took:?}"
    );
    running.stop().await;
}

/// What becomes ready between the list of the owners and a slow list of the Deployments is on the latter alone, and
/// more owners wait for that than there are entries.
pub async fn owners_that_are_evicted_while_a_list_is_slow_become_ready(mode: Mode) {
    let cluster = Simulated::new(mode);
    let is_expired = AtomicBool::new(false);
    cluster
        .server
        .faults()
        .on_watch(move |facts| match (facts.user, facts.resource) {
            ("tare", "deployments") if !is_expired.swap(true, Relaxed) => WatchFault::Error410,
            _ => WatchFault::Pass,
        });
    let lists = AtomicU64::new(0);
    cluster.server.faults().on_request(move |facts| {
        match (facts.user, facts.verb, facts.resource) {
            // The first one is that of the start.
            ("tare", "list", "deployments") if lists.fetch_add(1, Relaxed) == 1 => {
                RequestFault::Delay(Duration::from_secs(9))
            }
            _ => RequestFault::Pass,
        }
    });
    let limits = Limits {
        entries: 4,
        ..Limits::default()
    };
    let running = operate(&cluster, limits).await;
    for n in 0..8 {
        cluster.create(&format!("web-{n}"), web()).await;
        pass(1).await;
    }
    cluster.until_all_running(8).await;
    running.stop().await;
}

pub async fn failing_owners_that_were_evicted_are_tried_again(mode: Mode) {
    let cluster = Simulated::new(mode);
    let cluster = cluster.waiting_up_to(
        Duration::from_secs(600),
        "they back off for up to ten minutes",
    );
    let refusal = Refusal::of_permission(&cluster, "create", "deployments");
    let limits = Limits {
        entries: 8,
        ..Limits::default()
    };
    let config = Config { limits, ..config() };
    let running = cluster.operate_with(EdgeApps, cluster.server.client("tare"), config);
    let names: Vec<String> = (0..40).map(|n| format!("web-{n}")).collect();
    for name in &names {
        cluster.create(name, web()).await;
    }
    until_all(&cluster, &names, "Failed").await;
    refusal.lift();
    let lifted = tokio::time::Instant::now();
    until_all(&cluster, &names, "Running").await;
    let took = lifted.elapsed();
    assert!(took <= Duration::from_secs(600), "{took:?}");
    running.stop().await;
}

/// Its worker waits for an answer that does not come. When it gives up, there is no capacity for the new owner.
pub async fn an_owner_created_again_while_a_worker_has_it_is_not_lost(mode: Mode) {
    let cluster = Simulated::new(mode);
    let first = AtomicBool::new(true);
    cluster.server.faults().on_request(move |facts| {
        match (facts.user, facts.verb, facts.resource) {
            ("tare", "create", "deployments") if first.swap(false, Relaxed) => RequestFault::Hang,
            _ => RequestFault::Pass,
        }
    });
    let config = Config {
        limits: Limits {
            entries: 4,
            ..Limits::default()
        },
        concurrency: 1,
        ..config()
    };
    let running = cluster.operate_with(EdgeApps, cluster.server.client("tare"), config);
    running.until_ready().await;
    cluster.create("web-0", web()).await;
    pass(1).await;
    cluster.delete("web-0").await;
    cluster.until_gone("edgeapps", "web-0").await;
    for n in 0..3 {
        cluster.create(&format!("web-{n}"), web()).await;
    }
    let created = tokio::time::Instant::now();
    cluster.until_all_running(3).await;
    let took = created.elapsed();
    assert!(took < Duration::from_secs(60), "{took:?}");
    running.stop().await;
}

/// 50,000 owners whose children the server refuses: entries and specs stay within their bounds,
/// every owner is tried, none is retried in a burst, and a healthy one is not delayed.
pub async fn fifty_thousand_failing_objects_stay_within_the_bounds(mode: Mode) {
    const COUNT: usize = 50_000;
    let cluster = Simulated::new(mode);
    cluster
        .server
        .faults()
        .on_request(|facts| match (facts.user, facts.verb, facts.resource) {
            ("tare", "create", "deployments") if facts.namespace == Some("default") => {
                RequestFault::Status {
                    code: 422,
                    reason: "Invalid".to_owned(),
                    message: "policy".to_owned(),
                    retry_after_s: None,
                }
            }
            _ => RequestFault::Pass,
        });
    let spec = json!({"image": "web:1"});
    for chunk in 0..COUNT / 500 {
        let names: Vec<String> = (0..500).map(|n| format!("bad-{chunk:03}-{n:03}")).collect();
        futures::future::join_all(names.iter().map(|name| cluster.create(name, spec.clone())))
            .await;
    }
    let running = cluster.operate_with(EdgeApps, cluster.server.client("tare"), config());
    let limits = Limits::default();
    let within = |when: &str| {
        let entries = running.metrics.entries.load(Relaxed) as usize;
        let bytes = running.metrics.spec_bytes.load(Relaxed) as usize;
        assert!(entries <= limits.entries, "{when}: {entries} entries");
        assert!(
            bytes <= limits.spec_bytes + limits.waiting_spec_bytes,
            "{when}: {bytes} bytes of specs"
        );
    };
    cluster
        .until("every owner was tried", |cluster| {
            within("during the relist");
            cluster.requests("patch", "edgeapps/status") >= COUNT as u64
        })
        .await;
    let tried = cluster.requests("create", "deployments");
    pass(300).await;
    within("after five minutes of failing");
    let again = cluster.requests("create", "deployments") - tried;
    // Those with an entry back off to five minutes; the others wait for the periodic relist.
    assert!(
        again < 12 * limits.entries as u64,
        "{again} attempts in five minutes"
    );

    cluster.server.faults().clear();
    cluster.create("healthy", web()).await;
    let started = tokio::time::Instant::now();
    cluster.until_phase("healthy", "Running").await;
    assert!(started.elapsed().as_secs() < 10, "{:?}", started.elapsed());
    running.stop().await;
}
