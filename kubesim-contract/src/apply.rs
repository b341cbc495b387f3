//! Server-side apply: ownership of fields by manager.

use serde_json::{Value, json};

use crate::expect::{Check, Expect, blames, equal, field, holds, mentions, resource_version, text};
use crate::fixture::{config_map, deployment, service, widget, widget_with};
use crate::rest::Patch;
use crate::{Context, theme};

theme! { "apply":
    applying_creates_what_is_not_there,
    applying_again_changes_nothing,
    managers_are_recorded,
    applying_leaves_the_fields_of_others,
    a_field_that_is_no_longer_applied_goes,
    what_a_creation_set_stays_when_an_apply_drops_it,
    a_field_of_another_manager_conflicts,
    force_takes_a_field_over,
    two_managers_may_agree_on_a_field,
    lists_merge_by_their_keys,
    lists_without_keys_are_replaced_whole,
    status_is_applied_on_its_own,
    a_dropped_variable_leaves_the_container,
    applying_built_in_kinds_again_changes_nothing,
    an_owner_reference_is_applied,
}

async fn applying_creates_what_is_not_there(context: Context) -> Check {
    let created = context.widgets().apply("one", "us", widget("one")).await;
    let created = created.succeeds("applying")?;
    field(&created, "/metadata/generation", 1)?;
    field(&created, "/spec/mode", "fast")?;
    let read = context.widgets().get("one").await.succeeds("reading")?;
    equal("what is read", &read, &created)
}

async fn applying_again_changes_nothing(context: Context) -> Check {
    let widgets = context.widgets();
    let first = widgets.apply("one", "us", widget("one")).await;
    let first = first.succeeds("applying")?;
    let query = format!("resourceVersion={}", resource_version(&first));
    let mut watch = widgets.watch(&query).await.succeeds("watching")?;
    let again = widgets.apply("one", "us", widget("one")).await;
    let again = again.succeeds("applying again")?;
    equal("what comes back", &again, &first)?;
    let more = widget_with("one", json!({ "size": 2 }));
    widgets
        .apply("one", "us", more)
        .await
        .succeeds("applying a change")?;
    field(&watch.expect("MODIFIED", "one").await?, "/spec/size", 2)
}

async fn managers_are_recorded(context: Context) -> Check {
    let widgets = context.widgets();
    widgets
        .apply("one", "us", widget("one"))
        .await
        .succeeds("applying")?;
    let patch = json!({ "spec": { "code": "abc" } });
    let patched = widgets
        .patch_with("one", "fieldManager=them", Patch::Merge, patch)
        .await;
    patched.succeeds("patching")?;
    let status = json!({ "status": { "phase": "Running" } });
    let query = "fieldManager=them";
    let patched = widgets
        .patch_with("one/status", query, Patch::Merge, status)
        .await;
    let patched = patched.succeeds("patching status")?;
    for (manager, operation, subresource, path) in [
        ("us", "Apply", "", "/f:spec/f:size"),
        ("them", "Update", "", "/f:spec/f:code"),
        ("them", "Update", "status", "/f:status/f:phase"),
    ] {
        let entries = patched["metadata"]["managedFields"].as_array();
        let entry = entries.into_iter().flatten().find(|entry| {
            text(entry, "/manager") == manager
                && text(entry, "/operation") == operation
                && text(entry, "/subresource") == subresource
        });
        let what = format!("the entry of {manager} {operation} {subresource}");
        let Some(entry) = entry else {
            return holds(false, &what, &patched["metadata"]["managedFields"]);
        };
        field(entry, "/apiVersion", "contract.tare.dev/v1")?;
        field(entry, "/fieldsType", "FieldsV1")?;
        holds(!text(entry, "/time").is_empty(), "it has a time", entry)?;
        field(&entry["fieldsV1"], path, json!({}))?;
    }
    Ok(())
}

async fn applying_leaves_the_fields_of_others(context: Context) -> Check {
    let widgets = context.widgets();
    let mut theirs = widget_with("one", json!({ "size": 1, "code": "abc" }));
    theirs["metadata"]["labels"] = json!({ "theirs": "1" });
    widgets.create(theirs).await.succeeds("creating")?;
    let mut ours = widget_with("one", json!({ "limit": 9 }));
    ours["metadata"]["labels"] = json!({ "ours": "1" });
    let applied = widgets
        .apply("one", "us", ours)
        .await
        .succeeds("applying")?;
    field(
        &applied,
        "/metadata/labels",
        json!({ "ours": "1", "theirs": "1" }),
    )?;
    field(&applied, "/spec/size", 1)?;
    field(&applied, "/spec/code", "abc")?;
    field(&applied, "/spec/limit", 9)
}

async fn a_field_that_is_no_longer_applied_goes(context: Context) -> Check {
    let widgets = context.widgets();
    let settings = json!({ "a": "1", "b": "2" });
    let mut first = widget_with(
        "one",
        json!({ "size": 1, "code": "abc", "settings": settings }),
    );
    first["metadata"]["labels"] = json!({ "a": "1", "b": "2" });
    widgets
        .apply("one", "us", first)
        .await
        .succeeds("applying")?;
    let mut less = widget_with("one", json!({ "size": 1, "settings": { "a": "1" } }));
    less["metadata"]["labels"] = json!({ "b": "2" });
    let applied = widgets.apply("one", "us", less).await;
    let applied = applied.succeeds("applying less")?;
    field(&applied, "/spec/code", json!(null))?;
    field(&applied, "/spec/settings", json!({ "a": "1" }))?;
    field(&applied, "/metadata/labels", json!({ "b": "2" }))
}

/// A creation and an apply are two managers, even under one name (kubernetes#99003).
async fn what_a_creation_set_stays_when_an_apply_drops_it(context: Context) -> Check {
    let widgets = context.widgets();
    let whole = widget_with("one", json!({ "size": 1, "code": "abc" }));
    let created = widgets.create_with("fieldManager=us", whole.clone()).await;
    created.succeeds("creating")?;
    widgets
        .apply("one", "us", whole)
        .await
        .succeeds("applying the same")?;
    let applied = widgets.apply("one", "us", widget("one")).await;
    field(&applied.succeeds("applying less")?, "/spec/code", "abc")
}

async fn a_field_of_another_manager_conflicts(context: Context) -> Check {
    let widgets = context.widgets();
    let theirs = widget_with("one", json!({ "size": 1 }));
    widgets
        .apply("one", "them", theirs)
        .await
        .succeeds("applying")?;
    let ours = widget_with("one", json!({ "size": 2 }));
    let applied = widgets.apply("one", "us", ours).await;
    let status = applied.refused(409, "Conflict", "applying another value")?;
    mentions("the message", &status.message, "conflict with \"them\"")?;
    let causes = status
        .details
        .map(|details| details.causes)
        .unwrap_or_default();
    let cause = causes
        .first()
        .map(|cause| (cause.reason.clone(), cause.field.clone()));
    let want = ("FieldManagerConflict".to_owned(), ".spec.size".to_owned());
    equal("the cause", &cause, &Some(want))?;
    // Fields written by an update have an owner, as applied fields do.
    let patch = json!({ "spec": { "code": "abc" } });
    let patched = widgets
        .patch_with("one", "fieldManager=others", Patch::Merge, patch)
        .await;
    patched.succeeds("patching")?;
    let ours = widget_with("one", json!({ "code": "xyz" }));
    let applied = widgets.apply("one", "us", ours).await;
    let status = applied.refused(409, "Conflict", "applying over an update")?;
    mentions("the message", &status.message, "conflict with \"others\"")
}

async fn force_takes_a_field_over(context: Context) -> Check {
    let widgets = context.widgets();
    widgets
        .apply("one", "them", widget("one"))
        .await
        .succeeds("applying")?;
    let ours = widget_with("one", json!({ "size": 2 }));
    let query = "fieldManager=us&force=true";
    let applied = widgets.patch_with("one", query, Patch::Apply, ours).await;
    field(&applied.succeeds("applying with force")?, "/spec/size", 2)?;
    // The field now belongs to `us`, so `them` conflicts.
    let applied = widgets.apply("one", "them", widget("one")).await;
    let status = applied.refused(409, "Conflict", "applying the old value")?;
    mentions("the message", &status.message, "conflict with \"us\"")
}

async fn two_managers_may_agree_on_a_field(context: Context) -> Check {
    let widgets = context.widgets();
    let both = || widget_with("one", json!({ "size": 1, "code": "abc" }));
    widgets
        .apply("one", "them", both())
        .await
        .succeeds("applying")?;
    widgets
        .apply("one", "us", both())
        .await
        .succeeds("applying the same")?;
    // One of two owners gives the field up; the other owner keeps the value.
    let applied = widgets.apply("one", "us", widget("one")).await;
    field(&applied.succeeds("letting go")?, "/spec/code", "abc")?;
    let applied = widgets.apply("one", "them", widget("one")).await;
    field(
        &applied.succeeds("letting go too")?,
        "/spec/code",
        json!(null),
    )
}

async fn lists_merge_by_their_keys(context: Context) -> Check {
    let widgets = context.widgets();
    let theirs = widget_with(
        "one",
        json!({ "size": 1, "ports": [{ "name": "dns", "number": 53 }] }),
    );
    widgets
        .apply("one", "them", theirs)
        .await
        .succeeds("applying")?;
    let ours = |ports: Value| widget_with("one", json!({ "ports": ports }));
    let two = ours(json!([{ "name": "http", "number": 8080 }, { "name": "tls", "number": 8443 }]));
    let applied = widgets
        .apply("one", "us", two)
        .await
        .succeeds("applying two more")?;
    equal(
        "all",
        &port_names(&applied),
        &vec!["dns".to_owned(), "http".into(), "tls".into()],
    )?;
    let one = ours(json!([{ "name": "tls", "number": 443 }]));
    let applied = widgets
        .apply("one", "us", one)
        .await
        .succeeds("applying one less")?;
    equal(
        "what is left",
        &port_names(&applied),
        &vec!["dns".to_owned(), "tls".into()],
    )
}

fn port_names(widget: &Value) -> Vec<String> {
    let ports = widget["spec"]["ports"].as_array();
    let mut names: Vec<String> = ports
        .into_iter()
        .flatten()
        .map(|port| text(port, "/name"))
        .collect();
    names.sort();
    names
}

async fn lists_without_keys_are_replaced_whole(context: Context) -> Check {
    let widgets = context.widgets();
    for tags in [json!(["a", "b"]), json!(["c"])] {
        let ours = widget_with("one", json!({ "size": 1, "tags": tags.clone() }));
        let applied = widgets
            .apply("one", "us", ours)
            .await
            .succeeds("applying")?;
        field(&applied, "/spec/tags", tags)?;
    }
    let theirs = widget_with("one", json!({ "tags": ["c", "d"] }));
    let applied = widgets.apply("one", "them", theirs).await;
    let status = applied.refused(409, "Conflict", "applying another list")?;
    mentions("the message", &status.message, ".spec.tags")
}

async fn status_is_applied_on_its_own(context: Context) -> Check {
    let widgets = context.widgets();
    widgets
        .apply("one", "us", widget("one"))
        .await
        .succeeds("applying")?;
    let status = |status: Value| json!({ "apiVersion": "contract.tare.dev/v1", "kind": "Widget", "status": status });
    let both = status(json!({ "phase": "Running", "replicas": 1 }));
    let applied = widgets.apply("one/status", "us", both).await;
    let applied = applied.succeeds("applying status")?;
    // The entry of the same manager for the main resource is separate, so the spec keeps its fields.
    field(&applied, "/spec/size", 1)?;
    field(
        &applied,
        "/status",
        json!({ "phase": "Running", "replicas": 1 }),
    )?;
    field(&applied, "/metadata/generation", 1)?;
    let less = status(json!({ "phase": "Running" }));
    let applied = widgets.apply("one/status", "us", less.clone()).await;
    let applied = applied.succeeds("applying less status")?;
    field(&applied, "/status", json!({ "phase": "Running" }))?;
    let again = widgets.apply("one/status", "us", less).await;
    let again = again.succeeds("applying it again")?;
    equal(
        "the resourceVersion",
        &resource_version(&again),
        &resource_version(&applied),
    )?;
    let more = widget_with("one", json!({ "size": 2 }));
    let applied = widgets
        .apply("one", "us", more)
        .await
        .succeeds("applying spec")?;
    field(&applied, "/status", json!({ "phase": "Running" }))
}

async fn a_dropped_variable_leaves_the_container(context: Context) -> Check {
    let deployments = context.deployments();
    let with = |env: Value| {
        let mut wanted = deployment("web");
        wanted["spec"]["template"]["spec"]["containers"][0]["env"] = env;
        wanted
    };
    let two = with(json!([{ "name": "A", "value": "1" }, { "name": "B", "value": "2" }]));
    let first = deployments.apply("web", "us", two.clone()).await;
    let first = first.succeeds("applying")?;
    let again = deployments.apply("web", "us", two).await;
    let again = again.succeeds("applying again")?;
    equal(
        "the generation",
        &again["metadata"]["generation"],
        &first["metadata"]["generation"],
    )?;
    let one = with(json!([{ "name": "B", "value": "2" }]));
    let applied = deployments.apply("web", "us", one).await;
    let applied = applied.succeeds("applying without A")?;
    let env = "/spec/template/spec/containers/0/env";
    field(&applied, env, json!([{ "name": "B", "value": "2" }]))?;
    field(&applied, "/metadata/generation", 2)?;
    let none = deployments.apply("web", "us", deployment("web")).await;
    field(&none.succeeds("applying without any")?, env, json!(null))
}

/// Defaults and the normal form of quantities do not count as differences.
async fn applying_built_in_kinds_again_changes_nothing(context: Context) -> Check {
    let mut web = deployment("web");
    web["spec"]["template"]["spec"]["containers"][0]["resources"] = json!({
        "requests": { "cpu": "0.5", "memory": "1024Mi" },
        "limits": { "cpu": 1, "example.com/npu": "2" },
    });
    let mut headless = service("headless");
    headless["spec"]["clusterIP"] = "None".into();
    for (collection, name, object) in [
        (context.deployments(), "web", web),
        (context.services(), "web", service("web")),
        (context.services(), "headless", headless),
    ] {
        let first = collection.apply(name, "us", object.clone()).await;
        let first = first.succeeds("applying")?;
        let again = collection.apply(name, "us", object).await;
        let again = again.succeeds("applying again")?;
        for pointer in ["/spec", "/metadata/generation", "/metadata/managedFields"] {
            // A controller of the server may have written the status in between.
            let ours = |object: &Value| match crate::expect::at(object, pointer) {
                Value::Array(entries) => entries.first().cloned().unwrap_or_default(),
                other => other.clone(),
            };
            equal(pointer, &ours(&again), &ours(&first))?;
        }
    }
    Ok(())
}

async fn an_owner_reference_is_applied(context: Context) -> Check {
    let owner = context.widgets().create(widget("one")).await;
    let owner = owner.succeeds("creating")?;
    let maps = context.config_maps();
    let mut child = config_map("child");
    child["metadata"]["ownerReferences"] = json!([crate::fixture::owner_reference(&owner)]);
    let applied = maps
        .apply("child", "us", child)
        .await
        .succeeds("applying")?;
    field(&applied, "/metadata/ownerReferences/0/name", "one")?;
    // A second controller is refused by validation, not by a conflict.
    let other = context.widgets().create(widget("two")).await;
    let other = other.succeeds("creating another owner")?;
    let mut stolen = config_map("child");
    stolen["metadata"]["ownerReferences"] = json!([crate::fixture::owner_reference(&other)]);
    let applied = maps.apply("child", "them", stolen).await;
    let status = applied.refused(422, "Invalid", "applying a second controller")?;
    blames(&status, "metadata.ownerReferences")
}
