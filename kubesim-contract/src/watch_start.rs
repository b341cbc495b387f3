//! Start and end of watches.

use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;

use crate::expect::{
    Check, Expect, Failure, equal, field, holds, resource_version, text, version_number,
};
use crate::fixture::{labelled, widget};
use crate::rest::Patch;
use crate::{Context, theme};

theme! { "watch start and end":
    without_a_version_the_present_comes_first,
    with_version_zero_the_present_comes_first,
    a_watch_list_marks_the_end_of_the_present,
    a_watch_list_of_nothing_is_marked_too,
    a_watch_list_respects_the_selector,
    a_watch_list_needs_its_match,
    a_timeout_ends_the_stream_cleanly,
    bookmarks_come_when_asked_for,
    bookmarks_do_not_come_unasked,
    an_old_version_is_gone [compacts],
    a_broken_version_is_a_bad_request,
    watching_what_is_not_served_is_not_found,
}

async fn without_a_version_the_present_comes_first(context: Context) -> Check {
    present_then_changes(&context, "").await
}

async fn with_version_zero_the_present_comes_first(context: Context) -> Check {
    present_then_changes(&context, "resourceVersion=0").await
}

async fn present_then_changes(context: &Context, query: &str) -> Check {
    let widgets = context.widgets();
    for name in ["one", "two"] {
        widgets.create(widget(name)).await.succeeds("creating")?;
    }
    let list = widgets.list("").await.succeeds("waiting for the present")?;
    let mut watch = widgets.watch(query).await.succeeds("watching")?;
    // These ADDED events are synthetic, and their order is not specified.
    let mut seen = Vec::new();
    for _ in 0..2 {
        let event = watch.change().await?;
        equal("the kind of event", event.kind, "ADDED")?;
        seen.push(text(&event.object, "/metadata/name"));
        let versions = (version_number(&event.object)?, version_number(&list)?);
        holds(
            versions.0 <= versions.1,
            "the version is the object's own",
            versions,
        )?;
    }
    seen.sort();
    equal(
        "the present",
        &seen,
        &vec!["one".to_owned(), "two".to_owned()],
    )?;
    widgets.create(widget("three")).await.succeeds("creating")?;
    watch.expect("ADDED", "three").await.map(|_| ())
}

const WATCH_LIST: &str =
    "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
const END_OF_PRESENT: &str = "/metadata/annotations/k8s.io~1initial-events-end";

async fn a_watch_list_marks_the_end_of_the_present(context: Context) -> Check {
    let widgets = context.widgets();
    for name in ["one", "two"] {
        widgets.create(widget(name)).await.succeeds("creating")?;
    }
    let mut watch = widgets.watch(WATCH_LIST).await.succeeds("watching")?;
    let (mut seen, mut newest) = (Vec::new(), 0);
    let mark = loop {
        match watch.next().await? {
            Some(event) if event.kind == "ADDED" => {
                newest = newest.max(version_number(&event.object)?);
                seen.push(text(&event.object, "/metadata/name"));
            }
            Some(event) if event.kind == "BOOKMARK" => break event.object,
            other => {
                return Err(Failure::new(
                    "an event",
                    "ADDED or BOOKMARK",
                    format!("{other:?}"),
                ));
            }
        }
    };
    equal(
        "the present",
        &seen,
        &vec!["one".to_owned(), "two".to_owned()],
    )?;
    field(&mark, END_OF_PRESENT, "true")?;
    let version = version_number(&mark)?;
    holds(version >= newest, "the mark is as new", (version, newest))?;
    widgets.create(widget("three")).await.succeeds("creating")?;
    watch.expect("ADDED", "three").await?;
    // A watch from the bookmark's version continues without a gap.
    let query = format!("resourceVersion={version}");
    let mut next = widgets
        .watch(&query)
        .await
        .succeeds("watching from the mark")?;
    next.expect("ADDED", "three").await.map(|_| ())
}

async fn a_watch_list_of_nothing_is_marked_too(context: Context) -> Check {
    let mut watch = context
        .widgets()
        .watch(WATCH_LIST)
        .await
        .succeeds("watching")?;
    match watch.next().await? {
        Some(event) if event.kind == "BOOKMARK" => field(&event.object, END_OF_PRESENT, "true"),
        other => Err(Failure::new(
            "the first event",
            "BOOKMARK",
            format!("{other:?}"),
        )),
    }
}

async fn a_watch_list_respects_the_selector(context: Context) -> Check {
    let widgets = context.widgets();
    for (name, set) in [("one", "a"), ("two", "b")] {
        widgets
            .create(labelled(name, set))
            .await
            .succeeds("creating")?;
    }
    let query = format!("{WATCH_LIST}&labelSelector=set%3Db");
    let mut watch = widgets.watch(&query).await.succeeds("watching")?;
    watch.expect("ADDED", "two").await?;
    match watch.next().await? {
        Some(event) if event.kind == "BOOKMARK" => field(&event.object, END_OF_PRESENT, "true"),
        other => Err(Failure::new(
            "the second event",
            "BOOKMARK",
            format!("{other:?}"),
        )),
    }
}

async fn a_watch_list_needs_its_match(context: Context) -> Check {
    let watch = context.widgets().watch("sendInitialEvents=true").await;
    let status = watch
        .map(|_| ())
        .refused(422, "Invalid", "watching without a match")?;
    crate::expect::blames(&status, "resourceVersionMatch")
}

async fn a_timeout_ends_the_stream_cleanly(context: Context) -> Check {
    let started = Instant::now();
    let query = "timeoutSeconds=1&resourceVersion=0";
    let mut watch = context.widgets().watch(query).await.succeeds("watching")?;
    if let Some(event) = watch.next().await? {
        return Err(Failure::new("the stream", "its end", format!("{event:?}")));
    }
    let took = started.elapsed();
    let in_time = took >= Duration::from_millis(900) && took < Duration::from_secs(10);
    holds(in_time, "it ends after about a second", took)
}

/// kube-apiserver sends a bookmark about 2 s before the end of a watch, and one each minute.
async fn bookmarks_come_when_asked_for(context: Context) -> Check {
    let widgets = context.widgets();
    let created = widgets.create(widget("one")).await.succeeds("creating")?;
    let query = format!(
        "resourceVersion={}&allowWatchBookmarks=true&timeoutSeconds=4",
        resource_version(&created)
    );
    let mut watch = widgets.watch(&query).await.succeeds("watching")?;
    let patch = json!({ "spec": { "size": 2 } });
    let patched = widgets.patch("one", Patch::Merge, patch).await;
    let patched = version_number(&patched.succeeds("patching")?)?;
    let mut marks = Vec::new();
    while let Some(event) = watch.next().await? {
        if event.kind == "BOOKMARK" {
            field(&event.object, "/kind", "Widget")?;
            marks.push(version_number(&event.object)?);
        }
    }
    let newest = marks.iter().max().copied().unwrap_or(0);
    holds(
        newest >= patched,
        "a bookmark passes the last change",
        (marks, patched),
    )
}

async fn bookmarks_do_not_come_unasked(context: Context) -> Check {
    let widgets = context.widgets();
    let created = widgets.create(widget("one")).await.succeeds("creating")?;
    let query = format!(
        "resourceVersion={}&timeoutSeconds=3",
        resource_version(&created)
    );
    let mut watch = widgets.watch(&query).await.succeeds("watching")?;
    match watch.next().await? {
        None => Ok(()),
        Some(event) => Err(Failure::new("the stream", "its end", format!("{event:?}"))),
    }
}

/// The refusal may be the answer to the request or an event in the stream; clients have to handle both.
async fn an_old_version_is_gone(context: Context) -> Check {
    let widgets = context.widgets();
    let created = widgets.create(widget("one")).await.succeeds("creating")?;
    for size in 2..5 {
        let patch = json!({ "spec": { "size": size } });
        widgets
            .patch("one", Patch::Merge, patch)
            .await
            .succeeds("patching")?;
    }
    context.compact().await?;
    let query = format!("resourceVersion={}", resource_version(&created));
    let mut watch = match widgets.watch(&query).await {
        Ok(watch) => watch,
        refused => {
            let refused = refused.map(|_| ());
            return refused
                .refused(410, "Expired", "watching from there")
                .map(|_| ());
        }
    };
    match watch.next().await? {
        Some(event) if event.kind == "ERROR" => {
            field(&event.object, "/code", 410)?;
            field(&event.object, "/reason", "Expired")
        }
        other => Err(Failure::new(
            "the first event",
            "ERROR 410",
            format!("{other:?}"),
        )),
    }
}

async fn a_broken_version_is_a_bad_request(context: Context) -> Check {
    let watch = context.widgets().watch("resourceVersion=broken").await;
    let refused = watch.map(|_| ());
    let status = match refused {
        Err(kube::Error::Api(status)) => status,
        other => return Err(Failure::new("watching", "a refusal", format!("{other:?}"))),
    };
    // The watch cache answers 422, the storage 400 or 500. No server may start a watch.
    holds(status.code >= 400, "an error", status.code)
}

async fn watching_what_is_not_served_is_not_found(context: Context) -> Check {
    let nothing = context.at("/apis/contract.tare.dev/v1/gadgets");
    let watch = nothing.watch("").await.map(|_| ());
    match watch {
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        other => Err(Failure::new("watching", "404", format!("{other:?}"))),
    }
}
