//! Speed and memory of the server. Printed, never asserted:
//! `cargo test --release -p kubesim --test server speed:: -- --ignored --nocapture --test-threads 1`

use std::time::Instant;

use bytes::Bytes;
use futures::StreamExt;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kubesim::{Options, Server, Tls, kubeconfig};
use serde_json::{Value, json};
use tokio::net::TcpListener;

const WRITERS: usize = 16;

/// About 2 KB with what the server adds.
fn owner(name: &str) -> Value {
    let env: Vec<Value> = (0..8)
        .map(|n| json!({"name": format!("SETTING_{n}"), "value": format!("value of setting {n}")}))
        .collect();
    json!({
        "apiVersion": "example.dev/v1", "kind": "Widget",
        "metadata": {
            "name": name,
            "labels": {"app": name, "team": "edge", "example.dev/site": "plant-7"},
            "annotations": {"example.dev/note": "x".repeat(200)},
        },
        "spec": {"size": 1, "env": env, "labels": {"a": "1", "b": "2"}},
    })
}

fn children(name: &str, uid: &str) -> [(&'static str, Value); 2] {
    let meta = json!({
        "name": name,
        "labels": {"app.kubernetes.io/managed-by": "tare", "tare.dev/owner": name},
        "ownerReferences": [{"apiVersion": "example.dev/v1", "kind": "Widget", "name": name,
            "uid": uid, "controller": true, "blockOwnerDeletion": true}],
    });
    let env: Vec<Value> = (0..8)
        .map(|n| json!({"name": format!("SETTING_{n}"), "value": format!("value of setting {n}")}))
        .collect();
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta,
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{
                    "name": "app", "image": "registry.example.com/edge/app:1.2.3", "env": env,
                    "ports": [{"containerPort": 8080}],
                    "resources": {"limits": {"cpu": "100m", "memory": "64Mi"}},
                }]},
            },
        },
    });
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": meta,
        "spec": {"clusterIP": "None", "selector": {"app": name}, "ports": [{"port": 80, "targetPort": 8080}]},
    });
    [
        ("/apis/apps/v1/namespaces/default/deployments", deployment),
        ("/api/v1/namespaces/default/services", service),
    ]
}

const OWNERS: &str = "/apis/example.dev/v1/namespaces/default/widgets";

async fn post(client: &kube::Client, path: &str, object: &Value) -> Value {
    let request = http::Request::post(path)
        .header("content-type", "application/json")
        .body(object.to_string().into_bytes())
        .unwrap();
    client.request(request).await.unwrap()
}

/// Creates `count` owners, with children or without, from several tasks at once.
async fn create(client: &kube::Client, count: usize, with_children: bool) {
    futures::stream::iter(0..count)
        .map(|n| {
            let client = client.clone();
            tokio::spawn(async move {
                let name = format!("w-{n:06}");
                let made = post(&client, OWNERS, &owner(&name)).await;
                if with_children {
                    let uid = made["metadata"]["uid"].as_str().unwrap();
                    for (path, child) in children(&name, uid) {
                        post(&client, path, &child).await;
                    }
                }
            })
        })
        .buffer_unordered(WRITERS)
        .for_each(|joined| async { joined.unwrap() })
        .await;
}

fn rss_mb() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? / 1024)
}

fn installed(options: Options) -> Server {
    let server = Server::new(options);
    server.install(crate::fixtures::WIDGETS).unwrap();
    server
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "speed: run with --ignored"]
async fn creates_in_process() {
    let server = installed(Options::default());
    let start = Instant::now();
    create(&server.client("load"), 20_000, false).await;
    println!(
        "in process: {:.0} creates/s",
        20_000.0 / start.elapsed().as_secs_f64()
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "speed: run with --ignored"]
async fn creates_over_tls() {
    let server = installed(Options::default());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    let tls = Tls::generate().unwrap();
    let text = kubeconfig(&url, tls.ca_pem(), "load", &server.token("load"));
    let serving = tokio::spawn(server.clone().serve(listener, tls, std::future::pending()));
    let config = kube::Config::from_custom_kubeconfig(
        Kubeconfig::from_yaml(&text).unwrap(),
        &KubeConfigOptions::default(),
    )
    .await
    .unwrap();
    let client = kube::Client::try_from(config).unwrap();
    let start = Instant::now();
    create(&client, 20_000, false).await;
    println!(
        "over TLS, client in the same process: {:.0} creates/s",
        20_000.0 / start.elapsed().as_secs_f64()
    );
    serving.abort();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "speed: run with --ignored"]
async fn weight_of_100_000_owners_with_children() {
    let server = installed(Options::default());
    let start = Instant::now();
    create(&server.client("load"), 100_000, true).await;
    println!(
        "100,000 owners with two children: {:.0} creates/s, {:?} MB RSS",
        300_000.0 / start.elapsed().as_secs_f64(),
        rss_mb()
    );
    for resource in ["widgets", "deployments", "services"] {
        let one = server.object(resource, "default", "w-050000").unwrap();
        println!("one of {resource}: {} bytes", one.to_string().len());
    }
    let ready = |server: &Server| {
        server.object("deployments", "default", "w-099999").unwrap()["status"]["readyReplicas"] == 1
    };
    while !ready(&server) {
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    println!(
        "all ready after {:?}, {:?} MB RSS",
        start.elapsed(),
        rss_mb()
    );
    let list = Instant::now();
    let request = http::Request::get(OWNERS)
        .body(kube::client::Body::empty())
        .unwrap();
    let response = server.client("load").send(request).await.unwrap();
    let body: Bytes = response.into_body().collect_bytes().await.unwrap();
    println!(
        "one list of 100,000: {:?}, {} bytes",
        list.elapsed(),
        body.len()
    );
}
