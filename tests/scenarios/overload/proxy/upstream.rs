//! The server behind the proxy.

use std::sync::Arc;

use bytes::Bytes;
use http::request::Parts;
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{Request, Response, StatusCode, Uri};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use libtest_mimic::Failed;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};

/// An answer on its way to the operator.
pub type Body = UnsyncBoxBody<Bytes, hyper::Error>;

/// A client of the server that passes on what it is given.
pub struct Upstream {
    authority: Authority,
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
}

impl Upstream {
    pub fn new(server: &str, ca_pem: &[u8]) -> Result<Upstream, Failed> {
        let uri: Uri = server.parse()?;
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(ca_pem) {
            roots.add(certificate?)?;
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(config)
            .https_only()
            .enable_http1()
            .build();
        Ok(Upstream {
            authority: uri.authority().ok_or("a URL without a host")?.clone(),
            client: Client::builder(TokioExecutor::new()).build(connector),
        })
    }

    /// The server's answer, or 502 where there is none.
    pub async fn send(&self, head: Parts, body: Bytes) -> Response<Body> {
        let mut request = Request::from_parts(head, Full::new(body));
        let mut uri = request.uri().clone().into_parts();
        uri.scheme = Some(Scheme::HTTPS);
        uri.authority = Some(self.authority.clone());
        uri.path_and_query
            .get_or_insert(PathAndQuery::from_static("/"));
        *request.uri_mut() = Uri::from_parts(uri).unwrap_or_default();
        match self.client.request(request).await {
            Ok(response) => response.map(BodyExt::boxed_unsync),
            Err(error) => {
                let mut response = Response::new(full(Bytes::from(format!("{error}\n"))));
                *response.status_mut() = StatusCode::BAD_GATEWAY;
                response
            }
        }
    }
}

/// A whole body.
pub fn full(bytes: Bytes) -> Body {
    Full::new(bytes)
        .map_err(|never| match never {})
        .boxed_unsync()
}
