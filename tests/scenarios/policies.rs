//! A policy that rewrites a field of children.

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};

use crate::cluster::Cluster;
use crate::cluster::objects::{container, text};
use crate::cluster::user::JSON;
use crate::fields::rest;
use crate::forms::deployment;

const MIRROR: &str = "mirror.local/";

/// Images of the Deployments whose names begin with `dev` come from a mirror.
async fn mirror_images(cluster: &Cluster) {
    if let Some(simulated) = cluster.as_simulated() {
        simulated.server.admission().rewrite(|facts, object| {
            let name = text(object, "/metadata/name");
            let image = object.pointer_mut("/spec/template/spec/containers/0/image");
            if facts.resource == "deployments"
                && name.starts_with("dev")
                && let Some(Value::String(image)) = image
                && !image.starts_with(MIRROR)
            {
                image.insert_str(0, MIRROR);
            }
        });
        return;
    }
    let name = format!("mirror-{}", cluster.namespace);
    let all = "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolic";
    let image = "object.spec.template.spec.containers[0].image";
    let policy = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {
            "failurePolicy": "Fail", "reinvocationPolicy": "Never",
            "matchConstraints": {
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": cluster.namespace}},
                "resourceRules": [{"apiGroups": ["apps"], "apiVersions": ["v1"],
                    "operations": ["CREATE", "UPDATE"], "resources": ["deployments"]}],
            },
            "matchConditions": [{"name": "dev", "expression":
                format!("object.metadata.name.startsWith('dev') && !{image}.startsWith('{MIRROR}')")}],
            "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": format!(
                "[JSONPatch{{op: \"replace\", path: \"/spec/template/spec/containers/0/image\", \
                value: \"{MIRROR}\" + {image}}}]")}}],
        },
    });
    let binding = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingAdmissionPolicyBinding",
        "metadata": {"name": name}, "spec": {"policyName": name},
    });
    for (path, object) in [
        (format!("{all}ies"), policy),
        (format!("{all}ybindings"), binding),
    ] {
        let made = cluster.request(Method::POST, &path, JSON, &object).await;
        made.unwrap_or_else(|error| panic!("create {object}: {error}"));
    }
    // A policy acts a moment after it was made.
    let mut probe = deployment("registry.local/x:1");
    probe["apiVersion"] = "apps/v1".into();
    probe["kind"] = "Deployment".into();
    probe["metadata"] = json!({"name": "dev-probe"});
    let path = cluster.path("deployments", "") + "?dryRun=All";
    for _ in 0..100 {
        let tried = cluster.request(Method::POST, &path, JSON, &probe).await;
        let tried = tried.unwrap_or_else(|error| panic!("a dry run: {error}"));
        if container(&tried)["image"] == "mirror.local/registry.local/x:1" {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("the policy does not act");
}

pub async fn images_that_a_policy_rewrites_are_rolled_out_and_others_are_set_back(
    cluster: Cluster,
) {
    mirror_images(&cluster).await;
    let image = |name: &str, n: usize| format!("registry.local/{name}:{n}");
    let until_image = async |name: &str, want: String| {
        let has_it = |deployment: &Value| container(deployment)["image"] == want.as_str();
        let what = format!("{name} has {want}");
        cluster.until(&what, "deployments", name, has_it).await
    };
    let operator = cluster.operate().await;
    for n in 0..6 {
        let name = format!("dev-{n}");
        cluster
            .create(&name, json!({"image": image("dev", n)}))
            .await;
    }
    cluster
        .create("prod", json!({"image": image("prod", 1)}))
        .await;
    cluster.until_all_running(7).await;
    rest(&cluster).await;
    operator.terminate().await;
    let operator = cluster.operate().await;
    rest(&cluster).await;
    for n in 10..16 {
        cluster
            .change("dev-0", json!({"image": image("dev", n)}))
            .await;
        until_image("dev-0", format!("{MIRROR}{}", image("dev", n))).await;
    }
    cluster
        .change("prod", json!({"image": image("prod", 2)}))
        .await;
    let deployment = until_image("prod", image("prod", 2)).await;
    rest(&cluster).await;
    let mut containers = deployment["spec"]["template"]["spec"]["containers"].clone();
    containers[0]["image"] = "registry.local/evil:1".into();
    let edit = json!({"spec": {"template": {"spec": {"containers": containers}}}});
    cluster.patch("deployments", "prod", edit.clone()).await;
    until_image("prod", image("prod", 2)).await;
    // The policy makes of it what is not planned either.
    cluster.patch("deployments", "dev-1", edit).await;
    until_image("dev-1", format!("{MIRROR}{}", image("dev", 1))).await;
    cluster.until_all_running(7).await;
    let events = cluster.all("events").await;
    let conflict = events
        .iter()
        .find(|event| event["reason"] == "FieldConflict");
    assert_eq!(conflict, None);
    operator.terminate().await;
    cluster.end().await;
}
