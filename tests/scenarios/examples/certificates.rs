//! Certificates: made, made again when it is needed, and left alone otherwise.

use std::cell::OnceCell;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use tare_runtime::cache::Mode;
use tokio::time::Instant;

use super::{Launched, install, user_of};
use crate::cluster::Cluster;
use crate::cluster::objects::text;
use crate::cluster::simulated::{Simulated, pass};
use example::{Certificate, ClusterIssuer, Issuer};

#[allow(dead_code)] // its command line is tested as a process
#[path = "../../../examples/certificates.rs"]
pub mod example;

const PROGRAM: &str = "certificates";

thread_local! {
    static BEGAN: OnceCell<Instant> = const { OnceCell::new() };
}

/// The time of the simulated clock.
fn now_s() -> u64 {
    1_700_000_000 + BEGAN.with(|began| began.get_or_init(Instant::now).elapsed().as_secs())
}

async fn start(cluster: &Cluster) -> Launched {
    install::<Issuer>(cluster, PROGRAM).await;
    if cluster.as_simulated().is_some() {
        install::<ClusterIssuer>(cluster, PROGRAM).await;
        install::<Certificate>(cluster, PROGRAM).await;
    }
    Launched::start(cluster, PROGRAM, &[], |shared| example::run(shared, now_s)).await
}

fn issuer(name: &str, organization: &str) -> Value {
    json!({
        "apiVersion": "example.com/v1", "kind": "Issuer", "metadata": {"name": name},
        "spec": {"organization": organization},
    })
}

fn certificate(name: &str, issuer: &str, is_cluster: bool, duration_s: u64) -> Value {
    json!({
        "apiVersion": "example.com/v1", "kind": "Certificate", "metadata": {"name": name},
        "spec": {
            "issuer": issuer, "cluster": is_cluster, "dnsNames": [format!("{name}.example.com")],
            "durationS": duration_s,
        },
    })
}

/// The certificate in a Secret, as DER.
fn der(secret: &Value) -> Vec<u8> {
    let decoded = |text: &str| BASE64_STANDARD.decode(text).unwrap();
    let pem = String::from_utf8(decoded(&text(secret, "/data/tls.crt"))).unwrap();
    let lines = pem.lines().filter(|line| !line.starts_with("-----"));
    decoded(&lines.collect::<String>())
}

fn contains(bytes: &[u8], wanted: &str) -> bool {
    let mut windows = bytes.windows(wanted.len());
    windows.any(|window| window == wanted.as_bytes())
}

/// Waits for a Secret whose certificate is another one than that of `before`, for an organization.
async fn until_another(cluster: &Cluster, name: &str, before: &Value, organization: &str) -> Value {
    let what = format!("{name} has another certificate, for {organization}");
    let is_another = |secret: &Value| {
        !secret.is_null()
            && secret["data"]["tls.crt"] != before["data"]["tls.crt"]
            && contains(&der(secret), organization)
    };
    cluster.until(&what, "secrets", name, is_another).await
}

pub async fn it_is_made_for_its_issuer_and_made_again_when_that_changes(cluster: Cluster) {
    let running = start(&cluster).await;
    let certificate = certificate("web", "ca", false, 7_776_000);
    cluster.make("certificates", certificate).await;
    // It waits for its issuer, which is watched.
    cluster.make("issuers", issuer("ca", "Acme")).await;
    let first = until_another(&cluster, "web", &Value::Null, "Acme").await;
    assert_eq!(text(&first, "/type"), "kubernetes.io/tls");
    assert!(contains(&der(&first), "web.example.com"));
    let is_told = |certificate: &Value| certificate["status"]["observedGeneration"] == 1;
    let what = "the Certificate says until when it is valid";
    let told = cluster.until(what, "certificates", "web", is_told).await;
    assert!(!text(&told, "/status/notAfter").is_empty());

    cluster.delete("secrets", "web").await;
    let second = until_another(&cluster, "web", &first, "Acme").await;
    let changed = json!({"spec": {"organization": "Umbrella"}});
    cluster.patch("issuers", "ca", changed).await;
    let third = until_another(&cluster, "web", &second, "Umbrella").await;
    let emptied = json!({"data": {"tls.key": ""}});
    cluster.patch("secrets", "web", emptied).await;
    let fourth = until_another(&cluster, "web", &third, "Umbrella").await;

    // Neither a label nor a start is a reason.
    let label = json!({"metadata": {"labels": {"team": "shop"}}});
    cluster.patch("certificates", "web", label).await;
    cluster.until_quiet(&[user_of(&cluster)]).await;
    running.terminate().await;
    let running = start(&cluster).await;
    cluster.until_quiet(&[user_of(&cluster)]).await;
    let last = cluster.get("secrets", "web").await;
    assert_eq!(last["data"], fourth["data"]);
    running.terminate().await;
}

pub async fn a_cluster_issuer_serves_every_namespace(cluster: Cluster) {
    let running = start(&cluster).await;
    let name = format!("ca-{}", cluster.namespace);
    let certificate = certificate("web", &name, true, 7_776_000);
    cluster.make("certificates", certificate).await;
    let mut object = issuer(&name, "Acme");
    object["kind"] = json!("ClusterIssuer");
    let path = "/apis/example.com/v1/clusterissuers";
    let json = crate::cluster::user::JSON;
    let created = cluster.request(http::Method::POST, path, json, &object);
    created.await.expect("create the ClusterIssuer");
    until_another(&cluster, "web", &Value::Null, "Acme").await;
    running.terminate().await;
}

pub async fn it_is_renewed_after_two_thirds_of_its_time(cluster: Cluster) {
    let running = start(&cluster).await;
    cluster.make("issuers", issuer("ca", "Acme")).await;
    let certificate = certificate("web", "ca", false, 6);
    cluster.make("certificates", certificate).await;
    let first = until_another(&cluster, "web", &Value::Null, "Acme").await;
    let second = until_another(&cluster, "web", &first, "Acme").await;
    until_another(&cluster, "web", &second, "Acme").await;
    running.terminate().await;
}

pub async fn one_of_ninety_days_is_renewed_once_in_eighty(mode: Mode) {
    let simulated = Simulated::new(mode);
    let cluster = Cluster::simulated(simulated.clone());
    let running = start(&cluster).await;
    cluster.make("issuers", issuer("ca", "Acme")).await;
    let certificate = certificate("web", "ca", false, 90 * 86_400);
    cluster.make("certificates", certificate).await;
    let first = until_another(&cluster, "web", &Value::Null, "Acme").await;
    pass(59 * 86_400).await;
    let kept = cluster.get("secrets", "web").await;
    assert_eq!(kept["data"], first["data"]);
    pass(21 * 86_400).await;
    until_another(&cluster, "web", &first, "Acme").await;
    assert_eq!(simulated.requests("patch", "secrets"), 2);
    running.terminate().await;
}
