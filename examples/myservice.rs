//! MyService: a Deployment `<name>-deployment` and a Service `<name>-service`.
//!
//! Its children do not have the name of their owner, so the library finds them by label.
//! `cargo run --example myservice -- run --install-crd`, and in another terminal
//! `kubectl apply -f examples/myservice/sample.yaml && kubectl get deployments,services`

use tare_runtime::prelude::*;

/// What is to run.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(
    group = "example.com",
    version = "v1",
    kind = "MyService",
    plural = "myservices",
    namespaced
)]
#[kube(doc = "A service: a Deployment and a Service in front of it.")]
#[kube(
    printcolumn(name = "Replicas", type_ = "integer", json_path = ".spec.replicas"),
    printcolumn(name = "Image", type_ = "string", json_path = ".spec.image"),
    printcolumn(
        name = "Age",
        type_ = "date",
        json_path = ".metadata.creationTimestamp"
    )
)]
pub struct MyServiceSpec {
    /// How many pods run.
    #[schemars(range(min = 0))]
    pub replicas: i32,
    /// Container image; it listens on port 80.
    pub image: String,
}

pub struct MyServices;

impl Operator for MyServices {
    type Resource = MyService;
    type Status = NoStatus;
    type Error = Infallible;
    type Observed = ();
    const NAME: &'static str = "myservice-operator";
    // Nothing lives outside the cluster: the garbage collector deletes both children.
    const FINALIZER: Option<&'static str> = None;
    const KINDS: &'static [Kind] = &[SERVICE, DEPLOYMENT];

    fn plan(&self, owner: &Owner<Self>, _: &Children) -> Result<Plan<NoStatus>, Infallible> {
        let (name, spec) = (&*owner.meta.name, &owner.spec);
        let labels = json!({"app": name});
        let deployment = json!({
            "metadata": {"labels": labels},
            "spec": {
                "replicas": spec.replicas,
                "selector": {"matchLabels": labels},
                "template": {
                    "metadata": {"labels": labels},
                    "spec": {"containers": [{
                        "name": format!("{name}-container"),
                        "image": spec.image,
                        "ports": [{"containerPort": 80, "protocol": "TCP"}],
                    }]},
                },
            },
        });
        let service = json!({"spec": {
            "selector": labels,
            "ports": [{"port": 80, "targetPort": 80, "protocol": "TCP"}],
        }});
        Ok(Plan {
            children: vec![
                Child::new(DEPLOYMENT, format!("{name}-deployment"), deployment)
                    .immutable(&["/spec/selector"]),
                Child::new(SERVICE, format!("{name}-service"), service),
            ],
            status: NoStatus,
            requeue: Requeue::Default,
        })
    }
}

const ABOUT: &str = "an operator for MyServices on the tare library";
const CRD: &str = include_str!("myservice/crd.yaml");

fn main() -> ExitCode {
    let program = Program::new(ABOUT, env!("TARE_VERSION"), CRD);
    program.main(MyServices, std::env::args_os().skip(1))
}
