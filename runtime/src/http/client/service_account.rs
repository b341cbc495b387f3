//! The service account of the pod that this process runs in.
//!
//! Guarantees: token and CA are read again when the kubelet replaces them.
//! Source: client-go 0.36, rest/config.go:InClusterConfig.

use std::net::Ipv6Addr;
use std::path::Path;

use http::Uri;
use tokio::time::Instant;

use crate::http::client::credentials::Token;
use crate::http::client::error::ClientError;
use crate::http::client::tls;
use crate::http::client::tls::Trust;
use crate::http::client::{Config, Security, USER_AGENT, file};

/// Where the kubelet mounts token, CA and namespace.
pub(crate) const DIRECTORY: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// The configuration for the server at `host` and `port`, from the files in `directory`.
pub(crate) fn config(
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
        user_agent: USER_AGENT,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_and_port_make_a_url() {
        let cases = [
            ("10.43.0.1", "443", Some("https://10.43.0.1:443/")),
            ("fd00::1", "6443", Some("https://[fd00::1]:6443/")),
            (
                "kubernetes.default.svc",
                "443",
                Some("https://kubernetes.default.svc:443/"),
            ),
            ("not a host", "443", None),
        ];
        for (host, port, want) in cases {
            let got = server(host, port).map(|uri| uri.to_string());
            assert_eq!(got.as_deref(), want, "{host}");
        }
    }

    #[test]
    fn a_service_account_is_complete_or_says_what_is_missing() {
        let directory = std::env::temp_dir().join(format!("tare-account-{}", std::process::id()));
        std::fs::create_dir_all(&directory).expect("a temporary folder");
        let ca = kubesim::Tls::generate().expect("a CA");
        let configured =
            |port| config("fd00::1", port, &directory, Instant::now()).map_err(|e| e.to_string());
        let parts = [
            ("token", "secret"),
            ("namespace", "tare\n"),
            ("ca.crt", ca.ca_pem()),
        ];
        for (name, text) in parts {
            let error = configured(Some("6443")).expect_err(name);
            let want = format!("{name}: no such file; automountServiceAccountToken");
            assert!(error.contains(&want), "{error}");
            std::fs::write(directory.join(name), text).expect("a temporary file");
        }
        let config = configured(Some("6443")).expect("a whole account");
        assert_eq!(config.namespace, "tare");
        assert!(matches!(
            config.security,
            Security::Tls {
                trust: Trust::File { .. },
                identity: None,
                ..
            }
        ));
        assert!(!format!("{config:?}").contains("secret"));
        for port in [None, Some("https"), Some("70000")] {
            let error = configured(port).expect_err("no port");
            assert!(error.contains("KUBERNETES_SERVICE_PORT"), "{error}");
        }
        std::fs::remove_dir_all(&directory).expect("a temporary folder");
    }
}
