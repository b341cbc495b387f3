//! Where a case takes place: a namespace of the control plane that the cases share, an operator as a process, and
//! what is between the operator and its server.
//!
//! Guarantees: the operator works under the shipped service account with its role, with the flags as shipped but for the
//! namespace, the port and the cache mode; it ends with its case; its log is kept in `target/tmp/logs`.
//! Leaves to others: what goes wrong (`proxy`, `link`), what is measured (`record`).

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use kubesim::Tls;
use libtest_mimic::Failed;
use serde_json::{Value, json};
use tare_procstat::process::{Process, Spec};
use tare_runtime::cache::Mode;
use tokio::time::Instant;

use crate::cluster::Cluster;
use crate::cluster::account::SHIPPED;
use crate::cluster::plane::SharedPlane;
use crate::cluster::process::get;
use crate::overload::proxy::Proxy;

/// Until an operator on a healthy server is ready.
const READY_WITHIN: Duration = Duration::from_secs(60);

/// A namespace, and how the operator reaches the server.
pub struct Setting {
    pub cluster: Cluster,
    folder: PathBuf,
    /// Of the shipped account on the server itself.
    direct: Kubeconfig,
}

/// What a kubeconfig of these tests says.
#[derive(Clone)]
pub struct Kubeconfig {
    pub server: String,
    pub ca_pem: Vec<u8>,
    pub token: String,
}

/// A running operator.
pub struct Operator {
    process: Process,
    admin: SocketAddr,
    log: PathBuf,
}

impl Setting {
    pub async fn new(plane: &Arc<SharedPlane>) -> Result<Setting, Failed> {
        Setting::in_mode(plane, Mode::None).await
    }

    /// The same with another cache mode of its operators.
    pub async fn in_mode(plane: &Arc<SharedPlane>, mode: Mode) -> Result<Setting, Failed> {
        let cluster = Cluster::real(plane, mode).await;
        let environment = plane.environment(SHIPPED).await;
        let file = environment
            .into_iter()
            .find(|(name, _)| name == "KUBECONFIG");
        let (_, file) = file.ok_or("no kubeconfig")?;
        let folder = plane.folder(&format!("overload-{}", cluster.namespace));
        Ok(Setting {
            cluster,
            folder,
            direct: Kubeconfig::read(Path::new(&file))?,
        })
    }

    pub fn direct(&self) -> &Kubeconfig {
        &self.direct
    }

    /// The folder of this case.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// What the operator was started with.
    pub fn kubeconfig(&self) -> PathBuf {
        self.file("kubeconfig")
    }

    /// A file of this case.
    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// A proxy before the server, and the kubeconfig that leads through it.
    pub async fn proxy(&self) -> Result<(Proxy, Kubeconfig), Failed> {
        let tls = Tls::generate()?;
        let proxy = Proxy::start(&self.direct.server, &self.direct.ca_pem, &tls).await?;
        let through = Kubeconfig {
            server: format!("https://{}", proxy.address),
            ca_pem: tls.ca_pem().into(),
            token: self.direct.token.clone(),
        };
        Ok((proxy, through))
    }

    /// Starts the operator with this kubeconfig; it may never be ready.
    pub async fn start(&self, kubeconfig: &Kubeconfig) -> Result<Operator, Failed> {
        self.start_by(kubeconfig, |arguments| Ok((program(), arguments)))
            .await
    }

    /// The same by another program, of which `by` says how it starts the operator with these arguments.
    pub async fn start_by(
        &self,
        kubeconfig: &Kubeconfig,
        by: impl FnOnce(Vec<String>) -> Result<(PathBuf, Vec<String>), Failed>,
    ) -> Result<Operator, Failed> {
        for (name, text) in [
            ("ca.pem", &kubeconfig.ca_pem[..]),
            ("token", kubeconfig.token.as_bytes()),
        ] {
            std::fs::write(self.file(name), text)?;
        }
        let path = self.kubeconfig();
        std::fs::write(&path, self.text(kubeconfig).to_string())?;
        let admin = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        let log = self.cluster.log();
        let mode = self.cluster.mode.to_string();
        let args = [
            "run",
            "--cache",
            &mode,
            "--namespace",
            &self.cluster.namespace,
            "--admin",
            &admin.to_string(),
        ];
        let (program, args) = by(args.map(str::to_owned).to_vec())?;
        let process = Process::spawn(Spec {
            name: format!("operator in {}", self.cluster.namespace),
            program,
            args,
            env: vec![("KUBECONFIG".to_owned(), path.display().to_string())],
            folder: None,
            clear_env: true,
            log: log.clone(),
        });
        Ok(Operator {
            process: process.await?,
            admin,
            log,
        })
    }

    /// Starts the operator and waits until it is ready.
    pub async fn operate(&self, kubeconfig: &Kubeconfig) -> Result<Operator, Failed> {
        let operator = self.start(kubeconfig).await?;
        operator.until_ready(READY_WITHIN).await?;
        Ok(operator)
    }

    /// As a pod has them, authority and token are in files.
    fn text(&self, kubeconfig: &Kubeconfig) -> Value {
        json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "case",
            "clusters": [{ "name": "case", "cluster": {
                "server": kubeconfig.server, "certificate-authority": self.file("ca.pem"),
            }}],
            "users": [{ "name": "case", "user": { "tokenFile": self.file("token") } }],
            "contexts": [{ "name": "case", "context": {
                "cluster": "case", "user": "case", "namespace": self.cluster.namespace,
            }}],
        })
    }
}

/// The program under test.
pub fn program() -> PathBuf {
    match std::env::var_os("TARE_PROGRAM") {
        Some(path) => path.into(),
        None => env!("CARGO_BIN_EXE_tare").into(),
    }
}

/// Whether it is the static program, which `just overload` names, and not the one that cargo builds for tests.
pub fn is_shipped() -> bool {
    std::env::var_os("TARE_PROGRAM").is_some()
}

impl Kubeconfig {
    fn read(path: &Path) -> Result<Kubeconfig, Failed> {
        let file: Value = serde_saphyr::from_str(&std::fs::read_to_string(path)?)?;
        let field = |pointer: &str| {
            let found = file.pointer(pointer).and_then(Value::as_str);
            found.ok_or_else(|| format!("no {pointer} in {}", path.display()))
        };
        let ca = field("/clusters/0/cluster/certificate-authority-data")?;
        Ok(Kubeconfig {
            server: field("/clusters/0/cluster/server")?.to_owned(),
            ca_pem: base64::engine::general_purpose::STANDARD.decode(ca)?,
            token: field("/users/0/user/token")?.to_owned(),
        })
    }
}

impl Operator {
    pub fn admin(&self) -> SocketAddr {
        self.admin
    }

    pub async fn until_ready(&self, within: Duration) -> Result<Duration, Failed> {
        let began = Instant::now();
        loop {
            let answer = get(self.admin, "/readyz").await.unwrap_or_default();
            if answer.starts_with("HTTP/1.1 200") {
                return Ok(began.elapsed());
            }
            if began.elapsed() > within {
                let log = self.log.display();
                return Err(format!("not ready after {within:?}: {answer:?}; log: {log}").into());
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// All of its metrics, as Prometheus reads them.
    pub async fn metrics(&self) -> Result<String, Failed> {
        Ok(get(self.admin, "/metrics").await?)
    }

    /// One of its metrics, with the labels as they are printed.
    pub async fn figure(&self, name: &str) -> Result<f64, Failed> {
        let page = self.metrics().await?;
        let mut lines = page.lines();
        let value = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        Ok(value
            .ok_or_else(|| format!("{name} is not in {page}"))?
            .trim()
            .parse()?)
    }

    /// The most memory that was resident since the start (`VmHWM`), MB.
    pub fn peak_mb(&self) -> Result<f64, Failed> {
        let bytes = tare_procstat::peak_bytes(self.process.pid())?;
        Ok((bytes as f64 / 1e5).round() / 10.0)
    }

    /// Fails the case if the process ended by itself.
    pub fn check_alive(&mut self) -> Result<(), Failed> {
        match self.process.exited()? {
            None => Ok(()),
            Some(status) => {
                Err(format!("the operator ended: {status}; log: {}", self.log.display()).into())
            }
        }
    }

    /// Ends it with SIGKILL.
    pub fn kill(self) {
        drop(self.process);
    }
}
