//! Deployments become ready: by the agent that stands in for nodes, or not at all without nodes.

use std::time::Duration;

use controlplane::readiness::HELD;
use controlplane::{Binaries, ControlPlane, Options};
use libtest_mimic::Failed;
use serde_json::{Value, json};

use crate::fixture::{Caller, Folder, text};

const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";
const DELAY: Duration = Duration::from_millis(50);

fn deployment(name: &str, replicas: u32) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": name },
        "spec": {
            "replicas": replicas,
            "selector": { "matchLabels": { "app": name } },
            "template": {
                "metadata": { "labels": { "app": name } },
                "spec": { "containers": [{ "name": "app", "image": "app:1" }] },
            },
        },
    })
}

/// Whether a status says that all of a generation's replicas are there.
fn settled(answer: &kube::Result<Value>, generation: i64, ready: Option<i64>) -> bool {
    let Ok(object) = answer else {
        return false;
    };
    let count = |field: &str| object["status"].get(field).and_then(Value::as_i64);
    count("observedGeneration") == Some(generation)
        && [
            "replicas",
            "updatedReplicas",
            "readyReplicas",
            "availableReplicas",
        ]
        .iter()
        .all(|field| count(field) == ready)
        && count("unavailableReplicas").is_none()
        && text(object, "/status/conditions/0/type") == "Available"
        && text(object, "/status/conditions/0/status") == "True"
}

pub async fn follows_changes(binaries: Binaries) -> Result<(), Failed> {
    let folder = Folder::new("readiness");
    let options = Options {
        readiness: Some(DELAY),
        ..folder.options()
    };
    let plane = ControlPlane::start(&binaries, options).await?;
    let admin = Caller(plane.client("admin").await?);
    let web = format!("{DEPLOYMENTS}/web");
    admin.post(DEPLOYMENTS, deployment("web", 2)).await?;
    admin.until(&web, |it| settled(it, 1, Some(2))).await?;
    let scale = json!({ "spec": { "replicas": 3 } });
    admin.merge(&format!("{web}/scale"), scale).await?;
    admin.until(&web, |it| settled(it, 2, Some(3))).await?;
    let template =
        json!({ "spec": { "template": { "metadata": { "labels": { "new": "yes" } } } } });
    admin.merge(&web, template).await?;
    admin.until(&web, |it| settled(it, 3, Some(3))).await?;
    admin
        .merge(&web, json!({ "spec": { "replicas": 0 } }))
        .await?;
    admin.until(&web, |it| settled(it, 4, None)).await?;
    // No change of the spec, so nothing to write; a later Deployment shows that it was looked at.
    let label = json!({ "metadata": { "labels": { "only": "metadata" } } });
    admin.merge(&web, label).await?;
    admin.post(DEPLOYMENTS, deployment("late", 1)).await?;
    let late = format!("{DEPLOYMENTS}/late");
    admin.until(&late, |it| settled(it, 1, Some(1))).await?;
    // What is held stays as somebody else writes it, until nobody holds it.
    let conditions = json!([{ "type": HELD, "status": "True" }]);
    let unready =
        json!({ "readyReplicas": null, "availableReplicas": null, "conditions": conditions });
    let status = format!("{late}/status");
    admin.merge(&status, json!({ "status": unready })).await?;
    admin.post(DEPLOYMENTS, deployment("later", 1)).await?;
    let later = format!("{DEPLOYMENTS}/later");
    admin.until(&later, |it| settled(it, 1, Some(1))).await?;
    admin
        .until(&late, |it| {
            it.as_ref()
                .is_ok_and(|late| late["status"].get("readyReplicas").is_none())
        })
        .await?;
    let counts = plane.readiness_counts().ok_or("no agent")?;
    assert_eq!(
        (counts.status_writes, counts.failed_writes, counts.lists),
        (6, 0, 1)
    );
    admin
        .merge(&status, json!({ "status": { "conditions": [] } }))
        .await?;
    admin.until(&late, |it| settled(it, 1, Some(1))).await?;
    Ok(())
}

pub async fn survives_restart(binaries: Binaries) -> Result<(), Failed> {
    let folder = Folder::new("readiness-restart");
    let options = Options {
        readiness: Some(DELAY),
        ..folder.options()
    };
    let mut plane = ControlPlane::start(&binaries, options).await?;
    let admin = Caller(plane.client("admin").await?);
    // Its history is gone too: a place in it would be refused.
    plane.compact().await?;
    admin.post(DEPLOYMENTS, deployment("after", 1)).await?;
    let after = format!("{DEPLOYMENTS}/after");
    admin.until(&after, |it| settled(it, 1, Some(1))).await?;
    Ok(())
}

pub async fn leaves_pods_alone(binaries: Binaries) -> Result<(), Failed> {
    let folder = Folder::new("pods");
    let options = Options {
        readiness: Some(DELAY),
        pods: true,
        ..folder.options()
    };
    let plane = ControlPlane::start(&binaries, options).await?;
    assert_eq!(plane.readiness_counts(), None);
    let admin = Caller(plane.client("admin").await?);
    admin.post(DEPLOYMENTS, deployment("web", 1)).await?;
    let pods = "/api/v1/namespaces/default/pods?labelSelector=app%3Dweb";
    let list = admin
        .until(pods, |it| {
            it.as_ref().is_ok_and(|list| list["items"][0].is_object())
        })
        .await?;
    assert_eq!(text(&list, "/items/0/status/phase"), "Pending");
    let web = format!("{DEPLOYMENTS}/web");
    let observed = |it: &kube::Result<Value>| {
        it.as_ref()
            .is_ok_and(|web| web["status"]["unavailableReplicas"] == 1)
    };
    admin.until(&web, observed).await?;
    Ok(())
}
