//! MyService: children that do not sort like their owners.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Service;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use serde_json::json;
use tare_runtime::cache::Mode;

use crate::in_every_mode;
use crate::support::{Running, World, config, pass};
use example::{MyService, MyServices};

#[allow(dead_code)] // its command line is tested as a process
#[path = "../../examples/myservice.rs"]
mod example;

in_every_mode! {
    it_makes_both_children_and_follows_its_spec,
    its_deletion_removes_both,
    drift_of_some_among_many_is_found_with_few_requests,
}

fn world(mode: Mode) -> World {
    let world = World::new(mode);
    world
        .server
        .install(include_str!("../../examples/myservice/crd.yaml"))
        .unwrap();
    world
}

fn operate(world: &World) -> Running {
    world.operate_with(MyServices, world.server.client("tare"), config())
}

async fn create(world: &World, name: &str) {
    let object = json!({"apiVersion": "example.com/v1", "kind": "MyService",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"image": "nginx:1.27", "replicas": 3}});
    let object: MyService = serde_json::from_value(object).unwrap();
    let api: Api<MyService> = world.api();
    api.create(&PostParams::default(), &object).await.unwrap();
}

async fn until_made(world: &World, name: &str, replicas: i32) {
    let what = format!("{name} has {replicas} replicas and a Service");
    let (deployment, service) = (format!("{name}-deployment"), format!("{name}-service"));
    world
        .until(&what, |world| {
            world.get("deployments", &deployment)["spec"]["replicas"] == replicas
                && !world.get("services", &service).is_null()
        })
        .await;
}

async fn it_makes_both_children_and_follows_its_spec(mode: Mode) {
    let world = world(mode);
    let running = operate(&world);
    create(&world, "web").await;
    until_made(&world, "web", 3).await;
    let deployment = world.get("deployments", "web-deployment");
    let template = &deployment["spec"]["template"];
    assert_eq!(template["spec"]["containers"][0]["name"], "web-container");
    assert_eq!(template["metadata"]["labels"], json!({"app": "web"}));
    let service = world.get("services", "web-service");
    assert_eq!(service["spec"]["selector"], json!({"app": "web"}));
    let port = &service["spec"]["ports"][0];
    assert_eq!(
        (&port["port"], &port["targetPort"], &port["protocol"]),
        (&80.into(), &80.into(), &"TCP".into())
    );

    let api: Api<MyService> = world.api();
    let patch = Patch::Merge(json!({"spec": {"replicas": 5}}));
    api.patch("web", &PatchParams::default(), &patch)
        .await
        .unwrap();
    until_made(&world, "web", 5).await;
    pass(60).await;
    let writes = world.writes();
    pass(3_600).await;
    assert_eq!(world.writes(), writes, "nothing is written again");
    running.stop().await;
}

async fn its_deletion_removes_both(mode: Mode) {
    let world = world(mode);
    let running = operate(&world);
    create(&world, "web").await;
    until_made(&world, "web", 3).await;
    let api: Api<MyService> = world.api();
    api.delete("web", &DeleteParams::default()).await.unwrap();
    world.until_gone("myservices", "web").await;
    world.until_gone("deployments", "web-deployment").await;
    world.until_gone("services", "web-service").await;
    pass(60).await;
    assert!(
        world.get("deployments", "web-deployment").is_null(),
        "made again"
    );
    running.stop().await;
}

async fn drift_of_some_among_many_is_found_with_few_requests(mode: Mode) {
    let world = world(mode);
    let running = operate(&world);
    // `a-1` sorts before `a-1-1`, `a-1-deployment` after `a-1-1-deployment`.
    let names: Vec<String> = (0..120)
        .map(|n| format!("a{}", format!("-{}", n % 7).repeat(n / 7 + 1)))
        .collect();
    for name in &names {
        create(&world, name).await;
    }
    for name in &names {
        until_made(&world, name, 3).await;
    }
    pass(120).await;
    running.stop().await;

    let deployments: Api<Deployment> = world.api();
    let services: Api<Service> = world.api();
    let edited = &names[17];
    let lost = &names[90];
    let patch = Patch::Merge(json!({"spec": {"replicas": 9}}));
    deployments
        .patch(
            &format!("{edited}-deployment"),
            &PatchParams::default(),
            &patch,
        )
        .await
        .unwrap();
    services
        .delete(&format!("{lost}-service"), &DeleteParams::default())
        .await
        .unwrap();
    let (gets, lists, writes) = (
        world.reads(),
        world.requests("list", "deployments"),
        world.writes(),
    );
    let running = operate(&world);
    until_made(&world, edited, 3).await;
    until_made(&world, lost, 3).await;
    running.until_ready().await;
    pass(30).await;
    // The first page, and one list for each 50 owners.
    assert_eq!(world.requests("list", "deployments") - lists, 1 + 3);
    assert_eq!(world.writes() - writes, 2);
    // Pages of three kinds and watches; the two owners and their children.
    let reads = world.reads() - gets;
    assert!(reads < 30, "{reads} reads for 2 of 120");
    running.stop().await;
}
