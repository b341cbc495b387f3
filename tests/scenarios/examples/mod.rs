//! The operators of `examples/`: installed, started and used as their users do.
//!
//! Guarantees: on a simulated cluster the operator type of the example runs in this process, on a real
//! one its program.
//! Leaves to others: their command lines (`tests/programs/process.rs`).

pub mod cache;
pub mod certificates;
pub mod echo;
pub mod external_secrets;
pub mod inference_service;
pub mod myservice;
pub mod namespaces;
pub mod tenant;
pub mod webapp;

use kube::CustomResourceExt;
use serde_json::{Value, json};
use tare_runtime::app::front::Shared;
use tare_runtime::controller::Config;
use tokio::task::JoinHandle;

use crate::cluster::operator::Operator;
use crate::cluster::plane::PERSON;
use crate::cluster::process::OperatorProcess;
use crate::cluster::simulated::{Running, Simulated, config};
use crate::cluster::{Cluster, example};

/// The image that the operator of InferenceServices is started with.
pub const SERVER_IMAGE: &str = "registry.local/server:1";

/// One of `examples/`.
#[derive(Clone, Copy)]
pub enum Example {
    WebApp,
    MyService,
    InferenceService,
    Echo,
    Cache,
}

impl Example {
    fn program(self) -> &'static str {
        match self {
            Example::WebApp => "webapp",
            Example::MyService => "myservice",
            Example::InferenceService => "inference_service",
            Example::Echo => "echo",
            Example::Cache => "cache",
        }
    }

    fn crd(self) -> &'static str {
        match self {
            Example::WebApp => include_str!("../../../examples/webapp/crd.yaml"),
            Example::MyService => include_str!("../../../examples/myservice/crd.yaml"),
            Example::InferenceService => {
                include_str!("../../../examples/inference_service/crd.yaml")
            }
            Example::Echo => include_str!("../../../examples/echo/crd.yaml"),
            Example::Cache => include_str!("../../../examples/cache/crd.yaml"),
        }
    }

    fn api_version_and_kind(self) -> (&'static str, &'static str) {
        match self {
            Example::WebApp => ("example.com/v1", "WebApp"),
            Example::MyService => ("example.com/v1", "MyService"),
            Example::InferenceService => ("ai.example.com/v1", "InferenceService"),
            Example::Echo => ("example.com/v1", "Echo"),
            Example::Cache => ("example.com/v1", "Cache"),
        }
    }

    fn resource(self) -> &'static str {
        match self {
            Example::WebApp => "webapps",
            Example::MyService => "myservices",
            Example::InferenceService => "inferenceservices",
            Example::Echo => "echoes",
            Example::Cache => "caches",
        }
    }

    fn args(self) -> &'static [&'static str] {
        match self {
            Example::InferenceService => &["--image", SERVER_IMAGE],
            Example::WebApp | Example::MyService | Example::Echo | Example::Cache => &[],
        }
    }

    /// Installs the CRD: with the program's `install` on a real cluster.
    pub async fn install(self, cluster: &Cluster) {
        let Some(simulated) = cluster.as_simulated() else {
            return install_by_program(cluster, self.program()).await;
        };
        let installed = simulated.server.install(self.crd());
        installed.expect("install the CRD");
    }

    /// Starts the operator and waits until it is ready.
    pub async fn operate(self, cluster: &Cluster) -> Operator {
        let operator = match cluster.as_simulated() {
            Some(simulated) => Operator::InProcess(self.run_in(simulated)),
            None => {
                let program = example::program(self.program());
                let started = OperatorProcess::start(cluster, program, PERSON, self.args());
                Operator::Process(started.await)
            }
        };
        operator.until_ready().await;
        operator
    }

    /// Starts the operator on a simulated cluster.
    pub fn run_in(self, simulated: &Simulated) -> Running {
        let client = simulated.server.client("tare");
        match self {
            Example::WebApp => {
                // It declares the period of its relist.
                let config = Config {
                    resync: None,
                    ..config()
                };
                simulated.operate_with(webapp::example::WebApps, client, config)
            }
            Example::MyService => {
                simulated.operate_with(myservice::example::MyServices, client, config())
            }
            Example::InferenceService => {
                let image = SERVER_IMAGE.to_owned();
                let operator = inference_service::example::InferenceServices { image };
                simulated.operate_with(operator, client, config())
            }
            Example::Echo => simulated.operate_with(echo::example::Echoes, client, config()),
            Example::Cache => simulated.operate_with(cache::example::Caches, client, config()),
        }
    }

    /// The user whose requests are those of the operator.
    pub fn user(self, cluster: &Cluster) -> &'static str {
        user_of(cluster)
    }

    /// An object of the example's kind.
    pub fn object(self, name: &str, spec: Value) -> Value {
        let (api_version, kind) = self.api_version_and_kind();
        json!({
            "apiVersion": api_version, "kind": kind, "metadata": { "name": name }, "spec": spec,
        })
    }

    /// Creates an object of the example's kind.
    pub async fn create(self, cluster: &Cluster, name: &str, spec: Value) -> Value {
        cluster.make(self.resource(), self.object(name, spec)).await
    }

    /// Merges `spec` into its spec.
    pub async fn change(self, cluster: &Cluster, name: &str, spec: Value) {
        let patch = json!({ "spec": spec });
        cluster.patch(self.resource(), name, patch).await;
    }
}

/// A program around a controller: a task in this process on a simulated cluster, a process on a real one.
pub enum Launched {
    InProcess(JoinHandle<()>),
    Process(OperatorProcess),
}

impl Launched {
    /// Starts `program` with `args` on a real cluster, `run` on a simulated one.
    pub async fn start<F>(
        cluster: &Cluster,
        program: &str,
        args: &[&str],
        run: impl FnOnce(Shared) -> F,
    ) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        match cluster.as_simulated() {
            Some(simulated) => {
                let shared = tare_runtime::testing::shared(simulated.server.client("tare"));
                Launched::InProcess(tokio::spawn(run(shared)))
            }
            None => {
                let program = example::program(program);
                let process = OperatorProcess::start(cluster, program, PERSON, args).await;
                process.until_ready().await;
                Launched::Process(process)
            }
        }
    }

    /// Ends it as a cluster does.
    pub async fn terminate(self) {
        match self {
            Launched::InProcess(task) => task.abort(),
            Launched::Process(process) => drop(process.terminate().await),
        }
    }
}

/// Installs the CRD of a type where the cluster is simulated; on a real one the command `install` of `program` does it for all.
pub async fn install<K: CustomResourceExt>(cluster: &Cluster, program: &str) {
    match cluster.as_simulated() {
        Some(simulated) => {
            let crd = serde_json::to_string(&K::crd()).expect("a CRD is JSON");
            simulated.server.install(&crd).expect("install the CRD");
        }
        None => install_by_program(cluster, program).await,
    }
}

/// The command `install` of a program, on a real cluster.
async fn install_by_program(cluster: &Cluster, program: &str) {
    let plane = &cluster.as_real().plane;
    let output = plane.run_example(program, &["install"]).await;
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} install: {errors}");
}

/// The user whose requests are those of an example.
pub fn user_of(cluster: &Cluster) -> &'static str {
    match cluster.as_simulated() {
        Some(_) => "tare",
        None => PERSON,
    }
}

/// Waits until a Deployment has so many replicas in its spec; returns it.
pub async fn until_replicas(cluster: &Cluster, deployment: &str, replicas: i64) -> Value {
    let what = format!("{deployment} has {replicas} replicas");
    let has = |object: &Value| object["spec"]["replicas"] == replicas;
    cluster.until(&what, "deployments", deployment, has).await
}

/// Edits the replicas of a Deployment, as somebody else would.
pub async fn edit_replicas(cluster: &Cluster, deployment: &str, replicas: i64) {
    let edit = json!({ "spec": { "replicas": replicas } });
    cluster.patch("deployments", deployment, edit).await;
}
