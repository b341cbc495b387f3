//! When there is more than the queue has room for: what is forgotten is found again.

#![allow(clippy::unwrap_used)]

mod support;

use std::sync::atomic::Ordering::Relaxed;

use k8s_openapi::api::apps::v1::Deployment;
use kube::api::{Patch, PatchParams};
use serde_json::json;
use support::{Running, World, config, pass, web};
use tare::edgeapp::EdgeApps;
use tare_runtime::cache::Mode;
use tare_runtime::controller::Config;
use tare_runtime::queue::Limits;

in_every_mode! {
    owners_that_never_become_ready_are_let_go_after_their_deadline,
    events_that_find_no_room_are_found_by_a_join,
    more_children_fail_at_once_than_there_is_room_for_and_every_owner_says_so,
}

/// An operator with other bounds, ready.
async fn operate(world: &World, limits: Limits) -> Running {
    let config = Config { limits, ..config() };
    let running = world.operate_with(EdgeApps, world.server.client("tare"), config);
    running.until_ready().await;
    running
}

/// Creates so many at once and waits until all are Running; their names.
async fn all_running(world: &World, count: u32) -> Vec<String> {
    let names: Vec<String> = (0..count).map(|n| format!("web-{n}")).collect();
    futures::future::join_all(names.iter().map(|name| world.create(name, web()))).await;
    until_all(world, &names, "Running").await;
    names
}

async fn until_all(world: &World, names: &[String], phase: &str) {
    let all = |world: &World| names.iter().all(|name| world.phase(name) == phase);
    world.until(&format!("all are {phase}"), all).await;
}

async fn owners_that_never_become_ready_are_let_go_after_their_deadline(mode: Mode) {
    let world = World::never_ready(mode);
    let running = world.operate();
    running.until_ready().await;
    for n in 0..40 {
        world.create(&format!("web-{n}"), web()).await;
    }
    pass(60).await;
    assert_eq!(
        running.metrics.entries.load(Relaxed),
        40,
        "they are waited for"
    );
    let writes = world.writes();
    pass(700).await;
    assert_eq!(
        running.metrics.entries.load(Relaxed),
        0,
        "their progress deadline has passed"
    );
    assert_eq!(world.writes(), writes);
    running.stop().await;
}

async fn events_that_find_no_room_are_found_by_a_join(mode: Mode) {
    let world = World::new(mode);
    let limits = Limits {
        entries: 8,
        spec_bytes: 1_024,
        ..Limits::default()
    };
    let running = operate(&world, limits).await;
    all_running(&world, 200).await;
    assert!(
        running.metrics.dropped_events.load(Relaxed) > 0,
        "the bound was reached"
    );
    assert!(running.metrics.relists_requested.load(Relaxed) > 0);
    running.stop().await;
}

async fn more_children_fail_at_once_than_there_is_room_for_and_every_owner_says_so(mode: Mode) {
    const OWNERS: u32 = 80;
    let world = World::new(mode);
    let limits = Limits {
        entries: 8,
        ..Limits::default()
    };
    let running = operate(&world, limits).await;
    let names = all_running(&world, OWNERS).await;

    // A node goes, and comes back: all at once, while none of them waits for anything.
    let started = tokio::time::Instant::now();
    for (ready, phase) in [(0, "Progressing"), (2, "Running")] {
        pass(30).await;
        let status = json!({"status": {
            "readyReplicas": ready, "availableReplicas": ready, "unavailableReplicas": 2 - ready,
        }});
        let (deployments, how) = (world.api::<Deployment>(), PatchParams::default());
        let patch = Patch::Merge(&status);
        let told = names
            .iter()
            .map(|name| deployments.patch_status(name, &how, &patch));
        for answer in futures::future::join_all(told).await {
            answer.expect("a node may say so");
        }
        until_all(&world, &names, phase).await;
    }
    let took = started.elapsed();
    assert!(took.as_secs() < 400, "left to the periodic join: {took:?}");
    running.stop().await;
}
