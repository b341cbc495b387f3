//! A client for the API server, from a kubeconfig or from inside the cluster.
//!
//! Guarantees: no retries of its own, connections that are idle for seconds are closed, read buffers
//! are small, a dead peer is noticed by TCP; an error names the file and the way out.
//! Leaves to others: deadlines (`request`).

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use kube::client::{Body, ConfigExt};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use tower::{BoxError, ServiceBuilder};

/// Where k3s writes its kubeconfig.
const K3S_KUBECONFIG: &str = "/etc/rancher/k3s/k3s.yaml";

/// Idle connections cost about 37 KB each over TLS and a file descriptor.
const IDLE: Duration = Duration::from_secs(5);
/// hyper's read buffer grows up to this, bytes; a watch line may be longer than it.
const READ_BUFFER_BYTES: usize = 32 << 10;
/// A peer that is gone without a word is noticed after about a minute.
const KEEPALIVE: Duration = Duration::from_secs(20);

/// Why there is no client.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// A kubeconfig cannot be read.
    #[error("kubeconfig {path}: {cause}{hint}")]
    Unreadable {
        /// The file.
        path: String,
        /// Why.
        cause: String,
        /// The way out.
        hint: &'static str,
    },
    /// There is none, and this is not a pod.
    #[error("no kubeconfig: set KUBECONFIG to one{hint}")]
    Missing {
        /// A file that is there.
        hint: String,
    },
    /// What a kubeconfig says cannot be used.
    #[error("kubeconfig {path}: {cause}")]
    Unusable {
        /// The file or files.
        path: String,
        /// Why.
        cause: String,
    },
    /// The pod's service account cannot be used.
    #[error("service account of this pod: {0}")]
    InCluster(String),
}

/// Finds the configuration: `$KUBECONFIG`, `~/.kube/config`, the pod's service account.
///
/// # Errors
/// One line that names the file and what to do.
pub async fn config(context: Option<String>) -> Result<Config, ClientError> {
    let files = kubeconfig_files();
    if files.is_empty() {
        if std::env::var_os("KUBERNETES_SERVICE_HOST").is_some() {
            return Config::incluster().map_err(|error| ClientError::InCluster(innermost(&error)));
        }
        let hint = if Path::new(K3S_KUBECONFIG).exists() {
            format!(", for k3s: export KUBECONFIG={K3S_KUBECONFIG}")
        } else {
            String::new()
        };
        return Err(ClientError::Missing { hint });
    }
    let mut merged = Kubeconfig::default();
    for file in &files {
        check_readable(file)?;
        let next =
            Kubeconfig::read_from(file).map_err(|error| unusable(&files, &innermost(&error)))?;
        merged = merged
            .merge(next)
            .map_err(|error| unusable(&files, &innermost(&error)))?;
    }
    let options = KubeConfigOptions {
        context,
        ..KubeConfigOptions::default()
    };
    Config::from_custom_kubeconfig(merged, &options)
        .await
        .map_err(|error| unusable(&files, &error.to_string()))
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

fn check_readable(file: &Path) -> Result<(), ClientError> {
    let Err(error) = std::fs::File::open(file) else {
        return Ok(());
    };
    let hint = match error.kind() {
        ErrorKind::PermissionDenied => {
            "; run as a user who may read it, or copy it and set KUBECONFIG to the copy"
        }
        ErrorKind::NotFound => "; set KUBECONFIG to a file that exists",
        _ => "",
    };
    Err(ClientError::Unreadable {
        path: file.display().to_string(),
        cause: reason(&error),
        hint,
    })
}

/// "permission denied" without the number of the error.
fn reason(error: &std::io::Error) -> String {
    match error.kind() {
        ErrorKind::PermissionDenied => "permission denied".to_owned(),
        ErrorKind::NotFound => "no such file".to_owned(),
        _ => error.to_string(),
    }
}

fn unusable(files: &[PathBuf], cause: &str) -> ClientError {
    let path = files
        .iter()
        .map(|file| file.display().to_string())
        .collect::<Vec<_>>()
        .join(":");
    ClientError::Unusable {
        path,
        cause: cause.lines().next().unwrap_or_default().to_owned(),
    }
}

fn innermost(error: &(dyn std::error::Error + 'static)) -> String {
    let mut cause = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause.to_string()
}

/// The HTTP stack: one pool, HTTP/1.1 over rustls.
///
/// # Errors
/// The certificates or credentials of the configuration cannot be used.
pub fn build(config: &Config) -> Result<Client, kube::Error> {
    let mut http = HttpConnector::new();
    http.enforce_http(false);
    http.set_connect_timeout(config.connect_timeout);
    http.set_keepalive(Some(KEEPALIVE));
    http.set_nodelay(true);
    let connector = config.rustls_https_connector_with_connector(http)?;
    let pool = hyper_util::client::legacy::Client::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(IDLE)
        .http1_max_buf_size(READ_BUFFER_BYTES)
        .build::<_, Body>(connector);
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .option_layer(config.auth_layer()?)
        .map_err(BoxError::from)
        .service(pool);
    Ok(Client::new(service, config.default_namespace.clone()))
}
