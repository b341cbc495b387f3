//! A container of runc with a memory limit and no swap, and what the kernel counts of it.
//!
//! Guarantees: the limit, the kills and the peaks are the kernel's, not the operator's. The container ends with the
//! program of [`Container::command`]; runc alone would leave it running.
//! Leaves to others: the files in its bundle, and starting the command.

use std::path::{Path, PathBuf};
use std::process::Command;

use libtest_mimic::Failed;
use serde_json::{Value, json};

/// The image's user.
pub const USER: u32 = 65_532;

pub struct Container {
    name: String,
    bundle: PathBuf,
    /// Of runc.
    state: PathBuf,
}

impl Container {
    pub fn new(name: String, bundle: PathBuf, state: PathBuf) -> Container {
        Container {
            name,
            bundle,
            state,
        }
    }

    /// Changes the bundle's `config.json` to what the shipped Deployment says, but with the machine's network, where
    /// the server is, and with one folder or file of the machine: where it is, and where it is in the container.
    pub fn configure(
        &self,
        limit_bytes: u64,
        words: &[String],
        kubeconfig: &Path,
        (source, destination): (&Path, &Path),
    ) -> Result<(), Failed> {
        let file = self.bundle.join("config.json");
        let mut config: Value = serde_json::from_str(&std::fs::read_to_string(&file)?)?;
        config["process"]["terminal"] = json!(false);
        config["process"]["args"] = json!(words);
        config["process"]["env"] = json!([format!("KUBECONFIG={}", kubeconfig.display())]);
        config["process"]["user"] = json!({ "uid": USER, "gid": USER });
        config["process"]["capabilities"] = json!({});
        config["process"]["noNewPrivileges"] = json!(true);
        config["root"]["readonly"] = json!(true);
        config["linux"]["cgroupsPath"] = json!(format!("/{}", self.name));
        config["linux"]["resources"]["memory"] =
            json!({ "limit": limit_bytes, "swap": limit_bytes });
        if let Some(namespaces) = config["linux"]["namespaces"].as_array_mut() {
            namespaces.retain(|namespace| namespace["type"] != "network");
        }
        let mount = json!({
            "destination": destination, "type": "bind", "source": source, "options": ["bind", "ro"],
        });
        let mounts = config["mounts"].as_array_mut();
        mounts.ok_or("no mounts in config.json")?.push(mount);
        Ok(std::fs::write(&file, config.to_string())?)
    }

    /// The program and the arguments that run it, in a pid namespace that ends with this program.
    pub fn command(&self) -> (PathBuf, Vec<String>) {
        let words = "--pid --fork --kill-child --mount --mount-proc -- runc --root";
        let mut words: Vec<String> = words.split(' ').map(str::to_owned).collect();
        words.extend([
            self.state.display().to_string(),
            "run".to_owned(),
            "--bundle".to_owned(),
            self.bundle.display().to_string(),
            self.name.clone(),
        ]);
        ("/usr/bin/unshare".into(), words)
    }

    pub fn limit_bytes(&self) -> Result<u64, Failed> {
        let text = self.memory("memory.limit_in_bytes", "memory.max")?;
        Ok(text.trim().parse()?)
    }

    /// The number of OOM kills in its cgroup.
    pub fn kills(&self) -> Result<u64, Failed> {
        let text = self.memory("memory.oom_control", "memory.events")?;
        let count = text.lines().find_map(|line| line.strip_prefix("oom_kill "));
        Ok(count.ok_or("no count of kills")?.trim().parse()?)
    }

    /// Of its cgroup, without pages of the program that were in the page cache before.
    pub fn peak_bytes(&self) -> Result<u64, Failed> {
        let text = self.memory("memory.max_usage_in_bytes", "memory.peak")?;
        Ok(text.trim().parse()?)
    }

    /// `VmHWM` of its process.
    pub fn resident_peak_bytes(&self) -> Result<u64, Failed> {
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

    /// Deletes what a kill leaves of it: its state and its cgroup.
    pub fn delete(&self) -> Result<(), String> {
        let state = self.state.display().to_string();
        run("runc", &["--root", &state, "delete", "--force", &self.name])
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        let _ = self.delete();
    }
}

/// Runs a command that has to succeed.
pub fn run(program: &str, words: &[&str]) -> Result<(), String> {
    let output = Command::new(program).args(words).output();
    let output = output.map_err(|error| format!("{program}: {error}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{program} {}: {}", words.join(" "), said.trim()));
    }
    Ok(())
}
