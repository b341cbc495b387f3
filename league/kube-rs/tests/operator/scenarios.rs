//! What both variants have to do, each scenario in a cluster of its own.

use std::time::Duration;

use serde_json::{Value, json};

use crate::cluster::{Cluster, Variant, app, condition, is_running};

pub async fn an_app_becomes_running_with_its_children(variant: Variant) {
    let cluster = Cluster::start(variant, "running").await;
    let spec = json!({
        "image": "registry.local/web:1.4", "replicas": 2, "port": 8080,
        "env": [{ "name": "A", "value": "1" }],
        "resources": { "requests": { "cpu": 1 }, "limits": { "memory": "64Mi" } },
        "accelerator": { "resource": "example.com/npu", "count": 2 },
    });
    cluster.create("edgeapps", app("web", spec)).await;
    let web = cluster.until("edgeapps", "web", is_running).await;
    let status = &web["status"];
    assert_eq!(status["readyReplicas"], 2);
    assert_eq!(status["replicas"], 2);
    assert_eq!(status["selector"], "tare.dev/owner=web");
    assert_eq!(status["endpoint"], "web.default.svc:80");
    assert_eq!(status["observedGeneration"], 1);
    assert_eq!(condition(&web, "Ready"), "True");
    assert_eq!(condition(&web, "Progressing"), "False");
    assert_eq!(condition(&web, "Degraded"), "False");
    assert_eq!(web["metadata"]["finalizers"], Value::Null);

    let deployment = cluster.get("deployments", "web").unwrap();
    let owner = &deployment["metadata"]["ownerReferences"][0];
    assert_eq!(owner["uid"], web["metadata"]["uid"]);
    assert_eq!(owner["controller"], true);
    let labels =
        json!({ "app.kubernetes.io/managed-by": "edgeapp-kube-rs", "tare.dev/owner": "web" });
    assert_eq!(deployment["metadata"]["labels"], labels);
    let owned = json!({ "tare.dev/owner": "web" });
    assert_eq!(deployment["spec"]["selector"]["matchLabels"], owned);
    assert_eq!(deployment["spec"]["template"]["metadata"]["labels"], owned);
    let container = &deployment["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(container["name"], "app");
    assert_eq!(container["ports"][0]["containerPort"], 8080);
    assert_eq!(container["env"], json!([{ "name": "A", "value": "1" }]));
    let limits = json!({ "memory": "64Mi", "example.com/npu": "2" });
    assert_eq!(
        container["resources"],
        json!({ "requests": { "cpu": "1" }, "limits": limits })
    );

    let service = cluster.get("services", "web").unwrap();
    assert_eq!(service["spec"]["ports"][0]["port"], 80);
    assert_eq!(service["spec"]["ports"][0]["targetPort"], 8080);
    assert_eq!(service["spec"]["selector"], owned);
}

pub async fn a_change_of_the_app_reaches_the_children(variant: Variant) {
    let cluster = Cluster::start(variant, "change").await;
    let env = json!([{ "name": "A", "value": "1" }, { "name": "B", "value": "2" }]);
    let spec = json!({ "image": "web:1", "port": 8080, "env": env });
    cluster.create("edgeapps", app("web", spec)).await;
    cluster.until("edgeapps", "web", is_running).await;

    let less = json!({ "replicas": 3, "port": null, "env": [{ "name": "B", "value": "2" }] });
    cluster
        .patch("edgeapps", "web", json!({ "spec": less }))
        .await;
    let scaled = |app: &Value| is_running(app) && app["status"]["readyReplicas"] == 3;
    let web = cluster.until("edgeapps", "web", scaled).await;
    assert_eq!(web["status"]["endpoint"], Value::Null);
    assert_eq!(web["status"]["observedGeneration"], 2);
    cluster.until_gone("services", "web").await;
    let deployment = cluster.get("deployments", "web").unwrap();
    let container = &deployment["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(container["env"], json!([{ "name": "B", "value": "2" }]));
    assert_eq!(container["ports"], Value::Null);
}

pub async fn a_service_is_made_anew_when_it_becomes_headless_and_back(variant: Variant) {
    let cluster = Cluster::with_web(variant, "headless").await;
    for headless in [true, false] {
        cluster
            .patch(
                "edgeapps",
                "web",
                json!({ "spec": { "headless": headless } }),
            )
            .await;
        let as_wanted = |service: &Value| (service["spec"]["clusterIP"] == "None") == headless;
        cluster.until("services", "web", as_wanted).await;
        cluster.until("edgeapps", "web", is_running).await;
    }
}

pub async fn what_others_change_or_delete_comes_back(variant: Variant) {
    let cluster = Cluster::with_web(variant, "drift").await;
    cluster
        .patch("deployments", "web", json!({ "spec": { "replicas": 7 } }))
        .await;
    cluster
        .until("deployments", "web", |it| it["spec"]["replicas"] == 1)
        .await;
    cluster.delete("services", "web", "Background").await;
    cluster
        .until("services", "web", |it| it["spec"]["ports"][0]["port"] == 80)
        .await;
}

pub async fn a_deleted_app_takes_its_children_along(variant: Variant) {
    let cluster = Cluster::with_web(variant, "delete").await;
    cluster.delete("edgeapps", "web", "Background").await;
    for resource in ["edgeapps", "deployments", "services"] {
        cluster.until_gone(resource, "web").await;
    }
}

pub async fn nothing_is_done_for_an_app_that_is_being_deleted(variant: Variant) {
    let cluster = Cluster::with_web(variant, "deleting").await;
    let kept = json!({ "metadata": { "finalizers": ["other.example/keep"] } });
    cluster.patch("edgeapps", "web", kept).await;
    cluster.until_quiet().await;
    let writes = cluster.writes();
    cluster.delete("edgeapps", "web", "Background").await;
    // Watches are not ordered: until this one shows the deletion, a lost Service is put back.
    cluster.until_quiet().await;
    cluster.delete("services", "web", "Background").await;
    cluster.until_quiet().await;
    assert!(cluster.get("services", "web").is_none());
    assert!(cluster.get("deployments", "web").is_some());

    let freed = json!({ "metadata": { "finalizers": null } });
    cluster.patch("edgeapps", "web", freed).await;
    for resource in ["edgeapps", "deployments"] {
        cluster.until_gone(resource, "web").await;
    }
    cluster.until_quiet().await;
    assert_eq!(cluster.writes(), writes, "nothing was left to do");
}

pub async fn an_app_deleted_with_orphans_leaves_its_children(variant: Variant) {
    let cluster = Cluster::with_web(variant, "orphan").await;
    // A reconcile that is under way from an old copy would apply the ownerReferences again: a race
    // of every operator that re-applies, and not what is looked at here.
    cluster.until_quiet().await;
    cluster.delete("edgeapps", "web", "Orphan").await;
    cluster.until_gone("edgeapps", "web").await;
    for resource in ["deployments", "services"] {
        assert!(cluster.get(resource, "web").is_some(), "{resource}");
    }
}

pub async fn a_foreign_deployment_is_not_taken_over_and_survives(variant: Variant) {
    let cluster = Cluster::start(variant, "foreign").await;
    let labels = json!({ "app": "theirs" });
    let foreign = json!({
        "metadata": { "name": "web", "labels": labels },
        "spec": {
            "selector": { "matchLabels": labels },
            "template": {
                "metadata": { "labels": labels },
                "spec": { "containers": [{ "name": "theirs", "image": "theirs:1" }] },
            },
        },
    });
    cluster.create("deployments", foreign).await;
    let before = cluster.get("deployments", "web").unwrap()["spec"].clone();
    cluster
        .create("edgeapps", app("web", json!({ "image": "web:1" })))
        .await;
    let degraded = |app: &Value| condition(app, "Degraded") == "True";
    let web = cluster.until("edgeapps", "web", degraded).await;
    assert_eq!(web["status"]["phase"], "Failed");
    assert_eq!(condition(&web, "Ready"), "False");
    cluster.delete("edgeapps", "web", "Background").await;
    cluster.until_gone("edgeapps", "web").await;
    assert_eq!(cluster.get("deployments", "web").unwrap()["spec"], before);
}

pub async fn it_says_how_it_is_and_ends_when_asked(variant: Variant) {
    let mut cluster = Cluster::with_web(variant, "admin").await;
    let page = cluster.admin("/metrics").await;
    for line in [
        "# TYPE reconcile_duration_seconds histogram",
        "reconcile_duration_seconds_bucket{le=\"+Inf\"} ",
        "reconcile_errors_total 0",
    ] {
        assert!(page.contains(line), "{line} in {page}");
    }
    #[cfg(target_os = "linux")]
    for line in [
        "process_resident_memory_bytes ",
        "process_cpu_seconds_total ",
    ] {
        assert!(page.contains(line), "{line} in {page}");
    }
    assert!(cluster.admin("/livez").await.starts_with("HTTP/1.1 200"));
    let status = cluster
        .operator
        .terminate(Duration::from_secs(20))
        .await
        .unwrap();
    assert!(
        status.success(),
        "{status}: {:?}",
        cluster.operator.last_log_lines(20)
    );
}
