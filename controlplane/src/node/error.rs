//! Why there is no node, or why something in it failed.
//!
//! Guarantees: one line each, with the cause; what is missing is named with the command that installs it.

use std::io;
use std::path::PathBuf;

use tare_procstat::process;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("a node needs the namespaces and cgroups of Linux; run it on Linux")]
    Platform,
    #[error("a node needs root, for namespaces, mounts and cgroups; run it as root")]
    Root,
    #[error(
        "a node needs {}; on Debian, as root: apt-get install -y --no-install-recommends {}",
        programs.join(", "),
        packages.join(" ")
    )]
    Missing {
        programs: Vec<String>,
        packages: Vec<&'static str>,
    },
    #[error(
        "{} is in {hidden}, which a node hides from itself; choose another folder (TMPDIR)",
        dir.display()
    )]
    Hidden { dir: PathBuf, hidden: &'static str },
    #[error("cannot use {}: {cause}", path.display())]
    File { path: PathBuf, cause: io::Error },
    #[error("cannot use the cgroup {}: {cause}", path.display())]
    Cgroup { path: PathBuf, cause: io::Error },
    #[error("no cgroup hierarchy is mounted below /sys/fs/cgroup; a node needs one")]
    NoCgroups,
    #[error("cannot listen on 127.0.0.1:{port}: {cause}; choose another port")]
    Port { port: u16, cause: io::Error },
    #[error("cannot enter the node's network namespace: {0}")]
    Network(io::Error),
    #[error("{command}: {cause}")]
    Command { command: String, cause: String },
    #[error(transparent)]
    ControlPlane(#[from] crate::error::Error),
    #[error(transparent)]
    Process(#[from] process::Error),
}

impl Error {
    pub(crate) fn file(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Error {
        let path = path.into();
        move |cause| Error::File { path, cause }
    }

    pub(crate) fn cgroup(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Error {
        let path = path.into();
        move |cause| Error::Cgroup { path, cause }
    }
}
