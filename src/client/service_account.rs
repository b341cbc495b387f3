//! The service account of the pod that we are in.
//!
//! Guarantees: token and CA are read again when the kubelet replaces them.
//! Source: client-go 0.36, rest/config.go:InClusterConfig.

use std::net::Ipv6Addr;
use std::path::Path;

use http::Uri;
use tokio::time::Instant;

use super::credentials::Token;
use super::error::ClientError;
use super::tls::{self, Trust};
use super::{Config, Security, file};

/// Where the kubelet puts it.
pub(super) const DIRECTORY: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// The configuration for the server at `host` and `port`, from the files in `directory`.
pub(super) fn config(
    host: &str,
    port: Option<&str>,
    directory: &Path,
    now: Instant,
) -> Result<Config, ClientError> {
    let port = port
        .filter(|port| port.parse::<u16>().is_ok())
        .ok_or_else(|| {
            ClientError::InCluster("KUBERNETES_SERVICE_PORT is not a port number".to_owned())
        })?;
    let server = server(host, port).ok_or_else(|| {
        ClientError::InCluster(format!("KUBERNETES_SERVICE_HOST {host:?} is not a host"))
    })?;

    let path = directory.join("token");
    let token = Token::of_file(path.clone(), now).map_err(|cause| unusable(&path, &cause))?;
    let path = directory.join("namespace");
    let namespace = file::read_text(&path).map_err(|cause| unusable(&path, &cause))?;
    let path = directory.join("ca.crt");
    let text = file::read(&path).map_err(|cause| unusable(&path, &cause))?;
    let roots = tls::roots(&text).map_err(|cause| unusable(&path, &cause))?;
    Ok(Config {
        server,
        namespace: namespace.trim().to_owned(),
        security: Security::Tls {
            trust: Trust::File { path, roots },
            server_name: None,
            identity: None,
        },
        token: Some(token),
    })
}

fn server(host: &str, port: &str) -> Option<Uri> {
    if host.parse::<Ipv6Addr>().is_ok() {
        return format!("https://[{host}]:{port}").parse().ok();
    }
    format!("https://{host}:{port}").parse().ok()
}

fn unusable(path: &Path, cause: &dyn std::fmt::Display) -> ClientError {
    ClientError::InCluster(format!(
        "{}: {cause}; automountServiceAccountToken must not be false",
        path.display()
    ))
}
