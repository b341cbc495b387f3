//! An EdgeApp from its creation to its end.

use http::Method;
use serde_json::{Value, json};
use tare_runtime::cache::Mode;

use crate::cluster::Cluster;
use crate::cluster::objects::{condition, container, edgeapp, owner_uid, text, web};
use crate::cluster::simulated::{Simulated, pass};
use crate::cluster::user::JSON;

pub async fn an_edgeapp_becomes_ready_with_its_children(cluster: Cluster) {
    let operator = cluster.operate().await;
    let created = cluster.create("web", web()).await;
    let running = cluster.until_running("web").await;
    assert!(running["metadata"]["finalizers"].is_null(), "{running}");
    assert_eq!(running["status"]["readyReplicas"], 1);
    for (kind, status) in [
        ("Ready", "True"),
        ("Progressing", "False"),
        ("Degraded", "False"),
    ] {
        assert_eq!(condition(&running, kind)["status"], status, "{kind}");
    }
    for resource in ["deployments", "services"] {
        let child = cluster.get(resource, "web").await;
        let owner = &child["metadata"]["ownerReferences"][0];
        assert_eq!(owner["uid"], created["metadata"]["uid"], "{resource}");
        assert_eq!(owner["controller"], true, "{resource}");
        let label = "/metadata/labels/app.kubernetes.io~1managed-by";
        assert_eq!(text(&child, label), "tare", "{resource}");
    }
    let service = cluster.get("services", "web").await;
    assert_eq!(service["spec"]["clusterIP"], "None");
    operator.terminate().await;
    cluster.end().await;
}

pub async fn an_edgeapp_is_observed_after_its_children_exist_and_before_they_are_ready(mode: Mode) {
    let cluster = Simulated::never_ready(mode);
    let running = cluster.operate();
    cluster.create("web", web()).await;
    cluster
        .until("web is observed", |cluster| {
            cluster.get("edgeapps", "web")["status"]["observedGeneration"] == 1
        })
        .await;
    assert!(!cluster.get("deployments", "web").is_null());
    assert!(!cluster.get("services", "web").is_null());
    assert_eq!(cluster.phase("web"), "Progressing");
    let ready = cluster.condition("web", "Ready");
    assert_eq!(
        (ready["status"].as_str(), ready["reason"].as_str()),
        (Some("False"), Some("WaitingForReplicas"))
    );
    assert!(ready["lastTransitionTime"].is_string());
    running.stop().await;
}

pub async fn nothing_is_written_for_a_deleted_edgeapp_and_its_children_go_after_it(
    cluster: Cluster,
) {
    let operator = cluster.operate().await;
    cluster.create("web", web()).await;
    cluster.until_running("web").await;
    let keep = json!({ "metadata": { "finalizers": ["other.example/keep"] } });
    cluster.patch("edgeapps", "web", keep).await;
    cluster.until_quiet(&["tare"]).await;
    let writes = cluster.writes(&["tare"]);

    cluster.delete("edgeapps", "web").await;
    cluster.delete("services", "web").await;
    cluster.until_gone("services", "web").await;
    cluster.assert_stays_idle(&["tare"]).await;
    let deployment = cluster.get("deployments", "web").await;
    assert!(
        deployment["metadata"]["deletionTimestamp"].is_null(),
        "the Deployment stays as long as the EdgeApp does: {deployment}"
    );

    let release = json!({ "metadata": { "finalizers": null } });
    cluster.patch("edgeapps", "web", release).await;
    for resource in ["edgeapps", "deployments"] {
        cluster.until_gone(resource, "web").await;
    }
    cluster.assert_stays_idle(&["tare"]).await;
    assert_eq!(cluster.writes(&["tare"]), writes, "the operator wrote");
    operator.terminate().await;
    cluster.end().await;
}

/// Deleted while an operator runs, and while none does: nothing waits for it.
pub async fn deletion_needs_no_operator(cluster: Cluster) {
    let operator = cluster.operate().await;
    for name in ["one", "two"] {
        cluster.create(name, web()).await;
        cluster.until_running(name).await;
    }
    let reads = || cluster.requests("get", "edgeapps");
    cluster.until_quiet(&["tare"]).await;
    let before = reads();
    cluster.delete("edgeapps", "one").await;
    for resource in ["edgeapps", "deployments", "services"] {
        cluster.until_gone(resource, "one").await;
    }
    cluster.assert_stays_idle(&["tare"]).await;
    assert_eq!(reads(), before, "a deleted EdgeApp was read");
    operator.terminate().await;

    cluster.delete("edgeapps", "two").await;
    for resource in ["edgeapps", "deployments", "services"] {
        cluster.until_gone(resource, "two").await;
    }
    cluster.end().await;
}

/// Version 0.1.0 set a finalizer, which nobody else removes.
pub async fn an_edgeapp_of_0_1_0_is_freed_of_its_finalizer(cluster: Cluster) {
    let ours = json!({ "metadata": { "finalizers": ["tare.dev/cleanup"] } });
    let both = json!(["tare.dev/cleanup", "other.example/keep"]);
    let both = json!({ "metadata": { "finalizers": both } });
    let is_free =
        |object: &Value| object["metadata"]["finalizers"] == json!(["other.example/keep"]);
    cluster.create("deleted", web()).await;
    cluster.patch("edgeapps", "deleted", ours).await;
    cluster.delete("edgeapps", "deleted").await;
    cluster.create("web", web()).await;
    cluster.patch("edgeapps", "web", both).await;

    let operator = cluster.operate().await;
    cluster.until_gone("edgeapps", "deleted").await;
    cluster.until_running("web").await;
    cluster
        .until("web is free", "edgeapps", "web", is_free)
        .await;
    assert!(cluster.get("deployments", "deleted").await.is_null());
    operator.terminate().await;
    let release = json!({ "metadata": { "finalizers": null } });
    cluster.patch("edgeapps", "web", release).await;
    cluster.end().await;
}

pub async fn a_retired_finalizer_of_a_converged_edgeapp_costs_one_write(cluster: Cluster) {
    let both = json!(["tare.dev/cleanup", "other.example/keep"]);
    let both = json!({ "metadata": { "finalizers": both } });
    let is_free =
        |object: &Value| object["metadata"]["finalizers"] == json!(["other.example/keep"]);
    let operator = cluster.operate().await;
    cluster.create("web", web()).await;
    cluster.until_running("web").await;
    cluster.until_quiet(&["tare"]).await;
    let writes = cluster.writes(&["tare"]);
    cluster.patch("edgeapps", "web", both).await;
    cluster
        .until("web is free", "edgeapps", "web", is_free)
        .await;
    cluster.assert_stays_idle(&["tare"]).await;
    assert_eq!(cluster.writes(&["tare"]), writes + 1);
    operator.terminate().await;
    let release = json!({ "metadata": { "finalizers": null } });
    cluster.patch("edgeapps", "web", release).await;
    cluster.end().await;
}

pub async fn orphaned_children_stay(cluster: Cluster) {
    let operator = cluster.operate().await;
    cluster.create("web", web()).await;
    cluster.until_running("web").await;
    cluster.delete_with("edgeapps", "web", "Orphan").await;
    cluster.until_gone("edgeapps", "web").await;
    cluster.assert_stays_idle(&["tare"]).await;
    for resource in ["services", "deployments"] {
        let child = cluster.get(resource, "web").await;
        assert!(child["metadata"]["uid"].is_string(), "{resource}: {child}");
        assert!(
            child["metadata"]["deletionTimestamp"].is_null(),
            "{resource}"
        );
    }
    operator.terminate().await;
    cluster.end().await;
}

pub async fn deleted_and_created_again_under_the_same_name(cluster: Cluster) {
    let operator = cluster.operate().await;
    cluster.create("web", web()).await;
    cluster.until_running("web").await;
    cluster.delete("edgeapps", "web").await;
    cluster.until_gone("edgeapps", "web").await;
    let again = cluster
        .create("web", json!({ "image": "registry.local/web:2" }))
        .await;
    cluster.until_running("web").await;
    let deployment = cluster.get("deployments", "web").await;
    assert_eq!(owner_uid(&deployment), text(&again, "/metadata/uid"));
    assert_eq!(container(&deployment)["image"], "registry.local/web:2");
    cluster.until_gone("services", "web").await;
    operator.terminate().await;
    cluster.end().await;
}

pub async fn deleted_and_created_again_under_the_same_name_during_a_relist(mode: Mode) {
    let cluster = Simulated::new(mode);
    for n in 0..300 {
        cluster.create(&format!("web-{n:03}"), web()).await;
    }
    let running = cluster.operate();
    // The first page of the relist is in; the last names are still to come.
    cluster
        .until("the relist has begun", |cluster| {
            !cluster.phase("web-000").is_empty()
        })
        .await;
    for n in [0, 150, 299] {
        let name = format!("web-{n:03}");
        cluster.delete(&name).await;
        cluster.until_gone("edgeapps", &name).await;
        cluster.create(&name, json!({"image": "web:2"})).await;
    }
    cluster.until_all_running(300).await;
    pass(30).await;
    for n in [0, 150, 299] {
        let name = format!("web-{n:03}");
        let owner = cluster.get("edgeapps", &name);
        let child = cluster.get("deployments", &name);
        assert_eq!(owner_uid(&child), text(&owner, "/metadata/uid"), "{name}");
        assert_eq!(container(&child)["image"], "web:2", "{name}");
        assert!(
            cluster.get("services", &name).is_null(),
            "{name} has no port and still has a Service"
        );
    }
    running.stop().await;
}

pub async fn bad_input_is_refused_with_what_is_wrong(cluster: Cluster) {
    let long = format!("w{}", "e".repeat(63));
    for (name, spec, wanted) in [
        ("web", json!({}), "spec.image: Required value"),
        (
            "web",
            json!({ "image": "web:1", "replicas": -1 }),
            "spec.replicas in body should be greater than or equal to 0",
        ),
        (
            "web",
            json!({ "image": "web:1", "headless": true }),
            "headless needs a port: without one there is no Service",
        ),
        (
            "web.shop",
            json!({ "image": "web:1" }),
            "at most 63 characters of a-z, 0-9 and '-', a letter first, no dots",
        ),
        (&long, json!({ "image": "web:1" }), "at most 63 characters"),
    ] {
        let object = edgeapp(name, spec.clone());
        let path = cluster.path("edgeapps", "");
        match cluster.request(Method::POST, &path, JSON, &object).await {
            Err(kube::Error::Api(status)) => {
                assert_eq!(status.code, 422, "{name} {spec}: {}", status.message);
                assert!(
                    status.message.contains(wanted),
                    "{name} {spec}: {}",
                    status.message
                );
            }
            other => panic!("{name} {spec}: {other:?}"),
        }
    }
    cluster.end().await;
}

pub async fn the_revision_of_the_crd_is_known(cluster: Cluster) {
    let operator = cluster.operate().await;
    let known = |revision: f64| revision == tare::edgeapp::CRD_REVISION as f64;
    operator
        .until_figure("tare_crd_revision{where=\"cluster\"}", known)
        .await;
    operator.terminate().await;
    cluster.end().await;
}
