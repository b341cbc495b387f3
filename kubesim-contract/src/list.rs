//! Lists: order, selectors, metadata only.

use serde_json::json;

use crate::expect::{
    Check, Expect, equal, field, holds, mentions, names, resource_version, text, version_number,
};
use crate::fixture::{config_map, labelled, widget};
use crate::rest::{METADATA, METADATA_LIST};
use crate::{Context, Failure, theme};

theme! { "list":
    an_empty_list_has_a_kind_and_a_resource_version,
    items_are_ordered_by_the_bytes_of_namespace_and_name,
    labels_select,
    a_broken_selector_is_a_bad_request,
    fields_select_by_name_and_namespace,
    other_fields_do_not_select,
    metadata_alone_can_be_read,
    metadata_alone_can_be_listed,
    an_empty_list_of_metadata_has_no_array,
    secrets_are_selected_by_their_type,
    a_list_shows_what_was_written_before,
    an_old_cache_is_good_enough_for_version_zero,
    a_list_can_be_of_an_exact_version,
    items_of_a_built_in_list_leave_their_type_out,
}

async fn an_empty_list_has_a_kind_and_a_resource_version(context: Context) -> Check {
    let list = context.widgets().list("").await.succeeds("listing")?;
    field(&list, "/kind", "WidgetList")?;
    field(&list, "/apiVersion", "contract.tare.dev/v1")?;
    field(&list, "/items", json!([]))?;
    // Absent and empty both mean that there is no further page.
    equal(
        "continue",
        &text(&list, "/metadata/continue"),
        &String::new(),
    )?;
    holds(version_number(&list)? > 0, "resourceVersion > 0", &list)
}

/// Lists have the order of the keys in etcd, `namespace/name`: `-` and `.` sort before `/`, `0` after it.
async fn items_are_ordered_by_the_bytes_of_namespace_and_name(context: Context) -> Check {
    let first = context.namespace.clone();
    let others = [format!("{first}-b"), format!("{first}0")];
    for namespace in &others {
        let body = json!({
            "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": namespace },
        });
        let created = context.namespaces().create(body).await;
        created.succeeds("creating another namespace")?;
    }
    let listed = list_in_order(&context, &first, &others).await;
    for namespace in &others {
        for name in ["a", "a-b", "a.b", "a0", "b"] {
            let _ = context.widgets_in(namespace).delete(name).await;
        }
        let _ = context.namespaces().delete(namespace).await;
    }
    let listed = listed?;
    let mut want = Vec::new();
    // The list is of the whole server; the label selects the case's objects.
    for namespace in [&others[0], &first, &others[1]] {
        for name in ["a", "a-b", "a.b", "a0", "b"] {
            want.push(format!("{namespace}/{name}"));
        }
    }
    equal("the order", &listed, &want)
}

async fn list_in_order(
    context: &Context,
    first: &str,
    others: &[String; 2],
) -> Result<Vec<String>, Failure> {
    for namespace in [first, &others[1], &others[0]] {
        for name in ["b", "a0", "a.b", "a", "a-b"] {
            let created = context
                .widgets_in(namespace)
                .create(labelled(name, first))
                .await;
            created.succeeds("creating")?;
        }
    }
    let all = context.all_widgets();
    let list = all.list(&format!("labelSelector=set%3D{first}")).await;
    let list = list.succeeds("listing all namespaces")?;
    let items = list["items"].as_array();
    let key = |item| {
        format!(
            "{}/{}",
            text(item, "/metadata/namespace"),
            text(item, "/metadata/name")
        )
    };
    Ok(items.into_iter().flatten().map(key).collect())
}

async fn labels_select(context: Context) -> Check {
    let widgets = context.widgets();
    for (name, labels) in [
        ("blue", json!({ "color": "blue", "size": "s" })),
        ("green", json!({ "color": "green" })),
        ("plain", json!({})),
        ("red", json!({ "color": "red", "size": "" })),
    ] {
        let mut sent = widget(name);
        sent["metadata"]["labels"] = labels;
        widgets.create(sent).await.succeeds("creating")?;
    }
    for (selector, want) in [
        ("color=blue", vec!["blue"]),
        ("color==blue", vec!["blue"]),
        ("color!=blue", vec!["green", "plain", "red"]),
        ("color in (blue,red)", vec!["blue", "red"]),
        ("color notin (blue,red)", vec!["green", "plain"]),
        ("color", vec!["blue", "green", "red"]),
        ("!color", vec!["plain"]),
        ("color,size", vec!["blue", "red"]),
        ("color,size=", vec!["red"]),
        ("color=blue,size=l", vec![]),
        ("tare.dev/none!=x", vec!["blue", "green", "plain", "red"]),
    ] {
        let list = widgets
            .list(&format!("labelSelector={}", encoded(selector)))
            .await;
        equal(selector, &names(&list.succeeds(selector)?), &owned(&want))?;
    }
    Ok(())
}

async fn a_broken_selector_is_a_bad_request(context: Context) -> Check {
    for query in [
        "labelSelector=a+in+b",
        "labelSelector=a%3D%3D%3Db",
        "fieldSelector=broken",
    ] {
        let list = context.widgets().list(query).await;
        list.refused(400, "BadRequest", query)?;
    }
    Ok(())
}

async fn fields_select_by_name_and_namespace(context: Context) -> Check {
    let widgets = context.widgets();
    for name in ["one", "two"] {
        widgets.create(widget(name)).await.succeeds("creating")?;
    }
    for (selector, want) in [
        ("metadata.name=one".to_owned(), vec!["one"]),
        ("metadata.name!=one".to_owned(), vec!["two"]),
        (
            format!("metadata.namespace={}", context.namespace),
            vec!["one", "two"],
        ),
        ("metadata.namespace=elsewhere".to_owned(), vec![]),
    ] {
        let list = widgets
            .list(&format!("fieldSelector={}", encoded(&selector)))
            .await;
        equal(&selector, &names(&list.succeeds(&selector)?), &owned(&want))?;
    }
    Ok(())
}

async fn other_fields_do_not_select(context: Context) -> Check {
    let list = context.widgets().list("fieldSelector=spec.size%3D1").await;
    let status = list.refused(400, "BadRequest", "selecting by spec.size")?;
    mentions(
        "the message",
        &status.message,
        "field label not supported: spec.size",
    )
}

async fn metadata_alone_can_be_read(context: Context) -> Check {
    let widgets = context.widgets();
    let created = widgets
        .create(labelled("one", "a"))
        .await
        .succeeds("creating")?;
    let read = widgets
        .get_as("one", "", METADATA)
        .await
        .succeeds("reading")?;
    field(&read, "/kind", "PartialObjectMetadata")?;
    field(&read, "/apiVersion", "meta.k8s.io/v1")?;
    field(&read, "/metadata", created["metadata"].clone())?;
    field(&read, "/spec", json!(null))
}

async fn metadata_alone_can_be_listed(context: Context) -> Check {
    let widgets = context.widgets();
    for name in ["one", "two"] {
        widgets
            .create(labelled(name, "a"))
            .await
            .succeeds("creating")?;
    }
    let list = widgets.get_as("", "limit=1", METADATA_LIST).await;
    let list = list.succeeds("listing")?;
    field(&list, "/kind", "PartialObjectMetadataList")?;
    field(&list, "/apiVersion", "meta.k8s.io/v1")?;
    field(&list, "/items/0/metadata/name", "one")?;
    field(&list, "/items/0/metadata/labels", json!({ "set": "a" }))?;
    field(&list, "/items/0/spec", json!(null))?;
    holds(
        !text(&list, "/metadata/continue").is_empty(),
        "there is more",
        &list,
    )
}

/// A list of whole objects without items has an empty array, in Go as here.
async fn an_empty_list_of_metadata_has_no_array(context: Context) -> Check {
    let widgets = context.widgets();
    let list = widgets.get_as("", "", METADATA_LIST).await;
    field(&list.succeeds("listing")?, "/items", json!(null))?;
    let list = widgets.list("").await.succeeds("listing whole objects")?;
    field(&list, "/items", json!([]))
}

async fn secrets_are_selected_by_their_type(context: Context) -> Check {
    let secrets = context.kind("api/v1", "secrets");
    for (name, kind) in [("one", "example.com/one"), ("two", "Opaque")] {
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret", "type": kind, "metadata": { "name": name },
        });
        secrets.create(secret).await.succeeds("creating")?;
    }
    let list = secrets.list("fieldSelector=type%3Dexample.com%2Fone").await;
    equal(
        "the names",
        &names(&list.succeeds("listing")?),
        &owned(&["one"]),
    )?;
    let maps = context.config_maps();
    let refused = maps.list("fieldSelector=type%3Dx").await;
    refused
        .refused(400, "BadRequest", "of another kind")
        .map(|_| ())
}

async fn a_list_shows_what_was_written_before(context: Context) -> Check {
    let widgets = context.widgets();
    for round in 0..20 {
        let name = format!("w{round}");
        let created = widgets.create(widget(&name)).await.succeeds("creating")?;
        let list = widgets.list("").await.succeeds("listing")?;
        holds(
            names(&list).contains(&name),
            "the list shows it",
            names(&list),
        )?;
        let versions = (version_number(&list)?, version_number(&created)?);
        holds(versions.0 >= versions.1, "the list is as new", versions)?;
    }
    Ok(())
}

async fn an_old_cache_is_good_enough_for_version_zero(context: Context) -> Check {
    let widgets = context.widgets();
    let mut last = String::new();
    for name in ["a", "b", "c"] {
        let created = widgets.create(widget(name)).await.succeeds("creating")?;
        last = resource_version(&created);
    }
    // At least as new as the version asked for.
    let query = format!("resourceVersion={last}&resourceVersionMatch=NotOlderThan");
    let list = widgets
        .list(&query)
        .await
        .succeeds("listing not older than")?;
    equal("all", &names(&list), &owned(&["a", "b", "c"]))?;
    // The limit is ignored: with resourceVersion 0 the server answers from its cache with all items.
    let list = widgets.list("resourceVersion=0&limit=1").await;
    let list = list.succeeds("listing at 0")?;
    equal("all", &names(&list), &owned(&["a", "b", "c"]))?;
    equal(
        "continue",
        &text(&list, "/metadata/continue"),
        &String::new(),
    )
}

async fn a_list_can_be_of_an_exact_version(context: Context) -> Check {
    let widgets = context.widgets();
    let first = widgets.create(widget("a")).await.succeeds("creating")?;
    widgets
        .create(widget("b"))
        .await
        .succeeds("creating another")?;
    let version = resource_version(&first);
    let query = format!("resourceVersion={version}&resourceVersionMatch=Exact");
    let list = widgets.list(&query).await.succeeds("listing exactly")?;
    equal("the items", &names(&list), &owned(&["a"]))?;
    equal("the resourceVersion", &resource_version(&list), &version)
}

async fn items_of_a_built_in_list_leave_their_type_out(context: Context) -> Check {
    let maps = context.config_maps();
    maps.create(config_map("one")).await.succeeds("creating")?;
    let list = maps.list("fieldSelector=metadata.name%3Done").await;
    let list = list.succeeds("listing")?;
    field(&list, "/kind", "ConfigMapList")?;
    field(&list, "/items/0/kind", json!(null))?;
    field(&list, "/items/0/data/key", "value")?;
    // Items of custom resources have apiVersion and kind.
    context
        .widgets()
        .create(widget("one"))
        .await
        .succeeds("creating")?;
    let list = context.widgets().list("").await.succeeds("listing")?;
    field(&list, "/items/0/kind", "Widget")
}

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

/// Percent-encodes what a selector may contain.
fn encoded(selector: &str) -> String {
    selector
        .replace('=', "%3D")
        .replace('!', "%21")
        .replace(' ', "%20")
        .replace(',', "%2C")
        .replace('(', "%28")
        .replace(')', "%29")
}
