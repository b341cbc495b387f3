//! Objects of others under the names of our children are never taken over; orphans of our own are.

use std::time::Duration;

use serde_json::{Value, json};
use tare_runtime::cache::Mode;

use crate::cluster::Cluster;
use crate::cluster::objects::{condition, container, foreign_deployment, text, web};
use crate::cluster::simulated::{Running, Simulated, pass};

pub async fn a_foreign_deployment_of_the_same_name_survives_us(cluster: Cluster) {
    let owner = of_release(&cluster).await;
    let unowned = foreign_deployment("unowned", Value::Null);
    cluster.make("deployments", unowned).await;
    let owned = foreign_deployment("owned", owner);
    cluster.make("deployments", owned).await;
    let operator = cluster.operate().await;
    for (name, belongs) in [
        ("unowned", "was not made by this operator"),
        ("owned", "belongs to ConfigMap \"release\""),
    ] {
        let ready = |child: &Value| child["status"]["readyReplicas"] == 1;
        let what = "the foreign Deployment is ready";
        let before = cluster.until(what, "deployments", name, ready).await;
        cluster.create(name, web()).await;
        let degraded = cluster.until_degraded(name, "Collision").await;
        let message = text(condition(&degraded, "Degraded"), "/message");
        let wanted =
            format!("Deployment {name:?} {belongs}; rename the EdgeApp or remove that Deployment");
        assert_eq!(message, wanted);
        assert_eq!(degraded["status"]["phase"], "Failed");
        assert_eq!(
            degraded["status"].get("observedGeneration"),
            None,
            "nothing was observed"
        );
        let is_told = |events: &Value| {
            let events = events["items"].as_array().into_iter().flatten();
            let mut about = events.filter(|event| event["involvedObject"]["name"] == name);
            about.any(|event| event["reason"] == "Collision")
        };
        cluster
            .until("an Event tells the collision", "events", "", is_told)
            .await;

        cluster.delete("edgeapps", name).await;
        cluster.until_gone("edgeapps", name).await;
        cluster.until_quiet(&["tare"]).await;
        assert_eq!(
            cluster.get("deployments", name).await,
            before,
            "the foreign Deployment was changed"
        );
    }
    operator.terminate().await;
    cluster.end().await;
}

pub async fn a_collision_ends_when_the_foreign_object_is_deleted(cluster: Cluster) {
    let foreign = foreign_deployment("web", Value::Null);
    cluster.make("deployments", foreign).await;
    let operator = cluster.operate().await;
    cluster.create("web", web()).await;
    cluster.until_degraded("web", "Collision").await;
    cluster.delete("deployments", "web").await;
    let running = cluster.until_running("web").await;
    assert_eq!(condition(&running, "Degraded")["status"], "False");
    operator.terminate().await;
    cluster.end().await;
}

/// As on the way to another release, and after a restore by a tool that strips owner references.
pub async fn children_that_were_kept_are_adopted_by_the_next_edgeapp(cluster: Cluster) {
    let operator = cluster.operate().await;
    cluster.create("web", web()).await;
    cluster.until_running("web").await;
    cluster.until_quiet(&["tare"]).await;
    let identity = async || {
        let mut all = Vec::new();
        for resource in ["deployments", "services"] {
            let child = cluster.get(resource, "web").await;
            let meta = &child["metadata"];
            all.push((meta["uid"].clone(), meta["generation"].clone()));
        }
        all
    };
    let before = identity().await;
    cluster.delete_with("edgeapps", "web", "Orphan").await;
    cluster.until_gone("edgeapps", "web").await;
    let other = json!([{
        "apiVersion": "v1", "kind": "ConfigMap", "name": "other", "uid": owner_of_nothing(&cluster).await,
    }]);
    for resource in ["deployments", "services"] {
        let is_orphan = |child: &Value| child["metadata"]["ownerReferences"].is_null();
        cluster
            .until("it has no owner", resource, "web", is_orphan)
            .await;
    }
    // A reference that is not that of a controller stays.
    let referred = json!({ "metadata": { "ownerReferences": other } });
    cluster.patch("deployments", "web", referred).await;

    let created = cluster.create("web", web()).await;
    let running = cluster.until_running("web").await;
    assert_eq!(condition(&running, "Degraded")["status"], "False");
    for resource in ["deployments", "services"] {
        let uid = created["metadata"]["uid"].clone();
        let is_adopted = |child: &Value| {
            let owners = child["metadata"]["ownerReferences"].as_array();
            let mut owners = owners.into_iter().flatten();
            owners.any(|one| one["uid"] == uid && one["controller"] == true)
        };
        cluster
            .until("it is adopted", resource, "web", is_adopted)
            .await;
    }
    assert_eq!(identity().await, before, "adopted and not restarted");
    let deployment = cluster.get("deployments", "web").await;
    let owners = deployment["metadata"]["ownerReferences"].as_array();
    assert_eq!(owners.map(Vec::len), Some(2), "{deployment}");

    // Then it is brought to its plan.
    cluster
        .change("web", json!({ "image": "registry.local/web:2" }))
        .await;
    let is_new = |child: &Value| container(child)["image"] == "registry.local/web:2";
    cluster
        .until("it follows its spec", "deployments", "web", is_new)
        .await;
    operator.terminate().await;
    cluster.end().await;
}

/// The uid of a ConfigMap that is made for it.
async fn owner_of_nothing(cluster: &Cluster) -> Value {
    let map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "other" } });
    cluster.make("configmaps", map).await["metadata"]["uid"].clone()
}

/// Our labels do not make an object ours that has a controller, or that was made for another EdgeApp.
pub async fn our_labels_alone_make_no_child_of_another_ours(cluster: Cluster) {
    let labelled = |name: &str, owner: &str, owners: Value| {
        let mut deployment = foreign_deployment(name, owners);
        deployment["metadata"]["labels"] =
            json!({ "app.kubernetes.io/managed-by": "tare", "tare.dev/owner": owner });
        deployment
    };
    let release = of_release(&cluster).await;
    cluster
        .make("deployments", labelled("owned", "owned", release))
        .await;
    cluster
        .make("deployments", labelled("strayed", "first", Value::Null))
        .await;
    let operator = cluster.operate().await;
    for (name, belongs) in [
        ("owned", "belongs to ConfigMap \"release\""),
        ("strayed", "was made for EdgeApp \"first\""),
    ] {
        let owners = cluster.get("deployments", name).await["metadata"]["ownerReferences"].clone();
        cluster.create(name, web()).await;
        let degraded = cluster.until_degraded(name, "Collision").await;
        let message = text(condition(&degraded, "Degraded"), "/message");
        let wanted =
            format!("Deployment {name:?} {belongs}; rename the EdgeApp or remove that Deployment");
        assert_eq!(message, wanted);
        let deployment = cluster.get("deployments", name).await;
        assert_eq!(deployment["metadata"]["ownerReferences"], owners);
        assert_eq!(container(&deployment)["image"], "foreign:1");
    }
    operator.terminate().await;
    cluster.end().await;
}

/// The watch of the EdgeApps does not show the deletion, and what the garbage collector has freed must not be tied to
/// an EdgeApp that goes.
pub async fn an_edgeapp_that_is_going_adopts_nothing(mode: Mode) {
    let cluster = Simulated::new(mode);
    let (user, running) = with_a_running_edgeapp(&cluster).await;
    pass(120).await;
    cluster
        .server
        .faults()
        .on_watch(|facts| match (facts.user, facts.resource) {
            ("tare", "edgeapps") => kubesim::WatchFault::Drop,
            _ => kubesim::WatchFault::Pass,
        });
    // Its finalizer keeps it for as long as the user wants.
    let held = json!({ "metadata": { "finalizers": ["example.com/held"] } });
    user.patch("edgeapps", "web", held).await;
    user.delete_with("edgeapps", "web", "Orphan").await;
    let is_orphan = |child: &Value| child["metadata"]["ownerReferences"].is_null();
    user.until("it has no owner", "deployments", "web", is_orphan)
        .await;
    // An edit makes the operator look at it.
    user.patch("deployments", "web", json!({ "spec": { "replicas": 5 } }))
        .await;
    pass(60).await;
    let deployment = user.get("deployments", "web").await;
    assert!(is_orphan(&deployment), "{deployment}");
    running.stop().await;
}

/// The owner would be waited for if it were an earlier one of our own.
pub async fn a_namesake_of_another_group_is_a_collision_and_not_waited_for(mode: Mode) {
    let cluster = Cluster::simulated(Simulated::new(mode));
    // The uid of something that exists, so that no garbage collector deletes the Deployment.
    let mut namesake = of_release(&cluster).await;
    namesake[0]["apiVersion"] = "edge.example.com/v1".into();
    namesake[0]["kind"] = "EdgeApp".into();
    namesake[0]["name"] = "web".into();
    let foreign = foreign_deployment("web", namesake);
    cluster.make("deployments", foreign).await;
    let before = cluster.get("deployments", "web").await["spec"].clone();
    let operator = cluster.operate().await;
    cluster.create("web", web()).await;
    let degraded = cluster.until_degraded("web", "Collision").await;
    let message = text(condition(&degraded, "Degraded"), "/message");
    let belongs = "Deployment \"web\" belongs to EdgeApp \"web\" of group edge.example.com";
    assert!(message.starts_with(belongs), "{message}");
    assert_eq!(cluster.get("deployments", "web").await["spec"], before);
    operator.terminate().await;
    cluster.end().await;
}

pub async fn a_child_that_another_controller_takes_over_is_told_and_made_again(mode: Mode) {
    let cluster = Simulated::new(mode);
    let (user, running) = with_a_running_edgeapp(&cluster).await;
    let owners = of_release(&user).await;
    for resource in ["deployments", "services"] {
        pass(120).await;
        take_over(&user, resource, &owners).await;
        let kept = user.get(resource, "web").await;
        assert_eq!(kept["metadata"]["ownerReferences"][0]["name"], "release");
        // Also where it goes at once: nothing but its event says that the name is free.
        user.delete(resource, "web").await;
        let is_ours = |child: &Value| child["metadata"]["ownerReferences"][0]["name"] == "web";
        user.until("it is made again", resource, "web", is_ours)
            .await;
        user.until_running("web").await;
    }
    running.stop().await;
}

/// What was applied to the object that was taken over says nothing of the one that was made after it.
pub async fn a_child_that_was_made_again_after_a_take_over_follows_its_spec(mode: Mode) {
    let cluster = Simulated::new(mode);
    let (user, running) = with_a_running_edgeapp(&cluster).await;
    let owners = of_release(&user).await;
    pass(120).await;
    take_over(&user, "deployments", &owners).await;
    user.delete("deployments", "web").await;
    user.until_running("web").await;
    user.change("web", json!({ "image": "web:2" })).await;
    let is_new = |child: &Value| container(child)["image"] == "web:2";
    user.until("the new image", "deployments", "web", is_new)
        .await;
    pass(5).await;
    let events = cluster.server.objects("events");
    let is_rejected = events.iter().any(|event| event["reason"] == "Rejected");
    assert!(!is_rejected, "{events:?}");
    running.stop().await;
}

/// An operator and an EdgeApp `web` that is Running, and its user.
async fn with_a_running_edgeapp(cluster: &Simulated) -> (Cluster, Running) {
    let cluster = cluster.waiting_up_to(Duration::from_secs(120), "attempts back off");
    let user = Cluster::simulated(cluster.clone());
    let running = cluster.operate();
    running.until_ready().await;
    user.create("web", web()).await;
    user.until_running("web").await;
    (user, running)
}

/// The ownerReferences of an object whose controller is a ConfigMap named `release`, which is made for it.
async fn of_release(cluster: &Cluster) -> Value {
    let release = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "release" },
    });
    let release = cluster.make("configmaps", release).await;
    json!([{
        "apiVersion": "v1", "kind": "ConfigMap", "name": "release", "controller": true,
        "uid": release["metadata"]["uid"],
    }])
}

/// Gives the child of `web` to other owners, and waits until the operator reports it.
async fn take_over(user: &Cluster, resource: &str, owners: &Value) {
    let taken = json!({ "metadata": { "ownerReferences": owners } });
    user.patch(resource, "web", taken).await;
    user.until_degraded("web", "Collision").await;
}
