//! Discovery: groups, versions, resources, enough for kube's discovery and kubectl.

use serde_json::{Value, json};

use crate::model::kind::{Kind, Rules};
use crate::model::status::ApiError;
use crate::model::versions::by_priority;
use crate::state::Inner;

pub(crate) fn version() -> Value {
    json!({
        "major": "1",
        "minor": "37",
        "gitVersion": "v1.37.0-kubesim",
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": "rustc",
        "platform": format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH),
    })
}

pub(crate) fn core_versions() -> Value {
    json!({
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": "127.0.0.1"}],
    })
}

pub(crate) fn groups(inner: &Inner) -> Value {
    let mut groups: Vec<Value> = Vec::new();
    let mut last = String::new();
    for served in inner.all_served() {
        let name = &served.kind.group;
        if !name.is_empty() && *name != last {
            groups.extend(group_json(inner, name));
            last.clone_from(name);
        }
    }
    json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
}

pub(crate) fn group(inner: &Inner, name: &str) -> Result<Value, ApiError> {
    let mut group = group_json(inner, name).ok_or_else(ApiError::no_such_path)?;
    group["kind"] = json!("APIGroup");
    group["apiVersion"] = json!("v1");
    Ok(group)
}

/// A group with the versions of its resources, the preferred first.
fn group_json(inner: &Inner, name: &str) -> Option<Value> {
    let served = inner.all_served();
    let of_group = served.iter().filter(|served| served.kind.group == name);
    let mut versions: Vec<&str> = of_group.map(|served| &*served.kind.version).collect();
    versions.sort_by(|one, other| by_priority(one, other));
    versions.dedup();
    let version =
        |version: &&str| json!({"groupVersion": format!("{name}/{version}"), "version": version});
    let versions: Vec<Value> = versions.iter().map(version).collect();
    let preferred = versions.first().filter(|_| !name.is_empty())?.clone();
    Some(json!({"name": name, "versions": versions, "preferredVersion": preferred}))
}

pub(crate) fn resources(inner: &Inner, group: &str, version: &str) -> Result<Value, ApiError> {
    let resources: Vec<Value> = inner
        .all_served()
        .iter()
        .filter(|served| served.kind.group == group && served.kind.version == version)
        .flat_map(|served| resource_json(&served.kind))
        .collect();
    if resources.is_empty() {
        return Err(ApiError::no_such_path());
    }
    let group_version = if group.is_empty() {
        version.to_owned()
    } else {
        format!("{group}/{version}")
    };
    Ok(json!({
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": group_version,
        "resources": resources,
    }))
}

fn resource_json(kind: &Kind) -> Vec<Value> {
    let mut main = json!({
        "name": kind.plural,
        "singularName": kind.singular,
        "namespaced": kind.namespaced,
        "kind": kind.kind,
        "verbs": ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"],
    });
    if !kind.short_names.is_empty() {
        main["shortNames"] = json!(kind.short_names);
    }
    if !kind.categories.is_empty() {
        main["categories"] = json!(kind.categories);
    }
    let mut all = vec![main];
    if kind.has_status {
        all.push(json!({
            "name": format!("{}/status", kind.plural),
            "singularName": "",
            "namespaced": kind.namespaced,
            "kind": kind.kind,
            "verbs": ["get", "patch", "update"],
        }));
    }
    if matches!(kind.rules, Rules::Pod) {
        all.push(json!({
            "name": format!("{}/log", kind.plural),
            "singularName": "",
            "namespaced": true,
            "kind": kind.kind,
            "verbs": ["get"],
        }));
    }
    if kind.scale.is_some() {
        all.push(json!({
            "name": format!("{}/scale", kind.plural),
            "singularName": "",
            "namespaced": kind.namespaced,
            "group": "autoscaling",
            "version": "v1",
            "kind": "Scale",
            "verbs": ["get", "patch", "update"],
        }));
    }
    all
}
