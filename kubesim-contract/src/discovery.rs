//! Discovery: groups, versions and resources.

use serde_json::{Value, json};

use crate::expect::{Check, Expect, Failure, equal, field, holds, text};
use crate::fixture::{CRD_NAME, has_condition};
use crate::{Context, theme};

theme! { "discovery":
    the_version_is_told,
    a_custom_resource_is_discovered_with_its_subresources,
    built_in_resources_are_discovered,
    a_crd_says_that_it_is_established,
    a_kind_that_is_not_there_is_not_found,
    an_object_that_is_not_there_is_not_found,
}

async fn the_version_is_told(context: Context) -> Check {
    let version = context.at("/version").get("").await.succeeds("reading")?;
    equal("major", &text(&version, "/major"), &"1".to_owned())?;
    holds(
        !text(&version, "/minor").is_empty(),
        "a minor version",
        &version,
    )?;
    let whole = text(&version, "/gitVersion");
    holds(
        whole.starts_with("v1."),
        "gitVersion starts with v1.",
        whole,
    )
}

async fn a_custom_resource_is_discovered_with_its_subresources(context: Context) -> Check {
    let resources = resources(&context, "/apis/contract.tare.dev/v1").await?;
    let widgets = find(&resources, "widgets")?;
    field(widgets, "/kind", "Widget")?;
    field(widgets, "/namespaced", true)?;
    field(widgets, "/shortNames", json!(["wd"]))?;
    let verbs = widgets["verbs"].as_array().cloned().unwrap_or_default();
    for verb in [
        "create",
        "delete",
        "deletecollection",
        "get",
        "list",
        "patch",
        "update",
        "watch",
    ] {
        holds(verbs.contains(&verb.into()), verb, &verbs)?;
    }
    find(&resources, "widgets/status")?;
    field(find(&resources, "widgets/scale")?, "/kind", "Scale")
}

async fn built_in_resources_are_discovered(context: Context) -> Check {
    for (path, names) in [
        (
            "/api/v1",
            vec!["namespaces", "configmaps", "services", "pods", "events"],
        ),
        (
            "/apis/apps/v1",
            vec!["deployments", "deployments/status", "deployments/scale"],
        ),
        ("/apis/coordination.k8s.io/v1", vec!["leases"]),
    ] {
        let resources = resources(&context, path).await?;
        for name in names {
            find(&resources, name)?;
        }
    }
    Ok(())
}

async fn a_crd_says_that_it_is_established(context: Context) -> Check {
    let crds = context.at("/apis/apiextensions.k8s.io/v1/customresourcedefinitions");
    let crd = crds.get(CRD_NAME).await.succeeds("reading the CRD")?;
    holds(
        has_condition(&crd, "Established"),
        "Established",
        &crd["status"],
    )?;
    holds(
        has_condition(&crd, "NamesAccepted"),
        "NamesAccepted",
        &crd["status"],
    )?;
    field(&crd, "/status/acceptedNames/kind", "Widget")?;
    field(&crd, "/status/storedVersions", json!(["v1"]))
}

async fn a_kind_that_is_not_there_is_not_found(context: Context) -> Check {
    let nothing = context.at("/apis/contract.tare.dev/v1/gadgets");
    match nothing.list("").await {
        // kube-apiserver answers in plain text, because no API handler serves this path.
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        other => Err(Failure::new("listing", "404", format!("{other:?}"))),
    }
}

async fn an_object_that_is_not_there_is_not_found(context: Context) -> Check {
    let read = context.widgets().get("one").await;
    let status = read.refused(404, "NotFound", "reading")?;
    let details = status.details.map(|it| (it.name, it.kind, it.group));
    // The kind of the details is the resource.
    let want = (
        "one".to_owned(),
        "widgets".to_owned(),
        "contract.tare.dev".to_owned(),
    );
    equal("name, kind and group in the details", &details, &Some(want))
}

async fn resources(context: &Context, path: &str) -> Result<Vec<Value>, Failure> {
    let list = context.at(path).get("").await.succeeds(path)?;
    field(&list, "/kind", "APIResourceList")?;
    Ok(list["resources"].as_array().cloned().unwrap_or_default())
}

fn find<'a>(resources: &'a [Value], name: &str) -> Result<&'a Value, Failure> {
    let found = resources
        .iter()
        .find(|resource| text(resource, "/name") == name);
    found.ok_or_else(|| {
        let names: Vec<String> = resources.iter().map(|one| text(one, "/name")).collect();
        Failure::new("the resources", name, format!("{names:?}"))
    })
}
