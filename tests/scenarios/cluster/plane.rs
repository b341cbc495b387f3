//! The real control plane that scenarios share: with the CRD and the shipped role, or empty.
//!
//! Guarantees: its processes end with it; its folder is removed then, its logs stay; to create a child
//! needs the permission to update its owner's finalizers (OwnerReferencesPermissionEnforcement).
//! Leaves to others: namespaces (`Cluster`), operators (`process`), service accounts (`account`).

use std::path::{Path, PathBuf};
use std::time::Duration;

use controlplane::{Binaries, ControlPlane, Datastore, Options, User};
use kube::Client;
use kubesim::kubeconfig;
use tare_procstat::temp_dir::TempDir;
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep};

use super::{account, example};
use crate::places;

/// The user who creates EdgeApps.
pub const PERSON: &str = "person";

/// A user without any permission.
pub const LIMITED: &str = "limited";

/// A second operator, under an account of its own with the same role.
pub const SECOND: &str = "second";

/// From a change of a Deployment until it is ready. Long enough that an EdgeApp is observed before that,
/// also when 300 are created at once on a busy machine.
pub const READY_AFTER: Duration = Duration::from_secs(2);

/// The admission plugin discovers a new kind within 30 s.
const KNOWN_WITHIN: Duration = Duration::from_secs(60);

/// Operators of `examples/`.
const EXAMPLES: [&str; 5] = ["webapp", "myservice", "inference_service", "echo", "cache"];

/// What the control plane has when the first scenario starts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Setting {
    /// The CRD, the shipped account and its role; an agent makes Deployments ready.
    Installed,
    /// Nothing of Tare; the real controllers create Pods, which wait for a node.
    Bare,
}

/// A control plane and its user.
pub struct SharedPlane {
    pub client: Client,
    /// Where logs are kept.
    pub logs: PathBuf,
    pub kubectl: Option<PathBuf>,
    pub audit_log: PathBuf,
    // Ended before its folder is removed.
    plane: Mutex<ControlPlane>,
    dir: TempDir,
}

impl SharedPlane {
    pub async fn start(
        binaries: &Binaries,
        datastore: Datastore,
        setting: Setting,
    ) -> Result<SharedPlane, String> {
        let base = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let name = match setting {
            Setting::Installed => format!("real-{}", datastore.name()),
            Setting::Bare => format!("shipped-{}", datastore.name()),
        };
        let dir = TempDir::create(base, &name).map_err(|error| error.to_string())?;
        let logs = base.join("logs").join(&name);
        // The logs of an earlier run.
        let _ = std::fs::remove_dir_all(&logs);
        let mut options = Options {
            datastore,
            dir: dir.path().to_owned(),
            logs: logs.join("plane"),
            users: vec![
                User::admin(PERSON),
                User {
                    name: LIMITED.to_owned(),
                    groups: Vec::new(),
                },
            ],
            audit: true,
            extra_api_server_args: vec![
                "--enable-admission-plugins=OwnerReferencesPermissionEnforcement".to_owned(),
            ],
            ..Options::default()
        };
        match setting {
            Setting::Installed => {
                let crd = dir.path().join("crd.yaml");
                std::fs::write(&crd, tare::edgeapp::CRD_YAML).map_err(|error| error.to_string())?;
                options.crds = vec![crd];
                // Those of other operators too. Of a kind that is installed later the admission plugin hears after up to
                // 30 s; and the garbage collector retries a child whose owner's kind it does not know after pauses
                // that double: 41 s, 82 s, 164 s.
                let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
                let crds = EXAMPLES.map(|name| examples.join(name).join("crd.yaml"));
                options.crds.extend(crds);
                for (name, text) in places::crds() {
                    let crd = dir.path().join(format!("{name}.yaml"));
                    std::fs::write(&crd, text).map_err(|error| error.to_string())?;
                    options.crds.push(crd);
                }
                options.readiness = Some(READY_AFTER);
            }
            Setting::Bare => {
                options.pods = true;
                options.service_account_admission = true;
            }
        }
        let plane = ControlPlane::start(binaries, options).await;
        let plane = plane.map_err(|error| error.to_string())?;
        let client = plane.client(PERSON).await;
        let shared = SharedPlane {
            client: client.map_err(|error| error.to_string())?,
            logs,
            kubectl: binaries.kubectl.clone(),
            audit_log: plane.audit_log().ok_or("there is no audit log")?,
            plane: Mutex::new(plane),
            dir,
        };
        if setting == Setting::Installed {
            account::install(&shared.client).await;
            account::bind_another(&shared.client, SECOND).await;
            for account in [account::SHIPPED, SECOND] {
                shared.log_in(account).await;
                shared.until_known(account).await?;
            }
        }
        Ok(shared)
    }

    /// Requests a token for a service account; operators under that account are started with it.
    pub async fn log_in(&self, account: &str) {
        self.log_in_at(account::NAMESPACE, account).await;
    }

    /// The same for a service account in `namespace`, which is also the namespace of its client, as in a pod.
    pub async fn log_in_at(&self, namespace: &str, account: &str) {
        let token = account::token(&self.client, namespace, account).await;
        let plane = self.plane.lock().await;
        let text = kubeconfig(&plane.url(), plane.ca_pem(), account, &token);
        let text = text.replace("namespace: default", &format!("namespace: {namespace}"));
        std::fs::write(self.account_file(account), text).expect("write a kubeconfig");
    }

    /// Waits until operators under this account may work.
    pub async fn until_known(&self, account: &str) -> Result<(), String> {
        self.until_known_at(account::NAMESPACE, account).await
    }

    /// Waits until operators under this account may work in `namespace`.
    pub async fn until_known_at(&self, namespace: &str, account: &str) -> Result<(), String> {
        let file = self.account_file(account);
        let client = controlplane::client(&file).await;
        let client = client.map_err(|error| error.to_string())?;
        let deadline = Instant::now() + KNOWN_WITHIN;
        while let Err(error) = account::is_known(&client, namespace).await {
            if Instant::now() > deadline {
                return Err(format!("{account} still may not create a child: {error}"));
            }
            sleep(Duration::from_millis(100)).await;
        }
        Ok(())
    }

    fn account_file(&self, account: &str) -> PathBuf {
        self.dir
            .path()
            .join(format!("account-{account}.kubeconfig"))
    }

    /// The name that the server gives to a user or to a service account that has logged in.
    pub fn username(&self, user: &str) -> String {
        match self.account_file(user).exists() {
            true => account::username(user),
            false => user.to_owned(),
        }
    }

    /// The environment of a command that runs as this user.
    pub async fn environment(&self, user: &str) -> Vec<(String, String)> {
        let mut kubeconfig = self.account_file(user);
        if !kubeconfig.exists() {
            kubeconfig = self.plane.lock().await.kubeconfig(user);
        }
        [
            ("KUBECONFIG", kubeconfig.as_path()),
            ("HOME", self.dir.path()),
        ]
        .map(|(name, path)| (name.to_owned(), path.display().to_string()))
        .to_vec()
    }

    /// Creates a folder of this name for the files of a scenario.
    pub fn folder(&self, name: &str) -> PathBuf {
        let folder = self.dir.path().join(name);
        std::fs::create_dir(&folder).expect("make a folder");
        folder
    }

    pub async fn restart_api_server(&self) {
        let restarted = self.plane.lock().await.restart_api_server().await;
        restarted.expect("restart kube-apiserver");
    }

    /// Takes a backup of the datastore; the folder that it is in.
    pub async fn back_up(&self, name: &str) -> PathBuf {
        let folder = self.dir.path().join(format!("backup-{name}"));
        let taken = self.plane.lock().await.back_up(&folder).await;
        taken.expect("take a backup");
        folder
    }

    /// Sets the datastore back to a backup.
    pub async fn restore(&self, backup: &Path) {
        let restored = self.plane.lock().await.restore(backup).await;
        restored.expect("restore the backup");
    }

    pub async fn compact(&self) {
        let compacted = self.plane.lock().await.compact().await;
        compacted.expect("compact the datastore");
    }

    /// Runs a command of an example to its end.
    pub async fn run_example(&self, name: &str, args: &[&str]) -> std::process::Output {
        let output = std::process::Command::new(example::program(name))
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
