//! TLS: the CAs that the client trusts, and its own certificate.
//!
//! Guarantees: rustls with ring, TLS 1.2 and 1.3; a private key is never printed.
//! Leaves to others: where certificates come from (`entry`, `service_account`), how the server's is
//! checked (`verifier`), a certificate of the client that is replaced (`certificate`).
//! Limits: the system's roots are not used.

use std::path::PathBuf;
use std::sync::Arc;

use rustls::client::Resumption;
use rustls::crypto::ring;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};

use crate::http::client::certificate::ClientCertificate;
use crate::http::client::error::{ClientError, PemError};
use crate::http::client::verifier::Verifier;

/// Which certificates of the server are accepted.
#[derive(Debug, Clone)]
pub enum Trust {
    /// Certificates issued under one of these roots.
    Roots(Arc<RootCertStore>),
    /// Certificates issued under one of the roots in this file, which may change.
    File {
        /// The file.
        path: PathBuf,
        /// The roots that it held when it was read.
        roots: Arc<RootCertStore>,
    },
    /// Every certificate: `insecure-skip-tls-verify`.
    Anything,
}

/// The certificates in a PEM text, at least one.
pub(crate) fn certificates(text: &[u8]) -> Result<Vec<CertificateDer<'static>>, PemError> {
    let certificates: Vec<_> = CertificateDer::pem_slice_iter(text)
        .collect::<Result<_, _>>()
        .map_err(|error| flaw(&error, "certificate"))?;
    if certificates.is_empty() {
        return Err(PemError::Missing("certificate"));
    }
    Ok(certificates)
}

/// The first private key in a PEM text.
pub(crate) fn key(text: &[u8]) -> Result<PrivateKeyDer<'static>, PemError> {
    PrivateKeyDer::from_pem_slice(text).map_err(|error| flaw(&error, "private key"))
}

/// The roots in a PEM text. As in Go, certificates that cannot be parsed are skipped.
pub(crate) fn roots(text: &[u8]) -> Result<Arc<RootCertStore>, PemError> {
    let mut roots = RootCertStore::empty();
    let (added, _) = roots.add_parsable_certificates(certificates(text)?);
    if added == 0 {
        return Err(PemError::Useless);
    }
    Ok(Arc::new(roots))
}

/// The library's message quotes lines of the text, which may be part of a key.
fn flaw(error: &pem::Error, wanted: &'static str) -> PemError {
    match error {
        pem::Error::NoItemsFound => PemError::Missing(wanted),
        _ => PemError::Broken,
    }
}

/// The settings that every TLS configuration starts from.
pub(crate) fn client_config(
    trust: &Trust,
    certificate: Option<Arc<ClientCertificate>>,
) -> Result<ClientConfig, ClientError> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(ClientError::Tls)?;
    let builder = match trust {
        Trust::Roots(roots) => builder.with_root_certificates(Arc::clone(roots)),
        Trust::File { path, roots } => {
            let verifier = Verifier::renewed(path.clone(), Arc::clone(roots), provider)
                .map_err(ClientError::Tls)?;
            builder
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(verifier))
        }
        Trust::Anything => builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Verifier::unchecked(&provider))),
    };
    // There is one server; by default sessions of 256 servers are kept.
    let mut resumption = Resumption::in_memory_sessions(1);
    let mut config = match certificate {
        Some(certificate) => {
            if certificate.may_change() {
                resumption = Resumption::disabled();
            }
            builder.with_client_cert_resolver(certificate)
        }
        None => builder.with_no_client_auth(),
    };
    config.resumption = resumption;
    Ok(config)
}
