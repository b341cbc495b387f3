//! WebApp: a Deployment of the same name by server-side apply, a finalizer, and a relist every five
//! minutes that corrects drift.
//!
//! `cargo run --example webapp -- run --install-crd`, and in another terminal
//! `kubectl apply -f examples/webapp/sample.yaml && kubectl get wa`

use tare_runtime::prelude::*;

/// What is to run.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(
    group = "example.com",
    version = "v1",
    kind = "WebApp",
    shortname = "wa",
    namespaced
)]
#[kube(doc = "A web application: a Deployment of the same name.")]
#[kube(status = "WebAppStatus")]
#[kube(
    printcolumn(name = "Image", type_ = "string", json_path = ".spec.image"),
    printcolumn(name = "Replicas", type_ = "integer", json_path = ".spec.replicas"),
    printcolumn(
        name = "Available",
        type_ = "integer",
        json_path = ".status.available_replicas"
    ),
    printcolumn(name = "Ready", type_ = "boolean", json_path = ".status.ready")
)]
pub struct WebAppSpec {
    /// Container image, for example `nginx:1.27`.
    pub image: String,
    /// How many pods run.
    #[schemars(range(min = 0))]
    pub replicas: i32,
}

/// What was last observed of it.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug)]
pub struct WebAppStatus {
    /// Pods that are available.
    pub available_replicas: i32,
    /// Whether all wanted pods are available.
    pub ready: bool,
}

/// It has no observed generation, so the library compares the children instead.
impl OwnerStatus for WebAppStatus {
    const OBSERVES: bool = false;
    fn ready(&self) -> bool {
        self.ready
    }
}

pub struct WebApps;

impl Operator for WebApps {
    type Resource = WebApp;
    type Status = WebAppStatus;
    type Error = Infallible;
    type Observed = ();
    const NAME: &'static str = "webapp-operator";
    const FINALIZER: Option<&'static str> = Some("webapp.example.com/cleanup");
    const KINDS: &'static [Kind] = &[DEPLOYMENT];
    const WRITES: Writes = Writes::Apply;
    const RETRY: Retry = Retry::From(Duration::from_secs(10));
    const DRIFT_PERIOD: Option<Duration> = Some(Duration::from_secs(300));

    fn plan(&self, app: &Owner<Self>, seen: &Children) -> Result<Plan<WebAppStatus>, Infallible> {
        let (name, spec) = (&*app.meta.name, &app.spec);
        let deployment = json!({"spec": {
            "replicas": spec.replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"name": "web", "image": spec.image}]},
            },
        }});
        let state = seen.get(&DEPLOYMENT, name).cloned().unwrap_or_default();
        let available_replicas = state.available_replicas;
        Ok(Plan {
            children: vec![Child::new(DEPLOYMENT, name, deployment).immutable(&["/spec/selector"])],
            status: WebAppStatus {
                available_replicas,
                ready: state.is_ready(spec.replicas) && available_replicas >= spec.replicas,
            },
            requeue: Requeue::Default,
        })
    }
}

const ABOUT: &str = "an operator for WebApps on the tare library";
const CRD: &str = include_str!("webapp/crd.yaml");

fn main() -> ExitCode {
    let program = Program::new(ABOUT, env!("TARE_VERSION"), CRD);
    program.main(WebApps, std::env::args_os().skip(1))
}
