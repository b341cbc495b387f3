//! What several of the tests begin with: a server that knows Widgets, objects, the Status of a refusal.

use k8s_openapi::api::apps::v1::Deployment;
use kube::api::{Api, DynamicObject};
use kube::core::{ApiResource, GroupVersionKind};
use kubesim::{Options, Server};
use serde_json::{Value, json};

pub const WIDGETS: &str = include_str!("../data/widget-crd.yaml");

pub fn server() -> Server {
    let server = Server::new(Options::default());
    server.install(WIDGETS).unwrap();
    server
}

pub fn widgets(client: kube::Client) -> Api<DynamicObject> {
    let gvk = GroupVersionKind::gvk("example.dev", "v1", "Widget");
    Api::namespaced_with(
        client,
        "default",
        &ApiResource::from_gvk_with_plural(&gvk, "widgets"),
    )
}

pub fn widget(name: &str, spec: Value) -> DynamicObject {
    serde_json::from_value(json!({
        "apiVersion": "example.dev/v1", "kind": "Widget",
        "metadata": {"name": name}, "spec": spec,
    }))
    .unwrap()
}

pub fn deployment(name: &str) -> Deployment {
    serde_json::from_value(json!({
        "metadata": {"name": name, "labels": {"app": name}},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{
                    "name": "app", "image": "nginx:1.27",
                    "resources": {"limits": {"cpu": "0.5"}},
                    "ports": [{"containerPort": 80}],
                    "env": [{"name": "A", "value": "1"}],
                }]},
            },
        },
    }))
    .unwrap()
}

pub fn status(error: kube::Error) -> kube::core::Status {
    match error {
        kube::Error::Api(status) => *status,
        other => panic!("not a Status: {other}"),
    }
}
