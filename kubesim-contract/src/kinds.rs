//! Built-in kinds that operators create: Deployment, Service, Lease, Event, ConfigMap.

use serde_json::{Value, json};

use crate::expect::{Check, Expect, blames, equal, field, holds, mentions, resource_version, text};
use crate::fixture::{config_map, deployment, service};
use crate::rest::Patch;
use crate::{Context, theme};

theme! { "kinds":
    a_deployment_is_filled_with_defaults,
    a_tag_decides_the_pull_policy,
    quantities_come_back_in_canonical_form,
    a_deployments_selector_is_immutable,
    a_deployments_selector_must_match_its_template,
    a_deployment_without_containers_is_refused,
    a_deployment_that_asks_for_more_than_its_limit_is_refused,
    a_deployments_annotations_raise_its_generation,
    a_service_is_filled_with_defaults,
    a_cluster_ip_is_immutable,
    a_headless_service_stays_headless,
    a_service_without_ports_is_refused,
    a_services_name_is_a_dns_label,
    a_lease_is_renewed_by_one_holder,
    an_event_is_recorded,
    an_empty_map_is_left_out,
}

async fn a_deployment_is_filled_with_defaults(context: Context) -> Check {
    let mut sent = deployment("web");
    sent["spec"]["template"]["spec"]["containers"][0]["ports"] = json!([{ "containerPort": 80 }]);
    let created = context
        .deployments()
        .create(sent)
        .await
        .succeeds("creating")?;
    field(&created, "/metadata/generation", 1)?;
    // Clients with types do not accept an answer without it.
    field(&created, "/status", json!({}))?;
    let spec = &created["spec"];
    let rolling = json!({ "maxSurge": "25%", "maxUnavailable": "25%" });
    for (pointer, want) in [
        (
            "/strategy",
            json!({ "type": "RollingUpdate", "rollingUpdate": rolling }),
        ),
        ("/revisionHistoryLimit", json!(10)),
        ("/progressDeadlineSeconds", json!(600)),
        ("/template/spec/restartPolicy", json!("Always")),
        ("/template/spec/dnsPolicy", json!("ClusterFirst")),
        ("/template/spec/schedulerName", json!("default-scheduler")),
        ("/template/spec/terminationGracePeriodSeconds", json!(30)),
        ("/template/spec/securityContext", json!({})),
        (
            "/template/spec/containers/0/imagePullPolicy",
            json!("IfNotPresent"),
        ),
        ("/template/spec/containers/0/resources", json!({})),
        (
            "/template/spec/containers/0/terminationMessagePath",
            json!("/dev/termination-log"),
        ),
        (
            "/template/spec/containers/0/terminationMessagePolicy",
            json!("File"),
        ),
        ("/template/spec/containers/0/ports/0/protocol", json!("TCP")),
    ] {
        field(spec, pointer, want)?;
    }
    let mut one = deployment("one");
    one["spec"]["replicas"].take();
    let created = context
        .deployments()
        .create(one)
        .await
        .succeeds("creating")?;
    field(&created, "/spec/replicas", 1)
}

async fn a_tag_decides_the_pull_policy(context: Context) -> Check {
    for (name, image, policy) in [
        ("latest", "registry.local/web:latest", "Always"),
        ("none", "registry.local:5000/web", "Always"),
        ("tag", "registry.local/web:1.4", "IfNotPresent"),
    ] {
        let mut sent = deployment(name);
        sent["spec"]["template"]["spec"]["containers"][0]["image"] = image.into();
        let created = context.deployments().create(sent).await.succeeds(image)?;
        field(
            &created,
            "/spec/template/spec/containers/0/imagePullPolicy",
            policy,
        )?;
    }
    Ok(())
}

/// An operator that compares its plan with the stored object has to compare quantities in this form.
async fn quantities_come_back_in_canonical_form(context: Context) -> Check {
    let mut sent = deployment("web");
    sent["spec"]["template"]["spec"]["containers"][0]["resources"] = json!({
        "requests": { "cpu": "0.5", "memory": "1024Mi" },
        "limits": { "cpu": "1000m", "memory": "1.5Gi", "example.com/npu": 2 },
    });
    let created = context
        .deployments()
        .create(sent)
        .await
        .succeeds("creating")?;
    field(
        &created,
        "/spec/template/spec/containers/0/resources",
        json!({
            "requests": { "cpu": "500m", "memory": "1Gi" },
            "limits": { "cpu": "1", "memory": "1536Mi", "example.com/npu": "2" },
        }),
    )
}

async fn a_deployments_selector_is_immutable(context: Context) -> Check {
    let deployments = context.deployments();
    deployments
        .create(deployment("web"))
        .await
        .succeeds("creating")?;
    let labels = json!({ "app": "other" });
    let patch = json!({
        "spec": {
            "selector": { "matchLabels": labels },
            "template": { "metadata": { "labels": labels } },
        },
    });
    let patched = deployments.patch("web", Patch::Merge, patch).await;
    let status = patched.refused(422, "Invalid", "changing the selector")?;
    blames(&status, "spec.selector")?;
    mentions("the message", &status.message, "field is immutable")
}

async fn a_deployments_selector_must_match_its_template(context: Context) -> Check {
    let mut sent = deployment("web");
    sent["spec"]["template"]["metadata"]["labels"] = json!({ "app": "other" });
    let created = context.deployments().create(sent).await;
    let status = created.refused(422, "Invalid", "creating")?;
    blames(&status, "spec.template.metadata.labels")?;
    mentions(
        "the message",
        &status.message,
        "`selector` does not match template `labels`",
    )
}

async fn a_deployment_without_containers_is_refused(context: Context) -> Check {
    let mut sent = deployment("web");
    sent["spec"]["template"]["spec"]["containers"] = json!([]);
    let created = context.deployments().create(sent).await;
    blames(
        &created.refused(422, "Invalid", "creating without containers")?,
        "spec.template.spec.containers",
    )?;
    let mut sent = deployment("web");
    sent["spec"]["template"]["spec"]["containers"][0]["image"].take();
    let created = context.deployments().create(sent).await;
    blames(
        &created.refused(422, "Invalid", "creating without an image")?,
        "spec.template.spec.containers[0].image",
    )
}

async fn a_deployment_that_asks_for_more_than_its_limit_is_refused(context: Context) -> Check {
    let mut sent = deployment("web");
    sent["spec"]["template"]["spec"]["containers"][0]["resources"] =
        json!({ "requests": { "memory": "1Gi" }, "limits": { "memory": "128Mi" } });
    let created = context.deployments().create(sent).await;
    let status = created.refused(422, "Invalid", "creating")?;
    blames(
        &status,
        "spec.template.spec.containers[0].resources.requests",
    )?;
    let want = "must be less than or equal to memory limit of 128Mi";
    mentions("the message", &status.message, want)
}

/// In most kinds only the spec raises the generation. Annotations of Deployments are copied to ReplicaSets.
async fn a_deployments_annotations_raise_its_generation(context: Context) -> Check {
    let deployments = context.deployments();
    deployments
        .create(deployment("web"))
        .await
        .succeeds("creating")?;
    for (change, generation) in [
        (json!({ "labels": { "a": "b" } }), 1),
        (json!({ "annotations": { "a": "b" } }), 2),
    ] {
        let what = change.to_string();
        let patch = json!({ "metadata": change });
        let patched = deployments.patch("web", Patch::Merge, patch).await;
        let patched = patched.succeeds(&what)?;
        equal(
            &what,
            &patched["metadata"]["generation"],
            &json!(generation),
        )?;
    }
    Ok(())
}

async fn a_service_is_filled_with_defaults(context: Context) -> Check {
    let created = context.services().create(service("web")).await;
    let created = created.succeeds("creating")?;
    let spec = &created["spec"];
    for (pointer, want) in [
        ("/type", json!("ClusterIP")),
        ("/sessionAffinity", json!("None")),
        ("/internalTrafficPolicy", json!("Cluster")),
        ("/ipFamilyPolicy", json!("SingleStack")),
        ("/ipFamilies", json!(["IPv4"])),
        (
            "/ports",
            json!([{ "port": 80, "protocol": "TCP", "targetPort": 80 }]),
        ),
    ] {
        field(spec, pointer, want)?;
    }
    let address = text(spec, "/clusterIP");
    let parsed: Result<std::net::IpAddr, _> = address.parse();
    holds(parsed.is_ok(), "clusterIP is an address", &address)?;
    field(spec, "/clusterIPs", json!([address]))
}

async fn a_cluster_ip_is_immutable(context: Context) -> Check {
    let services = context.services();
    let created = services.create(service("web")).await.succeeds("creating")?;
    let headless = json!({ "spec": { "clusterIP": "None", "clusterIPs": ["None"] } });
    let patched = services.patch("web", Patch::Merge, headless).await;
    let status = patched.refused(422, "Invalid", "making it headless")?;
    blames(&status, "spec.clusterIPs[0]")?;
    mentions("the message", &status.message, "may not change once set")?;
    // An update that leaves the address out keeps it.
    let mut wanted = service("web");
    wanted["metadata"]["resourceVersion"] = resource_version(&created).into();
    wanted["spec"]["ports"][0]["port"] = 81.into();
    let updated = services.update("web", &wanted).await.succeeds("updating")?;
    field(&updated, "/spec/ports/0/port", 81)?;
    field(
        &updated,
        "/spec/clusterIP",
        created["spec"]["clusterIP"].clone(),
    )
}

async fn a_headless_service_stays_headless(context: Context) -> Check {
    let services = context.services();
    let mut sent = service("web");
    sent["spec"]["clusterIP"] = "None".into();
    let created = services.create(sent).await.succeeds("creating")?;
    field(&created, "/spec/clusterIP", "None")?;
    field(&created, "/spec/clusterIPs", json!(["None"]))?;
    let patch = json!({ "spec": { "ports": [{ "port": 81 }] } });
    let patched = services.patch("web", Patch::Merge, patch).await;
    let patched = patched.succeeds("patching")?;
    field(&patched, "/spec/clusterIP", "None")?;
    field(&patched, "/spec/ports/0/port", 81)
}

async fn a_service_without_ports_is_refused(context: Context) -> Check {
    let mut sent = service("web");
    sent["spec"]["ports"] = json!([]);
    let created = context.services().create(sent).await;
    blames(
        &created.refused(422, "Invalid", "creating without ports")?,
        "spec.ports",
    )?;
    let mut sent = service("web");
    sent["spec"]["ports"] = json!([{ "port": 70000 }]);
    let created = context.services().create(sent).await;
    blames(
        &created.refused(422, "Invalid", "a port of 70000")?,
        "spec.ports[0].port",
    )
}

/// Names that begin with a digit are not tried: they are valid since 1.36 (RelaxedServiceNameValidation).
async fn a_services_name_is_a_dns_label(context: Context) -> Check {
    for name in ["Web", "a.b", "-web", &"a".repeat(64)] {
        let created = context.services().create(service(name)).await;
        blames(&created.refused(422, "Invalid", name)?, "metadata.name")?;
    }
    Ok(())
}

async fn a_lease_is_renewed_by_one_holder(context: Context) -> Check {
    let leases = context.leases();
    let lease = |holder: &str| {
        json!({
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": { "name": "leader" },
            "spec": {
                "holderIdentity": holder,
                "leaseDurationSeconds": 15,
                "renewTime": "2026-01-01T00:00:00.000000Z",
                "leaseTransitions": 0,
            },
        })
    };
    let created = leases.create(lease("us")).await.succeeds("creating")?;
    field(&created, "/spec/renewTime", "2026-01-01T00:00:00.000000Z")?;
    let late = leases.create(lease("them")).await;
    late.refused(409, "AlreadyExists", "acquiring it too")?;
    let mut ours = created.clone();
    ours["spec"]["renewTime"] = "2026-01-01T00:00:05.000000Z".into();
    leases.update("leader", &ours).await.succeeds("renewing")?;
    let mut theirs = created;
    theirs["spec"]["holderIdentity"] = "them".into();
    let stolen = leases.update("leader", &theirs).await;
    stolen
        .refused(409, "Conflict", "taking it over from an old copy")
        .map(|_| ())
}

async fn an_event_is_recorded(context: Context) -> Check {
    let event = json!({
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": { "generateName": "one." },
        "involvedObject": {
            "apiVersion": "contract.tare.dev/v1", "kind": "Widget",
            "namespace": context.namespace, "name": "one",
        },
        "type": "Warning",
        "reason": "NameTaken",
        "message": "Deployment \"one\" belongs to somebody else",
        "reportingComponent": "contract",
        "reportingInstance": "contract-0",
        "action": "Reconcile",
        "eventTime": "2026-01-01T00:00:00.000000Z",
    });
    let events = context.events();
    let created = events.create(event.clone()).await.succeeds("creating")?;
    let name = text(&created, "/metadata/name");
    let read = events.get(&name).await.succeeds("reading")?;
    for pointer in [
        "/involvedObject",
        "/type",
        "/reason",
        "/message",
        "/action",
        "/eventTime",
    ] {
        let want: &Value = crate::expect::at(&event, pointer);
        field(&read, pointer, want.clone())?;
    }
    // An Event has to be in the namespace of its involvedObject; checked for Events without eventTime.
    let mut elsewhere = event;
    elsewhere["eventTime"].take();
    elsewhere["involvedObject"]["namespace"] = "elsewhere".into();
    let created = events.create(elsewhere).await;
    let status = created.refused(422, "Invalid", "an event about another namespace")?;
    blames(&status, "involvedObject.namespace")
}

/// Typed kinds drop empty fields; an operator must not take that for drift.
async fn an_empty_map_is_left_out(context: Context) -> Check {
    let mut sent = config_map("one");
    sent["data"] = json!({});
    sent["metadata"]["labels"] = json!({});
    let created = context
        .config_maps()
        .create(sent)
        .await
        .succeeds("creating")?;
    field(&created, "/data", json!(null))?;
    field(&created, "/metadata/labels", json!(null))?;
    let mut sent = deployment("web");
    sent["spec"]["template"]["spec"]["containers"][0]["env"] = json!([]);
    let created = context
        .deployments()
        .create(sent)
        .await
        .succeeds("creating")?;
    field(
        &created,
        "/spec/template/spec/containers/0/env",
        json!(null),
    )
}
