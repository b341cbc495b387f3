//! The operators of `examples/`: installed, started and used as their users do.
//!
//! Guarantees: on a simulated cluster the operator type of the example runs in this process, on a real
//! one its program.
//! Leaves to others: their command lines (`tests/programs/process.rs`).

pub mod echo;
pub mod inference_service;
pub mod myservice;
pub mod tenant;
pub mod webapp;

use serde_json::{Value, json};
use tare_runtime::controller::Config;

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
}

impl Example {
    fn program(self) -> &'static str {
        match self {
            Example::WebApp => "webapp",
            Example::MyService => "myservice",
            Example::InferenceService => "inference_service",
            Example::Echo => "echo",
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
        }
    }

    fn api_version_and_kind(self) -> (&'static str, &'static str) {
        match self {
            Example::WebApp => ("example.com/v1", "WebApp"),
            Example::MyService => ("example.com/v1", "MyService"),
            Example::InferenceService => ("ai.example.com/v1", "InferenceService"),
            Example::Echo => ("example.com/v1", "Echo"),
        }
    }

    fn resource(self) -> &'static str {
        match self {
            Example::WebApp => "webapps",
            Example::MyService => "myservices",
            Example::InferenceService => "inferenceservices",
            Example::Echo => "echoes",
        }
    }

    fn args(self) -> &'static [&'static str] {
        match self {
            Example::InferenceService => &["--image", SERVER_IMAGE],
            Example::WebApp | Example::MyService | Example::Echo => &[],
        }
    }

    /// Installs the CRD: with the program's `install` on a real cluster.
    pub async fn install(self, cluster: &Cluster) {
        let Some(simulated) = cluster.as_simulated() else {
            let plane = &cluster.as_real().plane;
            let output = plane.run_example(self.program(), &["install"]).await;
            let errors = String::from_utf8_lossy(&output.stderr);
            assert!(
                output.status.success(),
                "{} install: {errors}",
                self.program()
            );
            return;
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
        }
    }

    /// The user whose requests are those of the operator.
    pub fn user(self, cluster: &Cluster) -> &'static str {
        match cluster.as_simulated() {
            Some(_) => "tare",
            None => PERSON,
        }
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
