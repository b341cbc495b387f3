//! Updating: optimistic concurrency, generation, and updates that change nothing.

use serde_json::json;

use crate::expect::{
    Check, Expect, blames, different, equal, field, holds, mentions, resource_version,
    version_number,
};
use crate::fixture::{config_map, widget, widget_with};
use crate::rest::Patch;
use crate::{Context, theme};

theme! { "update":
    an_update_replaces_the_object,
    a_stale_resource_version_conflicts_on_update,
    a_stale_resource_version_conflicts_on_patch,
    a_custom_resource_needs_a_resource_version_to_be_updated,
    a_config_map_may_be_updated_unconditionally,
    another_uid_conflicts_on_update,
    another_uid_is_refused_on_patch,
    another_uid_is_ignored_in_a_status_patch,
    updating_what_is_not_there_is_not_found,
    an_update_that_changes_nothing_keeps_the_resource_version,
    every_change_raises_the_resource_version,
    generation_moves_with_the_spec_only,
    an_update_is_validated_like_a_creation,
    a_rule_may_allow_what_has_no_old_value,
    identity_cannot_be_changed,
    a_dry_run_updates_nothing,
    one_of_two_racing_updates_conflicts,
}

async fn an_update_replaces_the_object(context: Context) -> Check {
    let widgets = context.widgets();
    let spec = json!({ "size": 1, "code": "abc", "tags": ["a"] });
    let created = widgets.create(widget_with("one", spec)).await;
    let mut wanted = created.succeeds("creating")?;
    wanted["spec"] = json!({ "size": 2 });
    let updated = widgets.update("one", &wanted).await.succeeds("updating")?;
    // Fields left out are removed, and defaults are set again.
    field(
        &updated,
        "/spec",
        json!({ "size": 2, "mode": "fast", "replicas": 1 }),
    )
}

async fn a_stale_resource_version_conflicts_on_update(context: Context) -> Check {
    let widgets = context.widgets();
    let created = widgets.create(widget("one")).await;
    let mut wanted = created.succeeds("creating")?;
    wanted["spec"]["size"] = 2.into();
    widgets.update("one", &wanted).await.succeeds("updating")?;
    wanted["spec"]["size"] = 3.into();
    let again = widgets.update("one", &wanted).await;
    let status = again.refused(409, "Conflict", "updating with the old resourceVersion")?;
    mentions(
        "the message",
        &status.message,
        "the object has been modified",
    )
}

async fn a_stale_resource_version_conflicts_on_patch(context: Context) -> Check {
    let widgets = context.widgets();
    let created = widgets.create(widget("one")).await.succeeds("creating")?;
    let patch = |size: i64| {
        json!({
            "metadata": { "resourceVersion": resource_version(&created) },
            "spec": { "size": size },
        })
    };
    let patched = widgets.patch("one", Patch::Merge, patch(2)).await;
    patched.succeeds("patching with the present resourceVersion")?;
    let again = widgets.patch("one", Patch::Merge, patch(3)).await;
    again.refused(409, "Conflict", "patching with the old one")?;
    let status = json!({
        "metadata": { "resourceVersion": resource_version(&created) },
        "status": { "phase": "Running" },
    });
    let patched = widgets.patch("one/status", Patch::Merge, status).await;
    patched
        .refused(409, "Conflict", "patching status with the old one")
        .map(|_| ())
}

async fn a_custom_resource_needs_a_resource_version_to_be_updated(context: Context) -> Check {
    let widgets = context.widgets();
    widgets.create(widget("one")).await.succeeds("creating")?;
    let updated = widgets.update("one", &widget("one")).await;
    let status = updated.refused(422, "Invalid", "updating without a resourceVersion")?;
    blames(&status, "metadata.resourceVersion")?;
    mentions(
        "the message",
        &status.message,
        "must be specified for an update",
    )
}

async fn a_config_map_may_be_updated_unconditionally(context: Context) -> Check {
    let maps = context.config_maps();
    maps.create(config_map("one")).await.succeeds("creating")?;
    let mut wanted = config_map("one");
    wanted["data"] = json!({ "other": "value" });
    let updated = maps.update("one", &wanted).await.succeeds("updating")?;
    field(&updated, "/data", json!({ "other": "value" }))
}

async fn another_uid_conflicts_on_update(context: Context) -> Check {
    let widgets = context.widgets();
    let created = widgets.create(widget("one")).await;
    let mut wanted = created.succeeds("creating")?;
    wanted["metadata"]["uid"] = "11111111-1111-1111-1111-111111111111".into();
    let updated = widgets.update("one", &wanted).await;
    let status = updated.refused(409, "Conflict", "updating with another uid")?;
    mentions(
        "the message",
        &status.message,
        "Precondition failed: UID in precondition",
    )
}

/// This is not a conflict, because only an update takes the uid of the body as a precondition
/// (kubernetes#127625).
async fn another_uid_is_refused_on_patch(context: Context) -> Check {
    let widgets = context.widgets();
    widgets.create(widget("one")).await.succeeds("creating")?;
    let patch = json!({ "metadata": { "uid": "11111111-1111-1111-1111-111111111111" } });
    let patched = widgets.patch("one", Patch::Merge, patch).await;
    let status = patched.refused(422, "Invalid", "patching with another uid")?;
    blames(&status, "metadata.uid")?;
    mentions("the message", &status.message, "field is immutable")?;
    // With a resourceVersion in the body, which a careful client sends, it is a conflict.
    let patch = json!({
        "metadata": { "uid": "11111111-1111-1111-1111-111111111111", "resourceVersion": "1" },
    });
    let patched = widgets.patch("one", Patch::Merge, patch).await;
    patched
        .refused(409, "Conflict", "with another resourceVersion too")
        .map(|_| ())
}

/// A status patch of a custom resource keeps the stored metadata, so a uid in it is ignored
/// (customresource/status_strategy.go). Only a resourceVersion protects against a newer object.
async fn another_uid_is_ignored_in_a_status_patch(context: Context) -> Check {
    let widgets = context.widgets();
    widgets.create(widget("one")).await.succeeds("creating")?;
    let patch = json!({
        "metadata": { "uid": "11111111-1111-1111-1111-111111111111" },
        "status": { "phase": "Running" },
    });
    let patched = widgets.patch("one/status", Patch::Merge, patch).await;
    field(
        &patched.succeeds("patching status")?,
        "/status/phase",
        "Running",
    )
}

async fn updating_what_is_not_there_is_not_found(context: Context) -> Check {
    let mut wanted = widget("one");
    wanted["metadata"]["resourceVersion"] = "1".into();
    let updated = context.widgets().update("one", &wanted).await;
    let status = updated.refused(404, "NotFound", "updating")?;
    mentions(
        "the message",
        &status.message,
        r#"widgets.contract.tare.dev "one" not found"#,
    )
}

async fn an_update_that_changes_nothing_keeps_the_resource_version(context: Context) -> Check {
    let widgets = context.widgets();
    let created = widgets.create(widget("one")).await.succeeds("creating")?;
    let mut watch = watch_from(&context, &created).await?;
    for (how, answer) in [
        ("an update", widgets.update("one", &created).await),
        (
            "a merge patch",
            widgets
                .patch("one", Patch::Merge, json!({ "spec": { "size": 1 } }))
                .await,
        ),
        (
            "a JSON patch",
            widgets
                .patch(
                    "one",
                    Patch::Json,
                    json!([{ "op": "replace", "path": "/spec/size", "value": 1 }]),
                )
                .await,
        ),
        (
            "a status patch",
            widgets
                .patch("one/status", Patch::Merge, json!({ "metadata": {} }))
                .await,
        ),
    ] {
        let answer = answer.succeeds(how)?;
        equal(how, &resource_version(&answer), &resource_version(&created))?;
    }
    // The first event shows a real change, so the updates before it sent none.
    let patch = json!({ "spec": { "size": 2 } });
    widgets
        .patch("one", Patch::Merge, patch)
        .await
        .succeeds("a real change")?;
    let seen = watch.expect("MODIFIED", "one").await?;
    field(&seen, "/spec/size", 2)
}

async fn watch_from(
    context: &Context,
    object: &serde_json::Value,
) -> Result<crate::rest::Watch, crate::Failure> {
    let query = format!("resourceVersion={}", resource_version(object));
    context.widgets().watch(&query).await.succeeds("watching")
}

async fn every_change_raises_the_resource_version(context: Context) -> Check {
    let widgets = context.widgets();
    let created = widgets.create(widget("one")).await.succeeds("creating")?;
    let mut last = version_number(&created)?;
    for size in 2..5 {
        let patch = json!({ "spec": { "size": size } });
        let patched = widgets.patch("one", Patch::Merge, patch).await;
        let now = version_number(&patched.succeeds("patching")?)?;
        holds(now > last, "the resourceVersion rises", (last, now))?;
        last = now;
    }
    let listed = widgets.list("").await.succeeds("listing")?;
    let listed = version_number(&listed)?;
    holds(listed >= last, "a list is at least as new", (last, listed))
}

async fn generation_moves_with_the_spec_only(context: Context) -> Check {
    let widgets = context.widgets();
    widgets.create(widget("one")).await.succeeds("creating")?;
    for (name, change, generation) in [
        ("one", json!({ "metadata": { "labels": { "a": "b" } } }), 1),
        (
            "one",
            json!({ "metadata": { "finalizers": ["contract.tare.dev/hold"] } }),
            1,
        ),
        ("one/status", json!({ "status": { "phase": "Running" } }), 1),
        ("one", json!({ "spec": { "size": 1 } }), 1),
        ("one", json!({ "spec": { "size": 2 } }), 2),
        ("one", json!({ "metadata": { "generation": 9 } }), 2),
        ("one", json!({ "metadata": { "finalizers": null } }), 2),
    ] {
        let what = change.to_string();
        let patched = widgets.patch(name, Patch::Merge, change).await;
        let patched = patched.succeeds(&what)?;
        equal(
            &what,
            &patched["metadata"]["generation"],
            &json!(generation),
        )?;
    }
    Ok(())
}

async fn an_update_is_validated_like_a_creation(context: Context) -> Check {
    let widgets = context.widgets();
    let created = widgets.create(widget("one")).await;
    let mut wanted = created.succeeds("creating")?;
    wanted["spec"]["size"] = 101.into();
    let updated = widgets.update("one", &wanted).await;
    blames(&updated.refused(422, "Invalid", "an update")?, "spec.size")?;
    for (spec, name) in [
        (json!({ "size": 101 }), "spec.size"),
        (json!({ "size": null }), "spec.size"),
        (json!({ "limit": 0 }), "spec"),
    ] {
        let patched = widgets
            .patch("one", Patch::Merge, json!({ "spec": spec }))
            .await;
        blames(&patched.refused(422, "Invalid", "a patch")?, name)?;
    }
    let read = widgets.get("one").await.succeeds("reading")?;
    field(&read, "/spec/size", 1)
}

/// A rule with `optionalOldSelf` is also asked where there is no old value.
async fn a_rule_may_allow_what_has_no_old_value(context: Context) -> Check {
    let widgets = context.widgets();
    let first = json!({ "size": 1, "driver": "fast" });
    let created = widgets.create(widget_with("one", first)).await;
    created.succeeds("creating with a driver")?;
    let patch = json!({ "spec": { "size": 2, "driver": "fast" } });
    let patched = widgets.patch("one", Patch::Merge, patch).await;
    patched.succeeds("leaving the driver as it is")?;
    let patch = json!({ "spec": { "driver": "slow" } });
    let patched = widgets.patch("one", Patch::Merge, patch).await;
    let status = patched.refused(422, "Invalid", "changing the driver")?;
    blames(&status, "spec.driver")?;
    mentions("the message", &status.message, "the driver stays as it is")?;

    widgets.create(widget("two")).await.succeeds("creating")?;
    let patch = json!({ "spec": { "driver": "slow" } });
    let patched = widgets.patch("two", Patch::Merge, patch).await;
    patched.succeeds("adding a driver").map(|_| ())
}

async fn identity_cannot_be_changed(context: Context) -> Check {
    let widgets = context.widgets();
    let created = widgets.create(widget("one")).await.succeeds("creating")?;
    // The server ignores changes of these fields.
    let patch = json!({
        "metadata": { "creationTimestamp": "2001-01-01T00:00:00Z", "labels": { "a": "b" } },
    });
    let patched = widgets.patch("one", Patch::Merge, patch).await;
    let patched = patched.succeeds("patching")?;
    for pointer in ["/metadata/creationTimestamp", "/metadata/uid"] {
        field(
            &patched,
            pointer,
            crate::expect::at(&created, pointer).clone(),
        )?;
    }
    Ok(())
}

async fn a_dry_run_updates_nothing(context: Context) -> Check {
    let widgets = context.widgets();
    let created = widgets.create(widget("one")).await.succeeds("creating")?;
    let patch = json!({ "spec": { "size": 2 } });
    let tried = widgets
        .patch_with("one", "dryRun=All", Patch::Merge, patch)
        .await;
    field(&tried.succeeds("trying")?, "/spec/size", 2)?;
    let read = widgets.get("one").await.succeeds("reading")?;
    equal("what is read", &read, &created)
}

async fn one_of_two_racing_updates_conflicts(context: Context) -> Check {
    let widgets = context.widgets();
    let created = widgets.create(widget("one")).await.succeeds("creating")?;
    let (mut left, mut right) = (created.clone(), created.clone());
    left["spec"]["size"] = 2.into();
    right["spec"]["size"] = 3.into();
    let (left, right) = futures::join!(widgets.update("one", &left), widgets.update("one", &right));
    let (won, lost) = if left.is_ok() {
        (left, right)
    } else {
        (right, left)
    };
    let won = won.succeeds("one of the two")?;
    lost.refused(409, "Conflict", "the other")?;
    let read = widgets.get("one").await.succeeds("reading")?;
    equal("what is read", &read, &won)?;
    different(
        "its resourceVersion",
        &resource_version(&won),
        &resource_version(&created),
    )
}
