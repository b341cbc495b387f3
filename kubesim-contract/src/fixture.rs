//! The suite's own resource, and the objects that cases create.

use kube::Client;
use serde_json::{Value, json};

use crate::expect::{Check, Expect, Failure, at, eventually, text};
use crate::rest::{Collection, Patch};

const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const NAMESPACES: &str = "/api/v1/namespaces";
pub(crate) const CRD_NAME: &str = "widgets.contract.tare.dev";

/// Installs the CRD, or brings it up to date, and waits until it is served.
///
/// # Errors
/// The server refuses the CRD, or does not serve the resource within a minute.
pub async fn install(client: &Client) -> Check {
    let crds = Collection::new(client, CRDS);
    let query = "fieldManager=contract&force=true";
    crds.patch_with(CRD_NAME, query, Patch::Apply, crd())
        .await
        .succeeds("applying the fixture's CRD")?;
    eventually("the fixture's CRD is established", || async {
        let crd = crds.get(CRD_NAME).await.succeeds("reading the CRD")?;
        Ok(has_condition(&crd, "Established"))
    })
    .await?;
    // Established comes a moment before the resource is served.
    let widgets = Collection::new(client, "/apis/contract.tare.dev/v1/widgets");
    eventually("widgets are served", || async {
        Ok(widgets.list("limit=1").await.is_ok())
    })
    .await
}

pub(crate) fn has_condition(object: &Value, condition: &str) -> bool {
    let conditions = at(object, "/status/conditions").as_array();
    conditions
        .into_iter()
        .flatten()
        .any(|one| text(one, "/type") == condition && text(one, "/status") == "True")
}

/// Creates a namespace with a generated name.
pub(crate) async fn create_namespace(client: &Client) -> Result<String, Failure> {
    let namespace = json!({
        "apiVersion": "v1", "kind": "Namespace", "metadata": { "generateName": "contract-" },
    });
    let created = Collection::new(client, NAMESPACES).create(namespace).await;
    Ok(text(
        &created.succeeds("creating the case's namespace")?,
        "/metadata/name",
    ))
}

pub(crate) async fn delete_namespace(client: &Client, name: &str) -> Check {
    let deleted = Collection::new(client, NAMESPACES).delete(name).await;
    deleted
        .succeeds("deleting the case's namespace")
        .map(|_| ())
}

/// A valid widget with the required fields only.
pub(crate) fn widget(name: &str) -> Value {
    widget_with(name, json!({ "size": 1 }))
}

pub(crate) fn widget_with(name: &str, spec: Value) -> Value {
    json!({
        "apiVersion": "contract.tare.dev/v1",
        "kind": "Widget",
        "metadata": { "name": name },
        "spec": spec,
    })
}

/// A valid widget with a label `set`.
pub(crate) fn labelled(name: &str, set: &str) -> Value {
    let mut widget = widget(name);
    widget["metadata"]["labels"] = json!({ "set": set });
    widget
}

pub(crate) fn config_map(name: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": { "name": name },
        "data": { "key": "value" },
    })
}

/// A ConfigMap that belongs to another object.
pub(crate) fn owned_by(owner: &Value, name: &str) -> Value {
    let mut child = config_map(name);
    child["metadata"]["ownerReferences"] = json!([owner_reference(owner)]);
    child
}

pub(crate) fn owner_reference(owner: &Value) -> Value {
    json!({
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": true,
        "blockOwnerDeletion": true,
    })
}

pub(crate) fn deployment(name: &str) -> Value {
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": { "name": name },
        "spec": {
            "replicas": 0,
            "selector": { "matchLabels": { "app": name } },
            "template": {
                "metadata": { "labels": { "app": name } },
                "spec": { "containers": [{ "name": "main", "image": "registry.local/web:1.4" }] },
            },
        },
    })
}

pub(crate) fn service(name: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": { "name": name },
        "spec": { "selector": { "app": name }, "ports": [{ "port": 80 }] },
    })
}

/// The suite's own CRD. Where a server has it from the start, its garbage collector knows the kind at once.
pub fn crd() -> Value {
    let schema = json!({
        "type": "object",
        "required": ["spec"],
        "properties": { "spec": spec_schema(), "status": status_schema() },
    });
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": CRD_NAME },
        "spec": {
            "group": "contract.tare.dev",
            "scope": "Namespaced",
            "names": {
                "plural": "widgets", "singular": "widget", "kind": "Widget",
                "listKind": "WidgetList", "shortNames": ["wd"],
            },
            "versions": [{
                "name": "v1",
                "served": true,
                "storage": true,
                "schema": { "openAPIV3Schema": schema },
                "subresources": {
                    "status": {},
                    "scale": {
                        "specReplicasPath": ".spec.replicas",
                        "statusReplicasPath": ".status.replicas",
                        "labelSelectorPath": ".status.selector",
                    },
                },
            }],
        },
    })
}

fn spec_schema() -> Value {
    let port = json!({
        "type": "object",
        "required": ["name"],
        "properties": {
            "name": { "type": "string" },
            "number": { "type": "integer", "default": 80 },
        },
    });
    json!({
        "type": "object",
        "required": ["size"],
        "properties": {
            "size": { "type": "integer", "minimum": 0, "maximum": 100 },
            "limit": { "type": "integer" },
            "note": { "type": "string", "nullable": true, "maxLength": 64 },
            "replicas": { "type": "integer", "format": "int32", "minimum": 0, "default": 1 },
            "mode": { "type": "string", "enum": ["fast", "slow"], "default": "fast" },
            "code": { "type": "string", "pattern": "^[a-z]+$", "maxLength": 8 },
            "driver": {
                "type": "string",
                "x-kubernetes-validations": [{
                    "rule": "!oldSelf.hasValue() || self == oldSelf.value()",
                    "message": "the driver stays as it is",
                    "optionalOldSelf": true,
                }],
            },
            "tags": { "type": "array", "items": { "type": "string" }, "maxItems": 4 },
            "settings": { "type": "object", "additionalProperties": { "type": "string" } },
            "match": {
                "type": "object",
                "additionalProperties": { "type": "string" },
                "x-kubernetes-map-type": "atomic",
            },
            "zones": {
                "type": "array",
                "items": { "type": "string" },
                "x-kubernetes-list-type": "set",
            },
            "ports": {
                "type": "array",
                "items": port,
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["name"],
            },
        },
        "x-kubernetes-validations": [
            {
                "rule": "!has(self.limit) || self.size <= self.limit",
                "message": "size must not exceed limit",
            },
            {
                "rule": "!has(self.note) || self.note.size() > 0",
                "message": "a note must not be empty",
            },
        ],
    })
}

fn status_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "phase": { "type": "string", "enum": ["Pending", "Running"] },
            "replicas": { "type": "integer", "format": "int32" },
            "selector": { "type": "string" },
            "observedGeneration": { "type": "integer", "format": "int64" },
        },
    })
}
