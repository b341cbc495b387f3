//! The control plane that all scenarios of one datastore share, with the CRD installed.
//!
//! Guarantees: everything that was started ends with it; its folder goes with it, its logs stay.
//! Leaves to others: namespaces, operators (`world`, `operator`).

use std::path::{Path, PathBuf};
use std::time::Duration;

use kube::Client;
use testbed::control_plane::{Binaries, ControlPlane, Datastore, Options, User};
use testbed::scratch::Scratch;
use tokio::sync::Mutex;

/// Who creates EdgeApps.
pub const PERSON: &str = "person";

/// From a change of a Deployment until it is ready: long enough that an EdgeApp is observed before,
/// also where 300 are created at once on a busy machine.
const READY_AFTER: Duration = Duration::from_secs(2);

/// A control plane and the person at it.
pub struct Site {
    pub client: Client,
    /// Where logs are kept.
    pub logs: PathBuf,
    pub kubectl: Option<PathBuf>,
    pub audit_log: PathBuf,
    // Ended before its folder is removed.
    plane: Mutex<ControlPlane>,
    dir: Scratch,
}

/// A program of `examples/`, as cargo builds it together with the tests of the package.
pub fn example(name: &str) -> PathBuf {
    let tare = Path::new(env!("CARGO_BIN_EXE_tare"));
    let program = tare.with_file_name("examples").join(name);
    assert!(
        program.exists(),
        "{name} is not built: run `cargo build --workspace --examples`"
    );
    program
}

impl Site {
    pub async fn start(binaries: &Binaries, datastore: Datastore) -> Result<Site, String> {
        let base = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let name = format!("real-{}", datastore.name());
        let dir = Scratch::create(base, &name).map_err(|error| error.to_string())?;
        let logs = base.join("logs").join(&name);
        // Those of an earlier run are of no use any more.
        let _ = std::fs::remove_dir_all(&logs);
        let crd = dir.path().join("crd.yaml");
        std::fs::write(&crd, tare::edgeapp::CRD_YAML).map_err(|error| error.to_string())?;
        let options = Options {
            datastore,
            dir: dir.path().to_owned(),
            logs: logs.join("plane"),
            users: vec![
                User::admin(PERSON),
                User::admin("tare"),
                User::admin("twin"),
                User {
                    name: "limited".to_owned(),
                    groups: Vec::new(),
                },
            ],
            audit: true,
            readiness: Some(READY_AFTER),
            crds: vec![crd],
            ..Options::default()
        };
        let plane = ControlPlane::start(binaries, options).await;
        let plane = plane.map_err(|error| error.to_string())?;
        let client = plane.client(PERSON).await;
        Ok(Site {
            client: client.map_err(|error| error.to_string())?,
            logs,
            kubectl: binaries.kubectl.clone(),
            audit_log: plane.audit_log().ok_or("there is no audit log")?,
            plane: Mutex::new(plane),
            dir,
        })
    }

    /// All that a command needs to know of this machine.
    pub async fn environment(&self, user: &str) -> Vec<(String, String)> {
        let kubeconfig = self.plane.lock().await.kubeconfig(user);
        [
            ("KUBECONFIG", kubeconfig.as_path()),
            ("HOME", self.dir.path()),
        ]
        .map(|(name, path)| (name.to_owned(), path.display().to_string()))
        .to_vec()
    }

    /// A folder of this name, for files of a scenario.
    pub fn folder(&self, name: &str) -> PathBuf {
        let folder = self.dir.path().join(name);
        std::fs::create_dir(&folder).expect("make a folder");
        folder
    }

    pub async fn restart_api_server(&self) {
        let restarted = self.plane.lock().await.restart_api_server().await;
        restarted.expect("restart kube-apiserver");
    }

    pub async fn compact(&self) {
        let compacted = self.plane.lock().await.compact().await;
        compacted.expect("compact the datastore");
    }

    /// Runs a command of an example to its end.
    pub async fn run_example(&self, name: &str, args: &[&str]) -> std::process::Output {
        let output = std::process::Command::new(example(name))
            .args(args)
            .env_clear()
            .envs(self.environment(PERSON).await)
            .output();
        output.unwrap_or_else(|error| panic!("start {name}: {error}"))
    }

    /// Installs the CRD as a user does.
    pub async fn install_crd(&self) {
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_tare"))
            .arg("install")
            .env_clear()
            .envs(self.environment(PERSON).await)
            .output()
            .expect("start tare install");
        let (out, err) = (
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr),
        );
        assert!(output.status.success(), "{err}");
        assert_eq!(out, "edgeapps.tare.dev is Established\n");
    }
}
