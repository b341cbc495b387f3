//! WebApp: server-side apply, finalizer, drift, retries.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

use http::Method;
use kubesim::{RequestFault, WatchFault};
use serde_json::{Value, json};
use tare_runtime::cache::Mode;

use super::Example::WebApp;
use super::{edit_replicas, until_replicas};
use crate::cluster::Cluster;
use crate::cluster::objects::{container, foreign_deployment, text};
use crate::cluster::simulated::{Simulated, pass};
use crate::cluster::user::JSON;

#[allow(dead_code)] // its command line is tested as a process
#[path = "../../../examples/webapp.rs"]
pub mod example;

fn spec() -> Value {
    json!({ "image": "nginx:1.27", "replicas": 3 })
}

async fn until_ready(cluster: &Cluster, available: i64) {
    let wanted = json!({ "available_replicas": available, "ready": true });
    let what = format!("{available} replicas are available");
    let is_wanted = |app: &Value| app["status"] == wanted;
    cluster.until(&what, "webapps", "hello", is_wanted).await;
}

pub async fn it_applies_its_deployment_corrects_it_follows_its_spec_and_goes(cluster: Cluster) {
    WebApp.install(&cluster).await;
    let operator = WebApp.operate(&cluster).await;
    WebApp.create(&cluster, "hello", spec()).await;
    until_ready(&cluster, 3).await;
    let app = cluster.get("webapps", "hello").await;
    let finalizers = &app["metadata"]["finalizers"];
    assert_eq!(*finalizers, json!(["webapp.example.com/cleanup"]));
    let deployment = cluster.get("deployments", "hello").await;
    let managers = deployment["metadata"]["managedFields"].as_array();
    let ours = managers
        .into_iter()
        .flatten()
        .find(|entry| entry["manager"] == "webapp-operator" && entry["operation"] == "Apply");
    assert!(ours.is_some(), "not applied: {deployment}");

    edit_replicas(&cluster, "hello", 9).await;
    until_replicas(&cluster, "hello", 3).await;
    let spec = json!({ "image": "nginx:1.28", "replicas": 1 });
    WebApp.change(&cluster, "hello", spec).await;
    until_ready(&cluster, 1).await;
    let deployment = until_replicas(&cluster, "hello", 1).await;
    assert_eq!(container(&deployment)["image"], "nginx:1.28");
    // Its status has no observedGeneration; still it is not written again.
    cluster.assert_stays_idle(&[WebApp.user(&cluster)]).await;
    cluster.delete("webapps", "hello").await;
    cluster.until_gone("webapps", "hello").await;
    assert!(cluster.get("deployments", "hello").await.is_null());
    operator.terminate().await;
}

pub async fn what_changed_while_it_was_down_is_found(cluster: Cluster) {
    WebApp.install(&cluster).await;
    let operator = WebApp.operate(&cluster).await;
    WebApp.create(&cluster, "hello", spec()).await;
    until_ready(&cluster, 3).await;
    operator.terminate().await;
    edit_replicas(&cluster, "hello", 9).await;
    let operator = WebApp.operate(&cluster).await;
    until_replicas(&cluster, "hello", 3).await;
    operator.terminate().await;
    WebApp
        .change(&cluster, "hello", json!({ "replicas": 2 }))
        .await;
    let operator = WebApp.operate(&cluster).await;
    until_ready(&cluster, 2).await;
    cluster.delete("webapps", "hello").await;
    cluster.until_gone("webapps", "hello").await;
    operator.terminate().await;
}

pub async fn a_foreign_deployment_is_not_taken_over(cluster: Cluster) {
    let foreign = foreign_deployment("hello", Value::Null);
    let before = cluster.make("deployments", foreign).await;
    WebApp.install(&cluster).await;
    let operator = WebApp.operate(&cluster).await;
    WebApp.create(&cluster, "hello", spec()).await;
    let collisions = "webapp_operator_reconcile_errors_total{reason=\"Collision\"}";
    operator.until_figure(collisions, |n| n >= 1.0).await;
    cluster.delete("webapps", "hello").await;
    cluster.until_gone("webapps", "hello").await;
    let after = cluster.get("deployments", "hello").await;
    let uid = "/metadata/uid";
    assert_eq!(text(&after, uid), text(&before, uid));
    assert_eq!(after["spec"], before["spec"]);
    operator.terminate().await;
}

pub async fn its_finalizer_is_removed_last(mode: Mode) {
    let simulated = Simulated::new(mode);
    let simulated = simulated.waiting_up_to(Duration::from_secs(600), "attempts back off");
    let cluster = Cluster::simulated(simulated.clone());
    WebApp.install(&cluster).await;
    let operator = WebApp.operate(&cluster).await;
    WebApp.create(&cluster, "hello", spec()).await;
    until_ready(&cluster, 3).await;
    simulated
        .server
        .faults()
        .on_request(|facts| match (facts.user, facts.verb, facts.resource) {
            ("tare", "delete", "deployments") => RequestFault::Status {
                code: 503,
                reason: "ServiceUnavailable".to_owned(),
                message: "later".to_owned(),
                retry_after_s: None,
            },
            _ => RequestFault::Pass,
        });
    cluster.delete("webapps", "hello").await;
    pass(120).await;
    let app = simulated.get("webapps", "hello");
    assert!(!app.is_null(), "it is gone before its Deployment");
    simulated.server.faults().clear();
    // Attempts have grown as rare as one in five minutes.
    simulated.until_gone("webapps", "hello").await;
    simulated.until_gone("deployments", "hello").await;
    operator.terminate().await;
}

pub async fn one_relist_every_five_minutes_looks_for_the_drift_of_all(mode: Mode) {
    const OWNERS: usize = 5_000;
    // A first page of 100, then pages of 500.
    const LISTS: u64 = 1 + (OWNERS as u64 - 100).div_ceil(500);
    let simulated = Simulated::new(mode);
    let cluster = Cluster::simulated(simulated.clone());
    WebApp.install(&cluster).await;
    let names: Vec<String> = (0..OWNERS).map(|n| format!("app-{n:04}")).collect();
    for chunk in names.chunks(500) {
        let created = chunk
            .iter()
            .map(|name| WebApp.create(&cluster, name, spec()));
        futures::future::join_all(created).await;
    }
    let operator = WebApp.operate(&cluster).await;
    let ready = |one: &Value| one["status"]["ready"] == true;
    simulated
        .until("all are ready", |cluster| {
            cluster.server.objects("webapps").iter().all(ready)
        })
        .await;
    pass(70).await;
    let cycles = || simulated.requests("list", "webapps") / LISTS;
    let reads = simulated.reads() - simulated.requests("list", "webapps");
    let gets = simulated.requests("get", "webapps");
    let (before, writes) = (cycles(), simulated.writes());
    pass(950).await;
    let seen = cycles() - before;
    assert!((2..=4).contains(&seen), "{seen} relists in 16 minutes");
    let lists = simulated.requests("list", "webapps");
    assert!(
        simulated.reads() - lists - reads <= seen * LISTS + 60,
        "the Deployments are listed as often, and watches are opened again"
    );
    assert_eq!(simulated.requests("get", "webapps"), gets);
    assert_eq!(simulated.writes(), writes);
    operator.terminate().await;
}

pub async fn it_relists_for_drift_every_five_minutes(mode: Mode) {
    let simulated = Simulated::new(mode);
    let period = Duration::from_secs(335);
    let simulated = simulated.waiting_up_to(period, "the period and a tenth of it");
    let cluster = Cluster::simulated(simulated.clone());
    WebApp.install(&cluster).await;
    // No event of a Deployment arrives.
    simulated
        .server
        .faults()
        .on_watch(|facts| match facts.resource {
            "deployments" => WatchFault::Drop,
            _ => WatchFault::Pass,
        });
    let operator = WebApp.operate(&cluster).await;
    WebApp.create(&cluster, "hello", spec()).await;
    until_replicas(&cluster, "hello", 3).await;
    pass(700).await;
    edit_replicas(&cluster, "hello", 9).await;
    let edited = tokio::time::Instant::now();
    let is_corrected =
        |cluster: &Simulated| cluster.get("deployments", "hello")["spec"]["replicas"] == 3;
    simulated.until("it is corrected", is_corrected).await;
    assert!(edited.elapsed() < period);
    operator.terminate().await;
}

pub async fn a_failure_is_retried_after_ten_seconds_with_growing_pauses(mode: Mode) {
    let simulated = Simulated::new(mode);
    let cluster = Cluster::simulated(simulated.clone());
    WebApp.install(&cluster).await;
    let attempts = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&attempts);
    simulated.server.faults().on_request(move |facts| {
        let is_write = matches!(facts.verb, "patch" | "create" | "apply");
        if facts.user != "tare" || !is_write || facts.resource != "deployments" {
            return RequestFault::Pass;
        }
        count.fetch_add(1, Relaxed);
        RequestFault::Status {
            code: 403,
            reason: "Forbidden".to_owned(),
            message: "not you".to_owned(),
            retry_after_s: None,
        }
    });
    let operator = WebApp.operate(&cluster).await;
    WebApp.create(&cluster, "hello", spec()).await;
    // Its status has no field for a failure, so one Event tells it.
    let told = |cluster: &Simulated| {
        let events = cluster.server.objects("events");
        let is_refusal = |event: &&Value| event["reason"] == "Rejected";
        events.iter().filter(is_refusal).count()
    };
    simulated
        .until("an Event tells it", |cluster| told(cluster) == 1)
        .await;
    // Pauses of 10, 20 and 40 s, each up to half longer.
    for (seconds, least, most) in [(8, 1, 1), (7, 2, 2), (13, 2, 2), (18, 3, 3), (60, 4, 4)] {
        pass(seconds).await;
        let seen = attempts.load(Relaxed);
        assert!((least..=most).contains(&seen), "{seen} attempts");
    }
    assert_eq!(told(&simulated), 1);
    operator.terminate().await;
}

pub async fn no_child_is_made_repeatedly_for_an_owner_that_went_with_its_crd(mode: Mode) {
    // An owner that is not ready has an entry.
    let simulated = Simulated::never_ready(mode);
    let cluster = Cluster::simulated(simulated.clone());
    WebApp.install(&cluster).await;
    let operator = WebApp.operate(&cluster).await;
    simulated
        .server
        .faults()
        .on_request(|facts| match (facts.user, facts.verb) {
            ("tare", "patch") => RequestFault::Delay(Duration::from_millis(50)),
            _ => RequestFault::Pass,
        });
    WebApp.create(&cluster, "hello", spec()).await;
    let is_written = |app: &Value| app["status"]["ready"] == false;
    cluster
        .until("its status is written", "webapps", "hello", is_written)
        .await;
    pass(5).await;
    // No event tells that the owner is gone: its watch ends, and cannot be opened.
    let crd = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/webapps.example.com";
    let options = json!({ "apiVersion": "v1", "kind": "DeleteOptions" });
    let before = simulated.requests("patch", "deployments");
    let deleted = cluster.request(Method::DELETE, crd, JSON, &options).await;
    deleted.expect("delete the CRD");
    pass(60).await;
    let made = simulated.requests("patch", "deployments") - before;
    assert!(made <= 1, "{made} were made");
    assert!(cluster.all("deployments").await.is_empty());
    operator.terminate().await;
}
