//! Why there is no control plane, or why one could not be used.
//!
//! Guarantees: one line each, with the cause; a failed build adds the compiler's last lines. The cause is
//! part of the message and not the `source` of the error.

use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Duration;

use tare_procstat::process;

/// Why there is no control plane, or why one could not be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(
        "no {} in {}; run `loadgen control-plane build{option}`, or set KUBEBUILDER_ASSETS to a folder that has it",
        missing.join(", "),
        searched.join(" or ")
    )]
    NoBinaries {
        missing: Vec<&'static str>,
        searched: Vec<String>,
        /// The option of the build command that makes them.
        option: &'static str,
    },
    #[error("no module for Kubernetes {version:?}; choose one of {}", known.join(", "))]
    Version {
        version: String,
        /// Such as `1.37`.
        known: Vec<&'static str>,
    },
    #[error("no folder for the binaries; set HOME or XDG_CACHE_HOME")]
    NoCache,
    #[error(
        "go is not installed and no control plane was built; install Go {version} or newer (https://go.dev/dl), or set KUBEBUILDER_ASSETS"
    )]
    NoGo { version: String },
    #[error("cannot use {}: {cause}", path.display())]
    File { path: PathBuf, cause: io::Error },
    #[error(
        "{} is open to other users, and credentials go into it; run chmod 700 {}",
        dir.display(),
        dir.display()
    )]
    Open { dir: PathBuf },
    #[error("{} is too long for a socket path of {limit} bytes; choose a shorter folder", path.display())]
    LongPath { path: PathBuf, limit: usize },
    #[error("user {name:?}: {why}; choose another name or other groups")]
    User { name: String, why: &'static str },
    #[error("cannot listen on 127.0.0.1:{port}: {cause}; choose another port")]
    Port { port: u16, cause: io::Error },
    #[error(transparent)]
    Process(#[from] process::Error),
    #[error(transparent)]
    Measure(#[from] tare_procstat::Error),
    #[error("cannot make keys and certificates: {0}")]
    Keys(String),
    #[error("{component} ended while starting ({status}): {log_tail}; its log: {}", log.display())]
    Ended {
        component: &'static str,
        status: ExitStatus,
        log_tail: String,
        log: PathBuf,
    },
    #[error(
        "{component} was not ready within {} s ({answer}): {log_tail}; its log: {}",
        waited.as_secs(),
        log.display()
    )]
    NotReady {
        component: &'static str,
        waited: Duration,
        answer: String,
        log_tail: String,
        log: PathBuf,
    },
    #[error("cannot make a client from {}: {cause}", kubeconfig.display())]
    Client { kubeconfig: PathBuf, cause: String },
    #[error("CRD {}: {cause}", path.display())]
    Crd { path: PathBuf, cause: String },
    #[error("{what} of the control plane failed: {cause}")]
    Request { what: &'static str, cause: String },
    #[error("go build {package} failed ({status}); the whole output is in {}\n{tail}", log.display())]
    Build {
        package: &'static str,
        status: ExitStatus,
        log: PathBuf,
        tail: String,
    },
}

impl Error {
    pub(crate) fn file(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Error {
        let path = path.into();
        move |cause| Error::File { path, cause }
    }
}
