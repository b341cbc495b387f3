//! A simulated API server over TLS with the operator's process beside it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use kube::api::{Api, DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use kubesim::{Options, Server, Tls, kubeconfig};
use serde_json::{Value, json};
use tare_procstat::process::{Process, Spec};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const DEADLINE: Duration = Duration::from_secs(30);

/// Which of the three programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    Stock,
    Predicate,
    Tuned,
}

impl Variant {
    pub fn program(self) -> PathBuf {
        PathBuf::from(match self {
            Variant::Stock => env!("CARGO_BIN_EXE_baseline-kube-rs"),
            Variant::Predicate => env!("CARGO_BIN_EXE_baseline-kube-rs-predicate"),
            Variant::Tuned => env!("CARGO_BIN_EXE_baseline-kube-rs-tuned"),
        })
    }
}

pub struct Cluster {
    server: Server,
    pub operator: Process,
    variant: Variant,
    folder: PathBuf,
    admin: String,
}

impl Cluster {
    /// Starts both and waits until the operator is ready.
    pub async fn start(variant: Variant, test: &str) -> Cluster {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!(
            "baseline-{}-{variant:?}-{test}",
            std::process::id()
        ));
        std::fs::create_dir_all(&folder).unwrap();
        let server = Server::new(Options::default());
        server
            .install(include_str!("../../../../deploy/base/crd.yaml"))
            .unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("https://{}", listener.local_addr().unwrap());
        let tls = Tls::generate().unwrap();
        let config = kubeconfig(&url, tls.ca_pem(), "operator", &server.token("operator"));
        std::fs::write(folder.join("kubeconfig"), config).unwrap();
        tokio::spawn(server.clone().serve(listener, tls, std::future::pending()));

        let (operator, admin) = spawn(variant, &folder).await;
        let mut cluster = Cluster {
            server,
            operator,
            variant,
            folder,
            admin,
        };
        cluster.until_ready().await;
        cluster
    }

    /// With an EdgeApp `web` that has a Service and is running.
    pub async fn with_web(variant: Variant, test: &str) -> Cluster {
        let cluster = Cluster::start(variant, test).await;
        let web = app("web", json!({ "image": "web:1", "port": 8080 }));
        cluster.create("edgeapps", web).await;
        cluster.until("edgeapps", "web", is_running).await;
        cluster
    }

    /// Ends the operator and starts it again.
    pub async fn restart(&mut self) {
        let ended = self.operator.terminate(DEADLINE).await.unwrap();
        assert!(ended.success(), "{ended}");
        (self.operator, self.admin) = spawn(self.variant, &self.folder).await;
        self.until_ready().await;
    }

    /// How often the operator has written so far.
    pub fn writes(&self) -> u64 {
        self.server.requests().writes("operator")
    }

    pub async fn create(&self, resource: &str, object: Value) {
        let object = serde_json::from_value(object).unwrap();
        self.api(resource)
            .create(&PostParams::default(), &object)
            .await
            .unwrap();
    }

    pub async fn patch(&self, resource: &str, name: &str, patch: Value) {
        let (params, patch) = (PatchParams::default(), Patch::Merge(patch));
        self.api(resource)
            .patch(name, &params, &patch)
            .await
            .unwrap();
    }

    pub async fn delete(&self, resource: &str, name: &str, propagation: &str) {
        let params = match propagation {
            "Orphan" => DeleteParams::orphan(),
            _ => DeleteParams::background(),
        };
        self.api(resource).delete(name, &params).await.unwrap();
    }

    pub fn get(&self, resource: &str, name: &str) -> Option<Value> {
        self.server.object(resource, "default", name)
    }

    /// The object once it is as described.
    pub async fn until(&self, resource: &str, name: &str, is: impl Fn(&Value) -> bool) -> Value {
        let wanted = async {
            loop {
                match self.get(resource, name) {
                    Some(object) if is(&object) => return object,
                    _ => tokio::time::sleep(Duration::from_millis(10)).await,
                }
            }
        };
        match tokio::time::timeout(DEADLINE, wanted).await {
            Ok(object) => object,
            Err(_) => self.give_up(resource, name),
        }
    }

    pub async fn until_gone(&self, resource: &str, name: &str) {
        let gone = async {
            while self.get(resource, name).is_some() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        if tokio::time::timeout(DEADLINE, gone).await.is_err() {
            self.give_up(resource, name);
        }
    }

    /// Until the operator has not written for a while: every write of its own brings a reconcile.
    pub async fn until_quiet(&self) {
        const WHILE: Duration = Duration::from_millis(300);
        let mut writes = 0;
        while writes != self.writes() {
            writes = self.writes();
            tokio::time::sleep(WHILE).await;
        }
    }

    /// The answer of the admin port, head and body.
    pub async fn admin(&self, path: &str) -> String {
        ask(&self.admin, path).await.unwrap()
    }

    async fn until_ready(&mut self) {
        let ready = async {
            loop {
                match ask(&self.admin, "/readyz").await {
                    Ok(answer) if answer.starts_with("HTTP/1.1 200") => return,
                    _ => tokio::time::sleep(Duration::from_millis(10)).await,
                }
            }
        };
        if tokio::time::timeout(DEADLINE, ready).await.is_err() {
            panic!("not ready: {:#?}", self.operator.last_log_lines(20));
        }
    }

    fn give_up(&self, resource: &str, name: &str) -> ! {
        panic!(
            "{resource} {name} is {:#?}; the operator says {:#?}",
            self.get(resource, name),
            self.operator.last_log_lines(20)
        )
    }

    fn api(&self, resource: &str) -> Api<DynamicObject> {
        let (group, version, kind) = match resource {
            "edgeapps" => ("tare.dev", "v1alpha1", "EdgeApp"),
            "deployments" => ("apps", "v1", "Deployment"),
            _ => ("", "v1", "Service"),
        };
        let kind = GroupVersionKind::gvk(group, version, kind);
        let resource = ApiResource::from_gvk_with_plural(&kind, resource);
        Api::namespaced_with(self.server.client("test"), "default", &resource)
    }
}

pub fn app(name: &str, spec: Value) -> Value {
    json!({
        "apiVersion": "tare.dev/v1alpha1", "kind": "EdgeApp",
        "metadata": { "name": name }, "spec": spec,
    })
}

pub fn is_running(app: &Value) -> bool {
    app["status"]["phase"] == "Running"
        && app["status"]["observedGeneration"] == app["metadata"]["generation"]
}

/// The status of a condition; empty if there is none.
pub fn condition(object: &Value, condition: &str) -> String {
    let conditions = object["status"]["conditions"].as_array();
    conditions
        .into_iter()
        .flatten()
        .find(|one| one["type"] == condition)
        .and_then(|one| one["status"].as_str())
        .unwrap_or_default()
        .to_owned()
}

async fn spawn(variant: Variant, folder: &Path) -> (Process, String) {
    let (admin, config) = (free_address(), folder.join("kubeconfig"));
    let spec = Spec {
        name: format!("{variant:?}"),
        program: variant.program(),
        args: vec!["--admin".to_owned(), admin.clone()],
        env: vec![("KUBECONFIG".to_owned(), config.display().to_string())],
        folder: None,
        clear_env: true,
        log: folder.join("operator.log"),
    };
    (Process::spawn(spec).await.unwrap(), admin)
}

/// Free at the time of asking; nothing else on the machine is likely to take it at once.
fn free_address() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().to_string()
}

async fn ask(address: &str, path: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(address).await?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    Ok(answer)
}
