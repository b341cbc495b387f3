//! What a life without trouble costs, request by request, and how it ends.

use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use serde_json::json;
use tare::edgeapp::EdgeApps;
use tare_runtime::cache::Mode;
use tare_runtime::controller::Config;

use crate::in_every_mode;
use crate::support::{World, config, pass, web};

in_every_mode! {
    a_new_owner_costs_five_writes,
    observed_comes_before_ready_and_generation_only_after_the_children,
    a_converged_cluster_is_left_alone,
    a_newer_spec_that_arrives_in_flight_wins,
    only_the_selected_owners_in_the_chosen_namespace_are_worked_on,
    teardown_is_ordered_and_other_peoples_finalizers_survive,
    orphaned_children_stay,
    deleted_and_re_created_under_the_same_name_during_a_join,
}

async fn a_new_owner_costs_five_writes(mode: Mode) {
    let world = World::new(mode);
    let running = world.operate();
    running.until_ready().await;
    let reads = world.reads();
    for n in 0..20 {
        world.create(&format!("web-{n}"), web()).await;
    }
    world
        .until("all are Running", |w| {
            (0..20).all(|n| w.phase(&format!("web-{n}")) == "Running")
        })
        .await;
    pass(5).await;
    assert_eq!(world.requests("patch", "edgeapps"), 20, "finalizers");
    assert_eq!(world.requests("create", "deployments"), 20);
    assert_eq!(world.requests("create", "services"), 20);
    assert!(
        world.requests("patch", "edgeapps/status") <= 40,
        "observed, then ready"
    );
    assert!(world.writes() <= 100, "{}", world.writes());
    // Metadata do not tell the spec.
    let owners_read = if mode == Mode::Metadata { 20 } else { 0 };
    assert_eq!(
        world.reads() - reads,
        owners_read,
        "nothing else is read while it is held"
    );
    running.stop().await;
}

async fn observed_comes_before_ready_and_generation_only_after_the_children(mode: Mode) {
    let world = World::never_ready(mode);
    let running = world.operate();
    world.create("web", web()).await;
    world
        .until("it is observed", |w| {
            w.get("edgeapps", "web")["status"]["observedGeneration"] == 1
        })
        .await;
    assert!(!world.get("deployments", "web").is_null() && !world.get("services", "web").is_null());
    assert_eq!(world.phase("web"), "Progressing");
    let ready = world.condition("web", "Ready");
    assert_eq!(
        (ready["status"].as_str(), ready["reason"].as_str()),
        (Some("False"), Some("WaitingForReplicas"))
    );
    assert!(ready["lastTransitionTime"].is_string());
    running.stop().await;
}

async fn a_converged_cluster_is_left_alone(mode: Mode) {
    let world = World::new(mode);
    let running = world.operate();
    for n in 0..10 {
        world.create(&format!("web-{n}"), web()).await;
    }
    world
        .until("all are Running", |w| {
            (0..10).all(|n| w.phase(&format!("web-{n}")) == "Running")
        })
        .await;
    pass(5).await;
    let writes = world.writes();
    let entries = running
        .metrics
        .entries
        .load(std::sync::atomic::Ordering::Relaxed);
    assert_eq!(entries, 0, "a converged owner needs no entry");
    pass(3_600).await;
    assert_eq!(
        world.writes(),
        writes,
        "an hour, six resyncs, and nothing to write"
    );
    running.stop().await;
    let again = world.operate();
    again.until_ready().await;
    pass(5).await;
    assert_eq!(
        world.writes(),
        writes,
        "a restart finds nothing to write either"
    );
    again.stop().await;
}

async fn a_newer_spec_that_arrives_in_flight_wins(mode: Mode) {
    let world = World::new(mode);
    // The Deployment's creation takes a second, in which the spec changes twice.
    world
        .server
        .faults()
        .on_request(|facts| match (facts.verb, facts.resource) {
            ("create", "deployments") => {
                kubesim::RequestFault::Delay(std::time::Duration::from_secs(1))
            }
            _ => kubesim::RequestFault::Pass,
        });
    let running = world.operate();
    running.until_ready().await;
    world.create("web", web()).await;
    world
        .until("it is in flight", |w| w.requests("patch", "edgeapps") == 1)
        .await;
    world.change("web", json!({"image": "web:2"})).await;
    world.change("web", json!({"image": "web:3"})).await;
    world
        .until("the newest spec is observed", |w| {
            w.get("edgeapps", "web")["status"]["observedGeneration"] == 3
        })
        .await;
    let image =
        &world.get("deployments", "web")["spec"]["template"]["spec"]["containers"][0]["image"];
    assert_eq!(image, "web:3");
    running.stop().await;
}

async fn only_the_selected_owners_in_the_chosen_namespace_are_worked_on(mode: Mode) {
    let world = World::new(mode);
    let config = Config {
        namespace: Some("default".to_owned()),
        selector: Some("tier=edge".to_owned()),
        ..config()
    };
    let running = world.operate_with(EdgeApps, world.server.client("tare"), config);
    running.until_ready().await;
    world.create("plain", web()).await;
    let mut labelled: tare::edgeapp::EdgeApp = serde_json::from_value(json!({
        "apiVersion": "tare.dev/v1alpha1", "kind": "EdgeApp",
        "metadata": {"name": "chosen", "labels": {"tier": "edge"}}, "spec": web()}))
    .unwrap();
    world
        .edgeapps()
        .create(&PostParams::default(), &labelled)
        .await
        .unwrap();
    labelled.metadata.name = Some("elsewhere".to_owned());
    let other: Api<tare::edgeapp::EdgeApp> = Api::namespaced(world.client.clone(), "kube-system");
    other
        .create(&PostParams::default(), &labelled)
        .await
        .unwrap();
    world.until_phase("chosen", "Running").await;
    pass(60).await;
    assert_eq!(world.phase("plain"), "");
    let elsewhere = world
        .server
        .object("edgeapps", "kube-system", "elsewhere")
        .unwrap_or_default();
    assert!(elsewhere["status"].is_null());
    running.stop().await;
}

async fn teardown_is_ordered_and_other_peoples_finalizers_survive(mode: Mode) {
    let world = World::new(mode);
    let running = world.operate();
    world.create("web", web()).await;
    world.until_phase("web", "Running").await;
    let add = Patch::Merge(
        json!({"metadata": {"finalizers": ["other.example/keep", "tare.dev/cleanup"]}}),
    );
    world
        .edgeapps()
        .patch("web", &PatchParams::default(), &add)
        .await
        .unwrap();
    let hold = Patch::Merge(json!({"metadata": {"finalizers": ["other.example/drain"]}}));
    let services: Api<k8s_openapi::api::core::v1::Service> = world.api();
    services
        .patch("web", &PatchParams::default(), &hold)
        .await
        .unwrap();

    world.delete("web").await;
    world.until_phase("web", "Terminating").await;
    pass(60).await;
    assert!(
        !world.get("deployments", "web").is_null(),
        "the Service goes first, and it is not gone yet"
    );

    let release = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    services
        .patch("web", &PatchParams::default(), &release)
        .await
        .unwrap();
    world.until_gone("deployments", "web").await;
    world
        .until("only the other finalizer is left", |w| {
            w.get("edgeapps", "web")["metadata"]["finalizers"] == json!(["other.example/keep"])
        })
        .await;
    let writes = world.writes();
    pass(1_200).await;
    assert_eq!(world.writes(), writes, "what is left is not ours to do");
    world
        .edgeapps()
        .patch("web", &PatchParams::default(), &release)
        .await
        .unwrap();
    world.until_gone("edgeapps", "web").await;
    running.stop().await;
}

async fn orphaned_children_stay(mode: Mode) {
    let world = World::new(mode);
    let running = world.operate();
    world.create("web", web()).await;
    world.until_phase("web", "Running").await;
    world
        .edgeapps()
        .delete("web", &DeleteParams::orphan())
        .await
        .unwrap();
    world.until_gone("edgeapps", "web").await;
    pass(60).await;
    assert!(!world.get("deployments", "web").is_null() && !world.get("services", "web").is_null());
    running.stop().await;
}

async fn deleted_and_re_created_under_the_same_name_during_a_join(mode: Mode) {
    let world = World::new(mode);
    for n in 0..300 {
        world.create(&format!("web-{n:03}"), web()).await;
    }
    let running = world.operate();
    // The first page of the join is in; the last names are still to come.
    world
        .until("the join is under way", |w| !w.phase("web-000").is_empty())
        .await;
    for n in [0, 150, 299] {
        let name = format!("web-{n:03}");
        world.delete(&name).await;
        world.until_gone("edgeapps", &name).await;
        world.create(&name, json!({"image": "web:2"})).await;
    }
    world
        .until("all are Running", |w| {
            (0..300).all(|n| w.phase(&format!("web-{n:03}")) == "Running")
        })
        .await;
    pass(30).await;
    for n in [0, 150, 299] {
        let name = format!("web-{n:03}");
        let (owner, child) = (
            world.get("edgeapps", &name),
            world.get("deployments", &name),
        );
        assert_eq!(
            child["metadata"]["ownerReferences"][0]["uid"], owner["metadata"]["uid"],
            "{name}"
        );
        assert_eq!(
            child["spec"]["template"]["spec"]["containers"][0]["image"], "web:2",
            "{name}"
        );
        assert!(
            world.get("services", &name).is_null(),
            "{name}: the new one has no port"
        );
    }
    running.stop().await;
}
