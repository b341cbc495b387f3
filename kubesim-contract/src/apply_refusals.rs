//! Server-side apply: what it refuses.

use serde_json::json;

use crate::expect::{Check, Expect, blames, mentions, resource_version};
use crate::fixture::{widget, widget_with};
use crate::rest::Patch;
use crate::{Context, theme};

theme! { "apply refusals":
    a_stale_resource_version_conflicts_on_apply,
    a_resource_version_that_nothing_has_creates_only,
    applying_needs_a_manager,
    what_applying_creates_needs_its_name,
    applying_managed_fields_is_a_bad_request,
    applying_is_validated,
}

async fn a_stale_resource_version_conflicts_on_apply(context: Context) -> Check {
    let widgets = context.widgets();
    let first = widgets.apply("one", "us", widget("one")).await;
    let first = first.succeeds("applying")?;
    let at = |size: i64| {
        let mut wanted = widget_with("one", json!({ "size": size }));
        wanted["metadata"]["resourceVersion"] = resource_version(&first).into();
        wanted
    };
    widgets
        .apply("one", "us", at(2))
        .await
        .succeeds("the first time")?;
    let again = widgets.apply("one", "us", at(3)).await;
    again
        .refused(409, "Conflict", "the second time")
        .map(|_| ())
}

async fn a_resource_version_that_nothing_has_creates_only(context: Context) -> Check {
    let widgets = context.widgets();
    let mut wanted = widget("one");
    wanted["metadata"]["resourceVersion"] = "1".into();
    let created = widgets.apply("one", "us", wanted.clone()).await;
    created.succeeds("applying what is not there")?;
    wanted["spec"]["size"] = 3.into();
    let again = widgets.apply("one", "us", wanted).await;
    again
        .refused(409, "Conflict", "applying what is there")
        .map(|_| ())
}

async fn applying_needs_a_manager(context: Context) -> Check {
    let applied = context
        .widgets()
        .patch("one", Patch::Apply, widget("one"))
        .await;
    let status = applied.refused(422, "Invalid", "applying without a manager")?;
    blames(&status, "fieldManager")?;
    // `force` is valid for apply patches only.
    let patch = json!({ "spec": { "size": 2 } });
    let patched = context.widgets();
    let patched = patched
        .patch_with("one", "force=true", Patch::Merge, patch)
        .await;
    blames(
        &patched.refused(422, "Invalid", "a merge patch with force")?,
        "force",
    )
}

async fn what_applying_creates_needs_its_name(context: Context) -> Check {
    let widgets = context.widgets();
    let mut nameless = widget("one");
    nameless["metadata"] = json!({ "labels": { "l": "1" } });
    let created = widgets.apply("one", "us", nameless.clone()).await;
    let status = created.refused(400, "BadRequest", "creating without a name")?;
    mentions("the message", &status.message, "name must be provided")?;
    let created = widgets.apply("one", "us", widget("one")).await;
    created.succeeds("creating with it")?;
    let again = widgets.apply("one", "us", nameless).await;
    again
        .succeeds("what is there is named by its path")
        .map(|_| ())
}

async fn applying_managed_fields_is_a_bad_request(context: Context) -> Check {
    let widgets = context.widgets();
    let created = widgets.apply("one", "us", widget("one")).await;
    let created = created.succeeds("applying")?;
    let mut whole = widget("one");
    whole["metadata"]["managedFields"] = created["metadata"]["managedFields"].clone();
    let applied = widgets.apply("one", "us", whole).await;
    let status = applied.refused(400, "BadRequest", "applying managedFields")?;
    mentions(
        "the message",
        &status.message,
        "metadata.managedFields must be nil",
    )
}

async fn applying_is_validated(context: Context) -> Check {
    let widgets = context.widgets();
    let wrong = widget_with("one", json!({ "size": 101 }));
    let applied = widgets.apply("one", "us", wrong).await;
    blames(
        &applied.refused(422, "Invalid", "creating by apply")?,
        "spec.size",
    )?;
    widgets
        .apply("one", "us", widget("one"))
        .await
        .succeeds("applying")?;
    let wrong = widget_with("one", json!({ "size": 1, "mode": "loud" }));
    let applied = widgets.apply("one", "us", wrong).await;
    blames(
        &applied.refused(422, "Invalid", "changing by apply")?,
        "spec.mode",
    )
}
