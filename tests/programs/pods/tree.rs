//! Owners of any kind: on the simulated server where they are real, on canned answers where a cluster
//! would not leave them alone (its garbage collector removes what points nowhere).

use std::collections::HashMap;
use std::sync::Arc;

use http::{Request, Response};
use kube::Client;
use kube::client::Body;
use kubesim::{Options, Server};
use serde_json::{Value, json};

use super::terminal::Terminal;

fn owner(kind: &str, name: &str, object: &Value) -> Value {
    let versions = HashMap::from([
        ("Note", "example.com/v1"),
        ("ReplicaSet", "apps/v1"),
        ("Deployment", "apps/v1"),
    ]);
    json!({
        "apiVersion": versions.get(kind).unwrap_or(&"v1"), "kind": kind, "name": name,
        "uid": object["metadata"]["uid"],
    })
}

async fn make(terminal: &Terminal, path: &str, object: Value) -> Value {
    let request = Request::post(path).header("content-type", "application/json");
    let request = request.body(object.to_string().into_bytes()).unwrap();
    terminal.client.request(request).await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn owners_of_every_kind_up_to_the_root() {
    let server = Server::new(Options::default());
    let client = server.client("person");
    let terminal = Terminal { client };
    terminal.types("install").await;
    let root = server.object("namespaces", "", "default").unwrap();
    let note = json!({
        "apiVersion": "example.com/v1", "kind": "Note",
        "metadata": { "name": "n", "ownerReferences": [owner("Namespace", "default", &root)] },
        "spec": { "text": "x" },
    });
    let note = make(
        &terminal,
        "/apis/example.com/v1/namespaces/default/notes",
        note,
    )
    .await;
    let template = json!({
        "metadata": { "labels": { "app": "web" } },
        "spec": { "containers": [{ "name": "a", "image": "a:1" }] },
    });
    let set = json!({
        "metadata": { "name": "web-1", "ownerReferences": [owner("Note", "n", &note)] },
        "spec": { "selector": { "matchLabels": { "app": "web" } }, "template": template },
    });
    let set = make(
        &terminal,
        "/apis/apps/v1/namespaces/default/replicasets",
        set,
    )
    .await;
    let map = json!({ "metadata": { "name": "m" } });
    let map = make(&terminal, "/api/v1/namespaces/default/configmaps", map).await;
    let pod = json!({
        "metadata": { "name": "web-1-x", "ownerReferences": [
            owner("ReplicaSet", "web-1", &set), owner("ConfigMap", "m", &map), owner("Note", "n", &note),
        ] },
        "spec": { "containers": [{ "name": "a", "image": "a:1" }] },
    });
    make(&terminal, "/api/v1/namespaces/default/pods", pod).await;
    let want = "\
Namespace default
└─ Note default/n
   ├─ ReplicaSet default/web-1
   │  └─ Pod default/web-1-x
   └─ Pod default/web-1-x
ConfigMap default/m
└─ Pod default/web-1-x
";
    assert_eq!(terminal.types("tree web-1-x").await, want);
    let alone = json!({
        "metadata": { "name": "alone" }, "spec": { "containers": [{ "name": "a", "image": "a:1" }] },
    });
    make(&terminal, "/api/v1/namespaces/default/pods", alone).await;
    assert_eq!(terminal.types("tree alone").await, "Pod default/alone\n");
    assert_eq!(
        terminal.fails("tree nobody").await,
        "pods \"nobody\" not found"
    );
}

/// A server that has these answers and no others.
fn canned(answers: Value) -> Terminal {
    let answers = Arc::new(answers);
    let service = tower::service_fn(move |request: Request<Body>| {
        let answers = Arc::clone(&answers);
        async move {
            let path = request.uri().path();
            let missing = json!({
                "kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound",
                "message": format!("{path} not found"), "code": 404,
            });
            let answer = answers.get(path).unwrap_or(&missing);
            let code = answer["code"].as_u64().unwrap_or(200);
            let response = Response::builder().status(u16::try_from(code).unwrap_or(500));
            response.body(Body::from(answer.to_string().into_bytes()))
        }
    });
    Terminal {
        client: Client::new(service, "default"),
    }
}

fn object(name: &str, uid: &str, owners: Value) -> Value {
    json!({ "metadata": {
        "name": name, "namespace": "default", "uid": uid, "ownerReferences": owners,
    } })
}

#[tokio::test]
async fn owners_that_cannot_be_read_are_named_all_the_same() {
    let reference = |api: &str, kind: &str, name: &str, uid: &str| json!({ "apiVersion": api, "kind": kind, "name": name, "uid": uid });
    let resource = |kind: &str, plural: &str| json!({ "name": plural, "singularName": "", "namespaced": true, "kind": kind, "verbs": ["get"] });
    let apps = json!({
        "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "apps/v1",
        "resources": [resource("ReplicaSet", "replicasets"), resource("Deployment", "deployments")],
    });
    let pod = object(
        "web",
        "1",
        json!([
            reference("apps/v1", "ReplicaSet", "gone", "2"),
            reference("apps/v1", "ReplicaSet", "namesake", "3"),
            reference("apps/v1", "DaemonSet", "unknown", "4"),
            reference("other.io/v1", "Thing", "foreign", "5"),
            reference("apps/v1", "Deployment", "secret", "6"),
            reference("apps/v1", "ReplicaSet", "circle", "7"),
        ]),
    );
    let secret = json!({
        "kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden",
        "message": "no", "code": 403,
    });
    let terminal = canned(json!({
        "/api/v1/namespaces/default/pods/web": pod,
        "/apis/apps/v1": apps,
        "/apis/apps/v1/namespaces/default/replicasets/namesake": object("namesake", "33", json!([])),
        "/apis/apps/v1/namespaces/default/deployments/secret": secret,
        "/apis/apps/v1/namespaces/default/replicasets/circle":
            object("circle", "7", json!([reference("apps/v1", "ReplicaSet", "circle", "7")])),
    }));
    let want = "\
ReplicaSet gone (gone)
└─ Pod default/web
ReplicaSet namesake (gone)
└─ Pod default/web
DaemonSet unknown (no such kind here)
└─ Pod default/web
Thing foreign (no such kind here)
└─ Pod default/web
Deployment secret (may not be read)
└─ Pod default/web
ReplicaSet default/circle
└─ ReplicaSet default/circle
   └─ Pod default/web
";
    assert_eq!(terminal.types("tree web").await, want);
}
