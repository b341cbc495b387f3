//! Who owns a field after creations and patches: what an operator reads from managedFields before it writes.

use serde_json::{Value, json};

use crate::expect::{Check, Expect, Failure, at, equal, field, holds, text};
use crate::fixture::{deployment, service, widget_with};
use crate::rest::{Collection, Patch};
use crate::{Context, theme};

theme! { "ownership":
    a_creation_owns_what_it_sets_and_the_defaults,
    a_zero_value_that_is_dropped_has_no_owner,
    what_the_server_allocates_has_no_owner,
    a_foreign_edit_takes_a_field_over_and_ours_takes_it_back,
    a_patch_that_changes_nothing_takes_nothing_over,
    a_removed_field_has_no_owner,
    an_item_of_a_keyed_list_is_owned_by_its_keys,
    another_order_of_items_changes_no_owner,
    an_edited_key_is_another_item,
    an_atomic_map_and_an_atomic_list_have_one_owner,
    lists_and_maps_of_a_custom_kind_are_told_apart_by_its_schema,
    zero_values_of_a_custom_kind_are_owned,
    scaling_takes_the_replicas_over,
    a_default_that_is_removed_comes_back_as_it_was,
    cleared_managers_stay_cleared,
    annotations_move_the_generation_of_a_deployment_alone,
}

const OURS: &str = "fieldManager=us";
const THEIRS: &str = "fieldManager=them";
const CONTAINER: &str = "/f:spec/f:template/f:spec/f:containers/k:{\"name\":\"main\"}";

/// The fields of a manager that creates or patches.
fn fields(object: &Value, manager: &str) -> Value {
    let entries = at(object, "/metadata/managedFields").as_array();
    let mut entries = entries.into_iter().flatten();
    let entry = entries
        .find(|entry| text(entry, "/manager") == manager && text(entry, "/operation") == "Update");
    entry.map_or(Value::Null, |entry| entry["fieldsV1"].clone())
}

fn owns(object: &Value, manager: &str, pointer: &str, want: bool) -> Check {
    let fields = fields(object, manager);
    let what = format!("{manager} owns {pointer}: {want}");
    holds(fields.pointer(pointer).is_some() == want, &what, fields)
}

async fn patched(objects: &Collection, query: &str, patch: Value) -> Result<Value, Failure> {
    let name = "web";
    let answer = objects.patch_with(name, query, Patch::Merge, patch).await;
    answer.succeeds("patching")
}

fn with_container(edit: impl FnOnce(&mut Value)) -> Value {
    let mut wanted = deployment("web");
    edit(&mut wanted["spec"]["template"]["spec"]["containers"][0]);
    wanted
}

fn containers(object: &Value, edit: impl FnOnce(&mut Value)) -> Value {
    let mut containers = at(object, "/spec/template/spec/containers").clone();
    edit(&mut containers[0]);
    json!({"spec": {"template": {"spec": {"containers": containers}}}})
}

async fn a_creation_owns_what_it_sets_and_the_defaults(context: Context) -> Check {
    let created = context
        .deployments()
        .create_with(OURS, deployment("web"))
        .await;
    let created = created.succeeds("creating")?;
    for pointer in [
        "/f:spec/f:replicas",
        "/f:spec/f:strategy/f:type",
        "/f:spec/f:selector",
    ] {
        owns(&created, "us", pointer, true)?;
    }
    for name in ["f:image", "f:terminationMessagePath", "f:resources"] {
        let container = at(&fields(&created, "us"), CONTAINER).clone();
        holds(
            !container[name].is_null(),
            &format!("{name} is owned"),
            &container,
        )?;
    }
    Ok(())
}

async fn a_zero_value_that_is_dropped_has_no_owner(context: Context) -> Check {
    let wanted = with_container(|container| {
        container["env"] = json!([{"name": "A", "value": ""}]);
        container["securityContext"] = json!({"allowPrivilegeEscalation": false});
    });
    let created = context.deployments().create_with(OURS, wanted).await;
    let created = created.succeeds("creating")?;
    let env = format!("{CONTAINER}/f:env/k:{{\"name\":\"A\"}}");
    owns(&created, "us", &format!("{env}/f:name"), true)?;
    owns(&created, "us", &format!("{env}/f:value"), false)?;
    let pointer = format!("{CONTAINER}/f:securityContext/f:allowPrivilegeEscalation");
    owns(&created, "us", &pointer, true)
}

async fn what_the_server_allocates_has_no_owner(context: Context) -> Check {
    let created = context.services().create_with(OURS, service("web")).await;
    let created = created.succeeds("creating")?;
    holds(
        !text(&created, "/spec/clusterIP").is_empty(),
        "it has an address",
        &created,
    )?;
    for (name, want) in [
        ("clusterIP", false),
        ("clusterIPs", false),
        ("type", true),
        ("sessionAffinity", true),
    ] {
        owns(&created, "us", &format!("/f:spec/f:{name}"), want)?;
    }
    Ok(())
}

async fn a_foreign_edit_takes_a_field_over_and_ours_takes_it_back(context: Context) -> Check {
    let deployments = context.deployments();
    let created = deployments.create_with(OURS, deployment("web")).await;
    created.succeeds("creating")?;
    let replicas = |n: i64| json!({"spec": {"replicas": n}});
    let edited = patched(&deployments, THEIRS, replicas(3)).await?;
    owns(&edited, "us", "/f:spec/f:replicas", false)?;
    owns(&edited, "them", "/f:spec/f:replicas", true)?;
    let ours = patched(&deployments, OURS, replicas(0)).await?;
    owns(&ours, "us", "/f:spec/f:replicas", true)?;
    equal("their fields", &fields(&ours, "them"), &Value::Null)
}

async fn a_patch_that_changes_nothing_takes_nothing_over(context: Context) -> Check {
    let widgets = context.widgets();
    let wanted = widget_with("web", json!({"size": 1}));
    widgets
        .create_with(OURS, wanted)
        .await
        .succeeds("creating")?;
    let size = || json!({"spec": {"size": 3}});
    let theirs = patched(&widgets, THEIRS, size()).await?;
    let ours = patched(&widgets, OURS, size()).await?;
    owns(&ours, "them", "/f:spec/f:size", true)?;
    equal("the object", &ours, &theirs)
}

async fn a_removed_field_has_no_owner(context: Context) -> Check {
    let widgets = context.widgets();
    let wanted = widget_with("web", json!({"size": 1, "code": "abc"}));
    widgets
        .create_with(OURS, wanted)
        .await
        .succeeds("creating")?;
    let removed = patched(&widgets, THEIRS, json!({"spec": {"code": null}})).await?;
    owns(&removed, "us", "/f:spec/f:code", false)?;
    equal("their fields", &fields(&removed, "them"), &Value::Null)
}

async fn an_item_of_a_keyed_list_is_owned_by_its_keys(context: Context) -> Check {
    let deployments = context.deployments();
    let created = deployments.create_with(OURS, deployment("web")).await;
    let created = created.succeeds("creating")?;
    let probe = json!({"httpGet": {"path": "/live", "port": 8080}});
    let patch = containers(&created, |container| {
        container["livenessProbe"] = probe.clone()
    });
    let edited = patched(&deployments, THEIRS, patch).await?;
    let pointer = format!("{CONTAINER}/f:livenessProbe");
    owns(&edited, "them", &pointer, true)?;
    owns(&edited, "us", &pointer, false)?;
    owns(&edited, "us", &format!("{CONTAINER}/f:image"), true)?;
    owns(&edited, "them", &format!("{CONTAINER}/."), false)
}

async fn another_order_of_items_changes_no_owner(context: Context) -> Check {
    let deployments = context.deployments();
    let (a, b) = (
        json!({"name": "A", "value": "1"}),
        json!({"name": "B", "value": "2"}),
    );
    let wanted = with_container(|container| container["env"] = json!([a, b]));
    let created = deployments.create_with(OURS, wanted).await;
    let created = created.succeeds("creating")?;
    let patch = containers(&created, |container| container["env"] = json!([b, a]));
    let edited = patched(&deployments, THEIRS, patch).await?;
    field(&edited, "/spec/template/spec/containers/0/env/0/name", "B")?;
    owns(
        &edited,
        "us",
        &format!("{CONTAINER}/f:env/k:{{\"name\":\"A\"}}/f:value"),
        true,
    )?;
    equal("their fields", &fields(&edited, "them"), &Value::Null)
}

async fn an_edited_key_is_another_item(context: Context) -> Check {
    let services = context.services();
    services
        .create_with(OURS, service("web"))
        .await
        .succeeds("creating")?;
    let patch = json!({"spec": {"ports": [{"port": 81}]}});
    let edited = patched(&services, THEIRS, patch).await?;
    let port =
        |number: u16| format!("/f:spec/f:ports/k:{{\"port\":{number},\"protocol\":\"TCP\"}}");
    owns(&edited, "us", &port(80), false)?;
    owns(&edited, "them", &port(81), true)
}

async fn an_atomic_map_and_an_atomic_list_have_one_owner(context: Context) -> Check {
    let services = context.services();
    services
        .create_with(OURS, service("web"))
        .await
        .succeeds("creating")?;
    let patch = json!({"spec": {"selector": {"track": "canary"}}});
    let edited = patched(&services, THEIRS, patch).await?;
    owns(&edited, "us", "/f:spec/f:selector", false)?;
    let theirs = fields(&edited, "them");
    field(&theirs, "/f:spec/f:selector", json!({}))?;

    let deployments = context.deployments();
    let wanted = with_container(|container| container["args"] = json!(["a"]));
    let created = deployments.create_with(OURS, wanted).await;
    let created = created.succeeds("creating")?;
    let args = format!("{CONTAINER}/f:args");
    field(&fields(&created, "us"), &args, json!({}))?;
    let patch = containers(&created, |container| container["args"] = json!(["a", "b"]));
    let edited = patched(&deployments, THEIRS, patch).await?;
    owns(&edited, "us", &args, false)?;
    owns(&edited, "them", &args, true)
}

async fn lists_and_maps_of_a_custom_kind_are_told_apart_by_its_schema(context: Context) -> Check {
    let spec = json!({
        "size": 1, "tags": ["a"], "zones": ["a", "b"], "ports": [{"name": "http", "number": 80}],
        "settings": {"a": "1"}, "match": {"a": "1"},
    });
    let created = context
        .widgets()
        .create_with(OURS, widget_with("web", spec))
        .await;
    let fields = fields(&created.succeeds("creating")?, "us");
    for (pointer, want) in [
        ("/f:spec/f:tags", json!({})),
        (
            "/f:spec/f:zones",
            json!({".": {}, "v:\"a\"": {}, "v:\"b\"": {}}),
        ),
        (
            "/f:spec/f:ports",
            json!({".": {}, "k:{\"name\":\"http\"}": {".": {}, "f:name": {}, "f:number": {}}}),
        ),
        ("/f:spec/f:settings", json!({".": {}, "f:a": {}})),
        ("/f:spec/f:match", json!({})),
    ] {
        field(&fields, pointer, want)?;
    }
    Ok(())
}

async fn zero_values_of_a_custom_kind_are_owned(context: Context) -> Check {
    let spec = json!({"size": 0, "code": "a", "limit": 0, "tags": [], "settings": {}});
    let created = context
        .widgets()
        .create_with(OURS, widget_with("web", spec))
        .await;
    let created = created.succeeds("creating")?;
    for name in ["size", "limit", "tags", "settings"] {
        owns(&created, "us", &format!("/f:spec/f:{name}"), true)?;
    }
    Ok(())
}

async fn scaling_takes_the_replicas_over(context: Context) -> Check {
    let deployments = context.deployments();
    let created = deployments.create_with(OURS, deployment("web")).await;
    created.succeeds("creating")?;
    let scale = json!({"spec": {"replicas": 2}});
    let scaled = deployments
        .patch_with("web/scale", THEIRS, Patch::Merge, scale)
        .await;
    scaled.succeeds("scaling")?;
    let read = deployments.get("web").await.succeeds("reading")?;
    owns(&read, "us", "/f:spec/f:replicas", false)?;
    let entries = at(&read, "/metadata/managedFields").as_array();
    let mut entries = entries.into_iter().flatten();
    let by_scale =
        |entry: &Value| text(entry, "/subresource") == "scale" && text(entry, "/manager") == "them";
    holds(
        entries.any(by_scale),
        "they own them by the subresource",
        &read["metadata"],
    )
}

async fn a_default_that_is_removed_comes_back_as_it_was(context: Context) -> Check {
    let deployments = context.deployments();
    let created = deployments.create_with(OURS, deployment("web")).await;
    let created = created.succeeds("creating")?;
    let mut patch = containers(&created, |container| {
        for name in ["terminationMessagePath", "imagePullPolicy", "resources"] {
            container[name] = Value::Null;
        }
        if let Value::Object(members) = container {
            members.retain(|_, value| !value.is_null());
        }
    });
    patch["spec"]["strategy"] = Value::Null;
    patch["spec"]["progressDeadlineSeconds"] = Value::Null;
    let removed = patched(&deployments, OURS, patch).await?;
    for pointer in ["/spec", "/metadata/generation"] {
        equal(pointer, at(&removed, pointer), at(&created, pointer))?;
    }
    equal(
        "our fields",
        &fields(&removed, "us"),
        &fields(&created, "us"),
    )
}

async fn cleared_managers_stay_cleared(context: Context) -> Check {
    let deployments = context.deployments();
    let created = deployments.create_with(OURS, deployment("web")).await;
    created.succeeds("creating")?;
    let cleared = patched(
        &deployments,
        THEIRS,
        json!({"metadata": {"managedFields": [{}]}}),
    )
    .await?;
    equal("our fields", &fields(&cleared, "us"), &Value::Null)?;
    let changed = patched(&deployments, OURS, json!({"spec": {"replicas": 1}})).await?;
    field(&changed, "/metadata/managedFields", json!(null))
}

/// A mark on a child says which generation our write led to.
async fn annotations_move_the_generation_of_a_deployment_alone(context: Context) -> Check {
    let annotate = |n: &str| json!({"metadata": {"annotations": {"example.com/mark": n}}});
    let deployments = context.deployments();
    let created = deployments.create_with(OURS, deployment("web")).await;
    field(&created.succeeds("creating")?, "/metadata/generation", 1)?;
    let annotated = patched(&deployments, OURS, annotate("1")).await?;
    field(&annotated, "/metadata/generation", 2)?;
    let labelled = patched(
        &deployments,
        OURS,
        json!({"metadata": {"labels": {"a": "b"}}}),
    )
    .await?;
    field(&labelled, "/metadata/generation", 2)?;

    let widgets = context.widgets();
    let wanted = widget_with("web", json!({"size": 1}));
    widgets
        .create_with(OURS, wanted)
        .await
        .succeeds("creating")?;
    let annotated = patched(&widgets, OURS, annotate("1")).await?;
    field(&annotated, "/metadata/generation", 1)
}
