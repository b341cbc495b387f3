//! Watches: the events that changes cause.

use futures::future::join_all;
use serde_json::{Value, json};

use crate::expect::{
    Check, Expect, Failure, equal, field, holds, resource_version, text, version_number,
};
use crate::fixture::{labelled, service, widget};
use crate::rest::{Collection, METADATA, Patch, Watch};
use crate::{Context, theme};

theme! { "watch":
    a_watch_shows_creation_change_and_deletion,
    a_watch_from_a_version_misses_nothing,
    events_come_in_the_order_of_their_versions,
    a_deletion_shows_the_last_state_under_a_new_version,
    a_terminating_object_is_modified_then_deleted,
    a_change_of_status_is_an_event,
    an_object_that_loses_the_label_is_deleted,
    an_object_that_gains_the_label_is_added,
    a_child_that_loses_its_label_is_deleted,
    changes_outside_the_selector_are_silent,
    a_watch_of_one_name_shows_only_it,
    a_watch_of_a_namespace_shows_only_it,
    a_watch_of_the_cluster_shows_all_namespaces,
    metadata_alone_can_be_watched,
    several_watches_see_the_same,
}

async fn a_watch_shows_creation_change_and_deletion(context: Context) -> Check {
    let mut watch = from_now(&context, "").await?;
    let widgets = context.widgets();
    let created = widgets.create(widget("one")).await.succeeds("creating")?;
    equal(
        "the creation",
        &watch.expect("ADDED", "one").await?,
        &created,
    )?;
    let patched = patch(&context, "one", json!({ "spec": { "size": 2 } })).await?;
    equal(
        "the change",
        &watch.expect("MODIFIED", "one").await?,
        &patched,
    )?;
    widgets.delete("one").await.succeeds("deleting")?;
    let deleted = watch.expect("DELETED", "one").await?;
    field(&deleted, "/spec/size", 2)?;
    field(&deleted, "/kind", "Widget")
}

async fn a_watch_from_a_version_misses_nothing(context: Context) -> Check {
    const WRITERS: usize = 100;
    let widgets = context.widgets();
    let list = widgets.list("").await.succeeds("listing")?;
    // The watch is opened while the writes go on, at a resourceVersion from before them.
    let write = |index: usize| {
        let widgets = widgets.clone();
        async move {
            let name = format!("w{index}");
            let created = widgets.create(widget(&name)).await.succeeds("creating")?;
            let change = json!({ "spec": { "size": 2 } });
            let changed = widgets
                .patch(&name, Patch::Merge, change)
                .await
                .succeeds("changing")?;
            widgets.delete(&name).await.succeeds("deleting")?;
            Ok::<_, Failure>([resource_version(&created), resource_version(&changed)])
        }
    };
    // Events are read during the writes, because the server ends a watch whose reader stalls.
    let watching = versions_and_deletions(&widgets, resource_version(&list), 3 * WRITERS);
    let (written, seen) = futures::join!(join_all((0..WRITERS).map(write)), watching);
    let mut want = Vec::new();
    for versions in written {
        want.extend(versions?);
    }
    let (mut got, deleted) = seen?;
    want.sort();
    got.sort();
    equal("the versions seen", &got, &want)?;
    equal("the deletions seen", &deleted, &WRITERS)
}

/// Reads events: the resourceVersions of creations and changes, and the number of deletions. A server
/// may end a watch at any time (a real one does when it cannot send a burst fast enough); the watch
/// is then opened again at the last version.
async fn versions_and_deletions(
    widgets: &Collection,
    mut last: String,
    events: usize,
) -> Result<(Vec<String>, usize), Failure> {
    let (mut versions, mut deleted) = (Vec::new(), 0);
    while versions.len() + deleted < events {
        let query = format!("resourceVersion={last}");
        let mut watch = widgets.watch(&query).await.succeeds("watching")?;
        while versions.len() + deleted < events
            && let Some(event) = watch.next().await?
        {
            last = resource_version(&event.object);
            match event.kind {
                "ADDED" | "MODIFIED" => versions.push(last.clone()),
                "DELETED" => deleted += 1,
                "BOOKMARK" => {}
                kind => {
                    let got = format!("{kind} {}", event.object);
                    return Err(Failure::new("an event", "no error", got));
                }
            }
        }
    }
    Ok((versions, deleted))
}

async fn events_come_in_the_order_of_their_versions(context: Context) -> Check {
    let mut watch = from_now(&context, "").await?;
    let widgets = context.widgets();
    let writes = (0..20).map(|index| widgets.create(widget(&format!("w{index}"))));
    for written in join_all(writes).await {
        written.succeeds("creating")?;
    }
    let mut last = 0;
    for _ in 0..20 {
        let version = version_number(&watch.change().await?.object)?;
        holds(version > last, "versions rise", (last, version))?;
        last = version;
    }
    Ok(())
}

async fn a_deletion_shows_the_last_state_under_a_new_version(context: Context) -> Check {
    let widgets = context.widgets();
    let created = widgets
        .create(labelled("one", "a"))
        .await
        .succeeds("creating")?;
    let mut watch = from(&context, &created, "").await?;
    widgets.delete("one").await.succeeds("deleting")?;
    let deleted = watch.expect("DELETED", "one").await?;
    let versions = (version_number(&created)?, version_number(&deleted)?);
    holds(
        versions.1 > versions.0,
        "the deletion has a newer version",
        versions,
    )?;
    let mut last = created;
    last["metadata"]["resourceVersion"] = resource_version(&deleted).into();
    equal("the last state", &deleted, &last)
}

async fn a_terminating_object_is_modified_then_deleted(context: Context) -> Check {
    let widgets = context.widgets();
    let mut sent = widget("one");
    sent["metadata"]["finalizers"] = json!(["contract.tare.dev/hold"]);
    let created = widgets.create(sent).await.succeeds("creating")?;
    let mut watch = from(&context, &created, "").await?;
    widgets.delete("one").await.succeeds("deleting")?;
    let marked = watch.expect("MODIFIED", "one").await?;
    holds(
        !text(&marked, "/metadata/deletionTimestamp").is_empty(),
        "it is marked",
        &marked,
    )?;
    patch(
        &context,
        "one",
        json!({ "metadata": { "finalizers": null } }),
    )
    .await?;
    watch.expect("DELETED", "one").await.map(|_| ())
}

async fn a_change_of_status_is_an_event(context: Context) -> Check {
    let created = context.widgets().create(widget("one")).await;
    let mut watch = from(&context, &created.succeeds("creating")?, "").await?;
    patch(
        &context,
        "one/status",
        json!({ "status": { "phase": "Running" } }),
    )
    .await?;
    let seen = watch.expect("MODIFIED", "one").await?;
    field(&seen, "/status/phase", "Running")
}

async fn an_object_that_loses_the_label_is_deleted(context: Context) -> Check {
    let created = context.widgets().create(labelled("one", "a")).await;
    let created = created.succeeds("creating")?;
    let mut watch = from(&context, &created, "labelSelector=set%3Da").await?;
    let lost = patch(&context, "one", json!({ "metadata": { "labels": null } })).await?;
    let seen = watch.expect("DELETED", "one").await?;
    // The event has the state before the change, which the selector matches, and the version of the change.
    field(&seen, "/metadata/labels", json!({ "set": "a" }))?;
    equal(
        "the version",
        &resource_version(&seen),
        &resource_version(&lost),
    )
}

async fn an_object_that_gains_the_label_is_added(context: Context) -> Check {
    let created = context.widgets().create(labelled("one", "b")).await;
    let created = created.succeeds("creating")?;
    let mut watch = from(&context, &created, "labelSelector=set%3Da").await?;
    let gained = patch(
        &context,
        "one",
        json!({ "metadata": { "labels": { "set": "a" } } }),
    )
    .await?;
    equal(
        "what is added",
        &watch.expect("ADDED", "one").await?,
        &gained,
    )
}

/// The same for a built-in kind, with the selector that operators use for their children.
async fn a_child_that_loses_its_label_is_deleted(context: Context) -> Check {
    let services = context.services();
    let mut sent = service("web");
    sent["metadata"]["labels"] = json!({ "app.kubernetes.io/managed-by": "us" });
    let created = services.create(sent).await.succeeds("creating")?;
    let query = format!(
        "resourceVersion={}&labelSelector=app.kubernetes.io%2Fmanaged-by%3Dus",
        resource_version(&created)
    );
    let mut watch = services.watch(&query).await.succeeds("watching")?;
    let label = json!({ "metadata": { "labels": { "app.kubernetes.io/managed-by": "them" } } });
    let lost = services
        .patch("web", Patch::Merge, label)
        .await
        .succeeds("patching")?;
    let seen = watch.expect("DELETED", "web").await?;
    field(&seen, "/kind", "Service")?;
    equal(
        "the version",
        &resource_version(&seen),
        &resource_version(&lost),
    )
}

async fn changes_outside_the_selector_are_silent(context: Context) -> Check {
    let mut watch = from_now(&context, "labelSelector=set%3Da").await?;
    let widgets = context.widgets();
    widgets
        .create(labelled("other", "b"))
        .await
        .succeeds("creating")?;
    patch(&context, "other", json!({ "spec": { "size": 2 } })).await?;
    widgets.delete("other").await.succeeds("deleting")?;
    widgets
        .create(labelled("one", "a"))
        .await
        .succeeds("creating")?;
    watch.expect("ADDED", "one").await.map(|_| ())
}

async fn a_watch_of_one_name_shows_only_it(context: Context) -> Check {
    let mut watch = from_now(&context, "fieldSelector=metadata.name%3Dtwo").await?;
    for name in ["one", "two"] {
        context
            .widgets()
            .create(widget(name))
            .await
            .succeeds("creating")?;
    }
    watch.expect("ADDED", "two").await.map(|_| ())
}

async fn a_watch_of_a_namespace_shows_only_it(context: Context) -> Check {
    let other = crate::fixture::create_namespace(&context.client).await?;
    let mut watch = from_now(&context, "").await?;
    let elsewhere = context.widgets_in(&other);
    elsewhere
        .create(widget("one"))
        .await
        .succeeds("creating elsewhere")?;
    context
        .widgets()
        .create(widget("two"))
        .await
        .succeeds("creating")?;
    let seen = watch.expect("ADDED", "two").await;
    let _ = elsewhere.delete("one").await;
    let _ = crate::fixture::delete_namespace(&context.client, &other).await;
    seen.map(|_| ())
}

async fn a_watch_of_the_cluster_shows_all_namespaces(context: Context) -> Check {
    let all = context.all_widgets();
    let list = all.list("limit=1").await.succeeds("listing")?;
    let set = &context.namespace;
    let query = format!(
        "resourceVersion={}&labelSelector=set%3D{set}",
        resource_version(&list)
    );
    let mut watch = all.watch(&query).await.succeeds("watching")?;
    context
        .widgets()
        .create(labelled("one", set))
        .await
        .succeeds("creating")?;
    let seen = watch.expect("ADDED", "one").await?;
    field(&seen, "/metadata/namespace", set.as_str())
}

async fn metadata_alone_can_be_watched(context: Context) -> Check {
    let widgets = context.widgets();
    let list = widgets.list("").await.succeeds("listing")?;
    let query = format!("resourceVersion={}", resource_version(&list));
    let mut watch = widgets
        .watch_as(&query, METADATA)
        .await
        .succeeds("watching")?;
    let created = widgets
        .create(labelled("one", "a"))
        .await
        .succeeds("creating")?;
    let seen = watch.expect("ADDED", "one").await?;
    field(&seen, "/kind", "PartialObjectMetadata")?;
    field(&seen, "/apiVersion", "meta.k8s.io/v1")?;
    field(&seen, "/metadata", created["metadata"].clone())?;
    field(&seen, "/spec", json!(null))?;
    widgets.delete("one").await.succeeds("deleting")?;
    let seen = watch.expect("DELETED", "one").await?;
    field(&seen, "/spec", json!(null))
}

async fn several_watches_see_the_same(context: Context) -> Check {
    let list = context.widgets().list("").await.succeeds("listing")?;
    let mut watches = Vec::new();
    for _ in 0..10 {
        watches.push(from(&context, &list, "").await?);
    }
    for name in ["one", "two"] {
        context
            .widgets()
            .create(widget(name))
            .await
            .succeeds("creating")?;
    }
    for watch in &mut watches {
        watch.expect("ADDED", "one").await?;
        watch.expect("ADDED", "two").await?;
    }
    Ok(())
}

/// A watch of the case's widgets from the current resourceVersion on.
async fn from_now(context: &Context, query: &str) -> Result<Watch, Failure> {
    let list = context.widgets().list("").await.succeeds("listing")?;
    from(context, &list, query).await
}

/// A watch from the resourceVersion of an object or a list on.
async fn from(context: &Context, object: &Value, query: &str) -> Result<Watch, Failure> {
    let query = format!("resourceVersion={}&{query}", resource_version(object));
    context.widgets().watch(&query).await.succeeds("watching")
}

async fn patch(context: &Context, name: &str, patch: Value) -> Result<Value, Failure> {
    let patched = context.widgets().patch(name, Patch::Merge, patch).await;
    patched.succeeds("patching")
}
