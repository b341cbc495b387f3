//! Echo: what comes first and what comes last, also across a death in between.

use k8s_openapi::api::apps::v1::Deployment;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use kubesim::RequestFault;
use serde_json::json;
use tare_runtime::cache::Mode;

use crate::in_every_mode;
use crate::support::{Running, World, config, pass};
use example::{Action, Echo, Echoes, action};

#[allow(dead_code)] // its command line is tested as a process
#[path = "../../examples/echo.rs"]
mod example;

const FINALIZER: &str = "echoes.example.com/finalizer";

in_every_mode! {
    it_has_its_finalizer_before_its_deployment_and_follows_replicas,
    killed_between_finalizer_and_deployment_it_goes_on,
    killed_between_deployment_and_finalizer_it_ends,
}

#[test]
fn the_action_table() {
    for (deleting, deployed, wanted) in [
        (false, false, Action::Create),
        (false, true, Action::NoOp),
        (true, false, Action::Delete),
        (true, true, Action::Delete),
    ] {
        assert_eq!(action(deleting, deployed), wanted, "{deleting} {deployed}");
    }
}

fn world(mode: Mode) -> World {
    let world = World::new(mode);
    world
        .server
        .install(include_str!("../../examples/echo/crd.yaml"))
        .unwrap();
    world
}

fn operate(world: &World) -> Running {
    world.operate_with(Echoes, world.server.client("tare"), config())
}

async fn create(world: &World) {
    let object = json!({"apiVersion": "example.com/v1", "kind": "Echo",
        "metadata": {"name": "hello", "namespace": "default"}, "spec": {"replicas": 2}});
    let object: Echo = serde_json::from_value(object).unwrap();
    let api: Api<Echo> = world.api();
    api.create(&PostParams::default(), &object).await.unwrap();
}

/// No request of the operator for `verb` on `resource` is answered any more.
fn stall(world: &World, verb: &'static str, resource: &'static str) {
    world.server.faults().on_request(move |facts| {
        match facts.user == "tare" && facts.verb == verb && facts.resource == resource {
            true => RequestFault::Hang,
            false => RequestFault::Pass,
        }
    });
}

fn has_finalizer(world: &World) -> bool {
    world.get("echoes", "hello")["metadata"]["finalizers"] == json!([FINALIZER])
}

async fn until_deployed(world: &World, replicas: i32) {
    world
        .until("it is deployed", |world| {
            world.get("deployments", "hello")["spec"]["replicas"] == replicas
        })
        .await;
}

async fn it_has_its_finalizer_before_its_deployment_and_follows_replicas(mode: Mode) {
    let world = world(mode);
    stall(&world, "create", "deployments");
    let running = operate(&world);
    create(&world).await;
    world.until("it has its finalizer", has_finalizer).await;
    assert!(world.get("deployments", "hello").is_null());
    world.server.faults().clear();
    until_deployed(&world, 2).await;
    let deployment = world.get("deployments", "hello");
    let container = &deployment["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(container["image"], "inanimate/echo-server:latest");
    assert_eq!(container["ports"][0]["containerPort"], 8080);
    assert_eq!(deployment["metadata"]["labels"]["app"], "hello");
    let api: Api<Echo> = world.api();
    let patch = Patch::Merge(json!({"spec": {"replicas": 4}}));
    api.patch("hello", &PatchParams::default(), &patch)
        .await
        .unwrap();
    until_deployed(&world, 4).await;
    running.stop().await;
}

async fn killed_between_finalizer_and_deployment_it_goes_on(mode: Mode) {
    let world = world(mode);
    stall(&world, "create", "deployments");
    let running = operate(&world);
    create(&world).await;
    world.until("it has its finalizer", has_finalizer).await;
    pass(1).await;
    running.kill().await;
    world.server.faults().clear();
    assert!(world.get("deployments", "hello").is_null());
    let running = operate(&world);
    until_deployed(&world, 2).await;
    running.stop().await;
}

async fn killed_between_deployment_and_finalizer_it_ends(mode: Mode) {
    let world = world(mode);
    let running = operate(&world);
    create(&world).await;
    until_deployed(&world, 2).await;
    pass(5).await;
    stall(&world, "patch", "echoes");
    let api: Api<Echo> = world.api();
    api.delete("hello", &DeleteParams::default()).await.unwrap();
    world.until_gone("deployments", "hello").await;
    pass(1).await;
    running.kill().await;
    assert!(has_finalizer(&world));
    world.server.faults().clear();
    let running = operate(&world);
    world.until_gone("echoes", "hello").await;
    let deployments: Api<Deployment> = world.api();
    assert!(deployments.get_opt("hello").await.unwrap().is_none());
    running.stop().await;
}
