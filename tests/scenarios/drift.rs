//! Children that differ from their plan are corrected, while the operator runs and at its start.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use tare_runtime::cache::Mode;
use tokio::time::{Instant, sleep_until};

use crate::authors::{Author, PAUSED, edit_at, mark, until_ready};
use crate::cluster::Cluster;
use crate::cluster::objects::{container, text, web};
use crate::cluster::simulated::{Simulated, lossy, pass};

pub async fn a_deleted_child_comes_back(cluster: Cluster) {
    let operator = cluster.operate().await;
    cluster.create("web", web()).await;
    cluster.until_running("web").await;
    for resource in ["deployments", "services"] {
        let before = cluster.get(resource, "web").await;
        cluster.delete(resource, "web").await;
        let another = |child: &Value| {
            !child.is_null() && child["metadata"]["uid"] != before["metadata"]["uid"]
        };
        cluster.until("it is back", resource, "web", another).await;
    }
    cluster.until_running("web").await;
    operator.terminate().await;
    cluster.end().await;
}

pub async fn an_edited_child_is_set_back_and_what_others_add_stays(cluster: Cluster) {
    let operator = cluster.operate().await;
    cluster.create("web", web()).await;
    cluster.until_running("web").await;

    // `kubectl rollout restart` writes a field that is not in the plan.
    let restarted = json!({ "kubectl.kubernetes.io/restartedAt": "2026-01-01T00:00:00Z" });
    let restart = json!({ "spec": { "template": { "metadata": { "annotations": restarted } } } });
    cluster.patch("deployments", "web", restart).await;
    let edit = json!({ "spec": { "replicas": 9 } });
    cluster.patch("deployments", "web", edit).await;
    let set_back = |child: &Value| child["spec"]["replicas"] == 1;
    let deployment = cluster
        .until("the edit is undone", "deployments", "web", set_back)
        .await;
    let annotations = &deployment["spec"]["template"]["metadata"]["annotations"];
    assert_eq!(*annotations, restarted);

    // The EdgeApp is idle on the simulated cluster, where a minute costs nothing.
    if cluster.as_simulated().is_some() {
        pass(70).await;
    }
    let unlabel = json!({ "metadata": { "labels": { "app.kubernetes.io/managed-by": null } } });
    cluster.patch("services", "web", unlabel).await;
    let labelled =
        |child: &Value| text(child, "/metadata/labels/app.kubernetes.io~1managed-by") == "tare";
    cluster
        .until("the label is back", "services", "web", labelled)
        .await;
    cluster.until_running("web").await;
    operator.terminate().await;
    cluster.end().await;
}

/// No generation tells of labels. The EdgeApp has an entry as long as it is not ready.
pub async fn labels_of_a_deployment_are_set_back_while_its_owner_waits(mode: Mode) {
    const LABEL: &str = "/metadata/labels/tare.dev~1owner";
    let cluster = Simulated::never_ready(mode);
    let running = cluster.operate();
    cluster.create("web", web()).await;
    pass(5).await;
    let api: kube::Api<k8s_openapi::api::apps::v1::Deployment> = cluster.api();
    let how = PatchParams::default();
    for (n, others) in ["other", ""].into_iter().enumerate() {
        let reads = cluster.reads();
        // As the controller of Deployments does with every rollout, by its status.
        let rollout = json!({ "metadata": { "annotations": {
            "deployment.kubernetes.io/revision": n.to_string() } } });
        api.patch_status("web", &how, &Patch::Merge(rollout))
            .await
            .expect("annotate");
        pass(5).await;
        assert_eq!(cluster.reads(), reads, "a rollout costs no read");

        let edit = json!({ "metadata": { "labels": { "tare.dev/owner": others } } });
        api.patch("web", &how, &Patch::Merge(edit))
            .await
            .expect("edit the label");
        pass(2).await;
        assert_eq!(text(&cluster.get("deployments", "web"), LABEL), "web");
        pass(5).await;
    }
    running.stop().await;
}

/// A Service has no generation. Edits that follow each other meet an owner whose last write is not confirmed, or
/// whose corrections are counted.
pub async fn a_service_whose_selector_is_edited_repeatedly_is_set_back_each_time(cluster: Cluster) {
    // The fourth within a minute is a field conflict, which backs off.
    const WITHIN_S: [u64; 4] = [2, 2, 2, 10];
    let operator = cluster.operate().await;
    cluster.create("web", web()).await;
    cluster.until_running("web").await;
    let selector = |service: &Value| service["spec"]["selector"].clone();
    let planned = selector(&cluster.get("services", "web").await);
    let (label, _) = planned
        .as_object()
        .and_then(|map| map.iter().next())
        .expect("a selector");
    for (n, within_s) in WITHIN_S.into_iter().enumerate() {
        let edited = Instant::now();
        let edit = json!({ "spec": { "selector": { label: format!("other-{n}") } } });
        cluster.patch("services", "web", edit).await;
        let set_back = |service: &Value| selector(service) == planned;
        cluster
            .until("the edit is undone", "services", "web", set_back)
            .await;
        let took = edited.elapsed();
        assert!(took < Duration::from_secs(within_s), "edit {n}: {took:?}");
        sleep_until(edited + Duration::from_secs(4)).await;
    }
    operator.terminate().await;
    cluster.end().await;
}

pub async fn a_key_that_somebody_adds_to_a_selector_is_removed(cluster: Cluster) {
    let operator = cluster.operate().await;
    cluster.create("web", web()).await;
    cluster.until_running("web").await;
    let planned = cluster.get("services", "web").await["spec"]["selector"].clone();
    if cluster.as_simulated().is_some() {
        pass(70).await;
    }
    let added = json!({ "spec": { "selector": { "track": "canary" } } });
    cluster.patch("services", "web", added).await;
    let is_planned = |child: &Value| child["spec"]["selector"] == planned;
    cluster
        .until("the key is removed", "services", "web", is_planned)
        .await;
    operator.terminate().await;
    cluster.end().await;
}

pub async fn what_changed_while_the_operator_was_down_is_found_at_its_start(cluster: Cluster) {
    let operator = cluster.operate().await;
    for name in [
        "calm",
        "changed",
        "childless",
        "deleted",
        "edited",
        "portless",
    ] {
        cluster.create(name, web()).await;
    }
    cluster.until_all_running(6).await;
    let calm = cluster.get("deployments", "calm").await;
    operator.kill().await;

    cluster.create("new", web()).await;
    let image = "registry.local/web:2";
    cluster.change("changed", json!({ "image": image })).await;
    cluster.delete("deployments", "childless").await;
    cluster.delete("services", "childless").await;
    cluster.delete("edgeapps", "deleted").await;
    let edit = json!({ "spec": { "replicas": 9 } });
    cluster.patch("deployments", "edited", edit).await;
    let without = json!({ "port": null, "headless": null });
    cluster.change("portless", without).await;

    let operator = cluster.operate().await;
    cluster.until_gone("edgeapps", "deleted").await;
    cluster.until_gone("deployments", "deleted").await;
    cluster.until_gone("services", "portless").await;
    let changed = |child: &Value| container(child)["image"] == image;
    cluster
        .until("it has the new image", "deployments", "changed", changed)
        .await;
    for resource in ["deployments", "services"] {
        cluster.until_there(resource, "childless").await;
    }
    let set_back = |child: &Value| child["spec"]["replicas"] == 1;
    cluster
        .until("the edit is undone", "deployments", "edited", set_back)
        .await;
    cluster.until_all_running(6).await;
    let after = cluster.get("deployments", "calm").await;
    assert_eq!(after, calm, "it was written without a cause");
    operator.terminate().await;
    cluster.end().await;
}

pub async fn child_events_of_an_idle_owner_are_handled_together(mode: Mode) {
    let cluster = Simulated::new(mode);
    let running = cluster.operate();
    cluster.create("web", web()).await;
    cluster.until_phase("web", "Running").await;
    pass(5).await;
    let before = cluster.requests("get", "edgeapps");
    let services: kube::Api<k8s_openapi::api::core::v1::Service> = cluster.api();
    for n in 0..10 {
        let patch = Patch::Merge(json!({"metadata": {"annotations": {"n": n.to_string()}}}));
        let how = PatchParams::default();
        let patched = services.patch("web", &how, &patch).await;
        patched.expect("annotate the Service");
    }
    pass(5).await;
    // In mode `pruned` the event is compared with what is retained.
    let reads = if mode == Mode::Pruned { 0 } else { 1 };
    assert_eq!(cluster.requests("get", "edgeapps") - before, reads);
    let counted = &running.metrics.owner_reads_for_children;
    assert_eq!(
        counted.load(std::sync::atomic::Ordering::Relaxed),
        reads,
        "the metric counts these reads"
    );
    running.stop().await;
}

/// Each relist compares it.
pub async fn a_paused_owner_that_differs_is_no_drift(mode: Mode) {
    let cluster = Simulated::new(mode);
    let client = cluster.server.client("tare");
    let running = cluster.operate_with(Author::<false>, client, lossy());
    cluster.create("web", json!({ "image": "web:1" })).await;
    until_ready(&cluster).await;
    pass(60).await;
    mark(&cluster, "annotations", PAUSED, "by hand".into()).await;
    pass(10).await;
    let edited = json!({ "data": { "web-1": "edited" } });
    let map = "/api/v1/namespaces/default/configmaps/web";
    edit_at(&cluster, map, edited).await;
    let relists = || running.metrics.relists_completed.load(Relaxed);
    let drift = || running.metrics.drift.load(Relaxed);
    let (relisted, drifted, writes) = (relists(), drift(), cluster.writes());
    pass(3_600).await;
    assert!(relists() >= relisted + 4, "{}", relists());
    assert_eq!((drift(), cluster.writes()), (drifted, writes));
    mark(&cluster, "annotations", PAUSED, Value::Null).await;
    cluster
        .until("it is set back", |cluster| {
            cluster.get("configmaps", "web")["data"] == json!({ "web-1": "1" })
        })
        .await;
    running.stop().await;
}
