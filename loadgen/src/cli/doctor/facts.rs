//! Facts about this machine, for the checks. Guarantees: what cannot be read is `None`.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use controlplane::{Binaries, Error, build};
use tare_procstat::Machine;

use crate::cli::bench::plan::available_bytes;
use crate::cli::control_plane::on_path;

pub(crate) struct Facts {
    pub machine: Machine,
    pub available_bytes: Option<u64>,
    /// Soft and hard limit of open files; `None` is without limit.
    pub open_files: (Option<u64>, Option<u64>),
    pub root: bool,
    /// Why a process's memory cannot be read, if so.
    pub memory_refusal: Option<String>,
    pub peak_refusal: Option<String>,
    pub cargo: Option<String>,
    pub go: Option<String>,
    pub c_compiler: Option<String>,
    pub control_plane: Result<Binaries, Error>,
    pub tools: Vec<(&'static str, &'static str, Option<PathBuf>)>,
}

/// Tools, and what works without them.
const TOOLS: [(&str, &str); 3] = [
    ("git", "reports cannot name the commit that they measured"),
    ("buildah", "needed only for images"),
    ("runc", "needed only for images"),
];

impl Facts {
    pub(crate) fn gather() -> Facts {
        let limits = rustix::process::getrlimit(rustix::process::Resource::Nofile);
        let own = std::process::id();
        let refusal =
            |read: Result<(), tare_procstat::Error>| read.err().map(|error| error.to_string());
        Facts {
            machine: tare_procstat::machine(),
            available_bytes: available_bytes(),
            open_files: (limits.current, limits.maximum),
            root: rustix::process::geteuid().is_root(),
            memory_refusal: refusal(tare_procstat::memory(own).map(drop)),
            peak_refusal: refusal(tare_procstat::reset_peak(own)),
            cargo: version("cargo", "--version"),
            go: build::go(),
            c_compiler: build::c_compiler(),
            control_plane: Binaries::find(),
            tools: TOOLS
                .map(|(name, without)| (name, without, on_path(name)))
                .to_vec(),
        }
    }
}

/// The first line that a program says about itself.
fn version(program: &str, flag: &str) -> Option<String> {
    let mut command = Command::new(program);
    let output = command.arg(flag).stderr(Stdio::null()).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().next()?.trim().to_owned();
    output.status.success().then_some(line)
}
