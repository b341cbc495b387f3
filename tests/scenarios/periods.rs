//! What is found again without the periodic relist, which is far away: the first object of a new CRD, objects that
//! could not be decoded, requeues that did not fit, statuses whose write failed, owners that only a worker has met.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http_body_util::BodyExt;
use kube::client::Body;
use kubesim::{RequestFault, WatchFault};
use serde_json::{Value, json};
use tare::edgeapp::{EdgeApp, EdgeAppStatus, EdgeApps};
use tare_runtime::api::{Children, Failure, Kind, Operator, Owner, Plan, PlanError, Retry};
use tare_runtime::cache::Mode;
use tare_runtime::controller::Config;
use tokio::time::Instant;

use crate::cluster::Cluster;
use crate::cluster::simulated::{Simulated, config, pass, web};
use crate::examples::webapp::example::WebApps;
use crate::examples::{Example, SERVER_IMAGE, inference_service};
use crate::permissions::Refusal;

/// No watch of the operator shows that the object `first` was made, as with kine.
fn hide_the_first(cluster: &Simulated) {
    cluster
        .server
        .faults()
        .on_watch(|facts| match (facts.user, facts.event_type, facts.name) {
            ("tare", "ADDED", "first") => WatchFault::Drop,
            _ => WatchFault::Pass,
        });
}

pub async fn the_first_object_of_a_new_crd_that_no_watch_shows_is_found_within_a_minute(
    mode: Mode,
) {
    let cluster = Simulated::new(mode);
    let running = cluster.operate_with(EdgeApps, cluster.server.client("tare"), unconfigured());
    running.until_ready().await;
    // It costs one list of the owners a minute, and nothing else.
    let (lists, reads) = (cluster.requests("list", "edgeapps"), cluster.reads());
    pass(600).await;
    let lists = cluster.requests("list", "edgeapps") - lists;
    assert!((11..=15).contains(&lists), "{lists} lists in ten minutes");
    // The watches of three kinds are opened again after 290 s each.
    assert!(cluster.reads() - reads <= lists + 3 * 3);

    hide_the_first(&cluster);
    cluster.create("first", web()).await;
    let made = Instant::now();
    cluster.until_phase("first", "Running").await;
    assert!(made.elapsed().as_secs() <= 60, "{:?}", made.elapsed());
    let lists = cluster.requests("list", "edgeapps");
    pass(3_600).await;
    assert_eq!(cluster.requests("list", "edgeapps"), lists);
    running.stop().await;

    // The same where neither a status nor a finalizer tells that the owner is new.
    let simulated = Simulated::new(mode);
    let cluster = Cluster::simulated(simulated.clone());
    Example::MyService.install(&cluster).await;
    let running = Example::MyService.run_in(&simulated);
    running.until_ready().await;
    hide_the_first(&simulated);
    let spec = json!({ "image": "nginx:1.27", "replicas": 3 });
    Example::MyService.create(&cluster, "first", spec).await;
    let made = Instant::now();
    cluster.until_there("services", "first-service").await;
    assert!(made.elapsed().as_secs() <= 60, "{:?}", made.elapsed());
    running.stop().await;
}

/// The deletion of the first EdgeApp is shown while a worker has it, and no watch shows the next one of its name.
pub async fn an_owner_created_again_that_only_a_worker_has_met_is_reconciled(mode: Mode) {
    let cluster = Simulated::new(mode);
    let running = cluster.operate_with(EdgeApps, cluster.server.client("tare"), unconfigured());
    running.until_ready().await;
    cluster
        .server
        .faults()
        .on_request(|facts| match (facts.user, facts.verb, facts.resource) {
            ("tare", "create", "deployments") => RequestFault::Delay(Duration::from_secs(2)),
            _ => RequestFault::Pass,
        });
    cluster.create("web", web()).await;
    pass(1).await;
    let faults = cluster.server.faults();
    faults.on_watch(
        |facts| match (facts.user, facts.resource, facts.event_type) {
            ("tare", "edgeapps", "ADDED") => WatchFault::Drop,
            _ => WatchFault::Pass,
        },
    );
    cluster.delete("web").await;
    cluster.create("web", web()).await;
    cluster.until_phase("web", "Running").await;
    running.stop().await;
}

/// A client whose next answer to such a request has an object that cannot be decoded.
pub fn garbling(
    cluster: &Simulated,
    is_meant: fn(&http::Request<Body>) -> bool,
) -> (kube::Client, Arc<AtomicBool>) {
    let (client, next) = (
        cluster.server.client("tare"),
        Arc::new(AtomicBool::new(false)),
    );
    let is_next = Arc::clone(&next);
    let service = tower::service_fn(move |request: http::Request<Body>| {
        let (client, is_next) = (client.clone(), Arc::clone(&is_next));
        async move {
            let garbles = is_meant(&request) && is_next.swap(false, Relaxed);
            let response = client.send(request).await.map_err(tower::BoxError::from)?;
            let (parts, body) = response.into_parts();
            let body = match garbles {
                true => {
                    let whole = body.collect().await?.to_bytes();
                    let mut answer: Value = serde_json::from_slice(&whole)?;
                    let object = match answer.get("items").is_some() {
                        true => &mut answer["items"][0],
                        false => &mut answer,
                    };
                    object["metadata"]["finalizers"] = json!("none");
                    Body::from(answer.to_string().into_bytes())
                }
                false => body,
            };
            Ok::<_, tower::BoxError>(http::Response::from_parts(parts, body))
        }
    });
    (kube::Client::new(service, "default"), next)
}

pub async fn an_owner_that_a_list_does_not_show_legibly_is_listed_again_within_ten_minutes(
    mode: Mode,
) {
    let cluster = Simulated::new(mode);
    let cluster = cluster.waiting_up_to(Duration::from_secs(600), "it is listed again late");
    cluster.create("web", web()).await;
    let (client, next) = garbling(&cluster, |request| {
        request.uri().path().ends_with("/edgeapps")
            && !request.uri().query().unwrap_or_default().contains("watch")
    });
    next.store(true, Relaxed);
    let running = cluster.operate_with(EdgeApps, client, unconfigured());
    cluster.until_phase("web", "Running").await;
    assert!(!next.load(Relaxed));
    running.stop().await;
}

/// No watch and no list has compared it with its children.
pub async fn a_child_that_goes_unseen_while_its_owner_is_listed_illegibly_comes_back(mode: Mode) {
    let cluster = Simulated::new(mode);
    let cluster = cluster.waiting_up_to(Duration::from_secs(600), "it is listed again late");
    let (client, next) = garbling(&cluster, |request| {
        request.uri().path().ends_with("/edgeapps")
            && !request.uri().query().unwrap_or_default().contains("watch")
    });
    let running = cluster.operate_with(EdgeApps, client, unconfigured());
    running.until_ready().await;
    cluster.create("web", web()).await;
    cluster.until_phase("web", "Running").await;
    pass(120).await;
    let expires = AtomicBool::new(true);
    let faults = cluster.server.faults();
    faults.on_watch(move |facts| match (facts.user, facts.resource) {
        ("tare", "deployments") if expires.swap(false, Relaxed) => WatchFault::Error410,
        _ => WatchFault::Pass,
    });
    next.store(true, Relaxed);
    let delete = kube::api::DeleteParams::default();
    let deployments = cluster.api::<k8s_openapi::api::apps::v1::Deployment>();
    deployments.delete("web", &delete).await.expect("delete");
    let is_back = |cluster: &Simulated| !cluster.get("deployments", "web").is_null();
    cluster.until("the Deployment is back", is_back).await;
    assert!(!next.load(Relaxed));
    running.stop().await;
}

pub async fn an_owner_whose_answer_cannot_be_decoded_is_read_again(mode: Mode) {
    let cluster = Simulated::new(mode);
    let (client, next) = garbling(&cluster, |request| {
        request.method() == http::Method::GET && request.uri().path().ends_with("/edgeapps/web")
    });
    let running = cluster.operate_with(EdgeApps, client, unconfigured());
    running.until_ready().await;
    cluster.create("web", web()).await;
    cluster.until_phase("web", "Running").await;
    pass(120).await;
    next.store(true, Relaxed);
    // It makes the operator read the owner where nothing of it is kept.
    let delete = kube::api::DeleteParams::default();
    let services = cluster.api::<k8s_openapi::api::core::v1::Service>();
    services.delete("web", &delete).await.expect("delete");
    let is_back = |cluster: &Simulated| !cluster.get("services", "web").is_null();
    cluster.until("the Service is back", is_back).await;
    running.stop().await;
}

/// One requeue fits. The other owners are compared by relists that wait for one to ten minutes: their children, which
/// no watch shows any more, are set back.
pub async fn owners_whose_requeues_do_not_fit_are_compared_within_ten_minutes(mode: Mode) {
    let simulated = Simulated::new(mode);
    let simulated = simulated.waiting_up_to(Duration::from_secs(660), "relists come late");
    let cluster = Cluster::simulated(simulated.clone());
    Example::InferenceService.install(&cluster).await;
    let operator = inference_service::example::InferenceServices {
        image: SERVER_IMAGE.to_owned(),
    };
    let config = Config {
        requeues: 1,
        ..unconfigured()
    };
    let running = simulated.operate_with(operator, simulated.server.client("tare"), config);
    running.until_ready().await;
    let spec = json!({ "model": "tiny", "replicas": 2, "gpu_type": "H100", "max_batch_size": 8 });
    let names = ["one", "two", "three"];
    for name in names {
        let object = Example::InferenceService;
        object.create(&cluster, name, spec.clone()).await;
    }
    for name in names {
        let is_ready = |object: &Value| object["status"]["phase"] == "Ready";
        cluster
            .until("Ready", "inferenceservices", name, is_ready)
            .await;
    }
    simulated
        .server
        .faults()
        .on_watch(|facts| match (facts.user, facts.resource) {
            ("tare", "services") => WatchFault::Drop,
            _ => WatchFault::Pass,
        });
    for name in names {
        cluster.delete("services", name).await;
    }
    for name in names {
        cluster.until_there("services", name).await;
    }
    running.stop().await;
}

/// EdgeApps whose plan is an error that only another spec resolves.
struct Impossible;

/// Why there is no plan.
#[derive(Debug, thiserror::Error)]
#[error("not possible")]
struct NotPossible;

impl PlanError for NotPossible {
    fn reason(&self) -> &'static str {
        "Impossible"
    }
    fn retry(&self) -> Retry {
        Retry::AwaitChange
    }
}

impl Operator for Impossible {
    type Status = EdgeAppStatus;
    type Resource = EdgeApp;
    type Error = NotPossible;
    type Observed = ();
    const NAME: &'static str = EdgeApps::NAME;
    const FINALIZER: Option<&'static str> = None;
    const KINDS: &'static [Kind] = EdgeApps::KINDS;

    fn plan(&self, _: &Owner<Self>, _: &Children) -> Result<Plan<EdgeAppStatus>, NotPossible> {
        Err(NotPossible)
    }

    fn failed(
        &self,
        owner: &Owner<Self>,
        children: &Children,
        failure: &Failure,
    ) -> Option<EdgeAppStatus> {
        let owner = Owner::new(owner.meta.clone(), owner.spec.clone());
        EdgeApps.failed(&owner, children, failure)
    }
}

pub async fn a_failure_that_only_a_change_resolves_is_told_although_its_status_was_refused(
    mode: Mode,
) {
    let cluster = Simulated::new(mode);
    let refusal = Refusal::of_permission(&cluster, "patch", "edgeapps");
    let client = cluster.server.client("tare");
    cluster.create("web", web()).await;
    let running = cluster.operate_with(Impossible, client, unconfigured());
    pass(5).await;
    refusal.lift();
    cluster.until_phase("web", "Failed").await;
    // It is told; only a change can help.
    let requests = |cluster: &Simulated| cluster.reads() + cluster.writes();
    pass(5).await;
    let sent = requests(&cluster);
    pass(200).await;
    assert_eq!(requests(&cluster), sent);
    running.stop().await;
}

/// An answer that says nothing of a status that was written.
pub async fn a_status_whose_write_was_executed_and_refused_is_written_again(mode: Mode) {
    let simulated = Simulated::new(mode);
    let cluster = Cluster::simulated(simulated.clone());
    Example::WebApp.install(&cluster).await;
    let client = simulated.server.client("tare");
    let late = Arc::new(AtomicBool::new(false));
    let is_late = Arc::clone(&late);
    let service = tower::service_fn(move |request: http::Request<Body>| {
        let (client, is_late) = (client.clone(), Arc::clone(&is_late));
        async move {
            let is_meant = request.uri().path().ends_with("/web/status");
            let mut response = client.send(request).await.map_err(tower::BoxError::from)?;
            if is_meant && is_late.swap(false, Relaxed) {
                *response.status_mut() = http::StatusCode::GATEWAY_TIMEOUT;
            }
            Ok::<_, tower::BoxError>(response)
        }
    });
    let client = kube::Client::new(service, "default");
    let running = simulated.operate_with(WebApps, client, config());
    running.until_ready().await;
    let spec = |image: &str| json!({ "image": image, "replicas": 2 });
    Example::WebApp.create(&cluster, "web", spec("web:1")).await;
    let is_ready = |object: &Value| object["status"]["ready"] == true;
    cluster.until("ready", "webapps", "web", is_ready).await;
    pass(120).await;
    // The Deployment is ready again before the next attempt.
    late.store(true, Relaxed);
    Example::WebApp.change(&cluster, "web", spec("web:2")).await;
    let is_not_ready = |object: &Value| object["status"]["ready"] == false;
    cluster
        .until("not ready", "webapps", "web", is_not_ready)
        .await;
    assert!(!late.load(Relaxed));
    cluster.until("ready", "webapps", "web", is_ready).await;
    running.stop().await;
}

/// The write of a status is executed and answered with 504, the read that follows is refused: which status the EdgeApp
/// has is not known. In mode `metadata` a watch tells its resourceVersion.
pub async fn a_status_in_doubt_is_not_replaced_by_an_older_one(mode: Mode) {
    let cluster = Simulated::new(mode);
    let client = cluster.server.client("tare");
    let (faults_left, observed) = (Arc::new(AtomicUsize::new(2)), Arc::default());
    let observed: Arc<Mutex<Vec<Option<i64>>>> = observed;
    let (left, seen, server) = (
        Arc::clone(&faults_left),
        Arc::clone(&observed),
        cluster.clone(),
    );
    let service = tower::service_fn(move |request: http::Request<Body>| {
        let (client, left, seen) = (client.clone(), Arc::clone(&left), Arc::clone(&seen));
        let server = server.clone();
        async move {
            let path = request.uri().path();
            let is_status = path.ends_with("/edgeapps/web/status");
            let is_read = path.ends_with("/edgeapps/web") && request.method() == http::Method::GET;
            let mut response = client.send(request).await.map_err(tower::BoxError::from)?;
            if is_status {
                let observed =
                    server.get("edgeapps", "web")["status"]["observedGeneration"].as_i64();
                seen.lock().unwrap().push(observed);
            }
            let code = match left.load(Relaxed) {
                2 if is_status => Some(http::StatusCode::GATEWAY_TIMEOUT),
                1 if is_read => Some(http::StatusCode::UNPROCESSABLE_ENTITY),
                _ => None,
            };
            if let Some(code) = code {
                *response.status_mut() = code;
                left.fetch_sub(1, Relaxed);
            }
            Ok::<_, tower::BoxError>(response)
        }
    });
    let client = kube::Client::new(service, "default");
    let running = cluster.operate_with(EdgeApps, client, unconfigured());
    running.until_ready().await;
    cluster.create("web", web()).await;
    cluster.until_phase("web", "Running").await;
    pass(60).await;
    assert_eq!(faults_left.load(Relaxed), 0);
    let observed = observed.lock().unwrap().clone();
    assert!(observed.is_sorted(), "{observed:?}");
    running.stop().await;
}

/// The default period of the relist: nothing here waits for it.
fn unconfigured() -> Config {
    Config {
        resync: None,
        ..config()
    }
}
