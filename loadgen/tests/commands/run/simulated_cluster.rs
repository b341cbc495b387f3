//! A simulated server on loopback in this process, with or without an operator, and loadgen
//! started against it.
//!
//! Guarantees: server and operator end with the value, and the operator with this process. Leaves to
//! others: what is expected.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use kubesim::{Options, Server, Tls, kubeconfig};
use serde_json::{Value, json};
use tare_procstat::process::{Process, Spec};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

use crate::program::{LOADGEN, folder, wait_for};

/// The operator's own user.
const OPERATOR: &str = "operator";

/// The operator of the same build, if it was built.
pub fn tare() -> Option<PathBuf> {
    let path = Path::new(LOADGEN).with_file_name("tare");
    path.is_file().then_some(path)
}

pub struct SimulatedCluster {
    pub server: Server,
    pub kubeconfig: PathBuf,
    // Dropped in this order: the operator before its server's runtime.
    _operator: Option<Process>,
    runtime: Runtime,
}

impl SimulatedCluster {
    /// A server with the CRD.
    pub fn new(name: &str) -> Self {
        let simulated_cluster = Self::without_crd(name);
        let crd = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/base/crd.yaml");
        let crd = std::fs::read_to_string(crd).expect("the CRD is in the repository");
        simulated_cluster.server.install(&crd).expect("a valid CRD");
        simulated_cluster
    }

    pub fn without_crd(name: &str) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("a runtime");
        let server = Server::new(Options::default());
        let tls = Tls::generate().expect("a certificate");
        let ca_pem = tls.ca_pem().to_owned();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0"));
        let listener = listener.expect("a port");
        let url = format!("https://{}", listener.local_addr().expect("bound"));
        runtime.spawn(server.clone().serve(listener, tls, std::future::pending()));
        let folder = folder(&format!("run-{name}"));
        for user in ["tester", OPERATOR] {
            let text = kubeconfig(&url, &ca_pem, user, &server.token(user));
            std::fs::write(folder.join(user), text).expect("writable");
        }
        let path = folder.join("tester");
        Self {
            server,
            kubeconfig: path,
            _operator: None,
            runtime,
        }
    }

    pub fn with_operator(name: &str) -> Self {
        let mut simulated_cluster = Self::new(name);
        let spec = Spec {
            name: "tare".into(),
            program: tare().expect("trials without it are ignored"),
            args: ["run", "--admin", "127.0.0.1:0"]
                .map(str::to_owned)
                .to_vec(),
            env: vec![(
                "KUBECONFIG".into(),
                simulated_cluster
                    .kubeconfig
                    .with_file_name(OPERATOR)
                    .display()
                    .to_string(),
            )],
            folder: None,
            clear_env: false,
            log: simulated_cluster.kubeconfig.with_file_name("tare.log"),
        };
        let operator = simulated_cluster.runtime.block_on(Process::spawn(spec));
        simulated_cluster._operator = Some(operator.expect("tare starts"));
        // What is offered to an operator that still starts is another experiment.
        wait_for("the operator's watches", || {
            let request_counts = simulated_cluster.server.requests();
            let watched = |resource| request_counts.count(OPERATOR, "watch", resource) > 0;
            ["edgeapps", "deployments", "services"]
                .into_iter()
                .all(watched)
        });
        simulated_cluster
    }

    pub fn loadgen(&self, args: &[&str]) -> Output {
        loadgen(args, &self.kubeconfig)
    }

    pub fn start(&self, args: &[&str]) -> Child {
        let mut command = command(args, &self.kubeconfig);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().expect("loadgen starts")
    }

    pub fn names(&self, resource: &str) -> Vec<String> {
        let name = |object: Value| object["metadata"]["name"].as_str().map(str::to_owned);
        self.server
            .objects(resource)
            .into_iter()
            .filter_map(name)
            .collect()
    }

    /// The same in a pod of an Indexed Job.
    pub fn start_in_job(&self, index: usize, args: &[&str]) -> Child {
        let mut command = command(args, &self.kubeconfig);
        command.env("JOB_COMPLETION_INDEX", index.to_string());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().expect("loadgen starts")
    }

    /// What a run may leave behind.
    pub fn left(&self) -> Vec<String> {
        let namespaces = self.names("namespaces");
        let ours = namespaces
            .into_iter()
            .filter(|name| name.starts_with("loadgen-"));
        ["edgeapps", "deployments", "services"]
            .into_iter()
            .flat_map(|resource| self.names(resource))
            .chain(ours)
            .collect()
    }

    pub fn create_edgeapp(&self, namespace: &str, name: &str, finalizers: &[&str]) {
        let object = json!({
            "apiVersion": "tare.dev/v1alpha1", "kind": "EdgeApp",
            "metadata": {"name": name, "namespace": namespace, "finalizers": finalizers},
            "spec": {"image": "web:1"},
        });
        self.send("POST", &collection(namespace), "application/json", &object);
    }

    pub fn create_namespace(&self, name: &str) {
        let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        self.send("POST", "/api/v1/namespaces", "application/json", &object);
    }

    pub fn label(&self, namespace: &str, name: &str, key: &str, value: &str) {
        let patch = json!({"metadata": {"labels": {key: value}}});
        let path = format!("{}/{name}", collection(namespace));
        self.send("PATCH", &path, "application/merge-patch+json", &patch);
    }

    pub fn create(&self, path: &str, object: &Value) {
        self.send("POST", path, "application/json", object);
    }

    pub fn patch(&self, path: &str, patch: &Value) {
        self.send("PATCH", path, "application/merge-patch+json", patch);
    }

    fn send(&self, method: &str, path: &str, content_type: &str, body: &Value) {
        let request = http::Request::builder()
            .method(method)
            .uri(path)
            .header("content-type", content_type)
            .body(body.to_string().into_bytes())
            .expect("a request");
        let _inside = self.runtime.enter();
        let client = self.server.client("somebody");
        let answer = self.runtime.block_on(client.request::<Value>(request));
        answer.expect("the server takes it");
    }
}

fn collection(namespace: &str) -> String {
    format!("/apis/tare.dev/v1alpha1/namespaces/{namespace}/edgeapps")
}

/// A kubeconfig for a server that need not be there.
pub fn kubeconfig_file(name: &str, url: &str) -> PathBuf {
    let tls = Tls::generate().expect("a certificate");
    let path = folder(&format!("run-{name}")).join("kubeconfig");
    std::fs::write(&path, kubeconfig(url, tls.ca_pem(), "tester", "token")).expect("writable");
    path
}

pub fn command(args: &[&str], kubeconfig: &Path) -> Command {
    let mut command = Command::new(LOADGEN);
    command.args(args).arg("--kubeconfig").arg(kubeconfig);
    command.stdin(Stdio::null());
    // As outside of a Job, wherever the tests run.
    command.env_remove("JOB_COMPLETION_INDEX");
    // As it is called where cargo did not start it: what it prints to be typed compiles nothing.
    command.env_remove("CARGO_PKG_NAME");
    command
}

pub fn loadgen(args: &[&str], kubeconfig: &Path) -> Output {
    command(args, kubeconfig).output().expect("loadgen starts")
}

/// Where no cluster is named.
pub fn without_cluster(args: &[&str]) -> Output {
    let mut command = Command::new(LOADGEN);
    command.args(args).stdin(Stdio::null());
    command.env_remove("KUBECONFIG");
    command.output().expect("loadgen starts")
}

/// `loadgen merge`, which needs no server.
pub fn merge(files: &[&str]) -> Output {
    let mut command = Command::new(LOADGEN);
    command.arg("merge").args(files).stdin(Stdio::null());
    command.output().expect("loadgen starts")
}

pub fn code(output: &Output) -> Option<i32> {
    output.status.code()
}

pub fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// All that it has printed.
pub fn said(output: &Output) -> String {
    stdout(output) + &stderr(output)
}

pub fn assert_success(output: &Output) {
    assert_eq!(code(output), Some(0), "{}", said(output));
}
