//! Requests that hang, fail or lose their answer, and plans that panic.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use http_body_util::BodyExt;
use kubesim::{RequestFault, WatchFault};
use serde_json::json;
use tare::edgeapp::{EdgeApp, EdgeAppStatus, EdgeApps};
use tare_runtime::api::{Children, Failure, Kind, Operator, Owner, Plan};
use tare_runtime::cache::Mode;

use crate::cluster::Cluster;
use crate::cluster::objects::{condition, container, text, web};
use crate::cluster::simulated::{Running, Simulated, config, pass};

pub async fn what_the_server_refuses_is_told_once_and_heals(cluster: Cluster) {
    let operator = cluster.operate().await;
    // The CRD allows it; the server refuses it for a container.
    let mut spec = web();
    spec["resources"] = json!({ "requests": { "cpu": "2" }, "limits": { "cpu": "1" } });
    cluster.create("web", spec).await;
    let degraded = cluster.until_degraded("web", "Rejected").await;
    let message = text(condition(&degraded, "Degraded"), "/message");
    assert!(
        message.contains("must be less than or equal to cpu limit"),
        "{message}"
    );
    let version = degraded["metadata"]["resourceVersion"].clone();
    // Attempts go on, with growing pauses; none of them changes the EdgeApp.
    cluster.until_requested("create", "deployments", 4).await;
    let still = cluster.get("edgeapps", "web").await;
    assert_eq!(still["metadata"]["resourceVersion"], version);

    let correction = json!({ "resources": { "limits": { "cpu": "2" } } });
    cluster.change("web", correction).await;
    let running = cluster.until_running("web").await;
    assert_eq!(condition(&running, "Degraded")["status"], "False");
    let deployment = cluster.get("deployments", "web").await;
    assert_eq!(container(&deployment)["resources"]["limits"]["cpu"], "2");
    operator.terminate().await;
    cluster.end().await;
}

/// Requests that write an EdgeApp called `stuck-…` are not answered.
fn hang_those_called_stuck(cluster: &Simulated) {
    cluster
        .server
        .faults()
        .on_request(|facts| match (facts.verb, facts.resource, facts.name) {
            ("patch", "edgeapps", Some(name)) if name.starts_with("stuck") => RequestFault::Hang,
            _ => RequestFault::Pass,
        });
}

pub async fn sixteen_requests_that_hang_do_not_stop_the_others(mode: Mode) {
    let cluster = Simulated::new(mode);
    hang_those_called_stuck(&cluster);
    let running = cluster.operate();
    running.until_ready().await;
    for n in 0..16 {
        cluster.create(&format!("stuck-{n}"), web()).await;
    }
    for n in 0..50 {
        cluster.create(&format!("web-{n}"), web()).await;
    }
    let started = tokio::time::Instant::now();
    for n in 0..50 {
        cluster.until_phase(&format!("web-{n}"), "Running").await;
    }
    assert!(
        started.elapsed() < Duration::from_secs(40),
        "one deadline, not sixteen: {:?}",
        started.elapsed()
    );
    assert!(running.metrics.errors() >= 16);
    cluster.server.faults().clear();
    for n in 0..16 {
        cluster.until_phase(&format!("stuck-{n}"), "Running").await;
    }
    running.stop().await;
}

pub async fn many_owners_whose_requests_hang_do_not_delay_a_healthy_one(mode: Mode) {
    let cluster = Simulated::new(mode);
    hang_those_called_stuck(&cluster);
    let running = cluster.operate();
    running.until_ready().await;
    for n in 0..320 {
        cluster.create(&format!("stuck-{n}"), web()).await;
    }
    // At once, and when those that hang have been tried again.
    for (name, after_s) in [("early", 0), ("later", 60)] {
        pass(after_s).await;
        cluster.create(name, web()).await;
        let began = tokio::time::Instant::now();
        cluster.until_phase(name, "Running").await;
        let took = began.elapsed();
        assert!(took < Duration::from_secs(30), "{name}: {took:?}");
    }
    cluster.server.faults().clear();
    let cluster = cluster.waiting_up_to(Duration::from_secs(480), "the longest back-off");
    cluster.until_all_running(322).await;
    running.stop().await;
}

/// Each holds a worker until its deadline, and none that waits for the one before it does.
pub async fn large_owners_whose_requests_hang_do_not_delay_a_small_one(mode: Mode) {
    let cluster = Simulated::new(mode);
    hang_those_called_stuck(&cluster);
    let running = cluster.operate();
    running.until_ready().await;
    let mut large = web();
    let variable = |n: usize| json!({ "name": format!("V{n}"), "value": "x".repeat(30_000) });
    large["env"] = (0..10).map(variable).collect();
    for n in 0..24 {
        cluster.create(&format!("stuck-{n}"), large.clone()).await;
    }
    let began = tokio::time::Instant::now();
    cluster.create("small", web()).await;
    cluster.until_phase("small", "Running").await;
    let took = began.elapsed();
    assert!(took < Duration::from_secs(2), "{took:?}");
    cluster.server.faults().clear();
    let cluster = cluster.waiting_up_to(Duration::from_secs(480), "the longest back-off");
    cluster.until_all_running(25).await;
    assert_eq!(cluster.requests("create", "deployments"), 25);
    running.stop().await;
}

pub async fn a_write_whose_answer_is_lost_is_not_done_twice(mode: Mode) {
    let cluster = Simulated::new(mode);
    let once = AtomicBool::new(true);
    cluster.server.faults().on_request(move |facts| {
        match facts.verb == "create" && facts.resource == "deployments" && once.swap(false, Relaxed)
        {
            true => RequestFault::AfterDrop,
            false => RequestFault::Pass,
        }
    });
    let running = cluster.operate();
    cluster.create("web", web()).await;
    cluster.until_phase("web", "Running").await;
    assert_eq!(cluster.server.objects("deployments").len(), 1);
    running.stop().await;
}

/// Starts an operator whose Deployments are all refused; after `seconds`, returns it and its attempts.
async fn refusing(cluster: &Simulated, count: u32, seconds: u64) -> (Running, u64) {
    cluster
        .server
        .faults()
        .on_request(|facts| match (facts.user, facts.verb, facts.resource) {
            ("tare", "create", "deployments") => RequestFault::Status {
                code: 422,
                reason: "Invalid".to_owned(),
                message: "Deployment.apps is invalid: spec.template: Forbidden: policy".to_owned(),
                retry_after_s: None,
            },
            _ => RequestFault::Pass,
        });
    for n in 0..count {
        cluster
            .create(&format!("web-{n}"), json!({"image": "web:1"}))
            .await;
    }
    let running = cluster.operate();
    running.until_ready().await;
    pass(seconds).await;
    let creates = cluster.requests("create", "deployments");
    (running, creates)
}

pub async fn a_failure_backs_off_is_told_on_the_object_and_heals(mode: Mode) {
    let cluster = Simulated::new(mode);
    let (running, attempts) = refusing(&cluster, 1, 120).await;
    assert!(
        (6..=12).contains(&attempts),
        "{attempts} attempts in two minutes"
    );
    let degraded = cluster.condition("web-0", "Degraded");
    assert_eq!(
        (degraded["status"].as_str(), degraded["reason"].as_str()),
        (Some("True"), Some("Rejected"))
    );
    assert!(
        degraded["message"]
            .as_str()
            .unwrap_or_default()
            .contains("policy")
    );
    assert_eq!(
        cluster.requests("patch", "edgeapps/status"),
        1,
        "told once, not at every attempt"
    );
    assert_eq!(
        cluster.server.objects("events").len(),
        1,
        "one Event on entering it"
    );
    cluster.server.faults().clear();
    cluster.until_phase("web-0", "Running").await;
    running.stop().await;
}

pub async fn many_failing_objects_stay_within_the_bounds_and_do_not_delay_a_healthy_one(
    mode: Mode,
) {
    // With 50,000 EdgeApps: `admission::fifty_thousand_failing_objects_stay_within_the_bounds`.
    let cluster = Simulated::new(mode);
    let (running, _) = refusing(&cluster, 300, 5).await;
    let events = cluster.server.objects("events").len();
    assert!(events <= 35, "{events} Events for 300 failures");
    assert!(running.metrics.events_suppressed.load(Relaxed) > 200);
    cluster.server.faults().clear();
    cluster.create("healthy", web()).await;
    let started = tokio::time::Instant::now();
    cluster.until_phase("healthy", "Running").await;
    assert!(
        started.elapsed() < Duration::from_secs(3),
        "{:?}",
        started.elapsed()
    );
    running.stop().await;
}

pub async fn a_server_that_asks_to_wait_is_obeyed(mode: Mode) {
    let cluster = Simulated::new(mode);
    cluster
        .server
        .faults()
        .on_request(|facts| match (facts.user, facts.verb, facts.resource) {
            ("tare", "create", "deployments") => RequestFault::Status {
                code: 429,
                reason: "TooManyRequests".to_owned(),
                message: "slow down".to_owned(),
                retry_after_s: Some(60),
            },
            _ => RequestFault::Pass,
        });
    let running = cluster.operate();
    running.until_ready().await;
    cluster.create("web", web()).await;
    pass(29).await;
    assert_eq!(
        cluster.requests("create", "deployments"),
        1,
        "asked to wait a minute"
    );
    assert_eq!(
        cluster.phase("web"),
        "",
        "a busy server is not the object's failure"
    );
    cluster.server.faults().clear();
    cluster.until_phase("web", "Running").await;
    running.stop().await;
}

/// EdgeApps whose plan panics for one image.
struct Panicky;

impl Operator for Panicky {
    type Status = EdgeAppStatus;
    type Resource = EdgeApp;
    type Error = std::convert::Infallible;
    type Observed = ();
    const NAME: &'static str = EdgeApps::NAME;
    const FINALIZER: Option<&'static str> = EdgeApps::FINALIZER;
    const KINDS: &'static [Kind] = EdgeApps::KINDS;

    fn plan(
        &self,
        owner: &Owner<Self>,
        children: &Children,
    ) -> Result<Plan<EdgeAppStatus>, Self::Error> {
        assert!(owner.spec.image != "panic", "this image is not for plans");
        EdgeApps.plan(&as_edgeapps(owner), children)
    }

    fn failed(
        &self,
        owner: &Owner<Self>,
        children: &Children,
        failure: &Failure,
    ) -> Option<EdgeAppStatus> {
        EdgeApps.failed(&as_edgeapps(owner), children, failure)
    }
}

fn as_edgeapps(owner: &Owner<Panicky>) -> Owner<EdgeApps> {
    Owner::new(owner.meta.clone(), owner.spec.clone())
}

pub async fn a_panic_in_a_plan_is_that_objects_failure_and_nobody_elses(mode: Mode) {
    let cluster = Simulated::new(mode);
    let running = cluster.operate_with(Panicky, cluster.server.client("tare"), config());
    cluster.create("bad", json!({"image": "panic"})).await;
    cluster.create("good", web()).await;
    cluster.until_phase("good", "Running").await;
    cluster.until_phase("bad", "Failed").await;
    let ready = cluster.condition("bad", "Ready");
    assert_eq!(ready["reason"], "Panic");
    assert!(
        ready["message"]
            .as_str()
            .unwrap_or_default()
            .contains("not for plans")
    );
    cluster.change("bad", json!({"image": "fine"})).await;
    cluster.until_phase("bad", "Running").await;
    running.stop().await;
}

pub async fn a_child_that_becomes_ready_while_its_owner_fails_is_known(mode: Mode) {
    let options = kubesim::Options {
        ready_delay: Duration::from_secs(3),
        ..kubesim::Options::default()
    };
    let cluster = Simulated::with(mode, options);
    let running = cluster.operate();
    running.until_ready().await;
    let refuses = Arc::new(AtomicBool::new(true));
    let is_refused = Arc::clone(&refuses);
    cluster
        .server
        .faults()
        .on_request(move |facts| match (facts.user, facts.subresource) {
            ("tare", Some("status")) if is_refused.load(Relaxed) => RequestFault::Status {
                code: 503,
                reason: "ServiceUnavailable".to_owned(),
                message: "later".to_owned(),
                retry_after_s: None,
            },
            _ => RequestFault::Pass,
        });
    // Its readiness comes as no event: it is on the lists of a relist.
    cluster
        .server
        .faults()
        .on_watch(|facts| match (facts.resource, facts.event_type) {
            ("deployments", "MODIFIED") => WatchFault::Error410,
            _ => WatchFault::Pass,
        });
    cluster.create("web", web()).await;
    pass(15).await;
    refuses.store(false, Relaxed);
    cluster.until_phase("web", "Running").await;
    running.stop().await;
}

pub async fn an_answer_that_breaks_off_is_requested_again(mode: Mode) {
    let cluster = Simulated::new(mode);
    let client = cluster.server.client("tare");
    let breaks = Arc::new(AtomicBool::new(false));
    let is_next = Arc::clone(&breaks);
    let service = tower::service_fn(move |request: http::Request<kube::client::Body>| {
        let (client, is_next) = (client.clone(), Arc::clone(&is_next));
        async move {
            let is_owner = request.method() == http::Method::GET
                && request.uri().path().ends_with("/edgeapps/web");
            let response = client.send(request).await.map_err(tower::BoxError::from)?;
            let (parts, body) = response.into_parts();
            let body = match is_owner && is_next.swap(false, Relaxed) {
                true => {
                    let whole = body.collect().await?.to_bytes();
                    kube::client::Body::from(whole[..whole.len() / 2].to_vec())
                }
                false => body,
            };
            Ok::<_, tower::BoxError>(http::Response::from_parts(parts, body))
        }
    });
    let client = kube::Client::new(service, "default");
    let running = cluster.operate_with(EdgeApps, client, config());
    running.until_ready().await;
    cluster.create("web", web()).await;
    cluster.until_phase("web", "Running").await;
    pass(120).await;
    breaks.store(true, Relaxed);
    // Both make the operator read the owner in one of the cache modes.
    cluster
        .change("web", json!({ "image": "registry.local/web:2" }))
        .await;
    let delete = kube::api::DeleteParams::default();
    let services = cluster.api::<k8s_openapi::api::core::v1::Service>();
    services.delete("web", &delete).await.expect("delete");
    let is_done = |cluster: &Simulated| {
        let deployment = cluster.get("deployments", "web");
        container(&deployment)["image"] == "registry.local/web:2"
            && !cluster.get("services", "web").is_null()
    };
    cluster.until("both children are as planned", is_done).await;
    running.stop().await;
}
