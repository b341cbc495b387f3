//! External secrets: values from a backend behind HTTP on loopback.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tare_runtime::cache::Mode;
use tokio::net::TcpListener;
use tokio::time::Instant;

use super::{Launched, install};
use crate::cluster::Cluster;
use crate::cluster::simulated::{Simulated, pass};
use example::{Backend, ExternalSecret};

#[allow(dead_code)] // its command line is tested as a process
#[path = "../../../examples/external_secrets.rs"]
pub mod example;

const PROGRAM: &str = "external_secrets";

/// What is asked for values.
#[derive(Default)]
struct Vault {
    values: Mutex<BTreeMap<String, String>>,
    /// Seconds after which it is to be asked again, while it has none to give.
    busy_s: Mutex<Option<u64>>,
    asked: Mutex<Vec<Instant>>,
}

impl Vault {
    fn set(&self, key: &str, value: &str) {
        let mut values = self.values.lock().unwrap();
        values.insert(key.to_owned(), value.to_owned());
    }

    fn asked(&self) -> Vec<Instant> {
        self.asked.lock().unwrap().clone()
    }

    fn answer(&self, request: &Request<Incoming>) -> Response<Full<Bytes>> {
        self.asked.lock().unwrap().push(Instant::now());
        let builder = Response::builder();
        let busy_s = *self.busy_s.lock().unwrap();
        let key = request.uri().path().trim_start_matches('/');
        let value = self.values.lock().unwrap().get(key).cloned();
        let answer = match (busy_s, value) {
            (Some(after_s), _) => builder
                .status(503)
                .header("retry-after", after_s)
                .body(Full::default()),
            (None, Some(value)) => builder.body(Full::from(value)),
            (None, None) => builder.status(404).body(Full::default()),
        };
        answer.unwrap()
    }

    /// Serves on loopback; returns where.
    async fn serve(self: &Arc<Self>) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let vault = Arc::clone(self);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let vault = Arc::clone(&vault);
                let service = service_fn(move |request| {
                    let answer = vault.answer(&request);
                    async move { Ok::<_, Infallible>(answer) }
                });
                let connection =
                    http1::Builder::new().serve_connection(TokioIo::new(stream), service);
                tokio::spawn(async move { drop(connection.await) });
            }
        });
        address
    }
}

async fn start(cluster: &Cluster, vault: &Arc<Vault>, per_s: u32) -> Launched {
    install::<ExternalSecret>(cluster, PROGRAM).await;
    let address = vault.serve().await;
    let (backend, per_s_arg) = (address.to_string(), per_s.to_string());
    let args = ["--backend", &*backend, "--per-s", &*per_s_arg];
    Launched::start(cluster, PROGRAM, &args, |shared| {
        example::run(shared, Backend::new(address, per_s))
    })
    .await
}

fn wanted(name: &str, key: &str, refresh_s: u64) -> Value {
    json!({
        "apiVersion": "example.com/v1", "kind": "ExternalSecret", "metadata": {"name": name},
        "spec": {"key": key, "refreshS": refresh_s},
    })
}

async fn until_value(cluster: &Cluster, name: &str, value: &str) {
    let wanted = json!(BASE64_STANDARD.encode(value));
    let what = format!("the Secret {name} has {value:?}");
    let has = |secret: &Value| secret["data"]["value"] == wanted;
    cluster.until(&what, "secrets", name, has).await;
}

pub async fn its_secret_follows_the_backend_and_comes_back(cluster: Cluster) {
    let vault = Arc::new(Vault::default());
    vault.set("db", "one");
    let running = start(&cluster, &vault, 50).await;
    cluster.make("externalsecrets", wanted("db", "db", 2)).await;
    until_value(&cluster, "db", "one").await;
    vault.set("db", "two");
    until_value(&cluster, "db", "two").await;
    cluster.delete("secrets", "db").await;
    until_value(&cluster, "db", "two").await;
    // A key that the backend does not have leaves the Secret as it is, and is asked for again.
    cluster
        .patch("externalsecrets", "db", json!({"spec": {"key": "web"}}))
        .await;
    let before = vault.asked().len();
    let what = "the other key is asked for";
    cluster
        .until(what, "secrets", "db", |_| vault.asked().len() > before + 1)
        .await;
    until_value(&cluster, "db", "two").await;
    vault.set("web", "three");
    until_value(&cluster, "db", "three").await;
    running.terminate().await;
}

pub async fn a_busy_backend_is_asked_again_when_it_says(mode: Mode) {
    let cluster = Cluster::simulated(Simulated::new(mode));
    let vault = Arc::new(Vault::default());
    vault.set("db", "one");
    *vault.busy_s.lock().unwrap() = Some(40);
    let running = start(&cluster, &vault, 50).await;
    cluster
        .make("externalsecrets", wanted("db", "db", 3_600))
        .await;
    pass(30).await;
    *vault.busy_s.lock().unwrap() = None;
    until_value(&cluster, "db", "one").await;
    let asked = vault.asked();
    assert!(asked[1] - asked[0] >= Duration::from_secs(40));
    // Its own Secret that appears is looked at once more.
    pass(60).await;
    assert!(vault.asked().len() <= 3);
    running.terminate().await;
}

pub async fn each_is_refreshed_at_its_interval_within_the_rate(mode: Mode) {
    const OBJECTS: usize = 1_000;
    const PER_S: usize = 100;
    let cluster = Cluster::simulated(Simulated::new(mode));
    let vault = Arc::new(Vault::default());
    let running = start(&cluster, &vault, 100).await;
    for number in 0..OBJECTS {
        let name = format!("s-{number}");
        vault.set(&name, "one");
        // Every tenth one every ten minutes, the others every two hours.
        let refresh_s = if number % 10 == 0 { 600 } else { 7_200 };
        let wanted = wanted(&name, &name, refresh_s);
        cluster.make("externalsecrets", wanted).await;
    }
    // Everything is made and looked at once more before the first is due.
    pass(300).await;
    let simulated = cluster.as_simulated().unwrap();
    assert_eq!(simulated.server.objects("secrets").len(), OBJECTS);
    let first = vault.asked().len();
    pass(3_600).await;
    let asked = vault.asked();
    assert_eq!(asked.len() - first, OBJECTS / 10 * 6);
    // One more than fits into a second, and one that waits.
    let crowded = asked.windows(PER_S + 2).find(|turns| {
        let (first, last) = (turns[0], turns[PER_S + 1]);
        last - first < Duration::from_secs(1)
    });
    assert!(crowded.is_none(), "more than {PER_S} in a second");
    running.terminate().await;
}
