//! An EdgeApp from its creation to its end.

use http::Method;
use serde_json::{Value, json};

use crate::world::{World, condition, container, is_running, text, web};

pub async fn an_edgeapp_becomes_ready_with_its_children(world: World) {
    let operator = world.operate().await;
    let created = world.create("web", web()).await;
    let running = world.until_running("web").await;
    assert_eq!(
        running["metadata"]["finalizers"],
        json!(["tare.dev/cleanup"])
    );
    assert_eq!(running["status"]["readyReplicas"], 1);
    for (kind, status) in [
        ("Ready", "True"),
        ("Progressing", "False"),
        ("Degraded", "False"),
    ] {
        assert_eq!(condition(&running, kind)["status"], status, "{kind}");
    }
    for resource in ["deployments", "services"] {
        let child = world.get(resource, "web").await;
        let owner = &child["metadata"]["ownerReferences"][0];
        assert_eq!(owner["uid"], created["metadata"]["uid"], "{resource}");
        assert_eq!(owner["controller"], true, "{resource}");
        let label = "/metadata/labels/app.kubernetes.io~1managed-by";
        assert_eq!(text(&child, label), "tare", "{resource}");
    }
    let service = world.get("services", "web").await;
    assert_eq!(service["spec"]["clusterIP"], "None");
    operator.terminate().await;
    world.end().await;
}

pub async fn scale_image_and_env_follow_the_spec(world: World) {
    let operator = world.operate().await;
    world.create("web", web()).await;
    world.until_running("web").await;

    let scale = json!({ "spec": { "replicas": 3 } });
    world.patch("edgeapps", "web/scale", scale).await;
    let three = |object: &Value| is_running(object) && object["status"]["readyReplicas"] == 3;
    world
        .until("three are ready", "edgeapps", "web", three)
        .await;
    let scale = world.get("edgeapps", "web/scale").await;
    assert_eq!(scale["status"]["replicas"], 3);
    assert_eq!(scale["status"]["selector"], "tare.dev/owner=web");

    world
        .change("web", json!({ "image": "registry.local/web:2" }))
        .await;
    world.until_running("web").await;
    let deployment = world.get("deployments", "web").await;
    assert_eq!(container(&deployment)["image"], "registry.local/web:2");

    let fewer = json!([{ "name": "A", "value": "1" }]);
    world.change("web", json!({ "env": fewer })).await;
    world.until_running("web").await;
    let deployment = world.get("deployments", "web").await;
    assert_eq!(container(&deployment)["env"], fewer);

    world.change("web", json!({ "env": null })).await;
    world.until_running("web").await;
    let deployment = world.get("deployments", "web").await;
    assert_eq!(container(&deployment)["env"], Value::Null);
    operator.terminate().await;
    world.end().await;
}

pub async fn what_cannot_be_changed_is_made_anew_and_what_is_not_asked_for_goes(world: World) {
    let operator = world.operate().await;
    world.create("web", web()).await;
    world.until_running("web").await;
    let headless = world.get("services", "web").await;

    world.change("web", json!({ "headless": null })).await;
    let addressed = |service: &Value| {
        let ip = text(service, "/spec/clusterIP");
        !ip.is_empty() && ip != "None"
    };
    let service = world
        .until("it has a cluster IP", "services", "web", addressed)
        .await;
    assert_ne!(service["metadata"]["uid"], headless["metadata"]["uid"]);

    world.change("web", json!({ "port": null })).await;
    world.until_gone("services", "web").await;
    let running = world.until_running("web").await;
    assert_eq!(running["status"]["endpoint"], Value::Null);
    let deployment = world.get("deployments", "web").await;
    assert_eq!(container(&deployment)["ports"], Value::Null);
    operator.terminate().await;
    world.end().await;
}

pub async fn every_quantity_the_server_normalises_is_no_drift(world: World) {
    let operator = world.operate().await;
    let mut spec = web();
    spec["resources"] = json!({
        "requests": { "cpu": "0.05", "memory": "1024Ki" },
        "limits": { "cpu": "1000m", "memory": 134_217_728 },
    });
    spec["accelerator"] = json!({ "resource": "nvidia.com/gpu", "count": 2 });
    world.create("web", spec).await;
    world.until_running("web").await;
    let made = world.get("deployments", "web").await;
    let limits = &container(&made)["resources"]["limits"];
    assert_eq!(limits["cpu"], "1");
    assert_eq!(limits["nvidia.com/gpu"], "2");
    operator.terminate().await;

    // A restart compares every field of the plan with what the server made of it.
    let operator = world.operate().await;
    let drift = operator.figure("tare_drift_total").await;
    assert_eq!(drift, 0.0, "the server's own spelling is not a change");
    let after = world.get("deployments", "web").await;
    assert_eq!(
        after["metadata"]["resourceVersion"],
        made["metadata"]["resourceVersion"]
    );
    operator.terminate().await;
    world.end().await;
}

pub async fn teardown_is_ordered_and_waits_for_other_peoples_finalizers(world: World) {
    let operator = world.operate().await;
    world.create("web", web()).await;
    world.until_running("web").await;
    let hold = json!({ "metadata": { "finalizers": ["other.example/drain"] } });
    world.patch("services", "web", hold).await;

    world.delete("edgeapps", "web").await;
    let terminating = |object: &Value| object["status"]["phase"] == "Terminating";
    world
        .until("it is Terminating", "edgeapps", "web", terminating)
        .await;
    let deleting = |service: &Value| service["metadata"]["deletionTimestamp"].is_string();
    world
        .until("the Service is going", "services", "web", deleting)
        .await;
    assert!(
        !world.get("deployments", "web").await.is_null(),
        "the Service goes first, and it is not gone yet"
    );

    let release = json!({ "metadata": { "finalizers": null } });
    world.patch("services", "web", release).await;
    for resource in ["services", "deployments", "edgeapps"] {
        world.until_gone(resource, "web").await;
    }
    operator.terminate().await;
    world.end().await;
}

pub async fn orphaned_children_stay(world: World) {
    let operator = world.operate().await;
    world.create("web", web()).await;
    world.until_running("web").await;
    world.delete_with("edgeapps", "web", "Orphan").await;
    world.until_gone("edgeapps", "web").await;
    for resource in ["services", "deployments"] {
        let child = world.get(resource, "web").await;
        assert!(child["metadata"]["uid"].is_string(), "{resource}: {child}");
        assert!(
            child["metadata"]["deletionTimestamp"].is_null(),
            "{resource}"
        );
    }
    operator.terminate().await;
    world.end().await;
}

pub async fn deleted_and_created_again_under_the_same_name(world: World) {
    let operator = world.operate().await;
    world.create("web", web()).await;
    world.until_running("web").await;
    world.delete("edgeapps", "web").await;
    world.until_gone("edgeapps", "web").await;
    let again = world
        .create("web", json!({ "image": "registry.local/web:2" }))
        .await;
    world.until_running("web").await;
    let deployment = world.get("deployments", "web").await;
    let owner = &deployment["metadata"]["ownerReferences"][0];
    assert_eq!(owner["uid"], again["metadata"]["uid"]);
    assert_eq!(container(&deployment)["image"], "registry.local/web:2");
    world.until_gone("services", "web").await;
    operator.terminate().await;
    world.end().await;
}

pub async fn bad_input_is_refused_with_what_is_wrong(world: World) {
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
        let object = crate::world::edgeapp(name, spec.clone());
        let refused = world
            .ask(
                Method::POST,
                &world.path("edgeapps", ""),
                crate::world::JSON,
                &object,
            )
            .await;
        match refused {
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
    world.end().await;
}

pub async fn the_revision_of_the_crd_is_known(world: World) {
    let operator = world.operate().await;
    let known = |revision: f64| revision == tare::edgeapp::CRD_REVISION as f64;
    operator
        .until_figure("tare_crd_revision{where=\"cluster\"}", known)
        .await;
    operator.terminate().await;
    world.end().await;
}
