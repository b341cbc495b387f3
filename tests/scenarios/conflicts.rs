//! Others who write to the same objects: another controller, a faster status, a second operator.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use kube::api::{Api, Patch, PatchParams};
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
    assert_eq!(corrections, 3, "set back three times, then not touched");
    operator.terminate().await;
    cluster.end().await;
}

pub async fn a_field_conflict_is_told_while_somebody_repeats_the_edit(mode: Mode) {
    let cluster = Simulated::new(mode);
    let running = cluster.operate();
    cluster.create("web", web()).await;
    cluster.until_phase("web", "Running").await;
    let deployments: Api<k8s_openapi::api::apps::v1::Deployment> = cluster.api();
    let edit = Patch::Merge(json!({"spec": {"replicas": 5}}));
    for _ in 0..8 {
        deployments
            .patch("web", &PatchParams::default(), &edit)
            .await
            .unwrap();
        pass(3).await;
    }
    assert_eq!(
        cluster.condition("web", "Degraded")["reason"],
        "FieldConflict"
    );
    let patches = cluster.requests("patch", "deployments");
    assert_eq!(patches, 3, "set back three times, then not touched");
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
