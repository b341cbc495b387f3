//! Verification of the server's certificate in two cases that rustls does not cover: a CA file that
//! changes, and `insecure-skip-tls-verify`.
//!
//! Guarantees: a CA file is read again about every minute, because the kubelet replaces it when the
//! CA of the cluster changes; while it cannot be used the roots read before stay in use. Connections
//! that are open are not touched.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use tracing::warn;

use crate::http::client::{file, tls};

/// The interval at which client-go reads tokens again; the kubelet writes token and CA into one volume.
const REREAD_S: u64 = 60;

/// Verifies a server: its certificate as [`Certificates`] says, the signature of its handshake always.
#[derive(Debug)]
pub(crate) struct Verifier {
    certificates: Certificates,
    /// The signature algorithms; they do not depend on the roots.
    algorithms: WebPkiSupportedAlgorithms,
}

#[derive(Debug)]
enum Certificates {
    /// Against the roots in a file, which is read again when they are older than [`REREAD_S`].
    Renewed(Renewed),
    /// Every certificate is accepted if the server has its key.
    Unchecked,
}

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

impl Verifier {
    /// Verifies against the roots in a file. `roots` is what it held just now.
    pub fn renewed(
        path: PathBuf,
        roots: Arc<RootCertStore>,
        provider: Arc<CryptoProvider>,
    ) -> Result<Self, Error> {
        let verifier = verifier(roots, &provider)?;
        let read = UnixTime::now();
        Ok(Self {
            algorithms: provider.signature_verification_algorithms,
            certificates: Certificates::Renewed(Renewed {
                path,
                provider,
                current: Mutex::new(Current { verifier, read }),
            }),
        })
    }

    /// Accepts any certificate; signatures are verified with the algorithms of `provider`.
    pub fn unchecked(provider: &CryptoProvider) -> Self {
        Self {
            certificates: Certificates::Unchecked,
            algorithms: provider.signature_verification_algorithms,
        }
    }
}

impl Renewed {
    /// The verifier for certificates at `now`; reads the file again when it is due.
    fn at(&self, now: UnixTime) -> Arc<WebPkiServerVerifier> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        let age_s = now.as_secs().checked_sub(current.read.as_secs());
        // Where the clock was set back, the age is unknown, and the file is read again.
        if age_s.is_none_or(|age_s| age_s >= REREAD_S) {
            current.read = now;
            self.reread(&mut current);
        }
        Arc::clone(&current.verifier)
    }

    fn reread(&self, current: &mut Current) {
        let text = file::read(&self.path).map_err(|error| error.to_string());
        let fresh = text
            .and_then(|text| tls::roots(&text).map_err(|error| error.to_string()))
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

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        match &self.certificates {
            Certificates::Unchecked => Ok(ServerCertVerified::assertion()),
            Certificates::Renewed(renewed) => renewed.at(now).verify_server_cert(
                end_entity,
                intermediates,
                server_name,
                ocsp_response,
                now,
            ),
        }
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

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::Duration;

    use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
    use rustls::crypto::ring;

    use super::*;

    /// A CA, and a server's certificate that it has signed.
    fn authority(file: &Path) -> Result<CertificateDer<'static>, rcgen::Error> {
        let mut ca = CertificateParams::new(Vec::new())?;
        ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let ca = CertifiedIssuer::self_signed(ca, KeyPair::generate()?)?;
        std::fs::write(file, ca.pem()).expect("a temporary file");
        let server = CertificateParams::new(vec!["api".to_owned()])?;
        let key = KeyPair::generate()?;
        Ok(server.signed_by(&key, &ca)?.der().clone())
    }

    #[test]
    fn a_new_authority_counts_after_a_minute_and_a_broken_file_changes_nothing() {
        let file = std::env::temp_dir().join(format!("tare-ca-{}", std::process::id()));
        let old = authority(&file).expect("a CA");
        let roots = tls::roots(&std::fs::read(&file).expect("a file")).expect("roots");
        let provider = Arc::new(ring::default_provider());
        let verifier = Verifier::renewed(file.clone(), roots, provider).expect("a verifier");
        let start = UnixTime::now().as_secs();
        let name = ServerName::try_from("api").expect("a name");
        let accepts = |certificate: &CertificateDer<'_>, after_s| {
            let now = UnixTime::since_unix_epoch(Duration::from_secs(start + after_s));
            verifier
                .verify_server_cert(certificate, &[], &name, &[], now)
                .is_ok()
        };
        assert!(accepts(&old, 0));
        let new = authority(&file).expect("a CA");
        assert!(accepts(&old, 50) && !accepts(&new, 50), "read too early");
        assert!(accepts(&new, 61) && !accepts(&old, 61), "not read again");
        std::fs::write(&file, "hello").expect("a temporary file");
        assert!(
            accepts(&new, 200),
            "the roots read before do not stay in use"
        );
        std::fs::remove_file(&file).expect("a temporary file");
        assert!(accepts(&new, 300));
    }
}
