//! A simulated API server on TLS loopback, for operators that run as processes.
//!
//! Guarantees: it answers when it is there, and goes when it is dropped; kubeconfigs are in a folder
//! that nobody else reads. Leaves to others: the operators.

use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use kube::api::{Api, PostParams};
use kubesim::{Options, Server, Tls, kubeconfig};
use tare::edgeapp::{CRD_YAML, EdgeApp};
use tare_procstat::temp_dir::TempDir;
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};

use super::object::Template;

/// A server and the runtime it lives on.
pub struct BenchServer {
    pub runtime: Runtime,
    server: Server,
    url: String,
    ca_pem: String,
    folder: TempDir,
}

impl BenchServer {
    /// A server that knows EdgeApps and has none. A process has one at a time of each name.
    ///
    /// # Errors
    /// No runtime, port, certificate or folder can be had.
    pub fn open(name: &str) -> anyhow::Result<Self> {
        let folder = TempDir::create(&std::env::temp_dir(), &format!("tare-bench-{name}"))
            .context("cannot make a folder for kubeconfigs")?;
        let runtime = Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .context("cannot start a runtime")?;
        let server = Server::new(Options::default());
        server.install(CRD_YAML)?;
        let tls = Tls::generate()?;
        let listener = runtime
            .block_on(TcpListener::bind("127.0.0.1:0"))
            .context("cannot listen on loopback")?;
        let url = format!("https://{}", listener.local_addr()?);
        let ca_pem = tls.ca_pem().to_owned();
        runtime.spawn(server.clone().serve(listener, tls, std::future::pending()));
        Ok(Self {
            runtime,
            server,
            url,
            ca_pem,
            folder,
        })
    }

    /// Credentials of `user`.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn kubeconfig(&self, user: &str) -> anyhow::Result<PathBuf> {
        use std::io::Write;
        let path = self.folder.path().join(format!("{user}.kubeconfig"));
        let text = kubeconfig(&self.url, &self.ca_pem, user, &self.server.token(user));
        let file = std::fs::OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&path);
        file.and_then(|mut file| file.write_all(text.as_bytes()))
            .with_context(|| format!("cannot write {}", path.display()))?;
        Ok(path)
    }

    /// Where processes may write.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Creates that many EdgeApps.
    ///
    /// # Errors
    /// One is refused.
    pub fn create(&self, objects: usize) -> anyhow::Result<()> {
        let template = Template::read()?;
        // The client keeps a task on the runtime.
        let _inside = self.runtime.enter();
        let apps: Api<EdgeApp> = Api::namespaced(self.server.client("user"), "default");
        self.runtime.block_on(async {
            for index in 0..objects {
                let object = template.object(&format!("ea-{index}"), index);
                apps.create(&PostParams::default(), &serde_json::from_value(object)?)
                    .await
                    .with_context(|| format!("EdgeApp ea-{index} is refused"))?;
            }
            Ok(())
        })
    }

    /// Requests of one user so far, and whether it watches EdgeApps, Deployments and Services.
    pub fn heard_of(&self, user: &str) -> (u64, bool) {
        let ledger = self.server.requests();
        let watched = ["edgeapps", "deployments", "services"];
        let watches = watched
            .iter()
            .all(|kind| ledger.count(user, "watch", kind) > 0);
        (ledger.reads(user) + ledger.writes(user), watches)
    }

    /// # Errors
    /// Not all of them are Running.
    pub fn check_converged(&self, objects: usize) -> anyhow::Result<()> {
        let all = self.server.objects("edgeapps");
        let running = all
            .iter()
            .filter(|object| object["status"]["phase"] == "Running")
            .count();
        ensure!(
            running == objects,
            "{running} of {objects} EdgeApps are Running"
        );
        Ok(())
    }
}
