//! Watches that lose, repeat, end, stall or begin late, and servers that go away.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::time::Duration;

use kube::Client;
use kubesim::{RequestFault, WatchFault};
use serde_json::json;
use tare::edgeapp::{CRD_YAML, EdgeApps};
use tare_runtime::cache::Mode;
use tare_runtime::metrics::Verb;

use crate::in_every_mode;
use crate::support::{World, assert_same, config, pass, web};

in_every_mode! {
    a_fifth_of_all_watch_events_lost_and_a_restart_end_exactly_like_a_calm_run,
    a_watch_recovers_from_every_kind_of_trouble,
    a_410_as_http_status_again_and_again_is_joined_ever_more_rarely,
    a_crd_removed_while_running_is_waited_for,
    a_server_restored_from_an_old_backup_is_joined_anew,
    a_child_that_becomes_ready_before_its_watch_opens_is_not_missed,
    a_server_that_goes_away_is_waited_for,
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

/// Creates, changes and deletes, the same way in every world.
async fn a_day(world: &World) {
    for n in 0..60 {
        world.create(&format!("web-{n}"), web()).await;
    }
    for n in 0..20 {
        world
            .change(
                &format!("web-{n}"),
                json!({"image": "web:2", "port": null, "headless": null}),
            )
            .await;
    }
    for n in 20..30 {
        world
            .change(&format!("web-{n}"), json!({"replicas": 3}))
            .await;
    }
    for n in 50..60 {
        world.delete(&format!("web-{n}")).await;
    }
    pass(120).await;
}

async fn a_fifth_of_all_watch_events_lost_and_a_restart_end_exactly_like_a_calm_run(mode: Mode) {
    let calm = World::new(mode);
    let operator = calm.operate();
    operator.until_ready().await;
    a_day(&calm).await;

    let rough = World::new(mode);
    let roll = dice(0x2545_f491);
    rough.server.faults().on_watch(move |facts| {
        match facts.user == "tare" && roll().is_multiple_of(5) {
            true => WatchFault::Drop,
            false => WatchFault::Pass,
        }
    });
    let first = rough.operate();
    first.until_ready().await;
    a_day(&rough).await;
    first.kill().await;
    let second = rough.operate();
    second.until_ready().await;
    // Whatever was lost after the restart is found by the periodic join.
    pass(1_500).await;
    assert_same(&rough.essence(), &calm.essence());
    for running in [operator, second] {
        running.stop().await;
    }
}

async fn a_watch_recovers_from_every_kind_of_trouble(mode: Mode) {
    for fault in [
        WatchFault::Close,
        WatchFault::Truncate,
        WatchFault::Garbage,
        WatchFault::Stall,
        WatchFault::Error410,
    ] {
        let world = World::new(mode);
        let running = world.operate();
        running.until_ready().await;
        let once = AtomicBool::new(true);
        let hit = fault.clone();
        world.server.faults().on_watch(move |facts| {
            match facts.name == "web-3" && once.swap(false, Relaxed) {
                true => hit.clone(),
                false => WatchFault::Pass,
            }
        });
        for n in 0..8 {
            world.create(&format!("web-{n}"), web()).await;
        }
        // All but the one that could not be decoded come by themselves; that one with the resync.
        for n in 0..8 {
            world.until_phase(&format!("web-{n}"), "Running").await;
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

async fn a_410_as_http_status_again_and_again_is_joined_ever_more_rarely(mode: Mode) {
    let world = World::new(mode);
    let gone = Arc::new(AtomicBool::new(true));
    let refuse = Arc::clone(&gone);
    world.server.faults().on_request(move |facts| {
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
    let running = world.operate();
    pass(600).await;
    let lists = world.requests("list", "edgeapps");
    assert!((5..40).contains(&lists), "{lists} lists in ten minutes");
    gone.store(false, Relaxed);
    world.create("web", web()).await;
    world.until_phase("web", "Running").await;
    running.stop().await;
}

async fn a_crd_removed_while_running_is_waited_for(mode: Mode) {
    let world = World::new(mode);
    let running = world.operate();
    running.until_ready().await;
    let crds: kube::Api<
        k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
    > = kube::Api::all(world.client.clone());
    crds.delete("edgeapps.tare.dev", &Default::default())
        .await
        .unwrap();
    world
        .until("it says so", |_| {
            running
                .metrics
                .readiness()
                .is_err_and(|because| because.contains("CRD is not installed"))
        })
        .await;
    assert!(running.is_alive());
    world.server.install(CRD_YAML).unwrap();
    running.until_ready().await;
    world.create("web", web()).await;
    world.until_phase("web", "Running").await;
    running.stop().await;
}

async fn a_server_restored_from_an_old_backup_is_joined_anew(mode: Mode) {
    let (before, after) = (World::new(mode), World::new(mode));
    for n in 0..50 {
        before.create(&format!("old-{n}"), web()).await;
    }
    let restored = Arc::new(AtomicBool::new(false));
    let (old, new, switch) = (
        before.server.client("tare"),
        after.server.client("tare"),
        Arc::clone(&restored),
    );
    let service = tower::service_fn(move |request: http::Request<kube::client::Body>| {
        let client = if switch.load(Relaxed) {
            new.clone()
        } else {
            old.clone()
        };
        async move { client.send(request).await.map_err(tower::BoxError::from) }
    });
    let running = before.operate_with(EdgeApps, Client::new(service, "default"), config());
    before
        .until("the old world is at work", |w| {
            w.phase("old-49") == "Running"
        })
        .await;
    restored.store(true, Relaxed);
    before.server.close_watches();
    assert!(after.server.revision() < before.server.revision());
    after.create("web", web()).await;
    after.until_phase("web", "Running").await;
    running.stop().await;
}

async fn a_child_that_becomes_ready_before_its_watch_opens_is_not_missed(mode: Mode) {
    let world = World::new(mode);
    world.server.faults().on_request(|facts| {
        match (facts.verb, facts.resource, facts.nth) {
            // The owners are watched already; the Deployments are listed, and so watched, late.
            ("list", "deployments", 0) => RequestFault::Delay(Duration::from_secs(10)),
            _ => RequestFault::Pass,
        }
    });
    let started = tokio::time::Instant::now();
    let running = world.operate();
    pass(1).await;
    for n in 0..20 {
        world.create(&format!("web-{n}"), web()).await;
    }
    for n in 0..20 {
        world.until_phase(&format!("web-{n}"), "Running").await;
    }
    assert!(
        started.elapsed() < Duration::from_secs(30),
        "left to the next join: {:?}",
        started.elapsed()
    );
    running.stop().await;
}

async fn a_server_that_goes_away_is_waited_for(mode: Mode) {
    let world = World::new(mode);
    let away = Arc::new(AtomicBool::new(false));
    let (client, gone) = (world.server.client("tare"), Arc::clone(&away));
    let service = tower::service_fn(move |request: http::Request<kube::client::Body>| {
        let (client, gone) = (client.clone(), gone.load(Relaxed));
        async move {
            if gone {
                return Err(tower::BoxError::from("connection refused"));
            }
            client.send(request).await.map_err(tower::BoxError::from)
        }
    });
    let running = world.operate_with(EdgeApps, Client::new(service, "default"), config());
    running.until_ready().await;
    away.store(true, Relaxed);
    world.server.close_watches();
    world.create("web", web()).await;
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
    assert_eq!(world.phase("web"), "");
    away.store(false, Relaxed);
    world.until_phase("web", "Running").await;
    running.until_ready().await;
    running.stop().await;
}
