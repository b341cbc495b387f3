//! A client for the API server, from a kubeconfig or from inside the cluster.
//!
//! Guarantees: an error names the file and what to do. What a kubeconfig requires and this client lacks
//! is an error, never ignored. A token is never printed and never sent without TLS.
//! Leaves to others: the HTTP stack (`stack`), deadlines (`request`).
//! Limits: no plugins, passwords, impersonation or proxies. A CA is required; the roots of the system are not used.
//! Why not `kube::Config`: it brings plugins, JSONPath, regular expressions and a YAML deserializer,
//! 2.5 of 5.6 MB of the binary.

mod cause;
mod certificate;
mod cluster;
mod credentials;
mod entry;
mod error;
mod file;
mod kubeconfig;
mod service_account;
mod stack;
mod tls;
mod verifier;
mod yaml;

#[cfg(test)]
mod tests;

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use http::{HeaderValue, Uri};
use rustls::pki_types::ServerName;
use tokio::time::Instant;
use tracing::warn;

use crate::http::client::cluster::Cluster;
use crate::http::client::credentials::Credentials;
use crate::http::client::kubeconfig::Kubeconfig;

pub(crate) use crate::http::client::cause::cause;
pub use crate::http::client::certificate::Identity;
pub use crate::http::client::credentials::Token;
pub use crate::http::client::error::{ClientError, Flaw, Known, PemError, Problem};
pub use crate::http::client::file::FileError;
pub use crate::http::client::stack::build;
pub(crate) use crate::http::client::stack::{IDLE, Renewed};
pub use crate::http::client::tls::Trust;
pub use crate::http::client::yaml::YamlError;

/// Where k3s writes its kubeconfig.
const K3S_KUBECONFIG: &str = "/etc/rancher/k3s/k3s.yaml";

/// The `User-Agent` of a program that sets none.
const USER_AGENT: HeaderValue =
    HeaderValue::from_static(concat!("tare-runtime/", env!("CARGO_PKG_VERSION")));

/// Where the API server is and how the client authenticates.
#[derive(Debug)]
pub struct Config {
    /// URL of the server; its path is prepended to that of every request.
    pub server: Uri,
    /// The namespace of requests that name none.
    pub namespace: String,
    /// What protects the connection.
    pub security: Security,
    /// Sent with every request.
    pub token: Option<Token>,
    /// The program's name and version; the server's audit log shows it.
    pub user_agent: HeaderValue,
}

/// What protects a connection.
#[derive(Debug)]
pub enum Security {
    /// Nothing: `http://`, as `kubectl proxy` serves it.
    Plain,
    /// TLS.
    Tls {
        /// Which certificates of the server are accepted.
        trust: Trust,
        /// The name that the certificate must contain, if not the host of the URL.
        server_name: Option<ServerName<'static>>,
        /// Our own certificate.
        identity: Option<Identity>,
    },
}

/// Finds the configuration: `$KUBECONFIG`, `~/.kube/config`, the pod's service account.
///
/// # Errors
/// One line that names the file and what to do.
pub async fn config(context: Option<String>) -> Result<Config, ClientError> {
    let files = kubeconfig_files();
    if !files.is_empty() {
        return from_files(&files, context.as_deref());
    }
    let variable = |name| std::env::var(name).ok();
    if let Some(host) = variable("KUBERNETES_SERVICE_HOST") {
        let port = variable("KUBERNETES_SERVICE_PORT");
        let directory = Path::new(service_account::DIRECTORY);
        return service_account::config(&host, port.as_deref(), directory, Instant::now());
    }
    let hint = if Path::new(K3S_KUBECONFIG).exists() {
        format!(", for k3s: export KUBECONFIG={K3S_KUBECONFIG}")
    } else {
        String::new()
    };
    Err(ClientError::Missing { hint })
}

/// The files of `$KUBECONFIG`, or `~/.kube/config` where that exists.
fn kubeconfig_files() -> Vec<PathBuf> {
    if let Some(list) = std::env::var_os("KUBECONFIG").filter(|list| !list.is_empty()) {
        return std::env::split_paths(&list)
            .filter(|path| !path.as_os_str().is_empty())
            .collect();
    }
    let home = std::env::var_os("HOME").map(PathBuf::from);
    home.map(|home| home.join(".kube/config"))
        .filter(|path| path.exists())
        .into_iter()
        .collect()
}

/// The configuration of a context, of the current one if none is given.
///
/// # Errors
/// One line that names the file, the entry and what to do.
pub fn from_files(files: &[PathBuf], context: Option<&str>) -> Result<Config, ClientError> {
    let merged = merged(files)?;
    let unusable = |flaw| ClientError::Unusable {
        path: list(files),
        flaw,
    };
    let choice = merged.choose(context).map_err(unusable)?;
    let in_cluster = |flaw| unusable_in(&choice.cluster.file, flaw);
    let Cluster { server, tls } = Cluster::read(choice.cluster).map_err(in_cluster)?;
    let Some((trust, server_name)) = tls else {
        if choice.user.is_some() {
            warn!(%server, "plain HTTP: neither token nor client certificate are sent");
        }
        return Ok(Config {
            server,
            namespace: choice.namespace,
            security: Security::Plain,
            token: None,
            user_agent: USER_AGENT,
        });
    };
    if matches!(trust, Trust::Anything) {
        warn!(%server, "insecure-skip-tls-verify: the API server is not verified; another server could receive the token");
    }
    let user = choice.user.ok_or_else(|| {
        let flaw = choice.context.flaw(Problem::Lacks("user"));
        unusable_in(&choice.context.file, flaw)
    })?;
    let Credentials { token, identity } =
        Credentials::read(user, Instant::now()).map_err(|flaw| unusable_in(&user.file, flaw))?;
    Ok(Config {
        server,
        namespace: choice.namespace,
        security: Security::Tls {
            trust,
            server_name,
            identity,
        },
        token,
        user_agent: USER_AGENT,
    })
}

/// All files merged. As for kubectl, missing files are ignored unless all are missing.
fn merged(files: &[PathBuf]) -> Result<Kubeconfig, ClientError> {
    let mut merged: Option<Kubeconfig> = None;
    let mut missing = None;
    for path in files {
        let text = match file::read_text(path) {
            Ok(text) => text,
            Err(cause @ FileError::Unreadable(ErrorKind::NotFound)) => {
                missing = missing.or_else(|| Some(unreadable(path, cause)));
                continue;
            }
            Err(cause) => return Err(unreadable(path, cause)),
        };
        let next = Kubeconfig::read(&text, path).map_err(|flaw| unusable_in(path, flaw))?;
        merged.get_or_insert_default().merge(next);
    }
    match (merged, missing) {
        (None, Some(missing)) => Err(missing),
        (merged, _) => Ok(merged.unwrap_or_default()),
    }
}

fn unreadable(path: &Path, cause: FileError) -> ClientError {
    let hint = match cause {
        FileError::Unreadable(ErrorKind::PermissionDenied) => {
            "; run as a user who may read it, or copy it and set KUBECONFIG to the copy"
        }
        FileError::Unreadable(ErrorKind::NotFound) => "; set KUBECONFIG to a file that exists",
        _ => "",
    };
    ClientError::Unreadable {
        path: path.display().to_string(),
        cause,
        hint,
    }
}

fn unusable_in(path: &Path, flaw: Flaw) -> ClientError {
    ClientError::Unusable {
        path: path.display().to_string(),
        flaw,
    }
}

fn list(files: &[PathBuf]) -> String {
    files
        .iter()
        .map(|file| file.display().to_string())
        .collect::<Vec<_>>()
        .join(":")
}
