//! What a machine must have for a node besides what is built here.
//!
//! Guarantees: nothing is started; what is missing is said in one line with what installs it.

use std::path::{Path, PathBuf};

use crate::build::c_compiler;
use crate::node::Error;

/// Where Debian puts the network plugins.
pub(crate) const CNI: &str = "/usr/lib/cni";

/// Programs on the path, with Debian's package of each.
const PROGRAMS: [(&str, &str); 8] = [
    ("containerd", "containerd"),
    ("containerd-shim-runc-v2", "containerd"),
    ("ctr", "containerd"),
    ("runc", "runc"),
    ("ip", "iproute2"),
    ("mount", "mount"),
    ("unshare", "util-linux"),
    ("nsenter", "util-linux"),
];
const PLUGINS: [&str; 3] = ["bridge", "host-local", "loopback"];

/// Whether a node can run here.
///
/// # Errors
/// `Platform`, `Root` or `Missing`.
pub fn check() -> Result<(), Error> {
    if !cfg!(target_os = "linux") {
        return Err(Error::Platform);
    }
    if !rustix::process::geteuid().is_root() {
        return Err(Error::Root);
    }
    let mut missing: Vec<(String, &str)> = PROGRAMS
        .iter()
        .filter(|(program, _)| on_path(program).is_none())
        .map(|&(program, package)| (program.to_owned(), package))
        .collect();
    let plugins = PLUGINS.map(|plugin| Path::new(CNI).join(plugin));
    let plugins = plugins.iter().filter(|plugin| !plugin.is_file());
    missing.extend(plugins.map(|it| (it.display().to_string(), "containernetworking-plugins")));
    if c_compiler().is_none() {
        missing.push(("a C compiler".to_owned(), "gcc libc6-dev"));
    }
    if missing.is_empty() {
        return Ok(());
    }
    let (programs, mut packages): (Vec<String>, Vec<&str>) = missing.into_iter().unzip();
    packages.dedup();
    Err(Error::Missing { programs, packages })
}

pub(crate) fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|folder| folder.join(name))
        .find(|it| it.is_file())
}
