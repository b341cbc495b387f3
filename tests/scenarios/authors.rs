//! What the author of a plan can see and say: labels of the owner, any status of a child, a pause, conditions beside those
//! of others.

use std::time::Duration;

use http::Method;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, DeleteParams};
use serde_json::{Value, json};
use tare::edgeapp::EdgeApp;
use tare_runtime::api::{
    CONFIG_MAP, Child, Children, Condition, Failure, JOB, Kind, LOAD_BALANCER, Operator, Owner,
    OwnerStatus, PERSISTENT_VOLUME_CLAIM, Plan, PlanError, Requeue, Retry, STATEFUL_SET, Writes,
};
use tare_runtime::cache::Mode;
use tare_runtime::k8s_openapi::api::apps::v1::StatefulSet;

use crate::cluster::objects::text;
use crate::cluster::simulated::{Running, Simulated, config, pass};
use crate::cluster::user::{MERGE, send};

pub const PAUSED: &str = "example.com/paused";
const TIER: &str = "example.com/tier";
const APPROVED: &str = "example.com/approved";

/// An operator for EdgeApps that become a StatefulSet with a claim, a Job, an address and a ConfigMap. Children are applied
/// by the server where `APPLY` says so.
pub struct Author<const APPLY: bool>;

/// As much of the status of an EdgeApp as is looked at here.
#[derive(serde::Serialize, serde::Deserialize, Clone, Debug, Default)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    #[serde(default)]
    pub ready_replicas: i32,
    /// What the plan has seen.
    pub endpoint: Option<String>,
    pub observed_generation: Option<i64>,
    #[serde(default)]
    pub conditions: Vec<Condition>,
}

impl OwnerStatus for Status {
    const CONDITIONS: &'static [&'static str] = &["Ready"];

    fn observed_generation(&self) -> Option<i64> {
        self.observed_generation
    }
    fn ready(&self) -> bool {
        self.conditions.iter().any(|one| one.status == "True")
    }
    fn conditions(&mut self) -> &mut [Condition] {
        &mut self.conditions
    }
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("the annotation {APPROVED} is missing")]
    NotApproved,
    #[error("no such image")]
    NoImage,
}

impl PlanError for Error {
    fn reason(&self) -> &'static str {
        match self {
            Self::NotApproved => "NotApproved",
            Self::NoImage => "NoImage",
        }
    }
    fn retry(&self) -> Retry {
        Retry::AwaitChange
    }
}

/// As an author writes it who has the types of the API.
fn stateful_set(name: &str) -> StatefulSet {
    let mut set = StatefulSet::default();
    set.metadata.name = Some(name.to_owned());
    let mut spec = k8s_openapi::api::apps::v1::StatefulSetSpec {
        service_name: Some(name.to_owned()),
        ..Default::default()
    };
    let labels = std::collections::BTreeMap::from([("app".to_owned(), name.to_owned())]);
    spec.selector.match_labels = Some(labels.clone());
    spec.template.metadata.get_or_insert_default().labels = Some(labels);
    let mut container = k8s_openapi::api::core::v1::Container::default();
    (container.name, container.image) = ("db".to_owned(), Some("db:1".to_owned()));
    spec.template.spec.get_or_insert_default().containers = vec![container];
    set.spec = Some(spec);
    set
}

impl<const APPLY: bool> Operator for Author<APPLY> {
    type Resource = EdgeApp;
    type Status = Status;
    type Error = Error;
    type Observed = ();
    const NAME: &'static str = "tare";
    const FINALIZER: Option<&'static str> = None;
    const KINDS: &'static [Kind] = &[
        CONFIG_MAP,
        JOB,
        LOAD_BALANCER,
        STATEFUL_SET,
        PERSISTENT_VOLUME_CLAIM,
    ];
    const WRITES: Writes = if APPLY { Writes::Apply } else { Writes::Patch };

    fn plan(&self, owner: &Owner<Self>, seen: &Children) -> Result<Plan<Status>, Error> {
        let (name, image) = (&*owner.meta.name, &*owner.spec.image);
        let mut data = json!({"tier": owner.meta.labels.get(TIER)});
        match image {
            "approve" if !owner.meta.annotations.contains_key(APPROVED) => {
                return Err(Error::NotApproved);
            }
            "none" => return Err(Error::NoImage),
            _ => data[image.replace(':', "-")] = "1".into(),
        }
        let claim = json!({"spec": {
            "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}},
        }});
        let pod =
            json!({"restartPolicy": "Never", "containers": [{"name": "c", "image": "init:1"}]});
        let ports = json!([{"port": 80}]);
        let addresses: Option<Vec<Value>> = seen
            .get(&LOAD_BALANCER, name)
            .and_then(|service| service.field("/loadBalancer/ingress"));
        let address = addresses.as_ref().and_then(|all| all[0]["ip"].as_str());
        let phase: Option<String> = seen
            .get(&PERSISTENT_VOLUME_CLAIM, name)
            .and_then(|claim| claim.field("/phase"));
        let done = seen
            .get(&JOB, name)
            .and_then(|job| job.condition("Complete"));
        let ready = seen
            .get(&STATEFUL_SET, name)
            .is_some_and(|set| set.is_ready(1));
        let told = format!("{address:?} {phase:?} {done:?} {ready}");
        Ok(Plan {
            children: vec![
                Child::of(&stateful_set(name)),
                Child::new(PERSISTENT_VOLUME_CLAIM, name, claim),
                Child::new(JOB, name, json!({"spec": {"template": {"spec": pod}}})),
                Child::new(
                    LOAD_BALANCER,
                    name,
                    json!({"spec": {"type": "LoadBalancer", "ports": ports}}),
                ),
                Child::new(CONFIG_MAP, name, json!({"data": data})),
            ],
            status: status(
                owner,
                seen,
                told,
                Condition::new("Ready", ready, "Counted", "", 0),
            ),
            requeue: Requeue::Default,
        })
    }

    fn failed(&self, owner: &Owner<Self>, seen: &Children, failure: &Failure) -> Option<Status> {
        let ready = Condition::new("Ready", false, failure.reason, &*failure.message, 0);
        Some(status(owner, seen, "failed".to_owned(), ready))
    }

    fn is_paused(&self, owner: &Owner<Self>) -> bool {
        owner.meta.annotations.contains_key(PAUSED)
    }
}

fn status<const APPLY: bool>(
    owner: &Owner<Author<APPLY>>,
    seen: &Children,
    told: String,
    ready: Condition,
) -> Status {
    let set = seen.get(&STATEFUL_SET, &owner.meta.name);
    Status {
        ready_replicas: set.map_or(0, |set| set.ready_replicas),
        endpoint: Some(told),
        observed_generation: Some(owner.meta.generation),
        conditions: vec![ready],
    }
}

fn operate<const APPLY: bool>(cluster: &Simulated) -> Running {
    let client = cluster.server.client("tare");
    cluster.operate_with(Author::<APPLY>, client, config())
}

/// Merges `patch` into an EdgeApp or into one of its subresources, as another client than the operator.
async fn edit(cluster: &Simulated, subresource: &str, patch: Value) {
    edit_at(
        cluster,
        &format!("/apis/tare.dev/v1alpha1/namespaces/default/edgeapps/web{subresource}"),
        patch,
    )
    .await;
}

pub async fn edit_at(cluster: &Simulated, path: &str, patch: Value) {
    let edited = send(&cluster.client, Method::PATCH, path, MERGE, &patch).await;
    edited.unwrap_or_else(|error| panic!("edit {path}: {error}"));
}

/// Labels (`labels`) or annotations of an EdgeApp.
pub async fn mark(cluster: &Simulated, which: &str, name: &str, value: Value) {
    edit(cluster, "", json!({"metadata": {which: {name: value}}})).await;
}

pub fn endpoint(cluster: &Simulated) -> String {
    text(&cluster.get("edgeapps", "web"), "/status/endpoint")
}

pub async fn until_ready(cluster: &Simulated) {
    cluster
        .until("web is ready", |cluster| {
            cluster.condition("web", "Ready")["status"] == "True"
        })
        .await;
}

pub async fn a_plan_sees_what_a_kind_declares_of_a_status(mode: Mode) {
    let cluster = Simulated::new(mode);
    let running = operate::<false>(&cluster);
    cluster.create("web", json!({"image": "web:1"})).await;
    until_ready(&cluster).await;
    pass(60).await;
    let ingress = json!({"status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.7"}]}}});
    let namespace = "/api/v1/namespaces/default";
    edit_at(
        &cluster,
        &format!("{namespace}/services/web/status"),
        ingress,
    )
    .await;
    cluster
        .until("the address is in the status", |cluster| {
            endpoint(cluster).contains("192.0.2.7")
        })
        .await;
    let claim = format!("{namespace}/persistentvolumeclaims/web/status");
    edit_at(&cluster, &claim, json!({"status": {"phase": "Lost"}})).await;
    cluster
        .until("the phase of the claim is in the status", |cluster| {
            endpoint(cluster).contains("Lost")
        })
        .await;
    let told = endpoint(&cluster);
    assert!(
        told.contains(r#"Some("True") true"#),
        "the Job and the StatefulSet: {told}"
    );
    // What is not declared makes no work.
    pass(120).await;
    let writes = cluster.writes();
    let scale = json!({"status": {"capacity": {"pods": "3"}}});
    edit_at(&cluster, &claim, scale).await;
    pass(120).await;
    assert_eq!(cluster.writes(), writes);
    running.stop().await;
}

pub async fn a_paused_owner_is_left_as_it_is_until_it_is_resumed(mode: Mode) {
    let cluster = Simulated::new(mode);
    let running = operate::<false>(&cluster);
    cluster.create("web", json!({"image": "web:1"})).await;
    until_ready(&cluster).await;
    pass(60).await;
    mark(&cluster, "annotations", PAUSED, "by hand".into()).await;
    let writes = cluster.writes();
    pass(10).await;
    cluster.change("web", json!({"image": "web:2"})).await;
    let maps: Api<ConfigMap> = cluster.api();
    let deleted = maps.delete("web", &DeleteParams::default()).await;
    deleted.expect("delete the ConfigMap");
    pass(3_600).await;
    assert_eq!(cluster.writes(), writes, "nothing is written");
    assert_eq!(cluster.get("configmaps", "web"), Value::Null);
    assert_eq!(cluster.server.objects("events").len(), 0);
    mark(&cluster, "annotations", PAUSED, Value::Null).await;
    cluster
        .until("it is as planned", |cluster| {
            cluster.get("configmaps", "web")["data"] == json!({"web-2": "1"})
        })
        .await;
    cluster
        .until("its status speaks of it", |cluster| {
            cluster.get("edgeapps", "web")["status"]["observedGeneration"] == 2
        })
        .await;
    // Drift while it is paused again is found when it goes on.
    pass(60).await;
    mark(&cluster, "annotations", PAUSED, "again".into()).await;
    pass(10).await;
    let map = json!({"data": {"web-2": "edited"}});
    edit_at(&cluster, "/api/v1/namespaces/default/configmaps/web", map).await;
    pass(3_600).await;
    mark(&cluster, "annotations", PAUSED, Value::Null).await;
    cluster
        .until("drift is set back", |cluster| {
            cluster.get("configmaps", "web")["data"] == json!({"web-2": "1"})
        })
        .await;
    running.stop().await;
}

pub async fn a_label_of_an_owner_plans_it_again(mode: Mode) {
    let cluster = Simulated::new(mode);
    let running = operate::<false>(&cluster);
    cluster.create("web", json!({"image": "web:1"})).await;
    until_ready(&cluster).await;
    // At once while its entry is there, and long after it is gone.
    for (tier, after_s) in [("gold", 0), ("silver", 5), ("bronze", 1_800)] {
        pass(after_s).await;
        mark(&cluster, "labels", TIER, tier.into()).await;
        let begun = tokio::time::Instant::now();
        cluster
            .until(&format!("the label {tier} is planned"), |cluster| {
                cluster.get("configmaps", "web")["data"]["tier"] == tier
            })
            .await;
        assert!(
            begun.elapsed() < Duration::from_secs(5),
            "{tier} {:?}",
            begun.elapsed()
        );
    }
    // A label is no status that another client keeps writing.
    pass(60).await;
    assert_eq!(cluster.server.objects("events").len(), 0);
    running.stop().await;
}

pub async fn a_failure_that_awaits_a_change_ends_with_an_annotation(mode: Mode) {
    let cluster = Simulated::new(mode);
    let running = operate::<false>(&cluster);
    cluster.create("web", json!({"image": "approve"})).await;
    cluster
        .until("it says so", |cluster| {
            cluster.condition("web", "Ready")["reason"] == "NotApproved"
        })
        .await;
    pass(20).await;
    mark(&cluster, "annotations", APPROVED, "by hand".into()).await;
    until_ready(&cluster).await;
    running.stop().await;
}

pub async fn a_failed_status_sees_the_children_in_every_mode(mode: Mode) {
    let cluster = Simulated::new(mode);
    let running = operate::<false>(&cluster);
    cluster.create("web", json!({"image": "web:1"})).await;
    until_ready(&cluster).await;
    pass(1_800).await;
    cluster.change("web", json!({"image": "none"})).await;
    cluster
        .until("it says so", |cluster| {
            cluster.condition("web", "Ready")["reason"] == "NoImage"
        })
        .await;
    let status = &cluster.get("edgeapps", "web")["status"];
    assert_eq!(status["readyReplicas"], 1, "its pod is ready: {status}");
    running.stop().await;
}

pub async fn conditions_of_another_client_stay(mode: Mode) {
    let cluster = Simulated::new(mode);
    let running = operate::<false>(&cluster);
    cluster.create("web", json!({"image": "web:1"})).await;
    until_ready(&cluster).await;
    pass(60).await;
    let writes = cluster.writes();
    let mut conditions = cluster.get("edgeapps", "web")["status"]["conditions"].clone();
    let audited = json!({
        "type": "Audited", "status": "True", "reason": "Signed", "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    });
    conditions
        .as_array_mut()
        .expect("conditions")
        .push(audited.clone());
    edit(
        &cluster,
        "/status",
        json!({"status": {"conditions": conditions}}),
    )
    .await;
    pass(600).await;
    assert_eq!(cluster.condition("web", "Audited"), audited);
    assert_eq!(cluster.writes(), writes, "there is nothing to set back");
    // The next status of our own leaves it there.
    for (image, reason) in [("none", "NoImage"), ("web:2", "Counted")] {
        cluster.change("web", json!({"image": image})).await;
        cluster
            .until(&format!("the status says {reason}"), |cluster| {
                cluster.condition("web", "Ready")["reason"] == reason
            })
            .await;
        assert_eq!(cluster.condition("web", "Audited"), audited);
        pass(60).await;
    }
    // Only ours are set back.
    let other =
        json!([{"type": "Ready", "status": "Unknown", "reason": "Theirs", "message": ""}, audited]);
    edit(
        &cluster,
        "/status",
        json!({"status": {"conditions": other}}),
    )
    .await;
    cluster
        .until("ours is set back", |cluster| {
            cluster.condition("web", "Ready")["reason"] == "Counted"
        })
        .await;
    assert_eq!(cluster.condition("web", "Audited"), audited);
    running.stop().await;
}

pub async fn a_field_that_left_the_plan_goes_however_children_are_written(mode: Mode) {
    left_the_plan::<false>(mode).await;
    left_the_plan::<true>(mode).await;
}

async fn left_the_plan<const APPLY: bool>(mode: Mode) {
    let cluster = Simulated::new(mode);
    let running = operate::<APPLY>(&cluster);
    cluster.create("web", json!({"image": "web:1"})).await;
    until_ready(&cluster).await;
    pass(60).await;
    let theirs = json!({"data": {"theirs": "1"}});
    edit_at(
        &cluster,
        "/api/v1/namespaces/default/configmaps/web",
        theirs,
    )
    .await;
    cluster.change("web", json!({"image": "web:2"})).await;
    cluster
        .until(&format!("it is as planned, APPLY {APPLY}"), |cluster| {
            cluster.get("configmaps", "web")["data"] == json!({"theirs": "1", "web-2": "1"})
        })
        .await;
    running.stop().await;
}
