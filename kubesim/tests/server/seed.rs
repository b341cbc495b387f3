//! Definitions and objects that are there before a controller starts.

use k8s_openapi::api::apps::v1::DeploymentStatus;
use k8s_openapi::api::core::v1::Namespace;
use kube::CustomResource;
use kube::api::ObjectMeta;
use kubesim::{Options, RequestFault, Server};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::fixtures::{deployment, server, widget};

#[derive(CustomResource, Clone, Debug, Deserialize, JsonSchema, Serialize)]
#[kube(group = "example.com", version = "v1", kind = "Greeter", namespaced)]
#[kube(status = "GreeterStatus")]
struct GreeterSpec {
    text: String,
}

#[derive(Clone, Debug, Default, Deserialize, JsonSchema, Serialize)]
struct GreeterStatus {
    greeted: bool,
}

fn greeter(namespace: &str, name: &str) -> Greeter {
    let text = "Hi".to_owned();
    let mut greeter = Greeter::new(name, GreeterSpec { text });
    greeter.metadata.namespace = Some(namespace.to_owned());
    greeter.status = Some(GreeterStatus { greeted: true });
    greeter
}

#[tokio::test(start_paused = true)]
async fn objects_are_stored_with_defaults_and_status_and_without_requests() {
    let server = Server::new(Options::default());
    server.install_crd::<Greeter>().unwrap();
    server.faults().on_request(|_| RequestFault::AfterDrop);
    let shop = ObjectMeta {
        name: Some("shop".to_owned()),
        ..ObjectMeta::default()
    };
    server
        .seed([Namespace {
            metadata: shop,
            ..Namespace::default()
        }])
        .unwrap();
    server
        .seed((0..3).map(|nth| greeter("shop", &format!("greeter-{nth}"))))
        .unwrap();
    assert_eq!(server.objects("greeters").len(), 3);
    let one = server.object("greeters", "shop", "greeter-1").unwrap();
    assert_eq!(one["status"], json!({ "greeted": true }));
    assert_eq!(one["metadata"]["generation"], 1);
    assert!(one["metadata"]["uid"].is_string());

    let mut ready = deployment("web");
    ready.status = Some(DeploymentStatus {
        ready_replicas: Some(2),
        ..DeploymentStatus::default()
    });
    server.seed([ready]).unwrap();
    let web = server.object("deployments", "default", "web").unwrap();
    assert_eq!(web["status"]["readyReplicas"], 2);
    assert_eq!(web["spec"]["revisionHistoryLimit"], 10);
    assert!(server.requests().entries.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_refused_object_is_named_and_those_before_it_stay() {
    let server = server();
    let mut elsewhere = deployment("c");
    elsewhere.metadata.namespace = Some("nowhere".to_owned());
    let cases = [
        (
            server.seed([widget("b", json!({"size": "large"}))]),
            "Widget b cannot be seeded: Widget.example.dev",
        ),
        (
            server.seed([greeter("shop", "a")]),
            "Greeter shop/a cannot be seeded: its kind is not served",
        ),
        (
            server.seed([elsewhere]),
            "Deployment nowhere/c cannot be seeded: namespaces \"nowhere\" not found",
        ),
        (
            server.seed([7]),
            "an object of no kind cannot be seeded: its kind is not served",
        ),
        (
            server.seed([deployment("web"), deployment("web")]),
            "Deployment web cannot be seeded: deployments.apps \"web\" already exists",
        ),
    ];
    for (seeded, message) in cases {
        let said = seeded.unwrap_err().to_string();
        assert!(said.starts_with(message), "{said}");
    }
    assert!(server.object("deployments", "default", "web").is_some());
}
