//! What goes wrong around an operator, and what it does about it.

#![allow(clippy::unwrap_used)]

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::time::Duration;

use kube::Client;
use serde_json::json;
use support::{World, assert_same, config, pass, web};
use tare::cache::Mode;
use tare::edgeapp::{CRD_YAML, EdgeApps};
use tare::metrics::Verb;
use tare::operator::{Children, Failure, Kind, Operator, Owner, Plan};
use testbed::embedded::{RequestFault, WatchFault};

in_every_mode! {
    a_fifth_of_all_watch_events_lost_and_a_restart_end_exactly_like_a_calm_run,
    a_watch_recovers_from_every_kind_of_trouble,
    a_410_as_http_status_again_and_again_is_joined_ever_more_rarely,
    a_crd_removed_while_running_is_waited_for,
    a_server_restored_from_an_old_backup_is_joined_anew,
    a_child_that_becomes_ready_before_its_watch_opens_is_not_missed,
    sixteen_requests_that_hang_do_not_stop_the_others,
    a_connection_lost_after_the_write_was_done_is_not_written_twice,
    failures_back_off_are_told_on_the_object_and_heal,
    many_failing_objects_stay_within_the_bounds_and_do_not_delay_a_healthy_one,
    a_server_that_asks_to_wait_is_obeyed,
    a_missing_permission_is_named_on_the_object,
    a_panic_in_a_plan_is_that_objects_failure_and_nobody_elses,
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

async fn sixteen_requests_that_hang_do_not_stop_the_others(mode: Mode) {
    let world = World::new(mode);
    world
        .server
        .faults()
        .on_request(|facts| match (facts.verb, facts.resource, facts.name) {
            ("patch", "edgeapps", Some(name)) if name.starts_with("stuck") => RequestFault::Hang,
            _ => RequestFault::Pass,
        });
    let running = world.operate();
    running.until_ready().await;
    for n in 0..16 {
        world.create(&format!("stuck-{n}"), web()).await;
    }
    for n in 0..50 {
        world.create(&format!("web-{n}"), web()).await;
    }
    let started = tokio::time::Instant::now();
    for n in 0..50 {
        world.until_phase(&format!("web-{n}"), "Running").await;
    }
    assert!(
        started.elapsed() < Duration::from_secs(40),
        "one deadline, not sixteen: {:?}",
        started.elapsed()
    );
    assert!(running.metrics.errors() >= 16);
    world.server.faults().clear();
    for n in 0..16 {
        world.until_phase(&format!("stuck-{n}"), "Running").await;
    }
    running.stop().await;
}

async fn a_connection_lost_after_the_write_was_done_is_not_written_twice(mode: Mode) {
    let world = World::new(mode);
    let once = AtomicBool::new(true);
    world.server.faults().on_request(move |facts| {
        match facts.verb == "create" && facts.resource == "deployments" && once.swap(false, Relaxed)
        {
            true => RequestFault::AfterDrop,
            false => RequestFault::Pass,
        }
    });
    let running = world.operate();
    world.create("web", web()).await;
    world.until_phase("web", "Running").await;
    assert_eq!(world.server.objects("deployments").len(), 1);
    running.stop().await;
}

/// Refuses every Deployment for `seconds`, and counts what the operator does meanwhile.
async fn failing(world: &World, count: u32, seconds: u64) -> (support::Running, u64) {
    world
        .server
        .faults()
        .on_request(|facts| match (facts.user, facts.verb, facts.resource) {
            ("tare", "create", "deployments") => RequestFault::Status {
                code: 422,
                reason: "Invalid".to_owned(),
                message: "Deployment.apps is invalid: spec.template: Forbidden: policy".to_owned(),
                retry_after_s: None,
            },
            _ => RequestFault::Pass,
        });
    for n in 0..count {
        world
            .create(&format!("web-{n}"), json!({"image": "web:1"}))
            .await;
    }
    let running = world.operate();
    running.until_ready().await;
    pass(seconds).await;
    let creates = world.requests("create", "deployments");
    (running, creates)
}

async fn failures_back_off_are_told_on_the_object_and_heal(mode: Mode) {
    let world = World::new(mode);
    let (running, attempts) = failing(&world, 1, 120).await;
    assert!(
        (6..=12).contains(&attempts),
        "{attempts} attempts in two minutes"
    );
    let degraded = world.condition("web-0", "Degraded");
    assert_eq!(
        (degraded["status"].as_str(), degraded["reason"].as_str()),
        (Some("True"), Some("Refused"))
    );
    assert!(
        degraded["message"]
            .as_str()
            .unwrap_or_default()
            .contains("policy")
    );
    assert_eq!(
        world.requests("patch", "edgeapps/status"),
        1,
        "told once, not at every attempt"
    );
    assert_eq!(
        world.server.objects("events").len(),
        1,
        "one Event on entering it"
    );
    world.server.faults().clear();
    world.until_phase("web-0", "Running").await;
    running.stop().await;
}

async fn many_failing_objects_stay_within_the_bounds_and_do_not_delay_a_healthy_one(mode: Mode) {
    // The same code path for 50,000: tests/scale.rs.
    let world = World::new(mode);
    let (running, _) = failing(&world, 300, 5).await;
    let events = world.server.objects("events").len();
    assert!(events <= 35, "{events} Events for 300 failures");
    assert!(running.metrics.events_suppressed.load(Relaxed) > 200);
    world.server.faults().clear();
    world.create("healthy", web()).await;
    let started = tokio::time::Instant::now();
    world.until_phase("healthy", "Running").await;
    assert!(
        started.elapsed() < Duration::from_secs(3),
        "{:?}",
        started.elapsed()
    );
    running.stop().await;
}

async fn a_server_that_asks_to_wait_is_obeyed(mode: Mode) {
    let world = World::new(mode);
    world
        .server
        .faults()
        .on_request(|facts| match (facts.user, facts.verb, facts.resource) {
            ("tare", "create", "deployments") => RequestFault::Status {
                code: 429,
                reason: "TooManyRequests".to_owned(),
                message: "slow down".to_owned(),
                retry_after_s: Some(60),
            },
            _ => RequestFault::Pass,
        });
    let running = world.operate();
    running.until_ready().await;
    world.create("web", web()).await;
    pass(29).await;
    assert_eq!(
        world.requests("create", "deployments"),
        1,
        "asked to wait a minute"
    );
    assert_eq!(
        world.phase("web"),
        "",
        "a busy server is not the object's failure"
    );
    world.server.faults().clear();
    world.until_phase("web", "Running").await;
    running.stop().await;
}

async fn a_missing_permission_is_named_on_the_object(mode: Mode) {
    let world = World::new(mode);
    world
        .server
        .faults()
        .on_request(|facts| match (facts.user, facts.verb, facts.resource) {
            ("tare", "create", "services") => RequestFault::Status {
                code: 403,
                reason: "Forbidden".to_owned(),
                message:
                    "services is forbidden: User \"tare\" cannot create resource \"services\" \
                          in API group \"\" in the namespace \"default\""
                        .to_owned(),
                retry_after_s: None,
            },
            _ => RequestFault::Pass,
        });
    let running = world.operate();
    world.create("web", web()).await;
    world
        .until("it is told", |w| {
            w.condition("web", "Degraded")["reason"] == "Forbidden"
        })
        .await;
    let message = world.condition("web", "Ready")["message"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    assert!(
        message.contains("may not create Service \"web\""),
        "{message}"
    );
    running.stop().await;
}

/// EdgeApps whose plan panics for one image.
struct Panicky;

impl Operator for Panicky {
    type Status = tare::edgeapp::EdgeAppStatus;
    type Resource = tare::edgeapp::EdgeApp;
    type Error = std::convert::Infallible;
    const NAME: &'static str = EdgeApps::NAME;
    const FINALIZER: Option<&'static str> = EdgeApps::FINALIZER;
    const KINDS: &'static [Kind] = EdgeApps::KINDS;

    fn plan(
        &self,
        owner: &Owner<Self>,
        children: &Children,
    ) -> Result<Plan<tare::edgeapp::EdgeAppStatus>, Self::Error> {
        assert!(owner.spec.image != "panic", "this image is not for plans");
        EdgeApps.plan(&same(owner), children)
    }

    fn failed(
        &self,
        owner: &Owner<Self>,
        children: &Children,
        failure: &Failure,
    ) -> Option<tare::edgeapp::EdgeAppStatus> {
        EdgeApps.failed(&same(owner), children, failure)
    }
}

fn same(owner: &Owner<Panicky>) -> Owner<EdgeApps> {
    Owner {
        meta: owner.meta.clone(),
        spec: owner.spec.clone(),
    }
}

async fn a_panic_in_a_plan_is_that_objects_failure_and_nobody_elses(mode: Mode) {
    let world = World::new(mode);
    let running = world.operate_with(Panicky, world.server.client("tare"), config());
    world.create("bad", json!({"image": "panic"})).await;
    world.create("good", web()).await;
    world.until_phase("good", "Running").await;
    world.until_phase("bad", "Failed").await;
    let ready = world.condition("bad", "Ready");
    assert_eq!(ready["reason"], "Panic");
    assert!(
        ready["message"]
            .as_str()
            .unwrap_or_default()
            .contains("not for plans")
    );
    world.change("bad", json!({"image": "fine"})).await;
    world.until_phase("bad", "Running").await;
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
