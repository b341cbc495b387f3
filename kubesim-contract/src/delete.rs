//! Deleting: preconditions, finalizers, and the answers.

use serde_json::json;

use crate::expect::{
    Check, Expect, blames, different, equal, eventually, field, holds, mentions, names,
    resource_version, text, uid,
};
use crate::fixture::{config_map, labelled, service, widget};
use crate::rest::Patch;
use crate::{Context, theme};

const HOLD: &str = "contract.tare.dev/hold";

theme! { "delete":
    a_deleted_object_is_gone,
    deleting_what_is_not_there_is_not_found,
    deleting_gives_a_status_with_the_uid,
    deleting_a_service_gives_the_service,
    another_uid_in_the_preconditions_conflicts,
    another_resource_version_in_the_preconditions_conflicts,
    a_finalizer_holds_the_object,
    deleting_again_changes_nothing,
    removing_the_last_finalizer_ends_it,
    one_of_two_finalizers_still_holds,
    a_deletion_raises_the_generation,
    finalizers_cannot_be_added_to_what_is_terminating,
    a_terminating_object_can_still_be_changed,
    a_deletion_timestamp_cannot_be_taken_back,
    a_name_that_is_free_again_gets_a_new_uid,
    a_name_is_taken_while_its_object_terminates,
    a_collection_is_deleted_by_label,
    a_dry_run_deletes_nothing,
    deleting_a_namespace_empties_it,
}

async fn a_deleted_object_is_gone(context: Context) -> Check {
    let widgets = context.widgets();
    widgets.create(widget("one")).await.succeeds("creating")?;
    widgets.delete("one").await.succeeds("deleting")?;
    widgets
        .get("one")
        .await
        .refused(404, "NotFound", "reading")?;
    equal(
        "the list",
        &names(&widgets.list("").await.succeeds("listing")?),
        &vec![],
    )
}

async fn deleting_what_is_not_there_is_not_found(context: Context) -> Check {
    let deleted = context.widgets().delete("one").await;
    deleted.refused(404, "NotFound", "deleting").map(|_| ())
}

async fn deleting_gives_a_status_with_the_uid(context: Context) -> Check {
    let widgets = context.widgets();
    let created = widgets.create(widget("one")).await.succeeds("creating")?;
    let deleted = widgets.delete("one").await.succeeds("deleting")?;
    field(&deleted, "/kind", "Status")?;
    field(&deleted, "/status", "Success")?;
    field(&deleted, "/details/name", "one")?;
    field(&deleted, "/details/group", "contract.tare.dev")?;
    // The kind of the details is the resource.
    field(&deleted, "/details/kind", "widgets")?;
    field(&deleted, "/details/uid", uid(&created))
}

async fn deleting_a_service_gives_the_service(context: Context) -> Check {
    let services = context.services();
    services.create(service("web")).await.succeeds("creating")?;
    let deleted = services.delete("web").await.succeeds("deleting")?;
    field(&deleted, "/kind", "Service")?;
    field(&deleted, "/metadata/name", "web")
}

async fn another_uid_in_the_preconditions_conflicts(context: Context) -> Check {
    let widgets = context.widgets();
    let created = widgets.create(widget("one")).await.succeeds("creating")?;
    let other = json!({ "preconditions": { "uid": "11111111-1111-1111-1111-111111111111" } });
    let deleted = widgets.delete_with("one", other).await;
    deleted.refused(409, "Conflict", "deleting another uid")?;
    let this = json!({ "preconditions": { "uid": uid(&created) } });
    let deleted = widgets.delete_with("one", this).await;
    deleted.succeeds("deleting this uid").map(|_| ())
}

async fn another_resource_version_in_the_preconditions_conflicts(context: Context) -> Check {
    let widgets = context.widgets();
    let created = widgets.create(widget("one")).await.succeeds("creating")?;
    let patch = json!({ "spec": { "size": 2 } });
    let patched = widgets.patch("one", Patch::Merge, patch).await;
    let patched = patched.succeeds("patching")?;
    let at = |object| json!({ "preconditions": { "resourceVersion": resource_version(object) } });
    let deleted = widgets.delete_with("one", at(&created)).await;
    deleted.refused(409, "Conflict", "deleting the old resourceVersion")?;
    let deleted = widgets.delete_with("one", at(&patched)).await;
    deleted.succeeds("deleting the present one").map(|_| ())
}

async fn a_finalizer_holds_the_object(context: Context) -> Check {
    let created = held(&context, "one").await?;
    let deleted = context.widgets().delete("one").await;
    let deleted = deleted.succeeds("deleting")?;
    // The answer is the object with its deletionTimestamp, not a Status.
    field(&deleted, "/kind", "Widget")?;
    field(&deleted, "/metadata/uid", uid(&created))?;
    field(&deleted, "/metadata/deletionGracePeriodSeconds", 0)?;
    let read = context.widgets().get("one").await.succeeds("reading")?;
    let stamp = text(&read, "/metadata/deletionTimestamp");
    holds(
        stamp.len() == 20 && stamp.ends_with('Z'),
        "deletionTimestamp in seconds",
        stamp,
    )?;
    release(&context, "one").await
}

async fn deleting_again_changes_nothing(context: Context) -> Check {
    held(&context, "one").await?;
    let widgets = context.widgets();
    let first = widgets.delete("one").await.succeeds("deleting")?;
    let again = widgets.delete("one").await.succeeds("deleting again")?;
    equal("what comes back", &again, &first)?;
    release(&context, "one").await
}

async fn removing_the_last_finalizer_ends_it(context: Context) -> Check {
    held(&context, "one").await?;
    let widgets = context.widgets();
    widgets.delete("one").await.succeeds("deleting")?;
    let patch = json!([
        { "op": "test", "path": "/metadata/finalizers/0", "value": HOLD },
        { "op": "remove", "path": "/metadata/finalizers/0" },
    ]);
    let patched = widgets.patch("one", Patch::Json, patch).await;
    // The patch succeeds and returns the last state of the object.
    let last = patched.succeeds("removing the finalizer")?;
    let left = crate::expect::at(&last, "/metadata/finalizers").as_array();
    equal("finalizers left", &left.map_or(0, Vec::len), &0)?;
    widgets
        .get("one")
        .await
        .refused(404, "NotFound", "reading")
        .map(|_| ())
}

async fn one_of_two_finalizers_still_holds(context: Context) -> Check {
    let widgets = context.widgets();
    let mut sent = widget("one");
    sent["metadata"]["finalizers"] = json!([HOLD, "contract.tare.dev/theirs"]);
    widgets.create(sent).await.succeeds("creating")?;
    widgets.delete("one").await.succeeds("deleting")?;
    let patch = json!([{ "op": "remove", "path": "/metadata/finalizers/0" }]);
    let patched = widgets.patch("one", Patch::Json, patch).await;
    patched.succeeds("removing one finalizer")?;
    let read = widgets.get("one").await.succeeds("reading")?;
    field(
        &read,
        "/metadata/finalizers",
        json!(["contract.tare.dev/theirs"]),
    )?;
    release(&context, "one").await?;
    widgets
        .get("one")
        .await
        .refused(404, "NotFound", "reading")
        .map(|_| ())
}

async fn a_deletion_raises_the_generation(context: Context) -> Check {
    held(&context, "one").await?;
    let deleted = context.widgets().delete("one").await;
    field(&deleted.succeeds("deleting")?, "/metadata/generation", 2)?;
    release(&context, "one").await
}

async fn finalizers_cannot_be_added_to_what_is_terminating(context: Context) -> Check {
    held(&context, "one").await?;
    let widgets = context.widgets();
    widgets.delete("one").await.succeeds("deleting")?;
    let patch = json!({ "metadata": { "finalizers": [HOLD, "contract.tare.dev/late"] } });
    let patched = widgets.patch("one", Patch::Merge, patch).await;
    let status = patched.refused(422, "Invalid", "adding a finalizer")?;
    blames(&status, "metadata.finalizers")?;
    mentions(
        "the message",
        &status.message,
        "no new finalizers can be added if the object is being deleted",
    )?;
    release(&context, "one").await
}

async fn a_terminating_object_can_still_be_changed(context: Context) -> Check {
    held(&context, "one").await?;
    let widgets = context.widgets();
    widgets.delete("one").await.succeeds("deleting")?;
    let status = json!({ "status": { "phase": "Pending" } });
    let patched = widgets.patch("one/status", Patch::Merge, status).await;
    field(
        &patched.succeeds("patching status")?,
        "/status/phase",
        "Pending",
    )?;
    let spec = json!({ "spec": { "size": 2 } });
    let patched = widgets.patch("one", Patch::Merge, spec).await;
    field(&patched.succeeds("patching spec")?, "/spec/size", 2)?;
    release(&context, "one").await
}

async fn a_deletion_timestamp_cannot_be_taken_back(context: Context) -> Check {
    held(&context, "one").await?;
    let widgets = context.widgets();
    let deleted = widgets.delete("one").await.succeeds("deleting")?;
    let patch = json!({ "metadata": { "deletionTimestamp": null, "labels": { "a": "b" } } });
    let patched = widgets.patch("one", Patch::Merge, patch).await;
    let patched = patched.succeeds("patching")?;
    let stamp = text(&deleted, "/metadata/deletionTimestamp");
    field(&patched, "/metadata/deletionTimestamp", stamp)?;
    release(&context, "one").await
}

async fn a_name_that_is_free_again_gets_a_new_uid(context: Context) -> Check {
    let widgets = context.widgets();
    let first = widgets.create(widget("one")).await.succeeds("creating")?;
    widgets.delete("one").await.succeeds("deleting")?;
    let second = widgets.create(widget("one")).await;
    let second = second.succeeds("creating again")?;
    different("the uid", &uid(&second), &uid(&first))?;
    field(&second, "/metadata/generation", 1)
}

async fn a_name_is_taken_while_its_object_terminates(context: Context) -> Check {
    held(&context, "one").await?;
    let widgets = context.widgets();
    widgets.delete("one").await.succeeds("deleting")?;
    let created = widgets.create(widget("one")).await;
    created.refused(409, "AlreadyExists", "creating beside it")?;
    release(&context, "one").await
}

async fn a_collection_is_deleted_by_label(context: Context) -> Check {
    let widgets = context.widgets();
    for (name, set) in [("one", "a"), ("two", "b"), ("three", "a")] {
        widgets
            .create(labelled(name, set))
            .await
            .succeeds("creating")?;
    }
    let deleted = widgets.delete_all("labelSelector=set%3Da").await;
    deleted.succeeds("deleting set=a")?;
    let left = widgets.list("").await.succeeds("listing")?;
    equal("what is left", &names(&left), &vec!["two".to_owned()])
}

async fn a_dry_run_deletes_nothing(context: Context) -> Check {
    let widgets = context.widgets();
    let created = widgets.create(widget("one")).await.succeeds("creating")?;
    let options = json!({ "dryRun": ["All"] });
    widgets
        .delete_with("one", options)
        .await
        .succeeds("trying")?;
    let read = widgets.get("one").await.succeeds("reading")?;
    equal("what is read", &read, &created)
}

async fn deleting_a_namespace_empties_it(context: Context) -> Check {
    let (name, maps) = (&context.namespace, context.config_maps());
    maps.create(config_map("one")).await.succeeds("creating")?;
    held(&context, "one").await?;
    let namespaces = context.namespaces();
    namespaces
        .delete(name)
        .await
        .succeeds("deleting the namespace")?;
    let refused = maps.create(config_map("late")).await;
    let status = refused.refused(403, "Forbidden", "creating in a terminating namespace")?;
    mentions(
        "the message",
        &status.message,
        "because it is being terminated",
    )?;
    eventually("what nothing holds is gone", || async {
        Ok(!maps.exists("one").await?)
    })
    .await?;
    eventually("what is held terminates", || async {
        let widget = context.widgets().get("one").await.succeeds("reading")?;
        Ok(widget["metadata"]["deletionTimestamp"].is_string())
    })
    .await?;
    holds(
        namespaces.exists(name).await?,
        "the namespace waits",
        "it went",
    )?;
    release(&context, "one").await?;
    eventually("the namespace is gone", || async {
        Ok(!namespaces.exists(name).await?)
    })
    .await
}

/// Creates a widget with a finalizer.
async fn held(context: &Context, name: &str) -> Result<serde_json::Value, crate::Failure> {
    let mut sent = widget(name);
    sent["metadata"]["finalizers"] = json!([HOLD]);
    context.widgets().create(sent).await.succeeds("creating")
}

async fn release(context: &Context, name: &str) -> Check {
    let patch = json!({ "metadata": { "finalizers": null } });
    let patched = context.widgets().patch(name, Patch::Merge, patch).await;
    patched.succeeds("releasing it").map(|_| ())
}
