//! The operator in a container of runc, with a memory limit and no swap.
//!
//! Guarantees: counts of kills and the peak are the kernel's; the container ends with its case. What the program reads of its
//! own file is in its cgroup: the copy that it runs from is in nobody's page cache before.
//! Leaves to others: the image as it ships (`tests/release`), a kubelet (`tests/node`).

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use libtest_mimic::Failed;
use rustix::fs::{Advice, fadvise};
use serde_json::{Value, json};

use crate::record::Figures;
use crate::setting::{Kubeconfig, Operator, Setting, is_shipped, program};

/// The image's user.
const USER: u32 = 65_532;
const READY_WITHIN: Duration = Duration::from_secs(60);

/// A running operator and its container.
pub struct Contained {
    // Ended before what is left of the container is deleted.
    operator: Operator,
    container: Container,
}

struct Container {
    name: String,
    state: PathBuf,
    limit_bytes: u64,
}

/// Starts the operator in a container with this limit and waits until it is ready.
pub async fn operate(
    setting: &Setting,
    kubeconfig: &Kubeconfig,
    limit_bytes: u64,
) -> Result<Contained, Failed> {
    if !is_shipped() {
        return Err("needs the static program: run `just overload`".into());
    }
    let container = Container {
        name: format!("tare-{}", setting.cluster.namespace),
        state: setting.file("runc"),
        limit_bytes,
    };
    let bundle = setting.file("bundle");
    let _ = std::fs::remove_dir_all(&bundle);
    copy_unread(&program(), &bundle.join("rootfs"))?;
    run("runc", &["spec", "--bundle", &bundle.display().to_string()])?;
    let by = |arguments| {
        let file = bundle.join("config.json");
        let config = serde_json::from_str(&std::fs::read_to_string(&file)?)?;
        let config = container.configured(config, setting, arguments)?;
        std::fs::write(&file, config.to_string())?;
        // In a pid namespace that ends with this process; runc alone would leave the container running.
        let words = "--pid --fork --kill-child --mount --mount-proc -- runc --root";
        let mut words: Vec<String> = words.split(' ').map(str::to_owned).collect();
        let [state, bundle] = [&container.state, &bundle].map(|path| path.display().to_string());
        let rest = [state, "run".into(), "--bundle".into(), bundle];
        words.extend(rest);
        words.push(container.name.clone());
        Ok(("/usr/bin/unshare".into(), words))
    };
    let operator = setting.start_by(kubeconfig, by).await?;
    let contained = Contained {
        operator,
        container,
    };
    contained.operator.until_ready(READY_WITHIN).await?;
    Ok(contained)
}

/// Copies the program to where it is the only file, and takes the copy out of the page cache.
fn copy_unread(program: &Path, folder: &Path) -> Result<(), Failed> {
    std::fs::create_dir_all(folder)?;
    let copy = folder.join("tare");
    std::fs::copy(program, &copy)?;
    let file = File::open(copy)?;
    file.sync_all()?;
    fadvise(&file, 0, None, Advice::DontNeed)?;
    Ok(())
}

impl Contained {
    /// Fails the case if the operator ended by itself.
    pub fn check_alive(&mut self) -> Result<(), Failed> {
        self.operator.check_alive()
    }

    /// Kills and peaks of this life.
    pub fn tell(&self, life: &str, figures: &mut Figures) -> Result<(), Failed> {
        let container = &self.container;
        let limit_mb = container.limit_bytes as f64 / 1e6;
        let mb = |bytes: u64| (bytes as f64 / 1e5).round() / 10.0;
        figures.at_most(
            &format!("{life}: kills"),
            container.kills()? as f64,
            "",
            0.0,
        );
        figures.at_most(
            &format!("{life}: peak of the cgroup"),
            mb(container.peak_bytes()?),
            "MB",
            (limit_mb * 10.0).ceil() / 10.0,
        );
        figures.tell(
            &format!("{life}: peak of the operator"),
            mb(container.resident_peak_bytes()?),
            "MB",
        );
        Ok(())
    }

    /// Ends the container and waits until its cgroup is gone.
    pub async fn end(self) -> Result<(), Failed> {
        let Contained {
            operator,
            container,
        } = self;
        operator.kill();
        container.delete()
    }
}

impl Container {
    /// Configures the container as the shipped Deployment does, but with the machine's network, where the
    /// server is, and with the files of the case where its kubeconfig says they are.
    fn configured(
        &self,
        mut config: Value,
        setting: &Setting,
        arguments: Vec<String>,
    ) -> Result<Value, Failed> {
        let mut words = vec!["/tare".to_owned()];
        words.extend(arguments);
        config["process"]["terminal"] = json!(false);
        config["process"]["args"] = json!(words);
        let kubeconfig = setting.kubeconfig();
        config["process"]["env"] = json!([format!("KUBECONFIG={}", kubeconfig.display())]);
        config["process"]["user"] = json!({ "uid": USER, "gid": USER });
        config["process"]["capabilities"] = json!({});
        config["process"]["noNewPrivileges"] = json!(true);
        config["linux"]["cgroupsPath"] = json!(format!("/{}", self.name));
        config["linux"]["resources"]["memory"] =
            json!({ "limit": self.limit_bytes, "swap": self.limit_bytes });
        if let Some(namespaces) = config["linux"]["namespaces"].as_array_mut() {
            namespaces.retain(|namespace| namespace["type"] != "network");
        }
        let mount = json!({
            "destination": setting.folder(), "type": "bind", "source": setting.folder(),
            "options": ["bind", "ro"],
        });
        let mounts = config["mounts"].as_array_mut();
        mounts.ok_or("no mounts in config.json")?.push(mount);
        // The mount point is made in it.
        config["root"]["readonly"] = json!(false);
        Ok(config)
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
    fn resident_peak_bytes(&self) -> Result<u64, Failed> {
        let procs = self.memory("cgroup.procs", "cgroup.procs")?;
        let pid = procs.lines().next().ok_or("no process in its cgroup")?;
        Ok(tare_procstat::peak_bytes(pid.parse()?)?)
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

    fn delete(&self) -> Result<(), Failed> {
        let state = self.state.display().to_string();
        run("runc", &["--root", &state, "delete", "--force", &self.name])
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        // After a kill its state and its cgroup are left.
        let _ = self.delete();
    }
}

fn run(program: &str, words: &[&str]) -> Result<(), Failed> {
    let output = Command::new(program).args(words).output();
    let output = output.map_err(|error| format!("{program}: {error}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{program} {}: {}", words.join(" "), said.trim()).into());
    }
    Ok(())
}
