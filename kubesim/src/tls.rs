//! A certificate authority and a serving certificate, made anew for every server.

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, KeyUsagePurpose,
};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};

use crate::error::Error;

/// Common name of the authority that signs the certificates of a server: by it a client knows servers that
/// were started here.
pub const CA_NAME: &str = "kubesim CA";

/// What a server on loopback presents, and what its clients trust.
pub struct Tls {
    ca: CertifiedIssuer<'static, KeyPair>,
    ca_pem: String,
    certificate_pem: String,
    key_pem: String,
    certificate: CertificateDer<'static>,
    key: PrivateKeyDer<'static>,
}

impl Tls {
    /// For 127.0.0.1, ::1 and localhost.
    ///
    /// # Errors
    /// No keys can be made (no randomness).
    pub fn generate() -> Result<Tls, Error> {
        Tls::generate_for(&[])
    }

    /// For these names and addresses, too.
    ///
    /// # Errors
    /// A name is none, or no keys can be made.
    pub fn generate_for(more: &[String]) -> Result<Tls, Error> {
        let mut ca = CertificateParams::new(Vec::new())?;
        ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        ca.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        ca.distinguished_name.push(DnType::CommonName, CA_NAME);
        let ca = CertifiedIssuer::self_signed(ca, KeyPair::generate()?)?;

        let mut names = ["127.0.0.1", "::1", "localhost"]
            .map(str::to_owned)
            .to_vec();
        names.extend_from_slice(more);
        let mut server = CertificateParams::new(names)?;
        server
            .distinguished_name
            .push(DnType::CommonName, "kubesim API server");
        server.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        server.use_authority_key_identifier_extension = true;
        let key = KeyPair::generate()?;
        let certificate = server.signed_by(&key, &ca)?;
        Ok(Tls {
            ca_pem: ca.pem(),
            ca,
            certificate_pem: certificate.pem(),
            key_pem: key.serialize_pem(),
            certificate: certificate.der().clone(),
            key: PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der())),
        })
    }

    /// What goes into a kubeconfig.
    pub fn ca_pem(&self) -> &str {
        &self.ca_pem
    }

    /// What another server is given to present.
    pub fn certificate_pem(&self) -> &str {
        &self.certificate_pem
    }

    pub fn key_pem(&self) -> &str {
        &self.key_pem
    }

    /// A certificate by which a server that trusts this authority knows a client, and its key.
    pub fn client(&self, name: &str, group: &str) -> Result<(String, String), Error> {
        let mut client = CertificateParams::new(Vec::new())?;
        client.distinguished_name.push(DnType::CommonName, name);
        client
            .distinguished_name
            .push(DnType::OrganizationName, group);
        client.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        client.use_authority_key_identifier_extension = true;
        let key = KeyPair::generate()?;
        let certificate = client.signed_by(&key, &self.ca)?;
        Ok((certificate.pem(), key.serialize_pem()))
    }

    pub(crate) fn config(&self) -> Result<rustls::ServerConfig, Error> {
        let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
        let mut config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(vec![self.certificate.clone()], self.key.clone_key())?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(config)
    }
}

/// A kubeconfig with one cluster, one user and one context named after the user.
pub fn kubeconfig(server_url: &str, ca_pem: &str, user: &str, token: &str) -> String {
    use base64::Engine;
    let ca = base64::engine::general_purpose::STANDARD.encode(ca_pem);
    // JSON strings are YAML strings: whatever a name holds stays quoted.
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let (url, user, token) = (quoted(server_url), quoted(user), quoted(token));
    format!(
        "apiVersion: v1
kind: Config
clusters:
- name: kubesim
  cluster:
    server: {url}
    certificate-authority-data: {ca}
users:
- name: {user}
  user:
    token: {token}
contexts:
- name: {user}
  context:
    cluster: kubesim
    user: {user}
    namespace: default
current-context: {user}
"
    )
}
