//! The shipped image in runc without a kubelet, with the shipped memory limit and no swap.
//!
//! Guarantees: the count of OOM kills and the peak are the kernel's, not the operator's. The container
//! ends with this process; runc alone would leave it running.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use libtest_mimic::Failed;
use serde_json::{Value, json};
use tare_procstat::process::{Process, Spec};

use crate::Outcome;
use crate::populated_cluster::{PopulatedCluster, free_port};

const COUNT: usize = 5_000;
const LIMIT_BYTES: u64 = 16 << 20;
/// The image's user.
const USER: u32 = 65_532;
const GRACE: Duration = Duration::from_secs(10);

pub async fn five_thousand(cluster: &PopulatedCluster) -> Outcome {
    // Declared first, so it is dropped after the container's process.
    let container = Container::make(cluster)?;
    let mut running = container.run(cluster).await?;
    cluster.create(COUNT).await?;
    let converged = cluster.until_running(COUNT, || {
        let kills = container.kills()?;
        match running.exited()? {
            _ if kills > 0 => {
                Err(format!("the kernel has killed it for memory {kills} times").into())
            }
            Some(status) => Err(format!("it ended: {status}").into()),
            None => Ok(()),
        }
    });
    converged.await?;
    let (kills, limit_bytes) = (container.kills()?, container.limit_bytes()?);
    // Pages of the program that were in the page cache before are not part of the cgroup's peak.
    eprintln!(
        "{COUNT} EdgeApps converged within {limit_bytes} bytes: {kills} kills, the cgroup's peak {} bytes, the program's {} KB",
        container.peak_bytes()?,
        container.resident_peak_kb()?
    );
    assert_eq!((kills, limit_bytes), (0, LIMIT_BYTES));
    // runc passes SIGTERM on to the container.
    let ended = running.terminate(GRACE).await?;
    assert_eq!(
        ended.code(),
        Some(0),
        "log: {}",
        cluster.log("tare").display()
    );
    Ok(())
}

/// A bundle that runc can run.
struct Container {
    name: String,
    bundle: PathBuf,
    state: PathBuf,
}

impl Container {
    fn make(cluster: &PopulatedCluster) -> Result<Container, Failed> {
        let name = format!("tare-release-{}", std::process::id());
        let container = Container {
            bundle: cluster.dir().join("bundle"),
            state: cluster.dir().join("runc"),
            name,
        };
        // Of the two layouts, this one is read by every version of umoci.
        let layout = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/image/tare-gzip");
        let image = format!("{}:{}", layout.display(), env!("CARGO_PKG_VERSION"));
        let unpack = [
            "unpack",
            "--image",
            &image,
            &container.bundle.display().to_string(),
        ];
        run("umoci", &unpack, "`just image amd64`, and umoci")?;
        let path = container.bundle.join("config.json");
        let config: Value = serde_json::from_str(&std::fs::read_to_string(&path)?)?;
        std::fs::write(&path, container.configured(config, cluster)?.to_string())?;
        Ok(container)
    }

    /// Configures the container as the shipped Deployment does, but with the machine's network, where the
    /// server is.
    fn configured(&self, mut config: Value, cluster: &PopulatedCluster) -> Result<Value, Failed> {
        let kubeconfig = cluster.dir().join("kubeconfig");
        std::fs::copy(cluster.kubeconfig(), &kubeconfig)?;
        std::os::unix::fs::chown(&kubeconfig, Some(USER), Some(USER))?;
        let admin = format!("127.0.0.1:{}", free_port()?);
        config["process"]["terminal"] = json!(false);
        config["process"]["args"] = json!(["/tare", "run", "--admin", admin]);
        config["process"]["env"] = json!(["KUBECONFIG=/kubeconfig"]);
        config["process"]["user"] = json!({ "uid": USER, "gid": USER });
        config["process"]["capabilities"] = json!({});
        config["process"]["noNewPrivileges"] = json!(true);
        config["root"]["readonly"] = json!(true);
        config["linux"]["cgroupsPath"] = json!(format!("/{}", self.name));
        config["linux"]["resources"]["memory"] =
            json!({ "limit": LIMIT_BYTES, "swap": LIMIT_BYTES });
        if let Some(namespaces) = config["linux"]["namespaces"].as_array_mut() {
            namespaces.retain(|namespace| namespace["type"] != "network");
        }
        let mount = json!({
            "destination": "/kubeconfig", "type": "bind", "source": kubeconfig,
            "options": ["bind", "ro"],
        });
        let mounts = config["mounts"].as_array_mut();
        mounts.ok_or("no mounts in config.json")?.push(mount);
        Ok(config)
    }

    async fn run(&self, cluster: &PopulatedCluster) -> Result<Process, Failed> {
        // In a pid namespace that ends with this process.
        let unshare = "--pid --fork --kill-child --mount --mount-proc -- runc --root";
        let mut args: Vec<String> = unshare.split(' ').map(str::to_owned).collect();
        args.extend([
            self.state.display().to_string(),
            "run".to_owned(),
            "--bundle".to_owned(),
            self.bundle.display().to_string(),
            self.name.clone(),
        ]);
        let spec = Spec {
            name: "runc".to_owned(),
            program: "unshare".into(),
            args,
            env: Vec::new(),
            clear_env: false,
            log: cluster.log("tare"),
        };
        let mut running = Process::spawn(spec).await?;
        // The cgroup exists once the container runs.
        while self.kills().is_err() {
            if let Some(status) = running.exited()? {
                let words = running.last_log_lines(3).join(" | ");
                return Err(format!("runc ended: {status}: {words}").into());
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(running)
    }

    /// The number of OOM kills in the container's cgroup.
    fn kills(&self) -> Result<u64, Failed> {
        let text = self.memory("memory.oom_control", "memory.events")?;
        let count = text.lines().find_map(|line| line.strip_prefix("oom_kill "));
        Ok(count.ok_or("no count of kills")?.trim().parse()?)
    }

    fn peak_bytes(&self) -> Result<u64, Failed> {
        let text = self.memory("memory.max_usage_in_bytes", "memory.peak")?;
        Ok(text.trim().parse()?)
    }

    /// `VmHWM` of its process.
    fn resident_peak_kb(&self) -> Result<u64, Failed> {
        let procs = self.memory("cgroup.procs", "cgroup.procs")?;
        let pid = procs.lines().next().ok_or("no process in its cgroup")?;
        let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
        let line = status.lines().find_map(|it| it.strip_prefix("VmHWM:"));
        let kb = line.and_then(|line| line.split_whitespace().next());
        Ok(kb.ok_or("no VmHWM")?.parse()?)
    }

    fn limit_bytes(&self) -> Result<u64, Failed> {
        let text = self.memory("memory.limit_in_bytes", "memory.max")?;
        Ok(text.trim().parse()?)
    }

    /// Reads a file of the cgroup by its name in version 1 and in version 2.
    fn memory(&self, one: &str, two: &str) -> Result<String, Failed> {
        let root = Path::new("/sys/fs/cgroup");
        let file = match root.join("memory").is_dir() {
            true => root.join("memory").join(&self.name).join(one),
            false => root.join(&self.name).join(two),
        };
        let text = std::fs::read_to_string(&file);
        Ok(text.map_err(|error| format!("{}: {error}", file.display()))?)
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        // The process has ended. After a kill its cgroup remains and is deleted here.
        let state = self.state.display().to_string();
        let _ = run(
            "runc",
            &["--root", &state, "delete", "--force", &self.name],
            "runc",
        );
    }
}

fn run(program: &str, words: &[&str], needed: &str) -> Outcome {
    let output = Command::new(program).args(words).output();
    let output = output.map_err(|error| format!("{program}: {error}; needed: {needed}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let words = words.join(" ");
        return Err(format!("{program} {words}: {}; needed: {needed}", said.trim()).into());
    }
    Ok(())
}
