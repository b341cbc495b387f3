//! Requests that hang, are refused or lose their answer, and plans that panic.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use kubesim::RequestFault;
use serde_json::json;
use tare::edgeapp::EdgeApps;
use tare_runtime::api::{Children, Failure, Kind, Operator, Owner, Plan};
use tare_runtime::cache::Mode;

use crate::in_every_mode;
use crate::support::{Running, World, config, pass, web};

in_every_mode! {
    sixteen_requests_that_hang_do_not_stop_the_others,
    a_connection_lost_after_the_write_was_done_is_not_written_twice,
    failures_back_off_are_told_on_the_object_and_heal,
    many_failing_objects_stay_within_the_bounds_and_do_not_delay_a_healthy_one,
    a_server_that_asks_to_wait_is_obeyed,
    a_missing_permission_is_named_on_the_object,
    a_panic_in_a_plan_is_that_objects_failure_and_nobody_elses,
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
async fn failing(world: &World, count: u32, seconds: u64) -> (Running, u64) {
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
        (Some("True"), Some("Rejected"))
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
