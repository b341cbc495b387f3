//! WebApp: server-side apply, finalizer, drift, retries.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use kubesim::{Options, RequestFault};
use serde_json::{Value, json};
use tare_runtime::cache::Mode;

use crate::in_every_mode;
use crate::support::{Running, World, config, pass};
use example::{WebApp, WebApps};

#[allow(dead_code)] // its command line is tested as a process
#[path = "../../examples/webapp.rs"]
mod example;

in_every_mode! {
    it_becomes_ready_and_follows_its_spec,
    a_touched_deployment_is_put_back,
    what_changed_while_it_was_down_is_found,
    a_foreign_deployment_is_not_taken_over,
    its_finalizer_goes_last,
    it_looks_for_drift_every_five_minutes,
    a_failure_is_tried_again_after_ten_seconds_and_ever_more_rarely,
}

fn world(mode: Mode) -> World {
    let options = Options {
        ready_delay: Duration::from_millis(200),
        ..Options::default()
    };
    let world = World::with(mode, options);
    world
        .server
        .install(include_str!("../../examples/webapp/crd.yaml"))
        .unwrap();
    world
}

fn operate(world: &World) -> Running {
    world.operate_with(WebApps, world.server.client("tare"), config())
}

async fn create(world: &World, name: &str) {
    let app = json!({"apiVersion": "example.com/v1", "kind": "WebApp",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"image": "nginx:1.27", "replicas": 3}});
    let app: WebApp = serde_json::from_value(app).unwrap();
    let api: Api<WebApp> = world.api();
    api.create(&PostParams::default(), &app).await.unwrap();
}

async fn change(world: &World, name: &str, spec: Value) {
    let api: Api<WebApp> = world.api();
    let patch = Patch::Merge(json!({ "spec": spec }));
    let params = PatchParams::default();
    api.patch(name, &params, &patch).await.unwrap();
}

async fn touch(world: &World, replicas: i32) {
    let api: Api<Deployment> = world.api();
    let patch = Patch::Merge(json!({"spec": {"replicas": replicas}}));
    let params = PatchParams::default();
    api.patch("hello", &params, &patch).await.unwrap();
}

fn status(world: &World) -> Value {
    world.get("webapps", "hello")["status"].clone()
}

fn replicas(world: &World) -> Value {
    world.get("deployments", "hello")["spec"]["replicas"].clone()
}

async fn until_ready(world: &World, available: i32) {
    let wanted = json!({"available_replicas": available, "ready": true});
    let what = format!("{available} are available");
    world.until(&what, |world| status(world) == wanted).await;
}

async fn it_becomes_ready_and_follows_its_spec(mode: Mode) {
    let world = world(mode);
    let running = operate(&world);
    create(&world, "hello").await;
    until_ready(&world, 3).await;
    assert_eq!(
        world.get("webapps", "hello")["metadata"]["finalizers"],
        json!(["webapp.example.com/cleanup"])
    );
    change(
        &world,
        "hello",
        json!({"image": "nginx:1.28", "replicas": 1}),
    )
    .await;
    until_ready(&world, 1).await;
    let container = &world.get("deployments", "hello")["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(container["image"], "nginx:1.28");
    // Its status does not tell what was observed; still nothing is written again.
    pass(60).await;
    let writes = world.writes();
    pass(3_600).await;
    assert_eq!(world.writes(), writes);
    running.stop().await;
}

async fn a_touched_deployment_is_put_back(mode: Mode) {
    let world = world(mode);
    let running = operate(&world);
    create(&world, "hello").await;
    until_ready(&world, 3).await;
    pass(5).await;
    touch(&world, 9).await;
    world
        .until("it is put back", |world| replicas(world) == 3)
        .await;
    running.stop().await;
}

async fn what_changed_while_it_was_down_is_found(mode: Mode) {
    let world = world(mode);
    let running = operate(&world);
    create(&world, "hello").await;
    until_ready(&world, 3).await;
    running.stop().await;
    touch(&world, 9).await;
    let running = operate(&world);
    world
        .until("it is put back", |world| replicas(world) == 3)
        .await;
    running.stop().await;
    change(&world, "hello", json!({"replicas": 2})).await;
    let running = operate(&world);
    until_ready(&world, 2).await;
    running.stop().await;
}

async fn a_foreign_deployment_is_not_taken_over(mode: Mode) {
    let world = world(mode);
    world.foreign_deployment("hello", None).await;
    let before = world.get("deployments", "hello");
    let running = operate(&world);
    create(&world, "hello").await;
    pass(30).await;
    let api: Api<WebApp> = world.api();
    api.delete("hello", &DeleteParams::default()).await.unwrap();
    world.until_gone("webapps", "hello").await;
    let after = world.get("deployments", "hello");
    assert_eq!(after["spec"], before["spec"]);
    assert_eq!(after["metadata"]["uid"], before["metadata"]["uid"]);
    running.stop().await;
}

async fn its_finalizer_goes_last(mode: Mode) {
    let world = world(mode);
    let running = operate(&world);
    create(&world, "hello").await;
    until_ready(&world, 3).await;
    world
        .server
        .faults()
        .on_request(|facts| match (facts.user, facts.verb, facts.resource) {
            ("tare", "delete", "deployments") => RequestFault::Status {
                code: 503,
                reason: "ServiceUnavailable".to_owned(),
                message: "later".to_owned(),
                retry_after_s: None,
            },
            _ => RequestFault::Pass,
        });
    let api: Api<WebApp> = world.api();
    api.delete("hello", &DeleteParams::default()).await.unwrap();
    pass(120).await;
    assert!(!world.get("webapps", "hello").is_null(), "it went first");
    world.server.faults().clear();
    world.until_gone("webapps", "hello").await;
    world.until_gone("deployments", "hello").await;
    running.stop().await;
}

async fn it_looks_for_drift_every_five_minutes(mode: Mode) {
    let world = world(mode);
    // Whatever happens to Deployments, nobody tells.
    world
        .server
        .faults()
        .on_watch(|facts| match facts.resource {
            "deployments" => kubesim::WatchFault::Drop,
            _ => kubesim::WatchFault::Pass,
        });
    let running = operate(&world);
    create(&world, "hello").await;
    world
        .until("there is one", |world| replicas(world) == 3)
        .await;
    pass(700).await;
    touch(&world, 9).await;
    let touched = tokio::time::Instant::now();
    world
        .until("it is put back", |world| replicas(world) == 3)
        .await;
    // The period of the join, give or take a tenth.
    assert!(touched.elapsed() < Duration::from_secs(335));
    running.stop().await;
}

async fn a_failure_is_tried_again_after_ten_seconds_and_ever_more_rarely(mode: Mode) {
    let world = world(mode);
    let tries = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&tries);
    world.server.faults().on_request(move |facts| {
        let write = matches!(facts.verb, "patch" | "create" | "apply");
        if facts.user != "tare" || !write || facts.resource != "deployments" {
            return RequestFault::Pass;
        }
        count.fetch_add(1, Relaxed);
        RequestFault::Status {
            code: 403,
            reason: "Forbidden".to_owned(),
            message: "not you".to_owned(),
            retry_after_s: None,
        }
    });
    let running = operate(&world);
    running.until_ready().await;
    create(&world, "hello").await;
    // Its status has no words for it, so an Event tells, once.
    let told = || {
        let events = world.server.objects("events");
        let of = |event: &Value| event["reason"] == "Rejected";
        events.iter().filter(|event| of(event)).count()
    };
    world.until("it is told", |_| told() == 1).await;
    // Delays of 10, 20, 40 s, each up to half more.
    for (seconds, least, most) in [(8, 1, 1), (7, 2, 2), (13, 2, 2), (18, 3, 3), (60, 4, 4)] {
        pass(seconds).await;
        let seen = tries.load(Relaxed);
        assert!((least..=most).contains(&seen), "{seen} tries");
    }
    assert_eq!(told(), 1);
    running.stop().await;
}
