//! Others at the same objects: foreign children, a second replica, another controller.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use kubesim::RequestFault;
use serde_json::json;
use tare::edgeapp::EdgeApps;
use tare_runtime::cache::Mode;
use tare_runtime::controller::Config;

use crate::in_every_mode;
use crate::support::{World, assert_same, config, pass, web};

in_every_mode! {
    a_foreign_deployment_of_the_same_name_survives_creation_and_deletion,
    a_collision_that_goes_away_heals,
    two_replicas_at_once_do_no_harm,
    a_field_that_somebody_keeps_setting_back_is_not_fought_over,
    a_mend_that_met_a_newer_child_is_not_counted_as_a_fight,
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
    let quiet = (world.writes(), world.server.requests().writes("twin"));
    pass(3_600).await;
    assert_eq!(
        (world.writes(), world.server.requests().writes("twin")),
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
    assert_eq!(
        world.condition("web", "Degraded")["reason"],
        "FieldConflict"
    );
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
