//! The HTTP stack: base URL, token, pool, TLS.
//!
//! Guarantees: HTTP/1.1 without retries; idle connections are closed within seconds; read buffers are
//! small; a dead peer is noticed within 30 s.
//! Leaves to others: deadlines, and to send again what was refused with old credentials (`request`).

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode, header};
use http_body::{Frame, SizeHint};
use hyper::body::Incoming;
use hyper_rustls::{FixedServerNameResolver, HttpsConnector};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use kube::Client;
use kube::client::Body;
use kube::client::middleware::BaseUriLayer;
use rustls::RootCertStore;
use tokio::time::Instant;
use tower::{BoxError, ServiceBuilder};

use crate::http::client::certificate::ClientCertificate;
use crate::http::client::credentials::Token;
use crate::http::client::tls;
use crate::http::client::tls::Trust;
use crate::http::client::{ClientError, Config, Security, cause};

/// The value that kube-rs uses.
const CONNECT: Duration = Duration::from_secs(30);
/// An idle TLS connection costs about 37 KB and a file descriptor. The pool checks at this interval, so
/// that a connection is closed within twice this time.
pub const IDLE: Duration = Duration::from_secs(3);
/// hyper's read buffer, bytes. The head of an answer must fit into it; a watch line may be longer. Without
/// this limit it grows to 16 KB in every connection of a burst.
const READ_BUFFER_BYTES: usize = 8 << 10;
/// What the kernel holds of an answer that is read slowly, bytes. It counts as memory of the operator where the
/// node has cgroups, and by default it grows to megabytes. The window that follows from it is smaller than one
/// segment of the loopback device (64 KB): with more, the kernel offers more than it can keep of such segments, drops
/// some, and each waits 200 ms to be sent again. A start on 20,000 EdgeApps of 2 KB beside the server takes 3.6 s, as
/// long as without this limit, and 9.3 s with 128 KB and 36 segments dropped.
const RECEIVE_BUFFER_BYTES: usize = 48 << 10;
/// A watch whose peer is gone is noticed within 30 s: the first probe after this time of silence, ...
const KEEPALIVE: Duration = Duration::from_secs(10);
/// ... the next ones at this interval, ...
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(5);
/// ... and so many without an answer.
const KEEPALIVE_RETRIES: u32 = 3;
/// The same where something that was sent is not acknowledged: no probe is sent then.
#[cfg(target_os = "linux")]
const UNACKNOWLEDGED: Duration = Duration::from_secs(25);

/// The HTTP stack: one pool, HTTP/1.1 over rustls.
///
/// # Errors
/// The client certificate cannot be used.
pub fn build(config: &Config) -> Result<Client, ClientError> {
    let http = transport();
    let mut pool = hyper_util::client::legacy::Client::builder(TokioExecutor::new());
    pool.pool_timer(TokioTimer::new())
        .pool_idle_timeout(IDLE)
        .http1_read_buf_exact_size(READ_BUFFER_BYTES);

    let now = Instant::now();
    let (trust, server_name, identity) = match &config.security {
        Security::Plain => (None, None, None),
        Security::Tls {
            trust,
            server_name,
            identity,
        } => (Some(trust), server_name.clone(), identity.as_ref()),
    };
    let certificate = identity
        .map(|identity| ClientCertificate::new(identity, now).map(Arc::new))
        .transpose()?;
    let credentials = Arc::new(Credentials {
        token: Mutex::new(config.token.clone()),
        certificate: certificate.clone(),
    });
    let refused = Arc::clone(&credentials);
    let user_agent = config.user_agent.clone();
    let service = ServiceBuilder::new()
        .layer(BaseUriLayer::new(config.server.clone()))
        .map_request(move |mut request: Request<Body>| {
            let headers = request.headers_mut();
            headers.insert(header::USER_AGENT, user_agent.clone());
            credentials.put(headers);
            request.map(Outgoing)
        })
        .map_response(move |mut response: Response<Incoming>| {
            if response.status() == StatusCode::UNAUTHORIZED && refused.renew() {
                response.extensions_mut().insert(Renewed);
            }
            response
        });
    let nothing = Trust::Roots(Arc::new(RootCertStore::empty()));
    let tls = tls::client_config(trust.unwrap_or(&nothing), certificate)?;
    let tls = Arc::new(tls);
    let connector = match server_name {
        None => HttpsConnector::from((http, tls)),
        Some(name) => {
            let resolver = Arc::new(FixedServerNameResolver::new(name));
            HttpsConnector::new(http, tls, true, resolver)
        }
    };
    let service = service.service(pool.build(connector));
    Ok(Client::new(service, config.namespace.as_str()))
}

/// Marks an answer with status 401 to a request whose credentials were replaced: it may be sent again.
#[derive(Clone)]
pub(crate) struct Renewed;

/// What authenticates requests.
struct Credentials {
    token: Mutex<Option<Token>>,
    certificate: Option<Arc<ClientCertificate>>,
}

impl Credentials {
    fn put(&self, headers: &mut HeaderMap) {
        let now = Instant::now();
        if let Some(token) = &mut *self.token() {
            headers.insert(header::AUTHORIZATION, token.header(now));
        }
        let certificate = self.certificate.as_ref();
        if certificate.is_some_and(|certificate| certificate.refresh(now)) {
            headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
    }

    /// The server has refused them. Whether others are there.
    fn renew(&self) -> bool {
        let now = Instant::now();
        let token = self.token().as_mut().is_some_and(|token| token.renew(now));
        let certificate = self.certificate.as_ref();
        token | certificate.is_some_and(|certificate| certificate.renew(now))
    }

    fn token(&self) -> MutexGuard<'_, Option<Token>> {
        self.token.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// TCP, with a peer that is gone noticed.
fn transport() -> HttpConnector {
    let mut http = HttpConnector::new();
    http.enforce_http(false);
    http.set_connect_timeout(Some(CONNECT));
    http.set_keepalive(Some(KEEPALIVE));
    http.set_keepalive_interval(Some(KEEPALIVE_INTERVAL));
    http.set_keepalive_retries(Some(KEEPALIVE_RETRIES));
    #[cfg(target_os = "linux")]
    http.set_tcp_user_timeout(Some(UNACKNOWLEDGED));
    http.set_nodelay(true);
    http.set_recv_buffer_size(Some(RECEIVE_BUFFER_BYTES));
    http
}

/// A body on its way to the server.
struct Outgoing(Body);

impl http_body::Body for Outgoing {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        Pin::new(&mut self.0)
            .poll_frame(context)
            .map_err(|error| cause(&error).into())
    }

    fn size_hint(&self) -> SizeHint {
        self.0.size_hint()
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_end_stream()
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use tower::Service;

    #[tokio::test]
    async fn a_half_open_connection_is_noticed_within_30_s() -> Result<(), BoxError> {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        let uri = format!("http://{}", listener.local_addr()?).parse()?;
        let connection = transport().call(uri).await?;
        let socket = socket2::SockRef::from(connection.inner());
        assert!(socket.keepalive()?);
        let probes = socket.tcp_keepalive_interval()? * socket.tcp_keepalive_retries()?;
        let silent = socket.tcp_keepalive_time()? + probes;
        assert!(silent <= Duration::from_secs(30), "{silent:?}");
        let unacknowledged = socket.tcp_user_timeout()?;
        assert!(unacknowledged.is_some_and(|time| time <= Duration::from_secs(30)));
        Ok(())
    }
}
