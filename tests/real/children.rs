//! What happens to children, and to those of others under the same name.

use std::time::Duration;

use serde_json::{Value, json};

use crate::audit;
use crate::world::{World, condition, container, text, web};

pub async fn a_deleted_child_comes_back(world: World) {
    let operator = world.operate().await;
    world.create("web", web()).await;
    world.until_running("web").await;
    for resource in ["deployments", "services"] {
        let before = world.get(resource, "web").await;
        world.delete(resource, "web").await;
        let another = |child: &Value| {
            !child.is_null() && child["metadata"]["uid"] != before["metadata"]["uid"]
        };
        world.until("it is back", resource, "web", another).await;
    }
    world.until_running("web").await;
    operator.terminate().await;
    world.end().await;
}

pub async fn an_edited_child_is_set_back_and_what_others_add_stays(world: World) {
    let operator = world.operate().await;
    world.create("web", web()).await;
    world.until_running("web").await;

    // What `kubectl rollout restart` writes is none of the plan's business.
    let restarted = json!({ "kubectl.kubernetes.io/restartedAt": "2026-01-01T00:00:00Z" });
    let restart = json!({ "spec": { "template": { "metadata": { "annotations": restarted } } } });
    world.patch("deployments", "web", restart).await;
    let edit = json!({ "spec": { "replicas": 9 } });
    world.patch("deployments", "web", edit).await;
    let set_back = |child: &Value| child["spec"]["replicas"] == 1;
    let deployment = world
        .until("the edit is undone", "deployments", "web", set_back)
        .await;
    let annotations = &deployment["spec"]["template"]["metadata"]["annotations"];
    assert_eq!(*annotations, restarted);

    let unlabel = json!({ "metadata": { "labels": { "app.kubernetes.io/managed-by": null } } });
    world.patch("services", "web", unlabel).await;
    let labelled =
        |child: &Value| text(child, "/metadata/labels/app.kubernetes.io~1managed-by") == "tare";
    world
        .until("the label is back", "services", "web", labelled)
        .await;
    world.until_running("web").await;
    operator.terminate().await;
    world.end().await;
}

pub async fn a_field_somebody_keeps_setting_is_not_fought_over(world: World) {
    let operator = world.operate().await;
    world.create("web", web()).await;
    world.until_running("web").await;
    let is_set_back = |child: &Value| child["spec"]["replicas"] == 1;
    for _ in 0..3 {
        let edit = json!({ "spec": { "replicas": 5 } });
        world.patch("deployments", "web", edit).await;
        world
            .until("it is set back", "deployments", "web", is_set_back)
            .await;
    }
    let edit = json!({ "spec": { "replicas": 5 } });
    world.patch("deployments", "web", edit).await;
    world.until_degraded("web", "FieldConflict").await;
    // An attempt that met a newer object, say a status, has written nothing.
    let mut asked = world.asked("tare");
    asked.retain(|one| one.code == 200);
    assert_eq!(
        audit::count(&asked, "patch", "deployments"),
        3,
        "set back three times, then left alone"
    );
    operator.terminate().await;
    world.end().await;
}

pub async fn a_foreign_deployment_of_the_same_name_survives_us(world: World) {
    let release = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "release" },
    });
    let release = world.make("configmaps", release).await;
    let owner = json!([{
        "apiVersion": "v1", "kind": "ConfigMap", "name": "release", "controller": true,
        "uid": release["metadata"]["uid"],
    }]);
    world
        .make("deployments", foreign("unowned", Value::Null))
        .await;
    world.make("deployments", foreign("owned", owner)).await;
    let operator = world.operate().await;
    for (name, belongs) in [
        ("unowned", "was not made by this operator"),
        ("owned", "belongs to ConfigMap \"release\""),
    ] {
        let ready = |child: &Value| child["status"]["readyReplicas"] == 1;
        let before = world.until("it is ready", "deployments", name, ready).await;
        world.create(name, web()).await;
        let degraded = world.until_degraded(name, "Collision").await;
        let message = text(condition(&degraded, "Degraded"), "/message");
        let wanted =
            format!("Deployment {name:?} {belongs}; rename the EdgeApp or remove that Deployment");
        assert_eq!(message, wanted);
        assert_eq!(degraded["status"]["phase"], "Failed");
        assert_eq!(degraded["status"]["observedGeneration"], Value::Null);
        let told = |events: &Value| {
            let events = events["items"].as_array().map_or(&[][..], Vec::as_slice);
            events.iter().any(|event| {
                event["reason"] == "Collision" && event["involvedObject"]["name"] == name
            })
        };
        world.until("there is an Event", "events", "", told).await;

        world.delete("edgeapps", name).await;
        world.until_gone("edgeapps", name).await;
        assert_eq!(
            world.get("deployments", name).await,
            before,
            "not a byte of it was touched"
        );
    }
    operator.terminate().await;
    world.end().await;
}

pub async fn a_collision_that_goes_away_heals(world: World) {
    world.make("deployments", foreign("web", Value::Null)).await;
    let operator = world.operate().await;
    world.create("web", web()).await;
    world.until_degraded("web", "Collision").await;
    world.delete("deployments", "web").await;
    let running = world.until_running("web").await;
    assert_eq!(condition(&running, "Degraded")["status"], "False");
    operator.terminate().await;
    world.end().await;
}

/// The operator runs under an account that may do everything but create Services.
pub async fn a_missing_permission_is_named_on_the_object(world: World) {
    let rule = |group: &str, resources: &[&str], verbs: &[&str]| json!({ "apiGroups": [group], "resources": resources, "verbs": verbs });
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
        "metadata": { "name": "almost" },
        "rules": [
            rule("tare.dev", &["edgeapps", "edgeapps/status", "edgeapps/finalizers"], &["*"]),
            rule("apps", &["deployments"], &["*"]),
            rule("", &["services"], &["get", "list", "watch"]),
            rule("", &["events"], &["create"]),
        ],
    });
    world.make("roles", role).await;
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
        "metadata": { "name": "almost" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "almost" },
        "subjects": [{
            "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "limited",
        }],
    });
    world.make("rolebindings", binding).await;
    let operator = world.operate_as("limited").await;
    operator.until_ready().await;
    world.create("web", web()).await;
    let degraded = world.until_degraded("web", "Forbidden").await;
    let message = text(condition(&degraded, "Ready"), "/message");
    assert!(
        message.contains("may not create Service \"web\""),
        "{message}"
    );
    // The one that needs none is not held up by it.
    world
        .create("plain", json!({ "image": "registry.local/web:1" }))
        .await;
    world.until_running("plain").await;
    operator.terminate().await;
    world.end().await;
}

pub async fn what_the_server_refuses_is_told_once_and_heals(world: World) {
    let operator = world.operate().await;
    // Valid for the CRD, refused for a container: only the server knows.
    let mut spec = web();
    spec["resources"] = json!({ "requests": { "cpu": "2" }, "limits": { "cpu": "1" } });
    world.create("web", spec).await;
    let degraded = world.until_degraded("web", "Rejected").await;
    let message = text(condition(&degraded, "Degraded"), "/message");
    assert!(
        message.contains("must be less than or equal to cpu limit"),
        "{message}"
    );
    let version = degraded["metadata"]["resourceVersion"].clone();
    // Attempts go on, with growing pauses; none of them is news.
    let deadline = tokio::time::Instant::now() + Duration::from_secs(60);
    while audit::count(&world.asked("tare"), "create", "deployments") < 4 {
        assert!(tokio::time::Instant::now() < deadline, "it gave up");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let still = world.get("edgeapps", "web").await;
    assert_eq!(still["metadata"]["resourceVersion"], version);

    let mend = json!({ "resources": { "limits": { "cpu": "2" } } });
    world.change("web", mend).await;
    let running = world.until_running("web").await;
    assert_eq!(condition(&running, "Degraded")["status"], "False");
    let deployment = world.get("deployments", "web").await;
    assert_eq!(container(&deployment)["resources"]["limits"]["cpu"], "2");
    operator.terminate().await;
    world.end().await;
}

/// Somebody else's Deployment.
pub fn foreign(name: &str, owners: Value) -> Value {
    let labels = json!({ "app": name });
    let spec = json!({ "containers": [{ "name": "c", "image": "foreign:1" }] });
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": { "name": name, "ownerReferences": owners, "labels": { "made-by": "hand" } },
        "spec": {
            "replicas": 1,
            "selector": { "matchLabels": labels },
            "template": { "metadata": { "labels": labels }, "spec": spec },
        },
    })
}
