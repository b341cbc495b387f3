//! The status subresource: a write to it changes no spec, and a write to the main resource no status.

use serde_json::json;

use crate::expect::{Check, Expect, blames, equal, field, resource_version};
use crate::fixture::{deployment, widget};
use crate::rest::Patch;
use crate::{Context, theme};

theme! { "status":
    the_main_resource_does_not_write_status,
    the_status_resource_writes_nothing_but_status,
    a_status_patch_makes_a_status_where_there_is_none,
    status_fields_merge_and_null_removes_them,
    status_is_validated,
    reading_status_gives_the_whole_object,
    a_status_patch_of_what_is_not_there_is_not_found,
    a_deployment_has_a_status_resource_too,
}

async fn the_main_resource_does_not_write_status(context: Context) -> Check {
    let widgets = context.widgets();
    widgets.create(widget("one")).await.succeeds("creating")?;
    let status = json!({ "status": { "phase": "Running" } });
    let written = widgets.patch("one/status", Patch::Merge, status).await;
    let mut wanted = written.succeeds("writing status")?;
    wanted["status"]["phase"] = "Pending".into();
    wanted["spec"]["size"] = 2.into();
    let updated = widgets.update("one", &wanted).await.succeeds("updating")?;
    field(&updated, "/spec/size", 2)?;
    field(&updated, "/status/phase", "Running")?;
    let patch = json!({ "spec": { "size": 3 }, "status": { "phase": "Pending" } });
    let patched = widgets.patch("one", Patch::Merge, patch).await;
    let patched = patched.succeeds("patching")?;
    field(&patched, "/spec/size", 3)?;
    field(&patched, "/status/phase", "Running")?;
    // A patch of the main resource that has only a status changes nothing.
    let patch = json!({ "status": null });
    let same = widgets
        .patch("one", Patch::Merge, patch)
        .await
        .succeeds("patching")?;
    equal(
        "the resourceVersion",
        &resource_version(&same),
        &resource_version(&patched),
    )
}

async fn the_status_resource_writes_nothing_but_status(context: Context) -> Check {
    let widgets = context.widgets();
    let created = widgets.create(widget("one")).await;
    let mut wanted = created.succeeds("creating")?;
    wanted["spec"]["size"] = 2.into();
    wanted["metadata"]["labels"] = json!({ "a": "b" });
    wanted["metadata"]["finalizers"] = json!(["contract.tare.dev/hold"]);
    wanted["status"] = json!({ "phase": "Running" });
    for (how, answer) in [
        ("an update", widgets.update("one/status", &wanted).await),
        (
            "a patch",
            widgets
                .patch(
                    "one/status",
                    Patch::Merge,
                    json!({
                        "metadata": { "labels": { "a": "b" } },
                        "spec": { "size": 2 },
                        "status": { "replicas": 1 },
                    }),
                )
                .await,
        ),
    ] {
        let written = answer.succeeds(how)?;
        field(&written, "/spec/size", 1)?;
        field(&written, "/metadata/labels", json!(null))?;
        field(&written, "/metadata/finalizers", json!(null))?;
        field(&written, "/metadata/generation", 1)?;
        field(&written, "/status/phase", "Running")?;
    }
    Ok(())
}

async fn a_status_patch_makes_a_status_where_there_is_none(context: Context) -> Check {
    let widgets = context.widgets();
    widgets.create(widget("merge")).await.succeeds("creating")?;
    let status = json!({ "status": { "phase": "Running" } });
    let patched = widgets.patch("merge/status", Patch::Merge, status).await;
    let patched = patched.succeeds("a merge patch")?;
    field(&patched, "/status", json!({ "phase": "Running" }))?;

    widgets.create(widget("json")).await.succeeds("creating")?;
    let deep = json!([{ "op": "add", "path": "/status/phase", "value": "Running" }]);
    let patched = widgets.patch("json/status", Patch::Json, deep).await;
    patched.refused(
        422,
        "Invalid",
        "a JSON patch below a status that is not there",
    )?;
    let whole = json!([{ "op": "add", "path": "/status", "value": { "phase": "Running" } }]);
    let patched = widgets.patch("json/status", Patch::Json, whole).await;
    let patched = patched.succeeds("a JSON patch of the whole status")?;
    field(&patched, "/status", json!({ "phase": "Running" }))
}

async fn status_fields_merge_and_null_removes_them(context: Context) -> Check {
    let widgets = context.widgets();
    widgets.create(widget("one")).await.succeeds("creating")?;
    for (change, want) in [
        (json!({ "phase": "Running" }), json!({ "phase": "Running" })),
        (
            json!({ "replicas": 2 }),
            json!({ "phase": "Running", "replicas": 2 }),
        ),
        (json!({ "phase": null }), json!({ "replicas": 2 })),
    ] {
        let patch = json!({ "status": change });
        let patched = widgets.patch("one/status", Patch::Merge, patch).await;
        field(&patched.succeeds("patching")?, "/status", want)?;
    }
    Ok(())
}

async fn status_is_validated(context: Context) -> Check {
    let widgets = context.widgets();
    widgets.create(widget("one")).await.succeeds("creating")?;
    for (change, name) in [
        (json!({ "phase": "Lost" }), "status.phase"),
        (json!({ "replicas": "two" }), "status.replicas"),
    ] {
        let patch = json!({ "status": change });
        let patched = widgets.patch("one/status", Patch::Merge, patch).await;
        blames(&patched.refused(422, "Invalid", name)?, name)?;
    }
    Ok(())
}

async fn reading_status_gives_the_whole_object(context: Context) -> Check {
    let widgets = context.widgets();
    let created = widgets.create(widget("one")).await.succeeds("creating")?;
    let read = widgets.get("one/status").await.succeeds("reading")?;
    equal("what is read", &read, &created)
}

async fn a_status_patch_of_what_is_not_there_is_not_found(context: Context) -> Check {
    let patch = json!({ "status": { "phase": "Running" } });
    let patched = context
        .widgets()
        .patch("one/status", Patch::Merge, patch)
        .await;
    patched.refused(404, "NotFound", "patching").map(|_| ())
}

async fn a_deployment_has_a_status_resource_too(context: Context) -> Check {
    let deployments = context.deployments();
    deployments
        .create(deployment("web"))
        .await
        .succeeds("creating")?;
    let patch = json!({ "status": { "collisionCount": 3 }, "spec": { "replicas": 4 } });
    let patched = deployments.patch("web/status", Patch::Merge, patch).await;
    let patched = patched.succeeds("patching status")?;
    field(&patched, "/status/collisionCount", 3)?;
    field(&patched, "/spec/replicas", 0)?;
    field(&patched, "/metadata/generation", 1)?;
    let patch = json!({ "status": { "collisionCount": 5 }, "spec": { "paused": true } });
    let patched = deployments.patch("web", Patch::Merge, patch).await;
    let patched = patched.succeeds("patching")?;
    field(&patched, "/status/collisionCount", 3)?;
    field(&patched, "/metadata/generation", 2)
}
