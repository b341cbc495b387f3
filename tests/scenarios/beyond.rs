//! What a plan can see beyond the cluster's view of its owner: what lies outside, and objects that the owner names.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use k8s_openapi::api::core::v1::Secret;
use kube::api::{Api, DeleteParams, Patch, PatchParams};
use serde_json::json;
use tare::edgeapp::EdgeApp;
use tare_runtime::api::{
    CONFIG_MAP, Child, Children, Condition, Failure, Kind, Operator, Owner, Plan, PlanError,
    Reference, Requeue, Retry, SECRET,
};
use tare_runtime::cache::Mode;

use crate::authors::{Status, endpoint};
use crate::cluster::simulated::{Simulated, config, pass};

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
        assert_ne!(&*owner.spec.image, "panic", "this image is not for plans");
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

/// The list that says who names a Secret asks every owner.
pub async fn a_panic_in_references_is_that_owners_failure_and_nobody_elses(mode: Mode) {
    let cluster = Simulated::new(mode);
    let running = cluster.operate_with(Naming, cluster.server.client("tare"), config());
    for (name, names) in [("a", "shared"), ("bad", "panic"), ("c", "shared")] {
        cluster.create(name, json!({"image": names})).await;
    }
    running.until_ready().await;
    for key in ["b25l", "dHdv"] {
        pass(60).await;
        secret(&cluster, "shared", Some(key)).await;
        for name in ["a", "c"] {
            cluster
                .until(&format!("{name} has {key}"), |cluster| {
                    cluster.get("configmaps", name)["data"]["key"] == key
                })
                .await;
        }
    }
    running.stop().await;
}
