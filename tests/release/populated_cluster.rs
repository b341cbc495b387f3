//! A control plane for one test, with many EdgeApps on it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use controlplane::{Binaries, ControlPlane, Options, User};
use futures::{StreamExt, TryStreamExt};
use http::{Method, Request};
use kube::Client;
use libtest_mimic::Failed;
use serde::Deserialize;
use serde_json::{Value, json};
use tare_procstat::temp_dir::TempDir;
use tokio::time::Instant;

const PERSON: &str = "person";
/// The operator's user.
pub const TARE: &str = "tare";
const READY_AFTER: Duration = Duration::from_millis(500);
const CREATED_AT_ONCE: usize = 16;
const PAGE: usize = 500;
/// Deadline of a wait; long enough for an emulated program or a busy machine.
const TIMEOUT: Duration = Duration::from_secs(300);
const ASK_EVERY: Duration = Duration::from_secs(1);

pub struct PopulatedCluster {
    client: Client,
    // Fields are dropped in this order: the control plane has to end before its folder is removed.
    plane: ControlPlane,
    dir: TempDir,
    logs: PathBuf,
}

#[derive(Deserialize)]
struct Page {
    metadata: PageMeta,
    items: Vec<App>,
}

#[derive(Deserialize)]
struct PageMeta {
    #[serde(rename = "continue", default)]
    next: String,
}

#[derive(Deserialize)]
struct App {
    #[serde(default)]
    status: Status,
}

#[derive(Default, Deserialize)]
struct Status {
    #[serde(default)]
    phase: String,
}

impl PopulatedCluster {
    pub async fn start(name: &str) -> Result<PopulatedCluster, Failed> {
        let base = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let dir = TempDir::create(base, "release")?;
        let logs = base.join("logs").join(name);
        let _ = std::fs::remove_dir_all(&logs);
        let crd = dir.path().join("crd.yaml");
        std::fs::write(&crd, tare::edgeapp::CRD_YAML)?;
        let options = Options {
            dir: dir.path().join("plane"),
            logs: logs.join("plane"),
            users: vec![User::admin(PERSON), User::admin(TARE)],
            readiness: Some(READY_AFTER),
            crds: vec![crd],
            ..Options::default()
        };
        let plane = ControlPlane::start(&Binaries::find()?, options).await?;
        Ok(PopulatedCluster {
            client: plane.client(PERSON).await?,
            plane,
            dir,
            logs,
        })
    }

    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    pub fn log(&self, name: &str) -> PathBuf {
        self.logs.join(format!("{name}.log"))
    }

    pub fn kubeconfig(&self) -> PathBuf {
        self.plane.kubeconfig(TARE)
    }

    /// Creates `count` EdgeApps, each with a headless Service.
    pub async fn create(&self, count: usize) -> Result<(), Failed> {
        let creating = futures::stream::iter(0..count).map(|number| self.create_one(number));
        let creating = creating.buffer_unordered(CREATED_AT_ONCE);
        creating.try_for_each(async |()| Ok(())).await
    }

    async fn create_one(&self, number: usize) -> Result<(), Failed> {
        let object = json!({
            "apiVersion": "tare.dev/v1alpha1", "kind": "EdgeApp",
            "metadata": { "name": format!("web-{number}") },
            "spec": { "image": "registry.local/web:1", "port": 8080, "headless": true },
        });
        let request = Request::builder()
            .method(Method::POST)
            .uri("/apis/tare.dev/v1alpha1/namespaces/default/edgeapps")
            .header(http::header::CONTENT_TYPE, "application/json")
            .body(object.to_string().into_bytes())?;
        self.client.request::<Value>(request).await?;
        Ok(())
    }

    /// Waits until `count` EdgeApps are Running. `check` ends the wait early with the reason why they cannot be.
    pub async fn until_running(
        &self,
        count: usize,
        mut check: impl FnMut() -> Result<(), Failed>,
    ) -> Result<(), Failed> {
        let deadline = Instant::now() + TIMEOUT;
        loop {
            check()?;
            let running = self.running().await?;
            if running == count {
                return Ok(());
            }
            if Instant::now() > deadline {
                let waited_s = TIMEOUT.as_secs();
                return Err(format!("{running} of {count} Running after {waited_s} s").into());
            }
            tokio::time::sleep(ASK_EVERY).await;
        }
    }

    async fn running(&self) -> Result<usize, Failed> {
        let (mut running, mut next) = (0, String::new());
        loop {
            let path = format!("/apis/tare.dev/v1alpha1/edgeapps?limit={PAGE}&continue={next}");
            let request = Request::get(path).body(Vec::new())?;
            let page: Page = self.client.request(request).await?;
            let phases = page.items.iter().map(|app| app.status.phase.as_str());
            running += phases.filter(|phase| *phase == "Running").count();
            if page.metadata.next.is_empty() {
                return Ok(running);
            }
            // URL-safe base64, as kube-apiserver makes them.
            next = page.metadata.next;
        }
    }
}

/// A free port of loopback.
pub fn free_port() -> Result<u16, Failed> {
    let free = std::net::TcpListener::bind("127.0.0.1:0")?;
    Ok(free.local_addr()?.port())
}
