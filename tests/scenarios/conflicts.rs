//! Others who write to the same objects: another controller, a faster status, a second operator.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use kube::api::{Api, DeleteParams, Patch, PatchParams};
use kubesim::RequestFault;
use serde_json::{Value, json};
use tare::edgeapp::EdgeApps;
use tare_runtime::cache::Mode;
use tare_runtime::controller::Config;

use crate::cluster::Cluster;
use crate::cluster::objects::web;
use crate::cluster::simulated::{Simulated, assert_same, config, pass};
use crate::permissions::Refusal;

pub async fn a_field_that_somebody_keeps_changing_back_is_a_field_conflict(cluster: Cluster) {
    let operator = cluster.operate().await;
    cluster.create("web", web()).await;
    cluster.until_running("web").await;
    let edit = json!({ "spec": { "replicas": 5 } });
    let is_set_back = |child: &Value| child["spec"]["replicas"] == 1;
    for _ in 0..3 {
        cluster.patch("deployments", "web", edit.clone()).await;
        cluster
            .until("it is set back", "deployments", "web", is_set_back)
            .await;
        if cluster.as_simulated().is_some() {
            pass(3).await;
        }
    }
    cluster.patch("deployments", "web", edit.clone()).await;
    cluster.until_degraded("web", "FieldConflict").await;
    // An attempt that met a newer object, say a status, has written nothing.
    let corrections = cluster.successes("patch", "deployments");
    assert_eq!(corrections, 3, "set back three times, then after a pause");
    let deployment = cluster
        .until("it is set back again", "deployments", "web", is_set_back)
        .await;
    assert_eq!(deployment["spec"]["replicas"], 1);
    cluster.until_running("web").await;
    operator.terminate().await;
    cluster.end().await;
}

pub async fn a_field_conflict_is_told_while_somebody_repeats_the_edit(mode: Mode) {
    let cluster = Simulated::new(mode);
    let running = cluster.operate();
    cluster.create("web", web()).await;
    cluster.until_phase("web", "Running").await;
    for n in 0..100 {
        edit_replicas(&cluster).await;
        pass(3).await;
        let degraded = cluster.condition("web", "Degraded");
        if n >= 3 {
            assert_eq!(degraded["reason"], "FieldConflict", "after edit {n}");
        }
    }
    // After the first three with pauses of 5, 10, 20, 40, 80 and 160 s.
    let patches = cluster.requests("patch", "deployments");
    assert!((7..=9).contains(&patches), "{patches} corrections");
    let message = cluster.condition("web", "Degraded")["message"].to_string();
    assert!(message.contains("/spec/replicas"), "{message}");
    let events = cluster.server.objects("events");
    let told = |event: &&Value| event["reason"] == "FieldConflict";
    assert_eq!(events.iter().filter(told).count(), 1, "it is told once");
    assert_eq!(cluster.requests("create", "events"), 1);

    pass(300).await;
    assert_eq!(cluster.get("deployments", "web")["spec"]["replicas"], 1);
    pass(90).await;
    assert_eq!(cluster.condition("web", "Degraded")["status"], "False");
    assert_eq!(cluster.phase("web"), "Running");
    let writes = cluster.writes();
    pass(3_600).await;
    assert_eq!(cluster.writes(), writes, "it writes without a cause");
    running.stop().await;
}

/// Changes what is in the plan.
async fn edit_replicas(cluster: &Simulated) {
    let deployments: Api<k8s_openapi::api::apps::v1::Deployment> = cluster.api();
    let edit = Patch::Merge(json!({"spec": {"replicas": 5}}));
    let how = PatchParams::default();
    let edited = deployments.patch("web", &how, &edit).await;
    edited.expect("edit the Deployment");
}

pub async fn a_field_conflict_outlasts_readiness_and_the_field_is_set_back(mode: Mode) {
    let cluster = Simulated::slow(mode);
    let running = cluster.operate();
    cluster.create("web", web()).await;
    cluster.until_phase("web", "Running").await;
    // The first edit of an idle EdgeApp is set back a second later.
    for _ in 0..5 {
        edit_replicas(&cluster).await;
        pass(1).await;
    }
    cluster.until_phase("web", "Failed").await;
    let since = tokio::time::Instant::now();
    // The Deployment becomes ready with the foreign value meanwhile.
    while cluster.get("deployments", "web")["spec"]["replicas"] == 5 {
        let degraded = cluster.condition("web", "Degraded");
        assert_eq!(
            degraded["reason"], "FieldConflict",
            "a foreign value stands"
        );
        assert!(since.elapsed().as_secs() < 10, "it is set back within 10 s");
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    cluster.until_phase("web", "Running").await;
    assert!(since.elapsed().as_secs() < 60, "the conflict is over");
    assert_eq!(cluster.get("deployments", "web")["spec"]["replicas"], 1);
    running.stop().await;
}

pub async fn a_field_conflict_of_one_child_does_not_hold_up_the_other(mode: Mode) {
    let cluster = Simulated::new(mode);
    let running = cluster.operate();
    cluster.create("web", web()).await;
    cluster.until_phase("web", "Running").await;
    for _ in 0..12 {
        edit_replicas(&cluster).await;
        pass(2).await;
    }
    assert_eq!(
        cluster.condition("web", "Degraded")["reason"],
        "FieldConflict"
    );
    let services: Api<k8s_openapi::api::core::v1::Service> = cluster.api();
    let deleted = services.delete("web", &DeleteParams::default()).await;
    deleted.expect("delete the Service");
    pass(3).await;
    assert!(!cluster.get("services", "web").is_null(), "it is back");
    // A new spec is applied at once and ends the conflict.
    cluster.change("web", json!({"replicas": 2})).await;
    pass(3).await;
    assert_eq!(cluster.get("deployments", "web")["spec"]["replicas"], 2);
    assert_eq!(cluster.phase("web"), "Running");
    running.stop().await;
}

pub async fn a_correction_that_met_a_newer_child_is_no_field_conflict(mode: Mode) {
    let cluster = Simulated::new(mode);
    let running = cluster.operate();
    cluster.create("web", web()).await;
    cluster.until_phase("web", "Running").await;
    // Each second correction finds that another write, say of a status, was faster.
    let second = AtomicBool::new(false);
    cluster.server.faults().on_request(move |facts| {
        let is_correction =
            (facts.user, facts.verb, facts.resource) == ("tare", "patch", "deployments");
        match is_correction && !second.fetch_xor(true, Relaxed) {
            true => RequestFault::Status {
                code: 409,
                reason: "Conflict".to_owned(),
                message: "the object has been modified".to_owned(),
                retry_after_s: None,
            },
            false => RequestFault::Pass,
        }
    });
    let deployments: Api<k8s_openapi::api::apps::v1::Deployment> = cluster.api();
    let edit = Patch::Merge(json!({"spec": {"replicas": 5}}));
    for _ in 0..3 {
        deployments
            .patch("web", &PatchParams::default(), &edit)
            .await
            .unwrap();
        pass(3).await;
        let deployment = cluster.get("deployments", "web");
        assert_eq!(deployment["spec"]["replicas"], 1, "set back");
    }
    assert_eq!(cluster.condition("web", "Degraded")["status"], "False");
    running.stop().await;
}

pub async fn two_operators_end_in_the_same_state_as_one(mode: Mode) {
    let calm = Simulated::new(mode);
    let one = calm.operate();
    let cluster = Simulated::new(mode);
    let first = cluster.operate();
    let second = cluster.operate_with(
        EdgeApps,
        cluster.server.client("second"),
        Config {
            seed: 99,
            ..config()
        },
    );
    for n in 0..30 {
        for one in [&calm, &cluster] {
            one.create(&format!("web-{n}"), web()).await;
        }
    }
    for n in 0..30 {
        for one in [&calm, &cluster] {
            one.until_phase(&format!("web-{n}"), "Running").await;
        }
    }
    pass(60).await;
    assert_same(&cluster.essence(), &calm.essence());
    let quiet = (cluster.writes(), cluster.server.requests().writes("second"));
    pass(3_600).await;
    assert_eq!(
        (cluster.writes(), cluster.server.requests().writes("second")),
        quiet,
        "one of them writes again and again"
    );
    for n in 0..30 {
        cluster.delete(&format!("web-{n}")).await;
    }
    cluster
        .until("all are gone", |cluster| {
            cluster.server.objects("edgeapps").is_empty()
        })
        .await;
    cluster
        .until("the children too", |cluster| {
            cluster.server.objects("deployments").is_empty()
        })
        .await;
    for running in [one, first, second] {
        running.stop().await;
    }
}

pub async fn a_correction_that_is_refused_repeatedly_is_no_field_conflict(mode: Mode) {
    let cluster = Simulated::new(mode);
    let refusal = Refusal::of_permission(&cluster, "patch", "deployments");
    let running = cluster.operate();
    cluster.create("web", web()).await;
    cluster.until_phase("web", "Running").await;
    let edit = Patch::Merge(json!({ "spec": { "replicas": 9 } }));
    let deployments: Api<k8s_openapi::api::apps::v1::Deployment> = cluster.api();
    let edited = deployments
        .patch("web", &PatchParams::default(), &edit)
        .await;
    edited.expect("edit the Deployment");
    pass(120).await;
    assert_eq!(cluster.condition("web", "Degraded")["reason"], "Forbidden");
    refusal.lift();
    cluster
        .until("the edit is undone", |cluster| {
            cluster.get("deployments", "web")["spec"]["replicas"] == 1
        })
        .await;
    cluster.until_phase("web", "Running").await;
    running.stop().await;
}
