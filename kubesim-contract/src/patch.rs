//! Merge patch (RFC 7386), JSON patch (RFC 6902), and strategic merge patch of built-in kinds.

use serde_json::json;

use crate::expect::{Check, Expect, equal, field, resource_version, uid};
use crate::fixture::{deployment, widget, widget_with};
use crate::rest::Patch;
use crate::{Context, theme};

theme! { "patch":
    a_merge_patch_merges_objects_and_null_removes,
    a_merge_patch_replaces_lists_whole,
    a_json_patch_adds_replaces_and_removes,
    a_json_patch_inserts_into_lists_by_position,
    a_json_patch_applies_whole_or_not_at_all,
    a_failing_test_is_refused,
    a_test_for_null_holds_for_a_missing_field,
    a_test_can_be_of_uid_and_resource_version,
    a_path_with_escapes_reaches_its_key,
    patching_what_is_not_there_is_not_found,
    a_patch_that_is_no_json_is_a_bad_request,
    a_strategic_patch_of_a_custom_resource_is_unsupported,
    a_strategic_patch_merges_containers_by_name,
}

async fn a_merge_patch_merges_objects_and_null_removes(context: Context) -> Check {
    let widgets = context.widgets();
    let spec = json!({ "size": 1, "code": "abc", "settings": { "a": "1", "b": "2" } });
    widgets
        .create(widget_with("one", spec))
        .await
        .succeeds("creating")?;
    let patch = json!({ "spec": { "code": null, "settings": { "a": null, "c": "3" } } });
    let patched = widgets.patch("one", Patch::Merge, patch).await;
    let patched = patched.succeeds("patching")?;
    field(&patched, "/spec/code", json!(null))?;
    field(&patched, "/spec/settings", json!({ "b": "2", "c": "3" }))?;
    field(&patched, "/spec/size", 1)?;
    // A default comes back when its field is removed.
    let patch = json!({ "spec": { "mode": "slow" } });
    widgets
        .patch("one", Patch::Merge, patch)
        .await
        .succeeds("patching")?;
    let patch = json!({ "spec": { "mode": null } });
    let patched = widgets.patch("one", Patch::Merge, patch).await;
    field(&patched.succeeds("patching")?, "/spec/mode", "fast")
}

async fn a_merge_patch_replaces_lists_whole(context: Context) -> Check {
    let widgets = context.widgets();
    let spec = json!({ "size": 1, "tags": ["a", "b"], "ports": [{ "name": "http" }] });
    widgets
        .create(widget_with("one", spec))
        .await
        .succeeds("creating")?;
    let patch = json!({ "spec": { "tags": ["c"], "ports": [{ "name": "dns", "number": 53 }] } });
    let patched = widgets.patch("one", Patch::Merge, patch).await;
    let patched = patched.succeeds("patching")?;
    field(&patched, "/spec/tags", json!(["c"]))?;
    field(
        &patched,
        "/spec/ports",
        json!([{ "name": "dns", "number": 53 }]),
    )
}

async fn a_json_patch_adds_replaces_and_removes(context: Context) -> Check {
    let widgets = context.widgets();
    let spec = json!({ "size": 1, "code": "abc", "tags": ["a"] });
    widgets
        .create(widget_with("one", spec))
        .await
        .succeeds("creating")?;
    let patch = json!([
        { "op": "test", "path": "/spec/size", "value": 1 },
        { "op": "replace", "path": "/spec/size", "value": 2 },
        { "op": "remove", "path": "/spec/code" },
        { "op": "add", "path": "/spec/tags/-", "value": "b" },
        { "op": "add", "path": "/metadata/labels", "value": { "a": "b" } },
        { "op": "copy", "from": "/spec/size", "path": "/spec/limit" },
        { "op": "move", "from": "/metadata/labels/a", "path": "/metadata/labels/c" },
    ]);
    let patched = widgets.patch("one", Patch::Json, patch).await;
    let patched = patched.succeeds("patching")?;
    field(
        &patched,
        "/spec",
        json!({ "size": 2, "limit": 2, "tags": ["a", "b"], "mode": "fast", "replicas": 1 }),
    )?;
    field(&patched, "/metadata/labels", json!({ "c": "b" }))
}

async fn a_json_patch_inserts_into_lists_by_position(context: Context) -> Check {
    let widgets = context.widgets();
    let spec = json!({ "size": 1, "tags": ["a", "c"] });
    widgets
        .create(widget_with("one", spec))
        .await
        .succeeds("creating")?;
    let patch = json!([
        { "op": "add", "path": "/spec/tags/1", "value": "b" },
        { "op": "remove", "path": "/spec/tags/0" },
    ]);
    let patched = widgets.patch("one", Patch::Json, patch).await;
    field(
        &patched.succeeds("patching")?,
        "/spec/tags",
        json!(["b", "c"]),
    )?;
    let patch = json!([{ "op": "add", "path": "/spec/tags/7", "value": "z" }]);
    let patched = widgets.patch("one", Patch::Json, patch).await;
    patched
        .refused(422, "Invalid", "adding beyond the end")
        .map(|_| ())
}

async fn a_json_patch_applies_whole_or_not_at_all(context: Context) -> Check {
    let widgets = context.widgets();
    let created = widgets.create(widget("one")).await.succeeds("creating")?;
    let patch = json!([
        { "op": "replace", "path": "/spec/size", "value": 2 },
        { "op": "remove", "path": "/spec/code" },
    ]);
    let patched = widgets.patch("one", Patch::Json, patch).await;
    patched.refused(422, "Invalid", "removing what is not there")?;
    let read = widgets.get("one").await.succeeds("reading")?;
    equal("what is read", &read, &created)
}

async fn a_failing_test_is_refused(context: Context) -> Check {
    let widgets = context.widgets();
    let mut sent = widget("one");
    sent["metadata"]["finalizers"] = json!(["contract.tare.dev/theirs"]);
    widgets.create(sent).await.succeeds("creating")?;
    // Operators remove a finalizer this way: `test` checks that it is still at the index seen.
    let patch = json!([
        { "op": "test", "path": "/metadata/finalizers/0", "value": "contract.tare.dev/ours" },
        { "op": "remove", "path": "/metadata/finalizers/0" },
    ]);
    let patched = widgets.patch("one", Patch::Json, patch).await;
    patched.refused(422, "Invalid", "a test that fails")?;
    let read = widgets.get("one").await.succeeds("reading")?;
    field(
        &read,
        "/metadata/finalizers",
        json!(["contract.tare.dev/theirs"]),
    )?;
    let free = json!({ "metadata": { "finalizers": null } });
    widgets
        .patch("one", Patch::Merge, free)
        .await
        .succeeds("tidying")
        .map(|_| ())
}

/// How kube-rs adds the first finalizer.
async fn a_test_for_null_holds_for_a_missing_field(context: Context) -> Check {
    let widgets = context.widgets();
    widgets.create(widget("one")).await.succeeds("creating")?;
    let patch = json!([
        { "op": "test", "path": "/metadata/finalizers", "value": null },
        { "op": "add", "path": "/metadata/finalizers", "value": ["contract.tare.dev/ours"] },
    ]);
    let patched = widgets.patch("one", Patch::Json, patch.clone()).await;
    let patched = patched.succeeds("the first time")?;
    field(
        &patched,
        "/metadata/finalizers",
        json!(["contract.tare.dev/ours"]),
    )?;
    let again = widgets.patch("one", Patch::Json, patch).await;
    again.refused(422, "Invalid", "the second time")?;
    let free = json!({ "metadata": { "finalizers": null } });
    widgets
        .patch("one", Patch::Merge, free)
        .await
        .succeeds("tidying")
        .map(|_| ())
}

async fn a_test_can_be_of_uid_and_resource_version(context: Context) -> Check {
    let widgets = context.widgets();
    let created = widgets.create(widget("one")).await.succeeds("creating")?;
    let change = json!({ "op": "replace", "path": "/spec/size", "value": 2 });
    let patch = |uid: String, version: String| {
        json!([
            { "op": "test", "path": "/metadata/uid", "value": uid },
            { "op": "test", "path": "/metadata/resourceVersion", "value": version },
            change,
        ])
    };
    let (this, now) = (uid(&created), resource_version(&created));
    let other = "11111111-1111-1111-1111-111111111111".to_owned();
    let patched = widgets
        .patch("one", Patch::Json, patch(other, now.clone()))
        .await;
    patched.refused(422, "Invalid", "testing for another uid")?;
    let patched = widgets
        .patch("one", Patch::Json, patch(this.clone(), now.clone()))
        .await;
    field(
        &patched.succeeds("testing for what it is")?,
        "/spec/size",
        2,
    )?;
    // A failed `test` of the resourceVersion is 422; an old one in the body would be 409.
    let patched = widgets.patch("one", Patch::Json, patch(this, now)).await;
    patched
        .refused(422, "Invalid", "testing for what it was")
        .map(|_| ())
}

async fn a_path_with_escapes_reaches_its_key(context: Context) -> Check {
    let widgets = context.widgets();
    let mut sent = widget("one");
    sent["metadata"]["annotations"] = json!({ "tare.dev/a": "1" });
    widgets.create(sent).await.succeeds("creating")?;
    let patch = json!([
        { "op": "replace", "path": "/metadata/annotations/tare.dev~1a", "value": "2" },
    ]);
    let patched = widgets.patch("one", Patch::Json, patch).await;
    let patched = patched.succeeds("patching")?;
    field(
        &patched,
        "/metadata/annotations",
        json!({ "tare.dev/a": "2" }),
    )
}

async fn patching_what_is_not_there_is_not_found(context: Context) -> Check {
    let widgets = context.widgets();
    let merge = json!({ "spec": { "size": 2 } });
    let patched = widgets.patch("one", Patch::Merge, merge).await;
    patched.refused(404, "NotFound", "a merge patch")?;
    let list = json!([{ "op": "replace", "path": "/spec/size", "value": 2 }]);
    let patched = widgets.patch("one", Patch::Json, list).await;
    patched.refused(404, "NotFound", "a JSON patch").map(|_| ())
}

async fn a_patch_that_is_no_json_is_a_bad_request(context: Context) -> Check {
    let widgets = context.widgets();
    widgets.create(widget("one")).await.succeeds("creating")?;
    // A JSON patch has to be a list, a merge patch an object.
    let patched = widgets
        .patch("one", Patch::Json, json!({ "op": "remove" }))
        .await;
    patched.refused(400, "BadRequest", "a JSON patch that is an object")?;
    let patched = widgets.patch("one", Patch::Merge, json!([])).await;
    patched
        .refused(400, "BadRequest", "a merge patch that is a list")
        .map(|_| ())
}

async fn a_strategic_patch_of_a_custom_resource_is_unsupported(context: Context) -> Check {
    let widgets = context.widgets();
    widgets.create(widget("one")).await.succeeds("creating")?;
    let patch = json!({ "spec": { "size": 2 } });
    let patched = widgets.patch("one", Patch::Strategic, patch).await;
    patched
        .refused(415, "UnsupportedMediaType", "a strategic patch")
        .map(|_| ())
}

async fn a_strategic_patch_merges_containers_by_name(context: Context) -> Check {
    let deployments = context.deployments();
    deployments
        .create(deployment("web"))
        .await
        .succeeds("creating")?;
    let containers = json!([{ "name": "side", "image": "registry.local/side:1" }]);
    let patch = json!({ "spec": { "template": { "spec": { "containers": containers } } } });
    let patched = deployments.patch("web", Patch::Strategic, patch).await;
    let patched = patched.succeeds("patching")?;
    let names = patched["spec"]["template"]["spec"]["containers"].as_array();
    equal("the number of containers", &names.map(Vec::len), &Some(2))
}
