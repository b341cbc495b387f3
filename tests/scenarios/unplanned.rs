//! Children that leave the plan go, without the operator naming them; those of others stay.

use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Service;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use kube::client::Body;
use kubesim::RequestFault;
use serde_json::{Value, json};
use tare::edgeapp::{CRD_YAML, EdgeApp, EdgeAppStatus, EdgeApps};
use tare_runtime::api::{
    CONFIG_MAP, Child, Children, DEPLOYMENT, Kind, Operator, Owner, Plan, SERVICE,
};
use tare_runtime::cache::Mode;

use crate::cache_modes::with_idle_web;
use crate::cluster::Cluster;
use crate::cluster::simulated::{Running, Simulated, config, pass, web};
use crate::periods::garbling;

/// EdgeApps with a ConfigMap while they have variables, and with a Service, whose name does not follow from the
/// owner's, while they have a port. Neither is named when it is not wanted.
struct Sparing;

impl Operator for Sparing {
    type Status = EdgeAppStatus;
    type Resource = EdgeApp;
    type Error = Infallible;
    type Observed = ();
    const NAME: &'static str = EdgeApps::NAME;
    const FINALIZER: Option<&'static str> = None;
    const KINDS: &'static [Kind] = &[SERVICE, DEPLOYMENT, CONFIG_MAP];

    fn plan(
        &self,
        owner: &Owner<Self>,
        children: &Children,
    ) -> Result<Plan<EdgeAppStatus>, Infallible> {
        let mut plan = EdgeApps.plan(
            &Owner::new(owner.meta.clone(), owner.spec.clone()),
            children,
        )?;
        let labels = json!({ "app": "sparing" });
        let container = json!({ "name": "app", "image": owner.spec.image });
        let deployment = json!({ "spec": {
            "replicas": owner.spec.replicas, "selector": { "matchLabels": labels },
            "template": { "metadata": { "labels": labels }, "spec": { "containers": [container] } },
        } });
        plan.children = vec![Child::new(DEPLOYMENT, &*owner.meta.name, deployment)];
        if !owner.spec.env.is_empty() {
            let name = format!("{}-settings", owner.meta.name);
            let data = json!({ "data": { "variables": owner.spec.env.len().to_string() } });
            plan.children.push(Child::new(CONFIG_MAP, name, data));
        }
        if let Some(port) = owner.spec.port {
            let name = format!("port-{port}");
            let spec = json!({ "spec": { "clusterIP": "None", "ports": [{ "port": port }] } });
            plan.children.push(Child::new(SERVICE, name, spec));
        }
        Ok(plan)
    }
}

fn operate(cluster: &Simulated) -> Running {
    cluster.operate_with(Sparing, cluster.server.client("tare"), config())
}

/// A cluster with one EdgeApp that has all of its children, and the operator.
async fn with_all(mode: Mode) -> (Simulated, Running) {
    let cluster = Simulated::new(mode);
    let running = operate(&cluster);
    running.until_ready().await;
    cluster.create("web", web()).await;
    cluster.until_phase("web", "Running").await;
    pass(5).await;
    assert!(!cluster.get("configmaps", "web-settings").is_null());
    assert!(!cluster.get("services", "port-8080").is_null());
    (cluster, running)
}

async fn until_only_the_deployment_is_left(cluster: &Simulated) {
    cluster.until_gone("configmaps", "web-settings").await;
    cluster.until_gone("services", "port-8080").await;
    cluster.until_phase("web", "Running").await;
    assert!(!cluster.get("deployments", "web").is_null());
}

fn without_all() -> Value {
    json!({ "env": null, "port": null, "headless": null })
}

pub async fn children_that_leave_the_plan_go(mode: Mode) {
    let (cluster, running) = with_all(mode).await;
    // Named like a child and labelled like one, but nobody's: not ours to delete.
    let user = Cluster::simulated(cluster.clone());
    let labels = cluster.get("configmaps", "web-settings")["metadata"]["labels"].clone();
    cluster.create("other", json!({ "image": "web:1" })).await;
    let stranger = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": "other-settings", "labels": labels },
    });
    user.make("configmaps", stranger).await;
    pass(5).await;
    let (lists, reads) = (cluster.requests("list", "configmaps"), cluster.reads());
    cluster.change("web", without_all()).await;
    until_only_the_deployment_is_left(&cluster).await;
    cluster.change("other", json!({ "image": "web:2" })).await;
    pass(30).await;
    assert!(!cluster.get("configmaps", "other-settings").is_null());
    let listed = cluster.requests("list", "configmaps") - lists;
    assert_eq!(listed, 0, "its name follows from the owner's");
    assert!(
        cluster.reads() - reads <= 20,
        "{} reads",
        cluster.reads() - reads
    );
    running.stop().await;
}

pub async fn a_child_that_leaves_the_plan_while_the_operator_is_down_goes(mode: Mode) {
    let (cluster, running) = with_all(mode).await;
    running.kill().await;
    cluster.change("web", without_all()).await;
    let running = operate(&cluster);
    until_only_the_deployment_is_left(&cluster).await;
    running.stop().await;
}

pub async fn a_crash_before_a_child_that_left_the_plan_is_deleted_does_not_keep_it(mode: Mode) {
    for committed in [false, true] {
        let (cluster, running) = with_all(mode).await;
        cluster.server.faults().on_request(move |facts| {
            match (facts.user, facts.verb, committed) {
                ("tare", "delete", true) => RequestFault::AfterDrop,
                ("tare", "delete", false) => RequestFault::Hang,
                _ => RequestFault::Pass,
            }
        });
        cluster.change("web", without_all()).await;
        pass(3).await;
        running.kill().await;
        cluster.server.faults().clear();
        let running = operate(&cluster);
        until_only_the_deployment_is_left(&cluster).await;
        running.stop().await;
    }
}

/// The first attempt ends with its process once it has made the children, and the owner's status still tells nothing.
pub async fn a_child_of_a_first_attempt_that_a_crash_ended_goes_with_a_spec_without_it(mode: Mode) {
    let cluster = Simulated::new(mode);
    cluster
        .server
        .faults()
        .on_request(|facts| match (facts.user, facts.verb, facts.resource) {
            ("tare", "patch", "edgeapps") => RequestFault::Hang,
            _ => RequestFault::Pass,
        });
    let running = operate_edgeapps(&cluster);
    running.until_ready().await;
    cluster.create("web", web()).await;
    pass(3).await;
    assert!(!cluster.get("services", "web").is_null());
    running.kill().await;
    cluster.server.faults().clear();
    cluster.change("web", without_all()).await;
    let running = operate_edgeapps(&cluster);
    cluster.until_phase("web", "Running").await;
    cluster.until_gone("services", "web").await;
    running.stop().await;
}

fn operate_edgeapps(cluster: &Simulated) -> Running {
    cluster.operate_with(EdgeApps, cluster.server.client("tare"), config())
}

/// The status speaks of the newest spec already: only the child itself tells that it is left.
pub async fn a_child_of_an_earlier_version_is_found_by_a_start_and_by_its_event(mode: Mode) {
    let (cluster, running) = with_all(mode).await;
    let user = Cluster::simulated(cluster.clone());
    let mut left = cluster.get("configmaps", "web-settings");
    let meta = left["metadata"].as_object_mut().expect("metadata");
    meta.retain(|key, _| matches!(&**key, "labels" | "ownerReferences"));
    left["metadata"]["name"] = "web-legacy".into();
    user.make("configmaps", left.clone()).await;
    cluster.until_gone("configmaps", "web-legacy").await;
    running.stop().await;

    left["metadata"]["name"] = "web-older".into();
    user.make("configmaps", left).await;
    let running = operate(&cluster);
    cluster.until_gone("configmaps", "web-older").await;
    assert!(!cluster.get("configmaps", "web-settings").is_null());
    running.stop().await;
}

/// The first relist does not show the ConfigMap legibly, which an earlier spec asked for.
pub async fn a_child_that_left_the_plan_and_is_not_shown_legibly_goes_within_ten_minutes(
    mode: Mode,
) {
    let (cluster, running) = with_all(mode).await;
    running.kill().await;
    cluster.change("web", without_all()).await;
    // By the label of their owners: Services with other names come first.
    let (client, next) = garbling(&cluster, |request| {
        let query = request.uri().query().unwrap_or_default();
        request.uri().path().ends_with("/configmaps") && query.contains("owner")
    });
    next.store(true, Relaxed);
    let running = cluster.operate_with(Sparing, client, config());
    let cluster = cluster.waiting_up_to(Duration::from_secs(600), "it is listed again late");
    until_only_the_deployment_is_left(&cluster).await;
    assert!(!next.load(Relaxed));
    running.stop().await;
}

/// The same with a finalizer.
struct Guarded;

impl Operator for Guarded {
    type Status = EdgeAppStatus;
    type Resource = EdgeApp;
    type Error = Infallible;
    type Observed = ();
    const NAME: &'static str = EdgeApps::NAME;
    const FINALIZER: Option<&'static str> = Some("example.com/children-first");
    const KINDS: &'static [Kind] = Sparing::KINDS;

    fn plan(
        &self,
        owner: &Owner<Self>,
        children: &Children,
    ) -> Result<Plan<EdgeAppStatus>, Infallible> {
        let owner = Owner::new(owner.meta.clone(), owner.spec.clone());
        Sparing.plan(&owner, children)
    }
}

/// The first relist comes no further than the ConfigMaps, one of which an earlier spec asked for.
pub async fn an_owner_that_is_deleted_during_the_first_relist_outlives_its_children(mode: Mode) {
    let cluster = Simulated::new(mode);
    let running = cluster.operate_with(Guarded, cluster.server.client("tare"), config());
    running.until_ready().await;
    cluster.create("web", web()).await;
    cluster.until_phase("web", "Running").await;
    running.kill().await;
    cluster.change("web", without_all()).await;
    let is_refused = Arc::new(AtomicBool::new(false));
    let refused = Arc::clone(&is_refused);
    cluster.server.faults().on_request(move |facts| {
        match (facts.user, facts.verb, facts.resource) {
            ("tare", "list", "configmaps") if !refused.swap(true, Relaxed) => {
                RequestFault::Status {
                    code: 400,
                    reason: "BadRequest".to_owned(),
                    message: "not now".to_owned(),
                    retry_after_s: None,
                }
            }
            _ => RequestFault::Pass,
        }
    });
    let (client, left) = watching_the_finalizer(&cluster);
    let running = cluster.operate_with(Guarded, client, config());
    cluster
        .until("the relist has failed", |_| is_refused.load(Relaxed))
        .await;
    cluster.delete("web").await;
    cluster.until_gone("edgeapps", "web").await;
    let left = left.lock().unwrap().clone();
    assert!(left.is_empty(), "the finalizer went before {left:?}");
    running.stop().await;
}

/// Children with names of their own are listed by the label of their owners, 50 at a time.
pub async fn an_owner_whose_name_no_label_can_hold_is_relisted_with_the_others(mode: Mode) {
    let (cluster, running) = with_all(mode).await;
    let rule = "self.metadata.name.matches('^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$')";
    let any_name = CRD_YAML.replace(rule, "'true'");
    cluster.server.install(&any_name).expect("a looser CRD");
    let long = ["an-edgeapp-with-a-name".repeat(4), "x".into()].concat();
    cluster
        .create(
            &long,
            json!({ "image": "web:1", "env": [{ "name": "A", "value": "1" }] }),
        )
        .await;
    cluster.until_phase(&long, "Running").await;
    running.stop().await;
    let user = Cluster::simulated(cluster.clone());
    let settings = format!("{long}-settings");
    user.delete("configmaps", &settings).await;
    user.delete("configmaps", "web-settings").await;
    let running = operate(&cluster);
    running.until_ready().await;
    for name in ["web-settings", &settings] {
        cluster
            .until("the ConfigMap is back", |cluster| {
                !cluster.get("configmaps", name).is_null()
            })
            .await;
    }
    running.stop().await;
}

/// A client that notes which children are there when the finalizer of the owner goes.
fn watching_the_finalizer(cluster: &Simulated) -> (kube::Client, Arc<Mutex<Vec<&'static str>>>) {
    let left: Arc<Mutex<Vec<&'static str>>> = Arc::default();
    let (client, server, seen) = (
        cluster.server.client("tare"),
        cluster.clone(),
        Arc::clone(&left),
    );
    let service = tower::service_fn(move |request: http::Request<Body>| {
        let is_patch = request.method() == http::Method::PATCH;
        if is_patch && request.uri().path().ends_with("/edgeapps/web") {
            let children = [
                ("configmaps", "web-settings"),
                ("services", "port-8080"),
                ("deployments", "web"),
            ];
            let there = children
                .into_iter()
                .filter(|(resource, name)| !server.get(resource, name).is_null());
            let mut seen = seen.lock().unwrap();
            seen.extend(there.map(|(resource, _)| resource));
        }
        let client = client.clone();
        async move { client.send(request).await.map_err(tower::BoxError::from) }
    });
    (kube::Client::new(service, "default"), left)
}

/// A list by label does not show it, and nobody else says that it is there.
pub async fn a_child_whose_label_somebody_changed_goes_before_the_finalizer(mode: Mode) {
    let cluster = Simulated::new(mode);
    let running = cluster.operate_with(Guarded, cluster.server.client("tare"), config());
    running.until_ready().await;
    cluster.create("web", web()).await;
    cluster.until_phase("web", "Running").await;
    running.kill().await;
    let label = json!({"metadata": {"labels": {"tare.dev/owner": "other"}}});
    cluster
        .api::<Deployment>()
        .patch("web", &PatchParams::default(), &Patch::Merge(label))
        .await
        .expect("edited");
    cluster.delete("web").await;
    let (client, left) = watching_the_finalizer(&cluster);
    let running = cluster.operate_with(Guarded, client, config());
    cluster.until_gone("edgeapps", "web").await;
    let left = left.lock().unwrap().clone();
    assert!(left.is_empty(), "the finalizer went before {left:?}");
    running.stop().await;
}

/// Three changes within the time in which events of an idle owner are merged. Of the second one a cache that retains the plan
/// says that nothing is to be done.
pub async fn a_child_that_somebody_makes_again_goes_with_a_spec_without_it(mode: Mode) {
    let (cluster, running) = with_idle_web(mode).await;
    let services: Api<Service> = cluster.api();
    let mut service = services.get("web").await.expect("a Service");
    let how = DeleteParams::default();
    services.delete("web", &how).await.expect("delete it");
    (service.metadata.uid, service.metadata.resource_version) = (None, None);
    let how = PostParams::default();
    services.create(&how, &service).await.expect("make it");
    tokio::time::sleep(Duration::from_millis(100)).await;
    let without = json!({ "port": null, "headless": null });
    cluster.change("web", without).await;
    pass(10).await;
    assert_eq!(cluster.get("services", "web"), Value::Null);
    assert_eq!(cluster.phase("web"), "Running");
    running.stop().await;
}
