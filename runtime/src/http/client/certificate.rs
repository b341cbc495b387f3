//! The client certificate of a handshake, which may be replaced on disk.
//!
//! Guarantees: files are read again about every minute, and when the server refuses the client (401). While they
//! cannot be used, such as between the writes of a certificate and of its key, the former pair stays in use.
//! Connections with the former certificate are closed after their next use. A private key is never printed.
//! Leaves to others: reading certificates (`tls`), when a request is sent (`stack`).
//! Source: client-go 0.36, transport/cert_rotation.go.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustls::SignatureScheme;
use rustls::client::ResolvesClientCert;
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use tokio::time::Instant;
use tracing::{info, warn};

use crate::http::client::error::ClientError;
use crate::http::client::{IDLE, file, tls};

/// As for tokens.
const REREAD: Duration = Duration::from_secs(60);
/// Within this time every connection is used, or closed because it is idle.
const CLOSING: Duration = IDLE.saturating_mul(3);

/// A client certificate.
#[derive(Debug)]
pub struct Identity {
    /// The certificate, then its intermediates in order.
    pub chain: Vec<CertificateDer<'static>>,
    /// Its private key.
    pub key: PrivateKeyDer<'static>,
    /// The files of certificate and key, where both may be replaced.
    pub files: Option<(PathBuf, PathBuf)>,
}

/// The certificate that handshakes present.
#[derive(Debug)]
pub(crate) struct ClientCertificate {
    files: Option<(PathBuf, PathBuf)>,
    current: Mutex<Current>,
}

#[derive(Debug)]
struct Current {
    certified: Arc<CertifiedKey>,
    /// When the files are read again.
    due: Instant,
    /// Until when connections may have the former certificate.
    closing_until: Option<Instant>,
}

impl ClientCertificate {
    /// The certificate that was read at `now`.
    pub fn new(identity: &Identity, now: Instant) -> Result<Self, ClientError> {
        let certified = certified(identity.chain.clone(), identity.key.clone_key())
            .map_err(ClientError::Identity)?;
        Ok(Self {
            files: identity.files.clone(),
            current: Mutex::new(Current {
                certified,
                due: now + REREAD,
                closing_until: None,
            }),
        })
    }

    /// Whether it may be replaced: a session that is resumed would keep the former one.
    pub fn may_change(&self) -> bool {
        self.files.is_some()
    }

    /// Reads the files again where that is due. Whether a connection is to be closed after its next use.
    pub fn refresh(&self, now: Instant) -> bool {
        if self.files.is_none() {
            return false;
        }
        let mut current = self.current();
        if current.due <= now {
            self.reread(&mut current, now);
        }
        current.closing_until.is_some_and(|until| now < until)
    }

    /// The server has refused the client: reads the files again. Whether they were replaced lately.
    pub fn renew(&self, now: Instant) -> bool {
        self.current().due = now;
        self.refresh(now)
    }

    fn reread(&self, current: &mut Current, now: Instant) {
        let Some((certificate, key)) = &self.files else {
            return;
        };
        current.due = now + REREAD;
        let text = |path| file::read(path).map_err(|error| error.to_string());
        let fresh = text(certificate).and_then(|pem| {
            let chain = tls::certificates(&pem).map_err(|error| error.to_string())?;
            let key = tls::key(&text(key)?).map_err(|error| error.to_string())?;
            certified(chain, key).map_err(|error| error.to_string())
        });
        match fresh {
            Ok(fresh) if fresh.cert == current.certified.cert => {}
            Ok(fresh) => {
                info!(file = %certificate.display(), "the client certificate was replaced");
                current.certified = fresh;
                current.closing_until = Some(now + CLOSING);
            }
            Err(cause) => {
                warn!(file = %certificate.display(), "{cause}; the client certificate read before stays in use");
            }
        }
    }

    fn current(&self) -> std::sync::MutexGuard<'_, Current> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The certificate with its key, which must belong to it.
fn certified(
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
) -> Result<Arc<CertifiedKey>, rustls::Error> {
    CertifiedKey::from_der(chain, key, &ring::default_provider()).map(Arc::new)
}

impl ResolvesClientCert for ClientCertificate {
    fn resolve(&self, _: &[&[u8]], _: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.current().certified))
    }

    fn has_certs(&self) -> bool {
        true
    }
}
