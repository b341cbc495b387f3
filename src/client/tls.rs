//! TLS: whom the client trusts, and who it says it is.
//!
//! Guarantees: rustls with ring, TLS 1.2 and 1.3; a CA file is read again about every minute, because
//! the kubelet replaces it when the cluster's CA changes; a private key is never printed.
//! Leaves to others: where certificates come from (`entry`, `service_account`).
//! Limits: the client certificate is read once; the system's roots are not used.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{Resumption, WebPkiServerVerifier};
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms, ring};
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use tracing::warn;

use super::error::{ClientError, PemError};
use super::file;

/// As client-go has it for tokens; the kubelet writes both into the same volume.
const REREAD_S: u64 = 60;

/// Which certificates of the server are accepted.
#[derive(Debug, Clone)]
pub enum Trust {
    /// Those that lead to one of these roots.
    Roots(Arc<RootCertStore>),
    /// Those that lead to one of the roots in this file, which may change.
    File {
        /// The file.
        path: PathBuf,
        /// What was in it.
        roots: Arc<RootCertStore>,
    },
    /// All: `insecure-skip-tls-verify`.
    Anything,
}

/// A client certificate.
#[derive(Debug)]
pub struct Identity {
    /// The certificate, then those that lead to the root.
    pub chain: Vec<CertificateDer<'static>>,
    /// Its private key.
    pub key: PrivateKeyDer<'static>,
}

/// The certificates in a PEM text, at least one.
pub(super) fn certificates(text: &[u8]) -> Result<Vec<CertificateDer<'static>>, PemError> {
    let certificates: Vec<_> = CertificateDer::pem_slice_iter(text)
        .collect::<Result<_, _>>()
        .map_err(|error| flaw(&error, "certificate"))?;
    if certificates.is_empty() {
        return Err(PemError::Missing("certificate"));
    }
    Ok(certificates)
}

/// The first private key in a PEM text.
pub(super) fn key(text: &[u8]) -> Result<PrivateKeyDer<'static>, PemError> {
    PrivateKeyDer::from_pem_slice(text).map_err(|error| flaw(&error, "private key"))
}

/// The roots in a PEM text; as in Go, those that cannot be parsed do not spoil the others.
pub(super) fn roots(text: &[u8]) -> Result<Arc<RootCertStore>, PemError> {
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

/// What every connection starts from.
pub(super) fn client_config(
    trust: &Trust,
    identity: Option<&Identity>,
) -> Result<ClientConfig, ClientError> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(ClientError::Tls)?;
    let builder = match trust {
        Trust::Roots(roots) => builder.with_root_certificates(Arc::clone(roots)),
        Trust::File { path, roots } => {
            let verifier = Renewed::new(path.clone(), Arc::clone(roots), provider)?;
            builder
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(verifier))
        }
        Trust::Anything => builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Unchecked {
                algorithms: provider.signature_verification_algorithms,
            })),
    };
    let mut config = match identity {
        Some(identity) => builder
            .with_client_auth_cert(identity.chain.clone(), identity.key.clone_key())
            .map_err(ClientError::Identity)?,
        None => builder.with_no_client_auth(),
    };
    // There is one server; the default makes room for 256.
    config.resumption = Resumption::in_memory_sessions(1);
    Ok(config)
}

/// Checks against the roots in a file, which is read again when they are older than [`REREAD_S`].
#[derive(Debug)]
struct Renewed {
    path: PathBuf,
    provider: Arc<CryptoProvider>,
    current: Mutex<Current>,
}

#[derive(Debug)]
struct Current {
    verifier: Arc<WebPkiServerVerifier>,
    read: UnixTime,
}

impl Renewed {
    fn new(
        path: PathBuf,
        roots: Arc<RootCertStore>,
        provider: Arc<CryptoProvider>,
    ) -> Result<Self, ClientError> {
        let verifier = verifier(roots, &provider).map_err(ClientError::Tls)?;
        let read = UnixTime::now();
        Ok(Self {
            path,
            provider,
            current: Mutex::new(Current { verifier, read }),
        })
    }

    /// What signatures are checked with does not depend on the roots.
    fn verifier(&self) -> Arc<WebPkiServerVerifier> {
        let current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&current.verifier)
    }

    fn renew(&self, now: UnixTime) {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        let age_s = now.as_secs().checked_sub(current.read.as_secs());
        // A clock that was set back says nothing about the age.
        if age_s.is_some_and(|age_s| age_s < REREAD_S) {
            return;
        }
        current.read = now;
        let text = file::read(&self.path).map_err(|error| error.to_string());
        let fresh = text
            .and_then(|text| roots(&text).map_err(|error| error.to_string()))
            .and_then(|roots| verifier(roots, &self.provider).map_err(|error| error.to_string()));
        match fresh {
            Ok(fresh) => current.verifier = fresh,
            Err(cause) => {
                warn!(file = %self.path.display(), "{cause}; the roots read before stay in use");
            }
        }
    }
}

fn verifier(
    roots: Arc<RootCertStore>,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<WebPkiServerVerifier>, Error> {
    WebPkiServerVerifier::builder_with_provider(roots, Arc::clone(provider))
        .build()
        .map_err(|error| Error::General(error.to_string()))
}

impl ServerCertVerifier for Renewed {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.renew(now);
        self.verifier().verify_server_cert(
            end_entity,
            intermediates,
            server_name,
            ocsp_response,
            now,
        )
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.verifier()
            .verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.verifier()
            .verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.verifier().supported_verify_schemes()
    }
}

/// Accepts every certificate whose key the server has.
#[derive(Debug)]
struct Unchecked {
    algorithms: WebPkiSupportedAlgorithms,
}

impl ServerCertVerifier for Unchecked {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        rustls::crypto::verify_tls12_signature(message, certificate, signed, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        rustls::crypto::verify_tls13_signature(message, certificate, signed, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}
