//! The `cluster` entry of a kubeconfig: the API server's address and how it is verified.
//!
//! Guarantees: what is not supported (a proxy, a missing CA) is an error, never ignored.
//! Leaves to others: the handshake (`tls`).

use http::Uri;
use http::uri::Scheme;
use rustls::pki_types::ServerName;

use crate::http::client::entry::Entry;
use crate::http::client::error::{Flaw, Problem};
use crate::http::client::tls;
use crate::http::client::tls::Trust;

/// An API server.
pub(crate) struct Cluster {
    /// Its URL, of scheme `http` or `https`.
    pub server: Uri,
    /// How it is verified; `None` over plain HTTP.
    pub tls: Option<(Trust, Option<ServerName<'static>>)>,
}

impl Cluster {
    /// Reads a `cluster` entry and the files it names.
    pub fn read(entry: &Entry) -> Result<Self, Flaw> {
        if entry.has("proxy-url") {
            return Err(entry.flaw(Problem::Proxy));
        }
        let server = entry
            .text("server")?
            .ok_or_else(|| entry.flaw(Problem::Lacks("server")))?;
        if server.contains('@') {
            return Err(entry.flaw(Problem::Userinfo));
        }
        let server = url(server).ok_or_else(|| entry.flaw(Problem::Server(server.to_owned())))?;
        if server.scheme() == Some(&Scheme::HTTP) {
            return Ok(Self { server, tls: None });
        }
        let name = match entry.text("tls-server-name")? {
            None => None,
            Some(name) => Some(ServerName::try_from(name.to_owned()).map_err(|_| {
                entry.flaw(Problem::Kind(
                    "tls-server-name",
                    "a host name or an address",
                ))
            })?),
        };
        let tls = Some((trust(entry)?, name));
        Ok(Self { server, tls })
    }
}

/// Parses the URL of a server. kubectl reads a URL without a scheme as plain HTTP; here it is an error.
fn url(text: &str) -> Option<Uri> {
    let uri: Uri = text.parse().ok()?;
    let known = [Scheme::HTTP, Scheme::HTTPS];
    let usable = known.iter().any(|scheme| uri.scheme() == Some(scheme))
        && uri.host().is_some_and(|host| !host.is_empty())
        && uri.query().is_none();
    usable.then_some(uri)
}

fn trust(entry: &Entry) -> Result<Trust, Flaw> {
    let insecure = entry.flag("insecure-skip-tls-verify")?;
    let material = entry.material("certificate-authority", "certificate-authority-data")?;
    match (insecure, material) {
        (true, None) => Ok(Trust::Anything),
        (true, Some(_)) => Err(entry.flaw(Problem::InsecureAuthority)),
        (false, None) => Err(entry.flaw(Problem::NoAuthority)),
        (false, Some(material)) => {
            let roots =
                tls::roots(&material.pem).map_err(|cause| entry.pem_flaw(&material, cause))?;
            Ok(match material.path {
                Some(path) => Trust::File { path, roots },
                None => Trust::Roots(roots),
            })
        }
    }
}
