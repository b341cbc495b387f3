//! The simulated cluster: an API server and an operator in one process, on paused time.
//!
//! Guarantees: the clock stands still while a task can run and advances while all tasks wait, so a
//! scenario of one hour takes milliseconds and does not depend on the speed of the machine. The periodic relist
//! comes once a day and a wait ends after a minute, so that no relist repairs what was lost: a scenario that needs
//! a longer wait says why.
//! Leaves to others: the verbs that a real cluster has too (`Cluster`).

#![allow(dead_code)] // the benchmark `reconcile` uses a part of it

use std::future::Future;
use std::time::Duration;

use kube::Client;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use kubesim::{Options, Readiness, Server};
use serde_json::{Value, json};
use tare::edgeapp::{CRD_YAML, EdgeApp, EdgeApps};
use tare_runtime::api::Operator;
use tare_runtime::cache::Mode;
use tare_runtime::controller::Config;
use tare_runtime::leader::Candidate;

// Named, because the benchmark `reconcile` has this file in another folder than the scenarios.
#[path = "running.rs"]
mod running;
pub use running::Running;

/// The longest wait for one condition, in simulated time.
pub const WAIT_TIMEOUT: Duration = Duration::from_secs(60);

/// The period of the relist: later than any scenario ends.
pub const RELIST_PERIOD: Duration = Duration::from_secs(86_400);

/// An API server with the CRD of EdgeApps, and a client of its user.
#[derive(Clone)]
pub struct Simulated {
    pub server: Server,
    pub client: Client,
    /// Cache mode of the operators that are started here.
    pub mode: Mode,
    /// The longest wait for one condition.
    pub timeout: Duration,
}

impl Simulated {
    pub fn new(mode: Mode) -> Self {
        Self::with(mode, Options::default())
    }

    pub fn with(mode: Mode, options: Options) -> Self {
        let server = Server::new(options);
        server
            .install(CRD_YAML)
            .expect("the server accepts the CRD");
        let client = server.client("user");
        Self {
            server,
            client,
            mode,
            timeout: WAIT_TIMEOUT,
        }
    }

    /// The same cluster, with longer waits, because of what is said.
    #[must_use]
    pub fn waiting_up_to(&self, timeout: Duration, because: &str) -> Self {
        assert!(!because.is_empty() && timeout > WAIT_TIMEOUT);
        Self {
            timeout,
            ..self.clone()
        }
    }

    /// A cluster in which a Deployment becomes ready two seconds after a change, as on the real ones.
    pub fn slow(mode: Mode) -> Self {
        let options = Options {
            ready_delay: Duration::from_secs(2),
            ..Options::default()
        };
        Self::with(mode, options)
    }

    /// A cluster in which no Deployment ever becomes ready.
    pub fn never_ready(mode: Mode) -> Self {
        let options = Options {
            ready: Readiness::Never,
            ..Options::default()
        };
        Self::with(mode, options)
    }

    pub fn edgeapps(&self) -> Api<EdgeApp> {
        Api::namespaced(self.client.clone(), "default")
    }

    pub fn api<K>(&self) -> Api<K>
    where
        K: kube::Resource<DynamicType = (), Scope = kube::core::NamespaceResourceScope>,
    {
        Api::namespaced(self.client.clone(), "default")
    }

    /// Creates an EdgeApp as a user would.
    pub async fn create(&self, name: &str, spec: Value) -> EdgeApp {
        let object: EdgeApp = serde_json::from_value(json!({
            "apiVersion": "tare.dev/v1alpha1", "kind": "EdgeApp",
            "metadata": {"name": name, "namespace": "default"}, "spec": spec,
        }))
        .expect("a valid EdgeApp");
        self.edgeapps()
            .create(&PostParams::default(), &object)
            .await
            .expect("create EdgeApp")
    }

    /// Merges `patch` into the spec of an EdgeApp.
    pub async fn change(&self, name: &str, patch: Value) {
        let patch = Patch::Merge(json!({"spec": patch}));
        self.edgeapps()
            .patch(name, &PatchParams::default(), &patch)
            .await
            .expect("change EdgeApp");
    }

    pub async fn delete(&self, name: &str) {
        self.edgeapps()
            .delete(name, &DeleteParams::default())
            .await
            .expect("delete EdgeApp");
    }

    /// An object as it is stored, or `null`.
    pub fn get(&self, resource: &str, name: &str) -> Value {
        self.server
            .object(resource, "default", name)
            .unwrap_or(Value::Null)
    }

    pub fn phase(&self, name: &str) -> String {
        self.get("edgeapps", name)["status"]["phase"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    }

    pub fn condition(&self, name: &str, type_: &str) -> Value {
        let object = self.get("edgeapps", name);
        let conditions = object["status"]["conditions"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        conditions
            .into_iter()
            .find(|c| c["type"] == type_)
            .unwrap_or(Value::Null)
    }

    /// Waits until `holds`, in simulated time.
    pub async fn until(&self, what: &str, mut holds: impl FnMut(&Self) -> bool) {
        let deadline = tokio::time::Instant::now() + self.timeout;
        while !holds(self) {
            assert!(
                tokio::time::Instant::now() < deadline,
                "timeout while waiting until {what}"
            );
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    pub async fn until_phase(&self, name: &str, phase: &str) {
        self.until(&format!("{name} is {phase}"), |cluster| {
            cluster.phase(name) == phase
        })
        .await;
    }

    pub async fn until_all_running(&self, count: usize) {
        self.until(&format!("{count} EdgeApps are Running"), |cluster| {
            let all = cluster.server.objects("edgeapps");
            all.len() == count && all.iter().all(|one| one["status"]["phase"] == "Running")
        })
        .await;
    }

    pub async fn until_gone(&self, resource: &str, name: &str) {
        self.until(&format!("{resource} {name} is gone"), |cluster| {
            cluster.get(resource, name).is_null()
        })
        .await;
    }

    /// Every EdgeApp, Deployment and Service, without the fields that differ from run to run.
    pub fn essence(&self) -> Vec<Value> {
        let mut all = Vec::new();
        for resource in ["edgeapps", "deployments", "services"] {
            for mut object in self.server.objects(resource) {
                let name = object["metadata"]["name"].clone();
                let labels = object["metadata"]["labels"].clone();
                let finalizers = object["metadata"]["finalizers"].clone();
                let generation = object["metadata"]["generation"].clone();
                object["metadata"] =
                    json!({"name": name, "labels": labels, "finalizers": finalizers});
                if resource == "deployments" {
                    // The number of changes on the way may differ; the last one must be observed.
                    let seen = object["status"]["observedGeneration"] == generation;
                    object["status"]["observedGeneration"] = seen.into();
                }
                if resource == "services" {
                    object["spec"]["clusterIP"] = Value::Null;
                    object["spec"]["clusterIPs"] = Value::Null;
                }
                let conditions = object["status"]["conditions"].as_array_mut();
                for condition in conditions.into_iter().flatten() {
                    for time in ["lastTransitionTime", "lastUpdateTime"] {
                        condition[time] = Value::Null;
                    }
                }
                all.push(object);
            }
        }
        all
    }

    pub fn writes(&self) -> u64 {
        self.server.requests().writes("tare")
    }

    pub fn reads(&self) -> u64 {
        self.server.requests().reads("tare")
    }

    pub fn requests(&self, verb: &str, resource: &str) -> u64 {
        self.server.requests().count("tare", verb, resource)
    }

    /// Requests of the operator that were answered with success.
    pub fn successes(&self, verb: &str, resource: &str) -> u64 {
        let requests = self.server.requests();
        let of = |e: &&kubesim::RequestCount| {
            (&*e.user, &*e.verb, &*e.resource) == ("tare", verb, resource)
        };
        let entries = requests.entries.iter().filter(of);
        entries.map(|e| e.requests - e.errors).sum()
    }

    /// Writes of the operator that were refused.
    pub fn refused_writes(&self) -> u64 {
        let requests = self.server.requests();
        let is_write = |e: &&kubesim::RequestCount| {
            e.user == "tare" && !matches!(&*e.verb, "get" | "list" | "watch")
        };
        let entries = requests.entries.iter().filter(is_write);
        entries.map(|e| e.errors).sum()
    }

    /// Starts the operator for EdgeApps as user `tare`.
    pub fn operate(&self) -> Running {
        self.operate_with(EdgeApps, self.server.client("tare"), config())
    }

    pub fn operate_with<O: Operator>(
        &self,
        operator: O,
        client: Client,
        config: Config,
    ) -> Running {
        Running::start(operator, self.mode, self.timeout, client, config)
    }

    /// Starts a replica of the operator for EdgeApps that works while it holds the Lease `default/tare`.
    pub fn elect(&self, user: &str) -> Running {
        let candidate = Candidate {
            identity: format!("{user}_7"),
            ..Candidate::new("default", "tare", "tare")
        };
        let client = self.server.client(user);
        Running::elect(EdgeApps, self.mode, self.timeout, client, candidate)
    }

    /// Creates a Deployment that belongs to somebody else.
    pub async fn foreign_deployment(&self, name: &str, owner: Option<Value>) {
        let deployment = serde_json::from_value(json!({
            "metadata": {"name": name, "labels": {"made-by": "hand"}, "ownerReferences": owner.map(|o| vec![o])},
            "spec": {"replicas": 1, "selector": {"matchLabels": {"app": name}}, "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"name": "c", "image": "foreign:1"}]}}},
        }))
        .expect("a valid Deployment");
        let api: Api<k8s_openapi::api::apps::v1::Deployment> = self.api();
        api.create(&PostParams::default(), &deployment)
            .await
            .expect("create the foreign Deployment");
    }
}

/// Fails on the first object that differs.
pub fn assert_same(found: &[Value], wanted: &[Value]) {
    let name = |object: &Value| format!("{} {}", object["kind"], object["metadata"]["name"]);
    let names = |objects: &[Value]| objects.iter().map(name).collect::<Vec<_>>();
    assert_eq!(names(found), names(wanted));
    for (found, wanted) in found.iter().zip(wanted) {
        assert!(
            found == wanted,
            "{} differs:\n{found}\nwanted:\n{wanted}",
            name(found)
        );
    }
}

/// A fixed seed, so that a scenario runs the same way every time, and no relist without a cause.
pub fn config() -> Config {
    Config {
        seed: 7,
        resync: Some(RELIST_PERIOD),
        ..Config::default()
    }
}

/// For events that are lost in silence: a relist alone can find them, here every ten minutes.
pub fn lossy() -> Config {
    Config {
        resync: Some(Duration::from_secs(600)),
        ..config()
    }
}

/// A spec with a headless Service and two variables.
pub fn web() -> Value {
    json!({"image": "web:1", "port": 8080, "headless": true,
        "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]})
}

/// Lets simulated time pass.
pub fn pass(seconds: u64) -> impl Future<Output = ()> {
    tokio::time::sleep(Duration::from_secs(seconds))
}
