//! The scale subresource, of a custom resource and of a Deployment.

use serde_json::json;

use crate::expect::{Check, Expect, blames, field, mentions, resource_version};
use crate::fixture::{deployment, widget, widget_with};
use crate::rest::Patch;
use crate::{Context, theme};

theme! { "scale":
    a_scale_shows_replicas_and_selector,
    patching_a_scale_changes_the_spec,
    updating_a_scale_changes_the_spec,
    a_stale_scale_conflicts,
    a_negative_scale_is_refused,
    replicas_that_a_scale_reads_are_an_integer,
    a_deployment_is_scaled_the_same_way,
}

async fn a_scale_shows_replicas_and_selector(context: Context) -> Check {
    let widgets = context.widgets();
    widgets.create(widget("one")).await.succeeds("creating")?;
    let status = json!({ "status": { "replicas": 3, "selector": "app=one" } });
    let written = widgets.patch("one/status", Patch::Merge, status).await;
    let written = written.succeeds("writing status")?;
    let scale = widgets
        .get("one/scale")
        .await
        .succeeds("reading the scale")?;
    field(&scale, "/kind", "Scale")?;
    field(&scale, "/apiVersion", "autoscaling/v1")?;
    field(&scale, "/spec/replicas", 1)?;
    field(&scale, "/status/replicas", 3)?;
    field(&scale, "/status/selector", "app=one")?;
    for pointer in [
        "/metadata/uid",
        "/metadata/resourceVersion",
        "/metadata/name",
    ] {
        field(
            &scale,
            pointer,
            crate::expect::at(&written, pointer).clone(),
        )?;
    }
    Ok(())
}

async fn patching_a_scale_changes_the_spec(context: Context) -> Check {
    let widgets = context.widgets();
    widgets.create(widget("one")).await.succeeds("creating")?;
    let patch = json!({ "spec": { "replicas": 5 } });
    let scale = widgets.patch("one/scale", Patch::Merge, patch).await;
    let scale = scale.succeeds("patching the scale")?;
    field(&scale, "/kind", "Scale")?;
    field(&scale, "/spec/replicas", 5)?;
    let read = widgets.get("one").await.succeeds("reading")?;
    field(&read, "/spec/replicas", 5)?;
    field(&read, "/metadata/generation", 2)?;
    field(&read, "/metadata/resourceVersion", resource_version(&scale))
}

async fn updating_a_scale_changes_the_spec(context: Context) -> Check {
    let widgets = context.widgets();
    widgets.create(widget("one")).await.succeeds("creating")?;
    let scale = widgets.get("one/scale").await;
    let mut scale = scale.succeeds("reading the scale")?;
    scale["spec"]["replicas"] = 0.into();
    // The status of a Scale is read-only.
    scale["status"]["replicas"] = 9.into();
    widgets
        .update("one/scale", &scale)
        .await
        .succeeds("updating the scale")?;
    let read = widgets.get("one").await.succeeds("reading")?;
    field(&read, "/spec/replicas", 0)?;
    field(&read, "/status", json!(null))
}

async fn a_stale_scale_conflicts(context: Context) -> Check {
    let widgets = context.widgets();
    widgets.create(widget("one")).await.succeeds("creating")?;
    let scale = widgets.get("one/scale").await;
    let mut scale = scale.succeeds("reading the scale")?;
    let patch = json!({ "spec": { "size": 2 } });
    widgets
        .patch("one", Patch::Merge, patch)
        .await
        .succeeds("a change between")?;
    scale["spec"]["replicas"] = 4.into();
    let updated = widgets.update("one/scale", &scale).await;
    updated
        .refused(409, "Conflict", "updating the scale")
        .map(|_| ())
}

async fn a_negative_scale_is_refused(context: Context) -> Check {
    let widgets = context.widgets();
    widgets.create(widget("one")).await.succeeds("creating")?;
    let patch = json!({ "spec": { "replicas": -1 } });
    let scale = widgets.patch("one/scale", Patch::Merge, patch).await;
    scale.refused(422, "Invalid", "scaling to -1").map(|_| ())
}

/// Elsewhere `3.0` is an integer too.
async fn replicas_that_a_scale_reads_are_an_integer(context: Context) -> Check {
    let sent = widget_with("one", json!({ "size": 1, "replicas": 3.0 }));
    let created = context.widgets().create(sent).await;
    let status = created.refused(422, "Invalid", "creating")?;
    blames(&status, ".spec.replicas")?;
    let want = ".spec.replicas accessor error: 3 is of the type float64, expected int64";
    mentions("the message", &status.message, want)
}

async fn a_deployment_is_scaled_the_same_way(context: Context) -> Check {
    let deployments = context.deployments();
    deployments
        .create(deployment("web"))
        .await
        .succeeds("creating")?;
    let patch = json!({ "spec": { "replicas": 2 } });
    let scale = deployments.patch("web/scale", Patch::Merge, patch).await;
    let scale = scale.succeeds("patching the scale")?;
    field(&scale, "/kind", "Scale")?;
    field(&scale, "/spec/replicas", 2)?;
    field(&scale, "/status/selector", "app=web")?;
    let read = deployments.get("web").await.succeeds("reading")?;
    field(&read, "/spec/replicas", 2)?;
    field(&read, "/metadata/generation", 2)
}
