//! Children that are not as planned are put right, while it runs and at its start.

use kube::api::{Api, DeleteParams, Patch, PatchParams};
use serde_json::json;
use tare_runtime::cache::Mode;

use crate::in_every_mode;
use crate::support::{World, pass, web};

in_every_mode! {
    a_removed_env_var_and_port_leave_the_children,
    what_changed_while_the_operator_was_down_is_found_at_its_start,
    children_heal_while_the_operator_runs,
    child_events_of_an_owner_at_rest_are_worked_off_together,
    what_cannot_be_changed_is_made_anew,
}

async fn a_removed_env_var_and_port_leave_the_children(mode: Mode) {
    let world = World::new(mode);
    let running = world.operate();
    world.create("web", web()).await;
    world.until_phase("web", "Running").await;
    world
        .change(
            "web",
            json!({"port": null, "headless": null, "env": [{"name": "A", "value": "1"}]}),
        )
        .await;
    world.until_gone("services", "web").await;
    world
        .until("it is observed", |w| {
            w.get("edgeapps", "web")["status"]["observedGeneration"] == 2
        })
        .await;
    let container =
        world.get("deployments", "web")["spec"]["template"]["spec"]["containers"][0].clone();
    assert_eq!(container["env"], json!([{"name": "A", "value": "1"}]));
    assert!(container.get("ports").is_none(), "{container}");
    assert!(
        world.get("edgeapps", "web")["status"]
            .get("endpoint")
            .is_none()
    );

    world.change("web", json!({"env": null})).await;
    world
        .until("the last variable is gone", |w| {
            w.get("deployments", "web")["spec"]["template"]["spec"]["containers"][0]
                .get("env")
                .is_none()
        })
        .await;
    running.stop().await;
}

async fn what_changed_while_the_operator_was_down_is_found_at_its_start(mode: Mode) {
    let world = World::new(mode);
    let running = world.operate();
    for name in ["changed", "edited", "lost", "deleted"] {
        world.create(name, web()).await;
        world.until_phase(name, "Running").await;
    }
    running.stop().await;
    world
        .change("changed", json!({"port": null, "headless": null}))
        .await;
    let deployments: Api<k8s_openapi::api::apps::v1::Deployment> = world.api();
    let edit = Patch::Merge(json!({"spec": {"replicas": 7}}));
    deployments
        .patch("edited", &PatchParams::default(), &edit)
        .await
        .unwrap();
    deployments
        .delete("lost", &DeleteParams::default())
        .await
        .unwrap();
    world.delete("deleted").await;

    let running = world.operate();
    world.until_gone("services", "changed").await;
    world
        .until("the edit is undone", |w| {
            w.get("deployments", "edited")["spec"]["replicas"] == 1
        })
        .await;
    world
        .until("the lost one is back", |w| {
            !w.get("deployments", "lost").is_null()
        })
        .await;
    world.until_gone("edgeapps", "deleted").await;
    world.until_gone("deployments", "deleted").await;
    running.stop().await;
}

async fn children_heal_while_the_operator_runs(mode: Mode) {
    let world = World::new(mode);
    let running = world.operate();
    world.create("web", web()).await;
    world.until_phase("web", "Running").await;
    pass(5).await;
    let deployments: Api<k8s_openapi::api::apps::v1::Deployment> = world.api();
    let services: Api<k8s_openapi::api::core::v1::Service> = world.api();

    deployments
        .delete("web", &DeleteParams::default())
        .await
        .unwrap();
    world
        .until("the Deployment is back", |w| {
            !w.get("deployments", "web").is_null()
        })
        .await;
    world.until_phase("web", "Running").await;
    pass(5).await;

    let edit = Patch::Merge(json!({"spec": {"replicas": 9}}));
    deployments
        .patch("web", &PatchParams::default(), &edit)
        .await
        .unwrap();
    world
        .until("the edit is undone", |w| {
            w.get("deployments", "web")["spec"]["replicas"] == 1
        })
        .await;
    pass(70).await;

    let unlabel =
        Patch::Merge(json!({"metadata": {"labels": {"app.kubernetes.io/managed-by": null}}}));
    services
        .patch("web", &PatchParams::default(), &unlabel)
        .await
        .unwrap();
    let label = "/metadata/labels/app.kubernetes.io~1managed-by";
    world
        .until("the label is back", |w| {
            w.get("services", "web").pointer(label) == Some(&json!("tare"))
        })
        .await;
    running.stop().await;
}

async fn child_events_of_an_owner_at_rest_are_worked_off_together(mode: Mode) {
    let world = World::new(mode);
    let running = world.operate();
    world.create("web", web()).await;
    world.until_phase("web", "Running").await;
    pass(5).await;
    let before = world.requests("get", "edgeapps");
    let services: Api<k8s_openapi::api::core::v1::Service> = world.api();
    for n in 0..10 {
        let patch = Patch::Merge(json!({"metadata": {"annotations": {"n": n.to_string()}}}));
        services
            .patch("web", &PatchParams::default(), &patch)
            .await
            .unwrap();
    }
    pass(5).await;
    // In mode `pruned` the event is compared with what is kept.
    let reads = if mode == Mode::Pruned { 0 } else { 1 };
    assert_eq!(world.requests("get", "edgeapps") - before, reads);
    let counted = &running.metrics.owner_reads_for_children;
    assert_eq!(
        counted.load(std::sync::atomic::Ordering::Relaxed),
        reads,
        "counted apart"
    );
    running.stop().await;
}

async fn what_cannot_be_changed_is_made_anew(mode: Mode) {
    let world = World::new(mode);
    let running = world.operate();
    world.create("web", web()).await;
    world.until_phase("web", "Running").await;
    let headless = world.get("services", "web");
    assert_eq!(headless["spec"]["clusterIP"], "None");
    world.change("web", json!({"headless": false})).await;
    world
        .until("it has a cluster IP", |w| {
            w.get("services", "web")["spec"]["clusterIP"]
                .as_str()
                .is_some_and(|ip| ip != "None")
        })
        .await;
    assert_ne!(
        world.get("services", "web")["metadata"]["uid"],
        headless["metadata"]["uid"]
    );
    world.change("web", json!({"headless": true})).await;
    world
        .until("it is headless again", |w| {
            w.get("services", "web")["spec"]["clusterIP"] == "None"
        })
        .await;
    running.stop().await;
}
