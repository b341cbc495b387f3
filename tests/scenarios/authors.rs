//! What the author of a plan can see and say: labels of the owner, any status of a child, a pause, conditions beside those
//! of others.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::Method;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::{Api, DeleteParams, Patch, PatchParams};
use serde_json::{Value, json};
use tare::edgeapp::EdgeApp;
use tare_runtime::api::{
    CONFIG_MAP, Child, Children, Condition, Failure, JOB, Kind, LOAD_BALANCER, Operator, Owner,
    OwnerStatus, PERSISTENT_VOLUME_CLAIM, Plan, PlanError, Reference, Requeue, Retry, SECRET,
    STATEFUL_SET, Writes,
};
use tare_runtime::cache::Mode;
use tare_runtime::k8s_openapi::api::apps::v1::StatefulSet;

use crate::cluster::objects::text;
use crate::cluster::simulated::{Running, Simulated, config, pass};
use crate::cluster::user::{MERGE, send};

const PAUSED: &str = "example.com/paused";
const TIER: &str = "example.com/tier";
const APPROVED: &str = "example.com/approved";

/// An operator for EdgeApps that become a StatefulSet with a claim, a Job, an address and a ConfigMap. Children are applied
/// by the server where `APPLY` says so.
struct Author<const APPLY: bool>;

/// As much of the status of an EdgeApp as is looked at here.
#[derive(serde::Serialize, serde::Deserialize, Clone, Debug, Default)]
#[serde(rename_all = "camelCase")]
struct Status {
    #[serde(default)]
    ready_replicas: i32,
    /// What the plan has seen.
    endpoint: Option<String>,
    observed_generation: Option<i64>,
    #[serde(default)]
    conditions: Vec<Condition>,
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
enum Error {
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

async fn edit_at(cluster: &Simulated, path: &str, patch: Value) {
    let edited = send(&cluster.client, Method::PATCH, path, MERGE, &patch).await;
    edited.unwrap_or_else(|error| panic!("edit {path}: {error}"));
}

/// Labels (`labels`) or annotations of an EdgeApp.
async fn mark(cluster: &Simulated, which: &str, name: &str, value: Value) {
    edit(cluster, "", json!({"metadata": {which: {name: value}}})).await;
}

fn endpoint(cluster: &Simulated) -> String {
    text(&cluster.get("edgeapps", "web"), "/status/endpoint")
}

async fn until_ready(cluster: &Simulated) {
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

/// An operator for EdgeApps that become a ConfigMap with what lies outside the cluster.
struct Outside(Arc<Mutex<Result<String, ()>>>);

#[derive(Debug, thiserror::Error)]
#[error("the outside is away")]
struct Away;

impl PlanError for Away {
    fn reason(&self) -> &'static str {
        "Away"
    }
    fn retry(&self) -> Retry {
        Retry::From(Duration::from_secs(5))
    }
}

impl Operator for Outside {
    type Resource = EdgeApp;
    type Status = Status;
    type Error = Away;
    type Observed = String;
    const NAME: &'static str = "tare";
    const FINALIZER: Option<&'static str> = None;
    const KINDS: &'static [Kind] = &[CONFIG_MAP];

    async fn observe(&self, _: &Owner<Self>, previous: Option<Status>) -> Result<String, Away> {
        // As a request to somewhere else takes time.
        tokio::time::sleep(Duration::from_millis(50)).await;
        let found = self.0.lock().expect("a lock").clone().map_err(|()| Away)?;
        let before = previous.and_then(|previous| previous.endpoint);
        Ok(format!(
            "{found}, before {}",
            before.unwrap_or_default().len()
        ))
    }

    fn plan(&self, owner: &Owner<Self>, _: &Children) -> Result<Plan<Status>, Away> {
        let found = owner.observed.split(',').next().unwrap_or_default();
        let data = json!({"data": {"found": found}});
        Ok(Plan {
            children: vec![Child::new(CONFIG_MAP, &*owner.meta.name, data)],
            status: Status {
                endpoint: Some(owner.observed.clone()),
                observed_generation: Some(owner.meta.generation),
                conditions: vec![Condition::new("Ready", true, "Found", "", 0)],
                ..Status::default()
            },
            requeue: Requeue::After(Duration::from_secs(20)),
        })
    }

    fn failed(&self, owner: &Owner<Self>, _: &Children, failure: &Failure) -> Option<Status> {
        Some(Status {
            endpoint: Some("failed".to_owned()),
            observed_generation: owner.meta.observed_generation,
            conditions: vec![Condition::new(
                "Ready",
                false,
                failure.reason,
                &*failure.message,
                0,
            )],
            ..Status::default()
        })
    }
}

pub async fn a_plan_follows_what_is_observed_outside(mode: Mode) {
    let cluster = Simulated::new(mode);
    let outside = Arc::new(Mutex::new(Ok("one".to_owned())));
    let operator = Outside(Arc::clone(&outside));
    let running = cluster.operate_with(operator, cluster.server.client("tare"), config());
    let set = |to: Result<&str, ()>| *outside.lock().expect("a lock") = to.map(str::to_owned);
    let until_found = async |found: &str| {
        cluster
            .until(&format!("{found} is found"), |cluster| {
                cluster.get("configmaps", "web")["data"]["found"] == found
                    && cluster.condition("web", "Ready")["status"] == "True"
            })
            .await;
    };
    cluster.create("web", json!({"image": "web:1"})).await;
    until_found("one").await;
    assert!(endpoint(&cluster).starts_with("one, before"));
    pass(3_600).await;
    set(Ok("two"));
    until_found("two").await;
    set(Err(()));
    cluster
        .until("it says so", |cluster| {
            cluster.condition("web", "Ready")["reason"] == "Away"
        })
        .await;
    assert_eq!(cluster.get("configmaps", "web")["data"]["found"], "two");
    set(Ok("three"));
    until_found("three").await;
    // The status that was written last, with or without a read.
    let told = endpoint(&cluster);
    assert!(
        ["three, before 6", "three, before 13", "three, before 15"].contains(&&*told),
        "{told}"
    );
    running.stop().await;
}

/// An operator for EdgeApps that name a Secret (their image) and become a ConfigMap with a digest of it.
struct Naming;

impl Operator for Naming {
    type Resource = EdgeApp;
    type Status = Status;
    type Error = Infallible;
    type Observed = ();
    const NAME: &'static str = "tare";
    const FINALIZER: Option<&'static str> = None;
    const KINDS: &'static [Kind] = &[CONFIG_MAP];
    const REFERENCES: &'static [Kind] = &[SECRET];

    fn references(&self, owner: &Owner<Self>) -> Vec<Reference> {
        vec![Reference::new(SECRET, &*owner.spec.image)]
    }

    fn plan(&self, owner: &Owner<Self>, _: &Children) -> Result<Plan<Status>, Infallible> {
        let secret = owner
            .references
            .get(&Reference::new(SECRET, &*owner.spec.image));
        let key = secret.and_then(|secret| secret["data"]["key"].as_str());
        let data = json!({"data": {"key": key.unwrap_or("missing")}});
        Ok(Plan {
            children: vec![Child::new(CONFIG_MAP, &*owner.meta.name, data)],
            status: Status {
                observed_generation: Some(owner.meta.generation),
                conditions: vec![Condition::new("Ready", secret.is_some(), "Read", "", 0)],
                ..Status::default()
            },
            requeue: Requeue::Default,
        })
    }
}

/// Creates, changes or, with none, deletes a Secret of a user.
async fn secret(cluster: &Simulated, name: &str, key: Option<&str>) {
    let secrets: Api<Secret> = cluster.api();
    let Some(key) = key else {
        let deleted = secrets.delete(name, &DeleteParams::default()).await;
        deleted.expect("delete the Secret");
        return;
    };
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "data": {"key": key},
    });
    let how = PatchParams::apply("user").force();
    let applied = secrets.patch(name, &how, &Patch::Apply(secret)).await;
    applied.expect("apply the Secret");
}

pub async fn a_plan_follows_what_its_owner_names(mode: Mode) {
    let cluster = Simulated::new(mode);
    let running = cluster.operate_with(Naming, cluster.server.client("tare"), config());
    running.until_ready().await;
    let until_key = async |name: &str, key: &str| {
        cluster
            .until(&format!("{name} has {key}"), |cluster| {
                cluster.get("configmaps", name)["data"]["key"] == key
            })
            .await;
    };
    for name in ["a", "b", "c"] {
        let names = if name == "c" { "other" } else { "shared" };
        cluster.create(name, json!({"image": names})).await;
        until_key(name, "missing").await;
    }
    // It appears, changes, goes, and appears again: each time for those that name it, long after they were idle.
    for key in [Some("b25l"), Some("dHdv"), None, Some("dGhyZWU=")] {
        pass(1_800).await;
        let writes = cluster.requests("patch", "configmaps");
        secret(&cluster, "shared", key).await;
        for name in ["a", "b"] {
            until_key(name, key.unwrap_or("missing")).await;
        }
        pass(60).await;
        assert_eq!(cluster.requests("patch", "configmaps"), writes + 2);
    }
    until_key("c", "missing").await;
    // What nobody names asks for nothing.
    let reads = cluster.reads();
    secret(&cluster, "unnamed", Some("MQ==")).await;
    pass(60).await;
    assert_eq!(cluster.reads(), reads);
    // A Secret that changes while no operator runs.
    running.kill().await;
    secret(&cluster, "shared", Some("Zm91cg==")).await;
    let running = cluster.operate_with(Naming, cluster.server.client("tare"), config());
    until_key("a", "Zm91cg==").await;
    until_key("b", "Zm91cg==").await;
    // An owner that names another one from now on.
    cluster.change("c", json!({"image": "shared"})).await;
    until_key("c", "Zm91cg==").await;
    secret(&cluster, "shared", Some("Zml2ZQ==")).await;
    until_key("c", "Zml2ZQ==").await;
    running.stop().await;
}
