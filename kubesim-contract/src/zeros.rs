//! What a server does to values that an operator plans: zero values that it leaves out or keeps, other forms of
//! the same value, lists whose items share a key.
//!
//! An operator that compares its plan with the stored object must not take any of this for a change.

use serde_json::{Value, json};

use crate::expect::{
    Check, Expect, at, different, equal, eventually, field, mentions, resource_version,
};
use crate::fixture::{config_map, deployment, service};
use crate::rest::Patch;
use crate::{Context, theme};

theme! { "zero values":
    zero_values_of_a_deployment_are_left_out,
    zero_values_of_a_deployment_that_mean_something_are_kept,
    zero_values_of_a_service_are_left_out,
    empty_texts_of_maps_are_kept,
    string_data_of_a_secret_becomes_data,
    a_patch_with_another_form_of_what_is_stored_changes_nothing,
    ports_of_one_number_are_told_apart_by_protocol,
    tolerations_that_share_a_key_stay_in_order,
    a_key_of_a_selector_is_removed_by_null,
    strict_validation_refuses_unknown_fields_of_built_in_kinds,
}

const CONTAINER: &str = "/spec/template/spec/containers/0";

fn pod_of(deployment: &mut Value) -> &mut Value {
    &mut deployment["spec"]["template"]["spec"]
}

async fn zero_values_of_a_deployment_are_left_out(context: Context) -> Check {
    let mut sent = deployment("web");
    sent["spec"]["paused"] = false.into();
    sent["spec"]["minReadySeconds"] = 0.into();
    let pod = pod_of(&mut sent);
    for truth in ["hostNetwork", "hostPID", "hostIPC"] {
        pod[truth] = false.into();
    }
    for text in [
        "hostname",
        "subdomain",
        "nodeName",
        "serviceAccountName",
        "priorityClassName",
    ] {
        pod[text] = "".into();
    }
    pod["volumes"] = json!([{ "name": "v", "emptyDir": { "medium": "" } }]);
    pod["tolerations"] = json!([{ "key": "gpu", "operator": "Exists", "value": "", "effect": "" }]);
    let container = &mut pod["containers"][0];
    for truth in ["stdin", "stdinOnce", "tty"] {
        container[truth] = false.into();
    }
    container["workingDir"] = "".into();
    container["env"] = json!([{ "name": "MODE", "value": "" }]);
    container["ports"] = json!([{ "containerPort": 80, "hostPort": 0, "hostIP": "" }]);
    container["volumeMounts"] =
        json!([{ "name": "v", "mountPath": "/v", "readOnly": false, "subPath": "" }]);
    container["readinessProbe"] =
        json!({ "httpGet": { "port": 80, "host": "", "path": "" }, "initialDelaySeconds": 0 });
    let created = context.deployments().create(sent).await;
    let created = created.succeeds("creating")?;
    for pointer in ["/spec/paused", "/spec/minReadySeconds"] {
        field(&created, pointer, json!(null))?;
    }
    for name in [
        "hostNetwork",
        "hostPID",
        "hostIPC",
        "hostname",
        "subdomain",
        "nodeName",
        "serviceAccountName",
        "priorityClassName",
    ] {
        field(
            &created,
            &format!("/spec/template/spec/{name}"),
            json!(null),
        )?;
    }
    for (pointer, want) in [
        ("/env", json!([{ "name": "MODE" }])),
        (
            "/ports",
            json!([{ "containerPort": 80, "protocol": "TCP" }]),
        ),
        ("/volumeMounts", json!([{ "name": "v", "mountPath": "/v" }])),
        (
            "/readinessProbe/httpGet",
            json!({ "port": 80, "path": "/", "scheme": "HTTP" }),
        ),
        ("/readinessProbe/initialDelaySeconds", json!(null)),
        ("/stdin", json!(null)),
        ("/stdinOnce", json!(null)),
        ("/tty", json!(null)),
        ("/workingDir", json!(null)),
    ] {
        field(&created, &format!("{CONTAINER}{pointer}"), want)?;
    }
    let pod = "/spec/template/spec";
    let tolerations = json!([{ "key": "gpu", "operator": "Exists" }]);
    field(&created, &format!("{pod}/tolerations"), tolerations)?;
    let volumes = json!([{ "name": "v", "emptyDir": {} }]);
    field(&created, &format!("{pod}/volumes"), volumes)
}

/// Pointers in the types of the API.
async fn zero_values_of_a_deployment_that_mean_something_are_kept(context: Context) -> Check {
    let mut sent = deployment("web");
    sent["spec"]["replicas"] = 0.into();
    sent["spec"]["revisionHistoryLimit"] = 0.into();
    let pod = pod_of(&mut sent);
    pod["automountServiceAccountToken"] = false.into();
    pod["enableServiceLinks"] = false.into();
    pod["shareProcessNamespace"] = false.into();
    pod["terminationGracePeriodSeconds"] = 0.into();
    pod["securityContext"] = json!({ "runAsNonRoot": false, "fsGroup": 0 });
    pod["tolerations"] = json!([{ "key": "gpu", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 0 }]);
    let context_of_container = json!({
        "allowPrivilegeEscalation": false, "privileged": false,
        "readOnlyRootFilesystem": false, "runAsUser": 0,
    });
    pod["containers"][0]["securityContext"] = context_of_container.clone();
    let created = context.deployments().create(sent.clone()).await;
    let created = created.succeeds("creating")?;
    for pointer in [
        "/spec/replicas",
        "/spec/revisionHistoryLimit",
        "/spec/template/spec/automountServiceAccountToken",
        "/spec/template/spec/enableServiceLinks",
        "/spec/template/spec/shareProcessNamespace",
        "/spec/template/spec/terminationGracePeriodSeconds",
        "/spec/template/spec/securityContext",
        "/spec/template/spec/tolerations",
    ] {
        field(&created, pointer, at(&sent, pointer).clone())?;
    }
    let pointer = format!("{CONTAINER}/securityContext");
    field(&created, &pointer, context_of_container)
}

async fn zero_values_of_a_service_are_left_out(context: Context) -> Check {
    let mut sent = service("web");
    sent["spec"]["publishNotReadyAddresses"] = false.into();
    sent["spec"]["externalName"] = "".into();
    sent["spec"]["type"] = "".into();
    sent["spec"]["sessionAffinity"] = "".into();
    sent["spec"]["clusterIP"] = "".into();
    sent["spec"]["externalIPs"] = json!([]);
    sent["spec"]["ports"] = json!([{ "name": "", "port": 80, "protocol": "", "nodePort": 0 }]);
    let created = context.services().create(sent).await;
    let created = created.succeeds("creating")?;
    for (name, want) in [
        ("publishNotReadyAddresses", json!(null)),
        ("externalName", json!(null)),
        ("externalIPs", json!(null)),
        ("type", json!("ClusterIP")),
        ("sessionAffinity", json!("None")),
        (
            "ports",
            json!([{ "port": 80, "protocol": "TCP", "targetPort": 80 }]),
        ),
    ] {
        field(&created["spec"], &format!("/{name}"), want)?;
    }
    different("clusterIP", &created["spec"]["clusterIP"], &json!(""))
}

async fn empty_texts_of_maps_are_kept(context: Context) -> Check {
    let empty = json!({ "role": "" });
    let mut sent = config_map("one");
    sent["metadata"]["labels"] = empty.clone();
    sent["metadata"]["annotations"] = empty.clone();
    sent["data"] = empty.clone();
    let created = context.config_maps().create(sent).await;
    let created = created.succeeds("creating a ConfigMap")?;
    for pointer in ["/metadata/labels", "/metadata/annotations", "/data"] {
        field(&created, pointer, empty.clone())?;
    }
    let mut sent = service("web");
    sent["spec"]["selector"] = empty.clone();
    let created = context.services().create(sent).await;
    let created = created.succeeds("creating a Service")?;
    field(&created, "/spec/selector", empty.clone())?;
    let mut sent = deployment("web");
    pod_of(&mut sent)["nodeSelector"] = empty.clone();
    let created = context.deployments().create(sent).await;
    let created = created.succeeds("creating a Deployment")?;
    field(&created, "/spec/template/spec/nodeSelector", empty)
}

async fn string_data_of_a_secret_becomes_data(context: Context) -> Check {
    let secrets = context.at(&format!("/api/v1/namespaces/{}/secrets", context.namespace));
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "one" },
        "data": { "a": "b2xk", "b": "YmI=" }, "stringData": { "a": "new" },
    });
    let created = secrets.create(secret).await.succeeds("creating")?;
    field(&created, "/type", "Opaque")?;
    field(&created, "/data", json!({ "a": "bmV3", "b": "YmI=" }))?;
    field(&created, "/stringData", json!(null))?;
    let patch = json!({ "stringData": { "b": "" } });
    let patched = secrets.patch("one", Patch::Merge, patch).await;
    let patched = patched.succeeds("patching")?;
    field(&patched, "/data", json!({ "a": "bmV3", "b": "" }))?;
    let patch = json!({ "data": { "a": "bmV3", "b": "" } });
    let again = secrets.patch("one", Patch::Merge, patch).await;
    let again = again.succeeds("patching with what is there")?;
    equal(
        "resourceVersion",
        &resource_version(&again),
        &resource_version(&patched),
    )?;
    let patched = secrets
        .patch("one", Patch::Merge, json!({ "data": { "b": null } }))
        .await;
    field(
        &patched.succeeds("removing a key")?,
        "/data",
        json!({ "a": "bmV3" }),
    )
}

/// The answer to a patch that changes nothing has the resourceVersion that it was sent with.
async fn a_patch_with_another_form_of_what_is_stored_changes_nothing(context: Context) -> Check {
    let deployments = context.deployments();
    let mut sent = deployment("web");
    let container = json!({
        "name": "main", "image": "registry.local/web:1.4",
        "env": [{ "name": "MODE", "value": "" }],
        "resources": { "limits": { "cpu": "0.5" } },
    });
    pod_of(&mut sent)["containers"] = json!([container]);
    let volumes = json!([{ "name": "v", "emptyDir": { "sizeLimit": "1024Mi" } }]);
    pod_of(&mut sent)["volumes"] = volumes.clone();
    let created = deployments.create(sent).await.succeeds("creating")?;
    let size = "/spec/template/spec/volumes/0/emptyDir/sizeLimit";
    field(&created, size, "1Gi")?;
    eventually("the patch is not met by a newer status", || async {
        let found = deployments.get("web").await.succeeds("reading")?;
        let meta = &found["metadata"];
        let pod = json!({ "containers": [container], "volumes": volumes, "hostNetwork": false });
        let patch = json!({
            "metadata": { "uid": meta["uid"], "resourceVersion": meta["resourceVersion"] },
            "spec": { "template": { "spec": pod } },
        });
        match deployments.patch("web", Patch::Merge, patch).await {
            Err(kube::Error::Api(status)) if status.code == 409 => Ok(false),
            patched => {
                let patched = resource_version(&patched.succeeds("patching")?);
                equal("resourceVersion", &patched, &resource_version(&found))?;
                Ok(true)
            }
        }
    })
    .await
}

async fn ports_of_one_number_are_told_apart_by_protocol(context: Context) -> Check {
    let ports = json!([
        { "name": "dns-tcp", "port": 53, "protocol": "TCP", "targetPort": 53 },
        { "name": "dns", "port": 53, "protocol": "UDP", "targetPort": 53 },
    ]);
    let mut sent = service("dns");
    sent["spec"]["ports"] = ports.clone();
    let created = context.services().create(sent).await;
    field(
        &created.succeeds("creating a Service")?,
        "/spec/ports",
        ports,
    )?;
    let ports = json!([
        { "containerPort": 53, "protocol": "UDP" }, { "containerPort": 53, "protocol": "TCP" },
    ]);
    let mut sent = deployment("dns");
    pod_of(&mut sent)["containers"][0]["ports"] = ports.clone();
    let created = context.deployments().create(sent).await;
    let created = created.succeeds("creating a Deployment")?;
    field(&created, &format!("{CONTAINER}/ports"), ports)
}

async fn tolerations_that_share_a_key_stay_in_order(context: Context) -> Check {
    let tolerations = json!([
        { "key": "gpu", "operator": "Exists", "effect": "NoSchedule" },
        { "key": "gpu", "operator": "Exists", "effect": "NoExecute" },
    ]);
    let mut sent = deployment("web");
    pod_of(&mut sent)["tolerations"] = tolerations.clone();
    let created = context.deployments().create(sent).await;
    let created = created.succeeds("creating")?;
    field(&created, "/spec/template/spec/tolerations", tolerations)
}

async fn a_key_of_a_selector_is_removed_by_null(context: Context) -> Check {
    let services = context.services();
    let mut sent = service("web");
    sent["spec"]["selector"] = json!({ "app": "web", "track": "canary" });
    services.create(sent).await.succeeds("creating")?;
    let selector = json!({ "app": "web", "track": null });
    let patch = json!({ "spec": { "selector": selector } });
    let patched = services.patch("web", Patch::Merge, patch).await;
    let patched = patched.succeeds("patching")?;
    field(&patched, "/spec/selector", json!({ "app": "web" }))
}

async fn strict_validation_refuses_unknown_fields_of_built_in_kinds(context: Context) -> Check {
    const STRICT: &str = "fieldValidation=Strict";
    let deployments = context.deployments();
    let mut sent = deployment("web");
    pod_of(&mut sent)["containers"][0]["imagePullPolcy"] = "Always".into();
    let created = deployments.create_with(STRICT, sent.clone()).await;
    let status = created.refused(400, "BadRequest", "creating strictly")?;
    let unknown = "unknown field \"spec.template.spec.containers[0].imagePullPolcy\"";
    mentions("the message", &status.message, unknown)?;
    let created = deployments.create(sent).await;
    let created = created.succeeds("creating without it")?;
    field(
        &created,
        &format!("{CONTAINER}/imagePullPolcy"),
        json!(null),
    )?;
    let patch = json!({ "spec": { "replcas": 2 } });
    let patched = deployments
        .patch_with("web", STRICT, Patch::Merge, patch.clone())
        .await;
    let status = patched.refused(422, "Invalid", "patching strictly")?;
    let unknown = "strict decoding error: unknown field \"spec.replcas\"";
    mentions("the message", &status.message, unknown)?;
    let patched = deployments.patch("web", Patch::Merge, patch).await;
    let patched = patched.succeeds("patching without it")?;
    field(&patched, "/metadata/generation", 1)
}
