//! Echo: first a finalizer, then a Deployment; on deletion the Deployment, then the finalizer.
//!
//! On k3s, from outside the cluster, where the CRD is already there (`examples/echo/crd.yaml`):
//! `KUBECONFIG=/etc/rancher/k3s/k3s.yaml cargo run --example echo -- run`, and in another terminal
//! `kubectl apply -f examples/echo/sample.yaml && kubectl get echo`

use tare_runtime::prelude::*;

/// How many pods are to run.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(
    group = "example.com",
    version = "v1",
    kind = "Echo",
    plural = "echoes",
    namespaced
)]
#[kube(
    shortname = "echo",
    doc = "An echo server: a Deployment of the same name."
)]
#[kube(
    printcolumn(name = "Replicas", type_ = "integer", json_path = ".spec.replicas"),
    printcolumn(
        name = "Age",
        type_ = "date",
        json_path = ".metadata.creationTimestamp"
    )
)]
pub struct EchoSpec {
    /// How many pods run.
    pub replicas: i32,
}

/// What an Echo needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// There is no Deployment yet.
    Create,
    /// It is being deleted.
    Delete,
    /// There is one; the library corrects it where it differs.
    NoOp,
}

/// What an Echo needs, from what is observed of it.
pub fn action(deleting: bool, deployed: bool) -> Action {
    match (deleting, deployed) {
        (true, _) => Action::Delete,
        (false, false) => Action::Create,
        (false, true) => Action::NoOp,
    }
}

pub struct Echoes;

impl Operator for Echoes {
    type Resource = Echo;
    type Status = NoStatus;
    type Error = Infallible;
    type Observed = ();
    const NAME: &'static str = "echo-operator";
    const FINALIZER: Option<&'static str> = Some("echoes.example.com/finalizer");
    const KINDS: &'static [Kind] = &[DEPLOYMENT];

    fn plan(&self, echo: &Owner<Self>, seen: &Children) -> Result<Plan<NoStatus>, Infallible> {
        let name = &*echo.meta.name;
        let deployed = seen.get(&DEPLOYMENT, name).is_some();
        let child = match action(echo.meta.deleting, deployed) {
            Action::Delete => Child::absent(DEPLOYMENT, name),
            Action::Create | Action::NoOp => {
                let body = deployment(name, echo.spec.replicas);
                Child::new(DEPLOYMENT, name, body).immutable(&["/spec/selector"])
            }
        };
        Ok(Plan {
            children: vec![child],
            status: NoStatus,
            requeue: Requeue::Default,
        })
    }
}

fn deployment(name: &str, replicas: i32) -> serde_json::Value {
    let labels = json!({"app": name});
    let ports = json!([{"containerPort": 8080, "protocol": "TCP"}]);
    let container = json!({"name": name, "image": "inanimate/echo-server:latest", "ports": ports});
    let template = json!({"metadata": {"labels": labels}, "spec": {"containers": [container]}});
    let selector = json!({"matchLabels": labels});
    let spec = json!({"replicas": replicas, "selector": selector, "template": template});
    json!({"metadata": {"labels": labels}, "spec": spec})
}

const ABOUT: &str = "an operator for Echoes on the tare library";
const CRD: &str = include_str!("echo/crd.yaml");

fn main() -> ExitCode {
    let program = Program::new(ABOUT, env!("TARE_VERSION"), CRD);
    program.main(Echoes, std::env::args_os().skip(1))
}
