//! Client certificates that are replaced on disk, against a server that asks for them.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::thread;

use rcgen::{BasicConstraints, CertifiedIssuer, DnType, IsCa};
use rustls::crypto::ring;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection, StreamOwned};

use crate::http::client::tests::*;
use crate::http::request::{Api, ApiError, Request};
use crate::metrics::{Metrics, Verb};

/// A CA, and a server that answers with the serial number of the client's certificate. At `/refuse/NUMBER` it refuses
/// the certificate of that number.
struct Issuer {
    ca: CertifiedIssuer<'static, KeyPair>,
}

impl Issuer {
    fn new() -> Self {
        let mut ca = CertificateParams::new(Vec::new()).expect("parameters");
        ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        ca.distinguished_name.push(DnType::CommonName, "a CA");
        let key = KeyPair::generate().expect("a key");
        let ca = CertifiedIssuer::self_signed(ca, key).expect("a CA");
        Self { ca }
    }

    /// A certificate with this serial number, and its key, as PEM.
    fn issue(&self, serial: u8) -> (String, String) {
        let mut parameters =
            CertificateParams::new(vec!["localhost".to_owned()]).expect("parameters");
        parameters.serial_number = Some(vec![serial].into());
        let key = KeyPair::generate().expect("a key");
        let certificate = parameters.signed_by(&key, &self.ca).expect("a certificate");
        (certificate.pem(), key.serialize_pem())
    }

    /// Serves on loopback; the port.
    fn serve(&self) -> u16 {
        let provider = Arc::new(ring::default_provider());
        let mut roots = RootCertStore::empty();
        roots.add(self.ca.der().clone()).expect("a root");
        let clients =
            WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider))
                .build()
                .expect("a verifier");
        let key = KeyPair::generate().expect("a key");
        let parameters = CertificateParams::new(vec!["localhost".to_owned()]).expect("parameters");
        let certificate = parameters.signed_by(&key, &self.ca).expect("a certificate");
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_client_cert_verifier(clients)
            .with_single_cert(vec![certificate.der().clone()], key)
            .expect("a certificate");
        let config = Arc::new(config);
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let config = Arc::clone(&config);
                thread::spawn(move || {
                    let tls = ServerConnection::new(config).expect("a session");
                    answer(StreamOwned::new(tls, stream))
                });
            }
        });
        port
    }
}

/// Answers requests without a body until the connection ends.
fn answer(
    mut stream: StreamOwned<ServerConnection, std::net::TcpStream>,
) -> Result<(), std::io::Error> {
    let mut head = Vec::new();
    let mut byte = [0];
    while stream.read(&mut byte)? > 0 {
        head.push(byte[0]);
        if !head.ends_with(b"\r\n\r\n") {
            continue;
        }
        let certificates = stream.conn.peer_certificates().unwrap_or_default();
        // Version, then the serial number as an INTEGER of one byte (RFC 5280, 4.1).
        let der: &[u8] = certificates.first().map_or(&[], |one| one);
        let at = der.windows(5).position(|w| w == [0xa0, 3, 2, 1, 2]);
        let serial = at.and_then(|at| der.get(at + 7)).copied().unwrap_or(0);
        let text = String::from_utf8_lossy(&head).into_owned();
        let status = match text.contains(&format!("GET /refuse/{serial} ")) {
            true => "401 Unauthorized",
            false => "200 OK",
        };
        let close = text.to_lowercase().contains("connection: close");
        let body = serial.to_string();
        let answer = format!(
            "HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(answer.as_bytes())?;
        stream.flush()?;
        if close {
            stream.conn.send_close_notify();
            stream.flush()?;
            return Ok(());
        }
        head.clear();
    }
    Ok(())
}

/// The serial number that the server sees.
async fn seen(api: &Api, path: &str) -> Result<String, ApiError> {
    let body = api.call(Verb::Get, Request::get(path), 1 << 10).await?;
    Ok(String::from_utf8_lossy(&body).into_owned())
}

fn replace(folder: &Folder, (certificate, key): &(String, String)) {
    folder.write("pki/own.crt", certificate);
    folder.write("pki/own.key", key);
}

fn client(folder: &Folder, issuer: &Issuer, port: u16) -> Api {
    folder.write("pki/own-ca.crt", &issuer.ca.pem());
    let cluster =
        format!("server: 'https://localhost:{port}', certificate-authority: pki/own-ca.crt");
    let user = "client-certificate: pki/own.crt, client-key: pki/own.key";
    let config = folder.configure(&cluster, user).expect("a configuration");
    let client = build(&config).expect("a client");
    let deadline = std::time::Duration::from_secs(10);
    Api::new(client, Arc::<Metrics>::default(), deadline)
}

#[tokio::test]
async fn a_certificate_that_is_replaced_is_presented_after_a_minute() -> Result<(), ApiError> {
    let folder = Folder::new("replaced");
    let issuer = Issuer::new();
    let port = issuer.serve();
    replace(&folder, &issuer.issue(1));
    let api = client(&folder, &issuer, port);
    assert_eq!(seen(&api, "/").await?, "1");
    // Its key is not there yet: the former pair stays in use.
    let next = issuer.issue(2);
    folder.write("pki/own.crt", &next.0);
    let minute = std::time::Duration::from_secs(60);
    tokio::time::pause();
    tokio::time::advance(minute).await;
    tokio::time::resume();
    assert_eq!(seen(&api, "/").await?, "1");
    replace(&folder, &next);
    assert_eq!(seen(&api, "/").await?, "1", "it is read once a minute");
    tokio::time::pause();
    tokio::time::advance(minute).await;
    tokio::time::resume();
    // A connection that is open already is closed after its next use.
    seen(&api, "/").await?;
    assert_eq!(seen(&api, "/").await?, "2");
    Ok(())
}

#[tokio::test]
async fn a_certificate_that_is_refused_is_read_at_once() -> Result<(), ApiError> {
    let folder = Folder::new("refused");
    let issuer = Issuer::new();
    let port = issuer.serve();
    replace(&folder, &issuer.issue(1));
    let api = client(&folder, &issuer, port);
    assert_eq!(seen(&api, "/").await?, "1");
    let unauthorized = |result: Result<String, ApiError>| {
        assert_eq!(result.err().and_then(|error| error.code()), Some(401));
    };
    unauthorized(seen(&api, "/refuse/1").await);
    replace(&folder, &issuer.issue(2));
    // The connection has the former certificate: the first answer makes that known, and the second request closes it.
    let _ = seen(&api, "/refuse/1").await;
    assert_eq!(seen(&api, "/refuse/1").await?, "2");
    unauthorized(seen(&api, "/refuse/2").await);
    Ok(())
}
