//! What the runtime does and does not do, request by request, in every cache mode.

#![allow(clippy::unwrap_used)]

mod support;

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use serde_json::json;
use support::{World, assert_same, config, pass, web};
use tare::cache::Mode;
use tare::controller::Config;
use tare::edgeapp::EdgeApps;
use testbed::embedded::RequestFault;

in_every_mode! {
    a_new_owner_costs_five_writes,
    observed_comes_before_ready_and_generation_only_after_the_children,
    a_converged_cluster_is_left_alone,
    a_removed_env_var_and_port_leave_the_children,
    what_changed_while_the_operator_was_down_is_found_at_its_start,
    children_heal_while_the_operator_runs,
    child_events_of_an_owner_at_rest_are_worked_off_together,
    what_cannot_be_changed_is_made_anew,
    a_foreign_deployment_of_the_same_name_survives_creation_and_deletion,
    a_collision_that_goes_away_heals,
    teardown_is_ordered_and_other_peoples_finalizers_survive,
    orphaned_children_stay,
    deleted_and_re_created_under_the_same_name_during_a_join,
    a_newer_spec_that_arrives_in_flight_wins,
    two_replicas_at_once_do_no_harm,
    a_field_that_somebody_keeps_setting_back_is_not_fought_over,
    a_mend_that_met_a_newer_child_is_not_counted_as_a_fight,
    only_the_selected_owners_in_the_chosen_namespace_are_worked_on,
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

async fn a_foreign_deployment_of_the_same_name_survives_creation_and_deletion(mode: Mode) {
    let world = World::new(mode);
    let map: Api<k8s_openapi::api::core::v1::ConfigMap> = world.api();
    let release = serde_json::from_value(json!({"metadata": {"name": "release"}})).unwrap();
    let release = map.create(&PostParams::default(), &release).await.unwrap();
    let owner = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "release", "controller": true,
        "uid": release.metadata.uid});
    for (name, owner, belongs) in [
        ("unowned", None, "was not made by this operator"),
        ("owned", Some(owner), "belongs to ConfigMap \"release\""),
    ] {
        world.foreign_deployment(name, owner).await;
        pass(5).await;
        let before = world.get("deployments", name);
        let running = world.operate();
        world.create(name, web()).await;
        world
            .until("it is Degraded", |w| {
                w.condition(name, "Degraded")["status"] == "True"
            })
            .await;
        let degraded = world.condition(name, "Degraded");
        assert_eq!(degraded["reason"], "Collision");
        let message = degraded["message"].as_str().unwrap_or_default();
        assert_eq!(
            message,
            format!("Deployment {name:?} {belongs}; rename the EdgeApp or remove that Deployment")
        );
        assert_eq!(world.phase(name), "Failed");
        let events = world.server.objects("events");
        assert!(
            events
                .iter()
                .any(|e| e["reason"] == "Collision" && e["involvedObject"]["name"] == name)
        );
        assert!(
            world.get("edgeapps", name)["status"]
                .get("observedGeneration")
                .is_none(),
            "nothing was observed"
        );

        world.delete(name).await;
        world.until_gone("edgeapps", name).await;
        pass(60).await;
        assert_eq!(
            world.get("deployments", name),
            before,
            "not a byte of it was touched"
        );
        running.stop().await;
    }
}

async fn a_collision_that_goes_away_heals(mode: Mode) {
    let world = World::new(mode);
    world.foreign_deployment("web", None).await;
    let running = world.operate();
    world.create("web", web()).await;
    world
        .until("it is Degraded", |w| {
            w.condition("web", "Degraded")["status"] == "True"
        })
        .await;
    let deployments: Api<k8s_openapi::api::apps::v1::Deployment> = world.api();
    deployments
        .delete("web", &DeleteParams::default())
        .await
        .unwrap();
    world.until_phase("web", "Running").await;
    assert_eq!(world.condition("web", "Degraded")["status"], "False");
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

async fn a_newer_spec_that_arrives_in_flight_wins(mode: Mode) {
    let world = World::new(mode);
    // The Deployment's creation takes a second, in which the spec changes twice.
    world
        .server
        .faults()
        .on_request(|facts| match (facts.verb, facts.resource) {
            ("create", "deployments") => {
                testbed::embedded::RequestFault::Delay(std::time::Duration::from_secs(1))
            }
            _ => testbed::embedded::RequestFault::Pass,
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

async fn two_replicas_at_once_do_no_harm(mode: Mode) {
    let calm = World::new(mode);
    let one = calm.operate();
    let world = World::new(mode);
    let first = world.operate();
    let second = world.operate_with(
        EdgeApps,
        world.server.client("twin"),
        Config {
            seed: 99,
            ..config()
        },
    );
    for n in 0..30 {
        for w in [&calm, &world] {
            w.create(&format!("web-{n}"), web()).await;
        }
    }
    for n in 0..30 {
        for w in [&calm, &world] {
            w.until_phase(&format!("web-{n}"), "Running").await;
        }
    }
    pass(60).await;
    assert_same(&world.essence(), &calm.essence());
    let quiet = (world.writes(), world.server.ledger().writes("twin"));
    pass(3_600).await;
    assert_eq!(
        (world.writes(), world.server.ledger().writes("twin")),
        quiet,
        "they do not fight"
    );
    for n in 0..30 {
        world.delete(&format!("web-{n}")).await;
    }
    world
        .until("all are gone", |w| w.server.objects("edgeapps").is_empty())
        .await;
    world
        .until("the children too", |w| {
            w.server.objects("deployments").is_empty()
        })
        .await;
    for running in [one, first, second] {
        running.stop().await;
    }
}

async fn a_field_that_somebody_keeps_setting_back_is_not_fought_over(mode: Mode) {
    let world = World::new(mode);
    let running = world.operate();
    world.create("web", web()).await;
    world.until_phase("web", "Running").await;
    let deployments: Api<k8s_openapi::api::apps::v1::Deployment> = world.api();
    let foe = Patch::Merge(json!({"spec": {"replicas": 5}}));
    for _ in 0..8 {
        deployments
            .patch("web", &PatchParams::default(), &foe)
            .await
            .unwrap();
        pass(3).await;
    }
    assert_eq!(world.condition("web", "Degraded")["reason"], "Fought");
    let patches = world.requests("patch", "deployments");
    assert_eq!(patches, 3, "set back three times, then left alone");
    running.stop().await;
}

async fn a_mend_that_met_a_newer_child_is_not_counted_as_a_fight(mode: Mode) {
    let world = World::new(mode);
    let running = world.operate();
    world.create("web", web()).await;
    world.until_phase("web", "Running").await;
    // Every other attempt finds that somebody else, say a status, was faster.
    let second = AtomicBool::new(false);
    world.server.faults().on_request(move |facts| {
        let mend = (facts.user, facts.verb, facts.resource) == ("tare", "patch", "deployments");
        match mend && !second.fetch_xor(true, Relaxed) {
            true => RequestFault::Status {
                code: 409,
                reason: "Conflict".to_owned(),
                message: "the object has been modified".to_owned(),
                retry_after_s: None,
            },
            false => RequestFault::Pass,
        }
    });
    let deployments: Api<k8s_openapi::api::apps::v1::Deployment> = world.api();
    let foe = Patch::Merge(json!({"spec": {"replicas": 5}}));
    for _ in 0..3 {
        deployments
            .patch("web", &PatchParams::default(), &foe)
            .await
            .unwrap();
        pass(3).await;
        let deployment = world.get("deployments", "web");
        assert_eq!(deployment["spec"]["replicas"], 1, "set back");
    }
    assert_eq!(world.condition("web", "Degraded")["status"], "False");
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
