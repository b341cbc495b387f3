//! Rules of the kinds that an operator creates beside Deployments and Services: generation, status, what is refused.

use serde_json::{Value, json};

use crate::built_ins::{
    APPS, RBAC, autoscaler, binding, budget, claim, daemon_set, job, rules, selector, stateful_set,
    template,
};
use crate::expect::{Check, Expect, blames, equal, eventually, field, resource_version, text};
use crate::fixture::deployment;
use crate::rest::{Collection, Patch};
use crate::{Context, theme};

theme! { "built-in rules":
    a_new_deployment_has_an_empty_status,
    the_spec_alone_raises_the_generation_of_built_in_kinds,
    kinds_without_a_generation_count_nothing,
    an_autoscaler_counts_its_generation_since_1_37,
    only_kinds_with_a_status_have_its_subresource,
    a_stateful_set_is_scaled,
    a_role_is_created_by_an_update,
    a_disruption_budget_is_updated_from_a_revision,
    a_deleted_service_account_is_shown,
    conditions_of_a_job_are_owned_as_a_whole,
}

pub(crate) const BATCH: &str = "apis/batch/v1";
pub(crate) const POLICY: &str = "apis/policy/v1";
pub(crate) const NETWORK: &str = "apis/networking.k8s.io/v1";
pub(crate) const SCALING: &str = "apis/autoscaling/v2";
pub(crate) const RBAC_V1: &str = "apis/rbac.authorization.k8s.io/v1";
pub(crate) const CORE: &str = "api/v1";

fn network_policy() -> Value {
    json!({ "metadata": { "name": "a" }, "spec": { "podSelector": {} } })
}

fn account() -> Value {
    json!({ "metadata": { "name": "a" } })
}

fn role() -> Value {
    json!({ "metadata": { "name": "a" }, "rules": rules() })
}

async fn patched(collection: &Collection, change: Value) -> Result<Value, kube::Error> {
    collection.patch("a", Patch::Merge, change).await
}

/// Typed clients read the status of what they have just created.
async fn a_new_deployment_has_an_empty_status(context: Context) -> Check {
    let created = context.deployments().create(deployment("web")).await;
    let created = created.succeeds("creating")?;
    equal("status", &created["status"], &json!({}))?;
    let set = json!({ "metadata": { "name": "a" }, "spec": { "selector": selector(), "template": template(), "replicas": 0 } });
    let created = context.kind(APPS, "replicasets").create(set).await;
    field(
        &created.succeeds("creating")?,
        "/status",
        json!({ "replicas": 0 }),
    )
}

async fn the_spec_alone_raises_the_generation_of_built_in_kinds(context: Context) -> Check {
    for (group, plural, sent, change) in [
        (
            APPS,
            "statefulsets",
            stateful_set(),
            json!({ "replicas": 0 }),
        ),
        (
            APPS,
            "daemonsets",
            daemon_set(),
            json!({ "revisionHistoryLimit": 2 }),
        ),
        (BATCH, "jobs", job(), json!({ "suspend": true })),
        (
            POLICY,
            "poddisruptionbudgets",
            budget(),
            json!({ "minAvailable": 2 }),
        ),
        (
            NETWORK,
            "networkpolicies",
            network_policy(),
            json!({ "ingress": [{}] }),
        ),
    ] {
        let collection = context.kind(group, plural);
        collection.create(sent).await.succeeds(plural)?;
        let marks = json!({ "metadata": { "labels": { "l": "1" }, "annotations": { "a": "1" } } });
        let marked = patched(&collection, marks).await.succeeds(plural)?;
        equal(plural, &marked["metadata"]["generation"], &json!(1))?;
        let changed = patched(&collection, json!({ "spec": change })).await;
        let changed = changed.succeeds(plural)?;
        equal(plural, &changed["metadata"]["generation"], &json!(2))?;
    }
    Ok(())
}

async fn an_autoscaler_counts_its_generation_since_1_37(context: Context) -> Check {
    let autoscalers = context.kind(SCALING, "horizontalpodautoscalers");
    autoscalers
        .create(autoscaler())
        .await
        .succeeds("creating")?;
    let change = json!({ "spec": { "maxReplicas": 4 } });
    let changed = patched(&autoscalers, change).await.succeeds("changing")?;
    // HPAGeneration.
    let counted = (context.minor_version().await? >= 37).then_some(2);
    equal(
        "generation",
        &changed["metadata"]["generation"],
        &json!(counted),
    )
}

async fn kinds_without_a_generation_count_nothing(context: Context) -> Check {
    let secrets = json!({ "secrets": [{ "name": "s" }] });
    for (group, plural, sent, change) in [
        (CORE, "serviceaccounts", account(), secrets),
        (RBAC_V1, "roles", role(), json!({ "rules": [] })),
        (
            RBAC_V1,
            "rolebindings",
            binding("Role"),
            json!({ "subjects": null }),
        ),
    ] {
        let collection = context.kind(group, plural);
        collection.create(sent).await.succeeds(plural)?;
        let changed = patched(&collection, change).await.succeeds(plural)?;
        equal(plural, &changed["metadata"]["generation"], &json!(null))?;
    }
    Ok(())
}

/// Its writes change labels too, which those of a Deployment do not.
async fn only_kinds_with_a_status_have_its_subresource(context: Context) -> Check {
    for (group, plural, sent, status) in [
        (
            APPS,
            "statefulsets",
            stateful_set(),
            json!({ "replicas": 1 }),
        ),
        (
            APPS,
            "daemonsets",
            daemon_set(),
            json!({ "numberReady": 1 }),
        ),
        (BATCH, "jobs", job(), json!({ "active": 1 })),
        (
            POLICY,
            "poddisruptionbudgets",
            budget(),
            json!({ "expectedPods": 1 }),
        ),
        (
            SCALING,
            "horizontalpodautoscalers",
            autoscaler(),
            json!({ "desiredReplicas": 1 }),
        ),
        (
            CORE,
            "persistentvolumeclaims",
            claim(),
            json!({ "phase": "Lost" }),
        ),
    ] {
        let collection = context.kind(group, plural);
        let created = collection.create(sent).await.succeeds(plural)?;
        let change = json!({ "status": status, "metadata": { "labels": { "l": "1" } } });
        let shown = collection.patch("a/status", Patch::Merge, change).await;
        let shown = shown.succeeds(plural)?;
        for (name, want) in status.as_object().into_iter().flatten() {
            equal(plural, &shown["status"][name.as_str()], want)?;
        }
        let labels = |object: &Value| object["metadata"]["labels"]["l"].clone();
        equal(plural, &labels(&shown), &json!("1"))?;
        let template = |object: &Value| object["spec"]["template"].clone();
        equal(plural, &template(&shown), &template(&created))?;
        let written = patched(&collection, json!({ "status": null })).await;
        equal(
            plural,
            &written.succeeds(plural)?["status"],
            &shown["status"],
        )?;
    }
    for (group, plural, sent) in [
        (NETWORK, "networkpolicies", network_policy()),
        (CORE, "serviceaccounts", account()),
        (RBAC_V1, "roles", role()),
    ] {
        let collection = context.kind(group, plural);
        collection.create(sent).await.succeeds(plural)?;
        let change = json!({ "metadata": { "labels": { "l": "1" } } });
        let refused = collection.patch("a/status", Patch::Merge, change).await;
        refused.refused(404, "NotFound", plural)?;
    }
    Ok(())
}

async fn a_stateful_set_is_scaled(context: Context) -> Check {
    let sets = context.kind(APPS, "statefulsets");
    sets.create(stateful_set()).await.succeeds("creating")?;
    let change = json!({ "spec": { "replicas": 0 } });
    let scale = sets.patch("a/scale", Patch::Merge, change).await;
    let scale = scale.succeeds("scaling")?;
    field(&scale, "/kind", "Scale")?;
    field(&scale, "/spec", json!({}))?;
    field(&scale, "/status/selector", "app=a")?;
    let set = sets.get("a").await.succeeds("reading")?;
    field(&set, "/spec/replicas", 0)?;
    field(&set, "/metadata/generation", 2)
}

async fn a_role_is_created_by_an_update(context: Context) -> Check {
    let roles = context.kind(RBAC_V1, "roles");
    let mut sent = role();
    sent["apiVersion"] = format!("{RBAC}/v1").into();
    sent["kind"] = "Role".into();
    roles
        .update("a", &sent)
        .await
        .succeeds("updating what is not there")?;
    // What is there is updated without a resourceVersion.
    sent["rules"] = json!([]);
    let updated = roles.update("a", &sent).await.succeeds("updating")?;
    field(&updated, "/rules", json!(null))
}

async fn a_disruption_budget_is_updated_from_a_revision(context: Context) -> Check {
    let budgets = context.kind(POLICY, "poddisruptionbudgets");
    budgets.create(budget()).await.succeeds("creating")?;
    let mut sent = budget();
    sent["spec"]["minAvailable"] = 2.into();
    let refused = budgets.update("a", &sent).await;
    let status = refused.refused(422, "Invalid", "updating without a resourceVersion")?;
    blames(&status, "metadata.resourceVersion")?;
    // Its controller may write in between.
    eventually("it is updated from its revision", || async {
        let read = budgets.get("a").await.succeeds("reading")?;
        let mut sent = sent.clone();
        sent["metadata"]["resourceVersion"] = resource_version(&read).into();
        match budgets.update("a", &sent).await {
            Err(kube::Error::Api(status)) if status.is_conflict() => Ok(false),
            updated => updated.succeeds("updating").map(|_| true),
        }
    })
    .await
}

async fn a_deleted_service_account_is_shown(context: Context) -> Check {
    for (group, plural, sent, kind) in [
        (CORE, "serviceaccounts", account(), "ServiceAccount"),
        (
            CORE,
            "persistentvolumeclaims",
            claim(),
            "PersistentVolumeClaim",
        ),
        (RBAC_V1, "roles", role(), "Status"),
    ] {
        let collection = context.kind(group, plural);
        collection.create(sent).await.succeeds(plural)?;
        let deleted = collection.delete("a").await.succeeds(plural)?;
        equal(plural, &deleted["kind"], &json!(kind))?;
    }
    Ok(())
}

/// Those of a StatefulSet are owned one by one.
async fn conditions_of_a_job_are_owned_as_a_whole(context: Context) -> Check {
    let condition = json!({ "type": "Mine", "status": "True" });
    let one = json!({ "k:{\"type\":\"Mine\"}": { ".": {}, "f:status": {}, "f:type": {} } });
    for (group, plural, sent, owned) in [
        (BATCH, "jobs", job(), json!({})),
        (APPS, "statefulsets", stateful_set(), one),
    ] {
        let collection = context.kind(group, plural);
        collection.create(sent.clone()).await.succeeds(plural)?;
        let mut applied = json!({
            "apiVersion": text(&json!(group), "").trim_start_matches("apis/"),
            "kind": if plural == "jobs" { "Job" } else { "StatefulSet" },
            "metadata": { "name": "a" },
        });
        applied["status"] = json!({ "conditions": [condition] });
        let query = "fieldManager=us&force=true";
        let shown = collection
            .patch_with("a/status", query, Patch::Apply, applied)
            .await;
        let shown = shown.succeeds(plural)?;
        let managed = shown["metadata"]["managedFields"].as_array();
        let ours = managed
            .into_iter()
            .flatten()
            .find(|one| one["manager"] == "us");
        let fields = ours.map(|ours| &ours["fieldsV1"]["f:status"]["f:conditions"]);
        equal(plural, &fields, &Some(&owned))?;
    }
    Ok(())
}
