//! A proxy between an operator and its API server that carries out faults.
//!
//! Guarantees: it ends TLS on both sides, with a certificate authority of its own; a request is judged by one rule at a
//! time; what it has seen is kept in order. Requests that pass are answered by the server as it is, watches included.
//! Leaves to others: a slow link (`link`), which needs no TLS.

pub mod fault;
mod upstream;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use kubesim::Tls;
use libtest_mimic::Failed;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use socket2::{SockFilter, SockRef};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_rustls::TlsAcceptor;

use crate::overload::proxy::fault::{Facts, Fault, Point};
use crate::overload::proxy::upstream::{Body, Upstream, full};

/// Classic BPF: drops every packet that comes in. Nothing is acknowledged then, as if the peer were gone.
const DROP_ALL: [SockFilter; 1] = [SockFilter::new(0x06, 0, 0, 0)];
/// Long enough for what is on its way to be acknowledged.
const ACKNOWLEDGED: Duration = Duration::from_millis(200);

/// An answered request.
#[derive(Clone, Debug)]
pub struct Exchange {
    pub at: Instant,
    pub is_watch: bool,
    pub code: u16,
}

type Rule = Arc<dyn Fn(&Facts<'_>) -> Fault + Send + Sync>;

/// The proxy; it ends when it is dropped.
pub struct Proxy {
    pub address: SocketAddr,
    state: Arc<State>,
    accepting: JoinHandle<()>,
}

struct State {
    upstream: Upstream,
    rule: Mutex<Rule>,
    tls: Mutex<Arc<ServerConfig>>,
    seen: Mutex<Vec<Exchange>>,
    writes: Mutex<usize>,
    /// Connections end, or fall silent, when it changes.
    broken: watch::Sender<Broken>,
    /// The last point that was reached; requests hang from then on.
    reached: watch::Sender<Option<Point>>,
}

/// What befell the connections that were open.
#[derive(Clone, Copy, PartialEq)]
enum Broken {
    Nothing,
    Ended(u64),
    HalfOpen(u64),
}

impl Proxy {
    /// Listens on a free port, with this certificate, for the server of a kubeconfig.
    pub async fn start(server: &str, ca_pem: &[u8], tls: &Tls) -> Result<Proxy, Failed> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let pass: Rule = Arc::new(|_| Fault::Pass);
        let state = Arc::new(State {
            upstream: Upstream::new(server, ca_pem)?,
            rule: Mutex::new(pass),
            tls: Mutex::new(server_config(tls)?),
            seen: Mutex::default(),
            writes: Mutex::default(),
            broken: watch::Sender::new(Broken::Nothing),
            reached: watch::Sender::new(None),
        });
        let accepting = tokio::spawn(accept(listener, Arc::clone(&state)));
        Ok(Proxy {
            address,
            state,
            accepting,
        })
    }

    /// Judges requests from now on.
    pub fn rule(&self, rule: impl Fn(&Facts<'_>) -> Fault + Send + Sync + 'static) {
        *lock(&self.state.rule) = Arc::new(rule);
    }

    /// Passes everything.
    pub fn heal(&self) {
        self.rule(|_| Fault::Pass);
    }

    /// Presents another certificate on new connections.
    pub fn present(&self, tls: &Tls) -> Result<(), Failed> {
        *lock(&self.state.tls) = server_config(tls)?;
        Ok(())
    }

    /// Ends all connections that are open.
    pub fn end_connections(&self) {
        self.state.broken.send_modify(|broken| {
            *broken = Broken::Ended(broken.number() + 1);
        });
    }

    /// Makes all connections that are open half open: nothing is answered on them, no packet is acknowledged, and the
    /// other side is not told. Returns when it is so.
    pub async fn half_open_connections(&self) {
        self.state.broken.send_modify(|broken| {
            *broken = Broken::HalfOpen(broken.number() + 1);
        });
        tokio::time::sleep(2 * ACKNOWLEDGED).await;
    }

    /// Everything that was requested, in order.
    pub fn seen(&self) -> Vec<Exchange> {
        lock(&self.state.seen).clone()
    }

    /// Counts writes anew, for [`Facts::nth_write`], and lets requests through that were held at a point.
    pub fn count_anew(&self) {
        *lock(&self.state.writes) = 0;
        self.state.reached.send_replace(None);
    }

    /// Waits until a request has reached the point at which it is held.
    pub async fn until_reached(&self) -> Point {
        let mut reached = self.state.reached.subscribe();
        let found = reached.wait_for(Option::is_some).await;
        // The sender is in `self`.
        found.ok().and_then(|found| *found).unwrap_or(Point::Before)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
        self.end_connections();
    }
}

impl Broken {
    fn number(self) -> u64 {
        match self {
            Broken::Nothing => 0,
            Broken::Ended(number) | Broken::HalfOpen(number) => number,
        }
    }
}

fn server_config(tls: &Tls) -> Result<Arc<ServerConfig>, Failed> {
    let certificate = CertificateDer::from_pem_slice(tls.certificate_pem().as_bytes())?;
    let key = PrivateKeyDer::from_pem_slice(tls.key_pem().as_bytes())?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)?;
    Ok(Arc::new(config))
}

async fn accept(listener: TcpListener, state: Arc<State>) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => drop(tokio::spawn(connection(stream, Arc::clone(&state)))),
            // Out of file descriptors, most likely.
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}

/// Serves one connection until it ends, is ended or falls silent.
async fn connection(stream: TcpStream, state: Arc<State>) {
    let mut broken = state.broken.subscribe();
    broken.mark_unchanged();
    let _ = stream.set_nodelay(true);
    let Ok(socket) = SockRef::from(&stream).try_clone() else {
        return;
    };
    let acceptor = TlsAcceptor::from(Arc::clone(&lock(&state.tls)));
    // The operator may break off, or refuse the certificate.
    let served = async {
        let stream = acceptor.accept(stream).await.ok()?;
        let service = service_fn(|request| answered(&state, request));
        let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
        connection.await.ok()
    };
    tokio::pin!(served);
    tokio::select! {
        _ = &mut served => return,
        _ = broken.changed() => {}
    }
    if !matches!(*broken.borrow(), Broken::HalfOpen(_)) {
        return;
    }
    // What was sent is acknowledged first: a packet that is repeated would tell that we are there.
    tokio::time::sleep(ACKNOWLEDGED).await;
    if let Err(error) = SockRef::from(&socket).attach_filter(&DROP_ALL) {
        eprintln!("no packet filter: {error}");
        return;
    }
    std::future::pending::<()>().await;
}

/// Does what the rule says about a request.
async fn answered(
    state: &State,
    request: Request<Incoming>,
) -> Result<Response<Body>, hyper::Error> {
    let (head, body) = request.into_parts();
    let body = body.collect().await?.to_bytes();
    let facts = Facts::new(&head, &body, state.nth(&head.method));
    let fault = match *state.reached.borrow() {
        Some(_) => Fault::Hang,
        None => {
            let rule = Arc::clone(&lock(&state.rule));
            rule(&facts)
        }
    };
    let is_watch = facts.is_watch();
    let response = match fault {
        Fault::Pass => state.upstream.send(head, body).await,
        Fault::Hang => std::future::pending().await,
        Fault::Answer(code, text) => {
            let mut response = Response::new(full(text));
            *response.status_mut() = code;
            let json = http::HeaderValue::from_static("application/json");
            response
                .headers_mut()
                .insert(http::header::CONTENT_TYPE, json);
            response
        }
        Fault::HoldAt(point) => state.hold(point, head, body).await,
    };
    lock(&state.seen).push(Exchange {
        at: Instant::now(),
        is_watch,
        code: response.status().as_u16(),
    });
    Ok(response)
}

impl State {
    /// The number of this write; 0 for what is none.
    fn nth(&self, method: &http::Method) -> usize {
        if !fault::is_write(method) {
            return 0;
        }
        let mut writes = lock(&self.writes);
        *writes += 1;
        *writes
    }

    async fn hold(&self, point: Point, head: http::request::Parts, body: Bytes) -> Response<Body> {
        if point == Point::Before {
            self.reached.send_replace(Some(point));
            return std::future::pending().await;
        }
        let (parts, answer) = self.upstream.send(head, body).await.into_parts();
        // Committed is what the server has answered to the end.
        let answer = answer.collect().await.map(|answer| answer.to_bytes());
        self.reached.send_replace(Some(point));
        match (point, answer) {
            (Point::Answered, Ok(answer)) => Response::from_parts(parts, full(answer)),
            _ => std::future::pending().await,
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
