//! Objects as JSON: what scenarios create, and the parts of it that they compare.

use serde_json::{Value, json};

pub fn edgeapp(name: &str, spec: Value) -> Value {
    json!({
        "apiVersion": "tare.dev/v1alpha1", "kind": "EdgeApp",
        "metadata": { "name": name }, "spec": spec,
    })
}

/// A spec with a headless Service and two variables.
pub fn web() -> Value {
    json!({
        "image": "registry.local/web:1", "port": 8080, "headless": true,
        "env": [{ "name": "A", "value": "1" }, { "name": "B", "value": "2" }],
    })
}

/// `web-0`, `web-1`, ...
pub fn names(count: usize) -> Vec<String> {
    (0..count).map(|n| format!("web-{n}")).collect()
}

/// A Deployment that belongs to somebody else.
pub fn foreign_deployment(name: &str, owners: Value) -> Value {
    let labels = json!({ "app": name });
    let spec = json!({ "containers": [{ "name": "c", "image": "foreign:1" }] });
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": { "name": name, "ownerReferences": owners, "labels": { "made-by": "hand" } },
        "spec": {
            "replicas": 1,
            "selector": { "matchLabels": labels },
            "template": { "metadata": { "labels": labels }, "spec": spec },
        },
    })
}

/// Whether the EdgeApp is Running and its newest spec is observed.
pub fn is_running(edgeapp: &Value) -> bool {
    let observed = &edgeapp["status"]["observedGeneration"];
    edgeapp["status"]["phase"] == "Running" && *observed == edgeapp["metadata"]["generation"]
}

pub fn condition<'a>(object: &'a Value, type_: &str) -> &'a Value {
    let conditions = object["status"]["conditions"].as_array();
    let found = conditions
        .into_iter()
        .flatten()
        .find(|one| one["type"] == type_);
    found.unwrap_or(&Value::Null)
}

/// The container of a Deployment.
pub fn container(deployment: &Value) -> &Value {
    &deployment["spec"]["template"]["spec"]["containers"][0]
}

/// The string at a JSON pointer; empty where there is none.
pub fn text(object: &Value, pointer: &str) -> String {
    let found = object.pointer(pointer).and_then(Value::as_str);
    found.unwrap_or_default().to_owned()
}

/// The uid of the controller of a child.
pub fn owner_uid(child: &Value) -> String {
    text(child, "/metadata/ownerReferences/0/uid")
}
