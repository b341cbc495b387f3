//! The admin port: `/livez`, `/readyz`, `/metrics`.
//!
//! Guarantees: it answers as long as the process lives, whatever the API server does and however many idle
//! connections there are. Connections are bounded in number, time and bytes; where there are too many, the oldest is
//! closed, of those that have sent nothing as of those that have. One whose request has arrived is answered before that.
//! Leaves to others: the metrics themselves (`metrics`).

use std::collections::VecDeque;
use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode, header};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};

use crate::allocator;
use crate::metrics::{Build, Metrics};

/// Connections at once that have sent something: a scraper, two probes, a person, and slow ones. Each may have a buffer of
/// [`HEAD_BYTES`].
const CONNECTIONS: usize = 16;
/// Connections at once that have sent nothing, without a buffer. A probe whose connection is accepted has sent its request
/// before so many others have come, also on a busy node. Each costs the kernel about 4 KB.
const SILENT: usize = 256;
/// How long one connection may take.
const TIMEOUT: Duration = Duration::from_secs(5);
/// The largest head of a request, bytes (hyper's smallest).
const HEAD_BYTES: usize = 8 << 10;

/// What is served of an operator or a controller of the program.
pub struct Page<'a> {
    pub metrics: Arc<Metrics>,
    /// What the names of its metrics begin with.
    pub prefix: String,
    /// The program's.
    pub version: &'a str,
}

impl Page<'_> {
    fn render(&self) -> String {
        self.metrics.render_own(&Build {
            prefix: &self.prefix,
            version: self.version,
            allocator: allocator::NAME,
        })
    }
}

/// An address as a user writes it; `:8080` is that port of all addresses.
pub fn parse(written: &str) -> Option<SocketAddr> {
    match written.strip_prefix(':') {
        Some(port) => Some((Ipv6Addr::UNSPECIFIED, port.parse().ok()?).into()),
        None => written.parse().ok(),
    }
}

/// Listens. `[::]` takes IPv4 too, as Linux does by default, and is `0.0.0.0` where the kernel has no IPv6.
///
/// # Errors
/// The address is not this machine's, is in use, or may not be used.
pub async fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    match TcpListener::bind(address).await {
        Err(error)
            if address.ip() == Ipv6Addr::UNSPECIFIED
                && error.kind() != io::ErrorKind::AddrInUse =>
        {
            TcpListener::bind((Ipv4Addr::UNSPECIFIED, address.port())).await
        }
        listening => listening,
    }
}

/// Serves until `shutdown` completes.
pub async fn serve(listener: TcpListener, pages: &[Page<'_>], shutdown: impl Future<Output = ()>) {
    // The oldest first.
    let mut silent = VecDeque::new();
    let mut connections = VecDeque::with_capacity(CONNECTIONS);
    tokio::pin!(shutdown);
    loop {
        tokio::select! {
            // In this order: what has arrived on a connection is answered before another one takes its place.
            biased;
            () = &mut shutdown => return,
            stream = first_of(&mut silent), if !silent.is_empty() => {
                // A client that breaks off or sends nothing gets no answer.
                if let Some(stream) = stream {
                    let mut connection = Box::pin(connection(stream, pages));
                    // Where its whole request has arrived, it is answered without waiting.
                    if futures::poll!(&mut connection).is_pending() {
                        push(&mut connections, CONNECTIONS, connection);
                    }
                }
            }
            () = served(&mut connections) => {}
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => push(&mut silent, SILENT, Box::pin(first_byte(stream))),
                // Most likely the process is out of file descriptors; retry when one may be free.
                Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
            },
        }
    }
}

/// Closes the oldest where there are `most`.
fn push<F>(connections: &mut VecDeque<F>, most: usize, new: F) {
    if connections.len() == most {
        connections.pop_front();
    }
    connections.push_back(new);
}

/// The connection when something has arrived on it; nothing where that takes too long or the client breaks off.
async fn first_byte(stream: TcpStream) -> Option<TcpStream> {
    // It stays in the socket. `readable` alone is true of every new connection.
    let mut byte = [0];
    let arrived = tokio::time::timeout(TIMEOUT, stream.peek(&mut byte)).await;
    matches!(arrived, Ok(Ok(1..))).then_some(stream)
}

/// Waits until one of them has ended, and takes it out.
async fn first_of<F: Future>(waiting: &mut VecDeque<Pin<Box<F>>>) -> F::Output {
    poll_fn(|context| {
        let mut polled = waiting.iter_mut().enumerate();
        let ended = polled.find_map(|(index, one)| match one.as_mut().poll(context) {
            Poll::Ready(output) => Some((index, output)),
            Poll::Pending => None,
        });
        let Some((index, output)) = ended else {
            return Poll::Pending;
        };
        drop(waiting.remove(index));
        Poll::Ready(output)
    })
    .await
}

/// Serves all connections until one or more of them have ended.
async fn served<F: Future<Output = ()>>(connections: &mut VecDeque<Pin<Box<F>>>) {
    poll_fn(|context| {
        let before = connections.len();
        connections.retain_mut(|connection| connection.as_mut().poll(context).is_pending());
        match connections.len() < before {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    })
    .await;
}

async fn connection(stream: TcpStream, pages: &[Page<'_>]) {
    let answer = service_fn(|request| async move { Ok::<_, Infallible>(answer(&request, pages)) });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(TIMEOUT)
        .max_buf_size(HEAD_BYTES)
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), answer);
    // A client that breaks off or is too slow gets no answer.
    let _ = tokio::time::timeout(TIMEOUT, connection).await;
}

fn answer(request: &Request<Incoming>, pages: &[Page<'_>]) -> Response<Full<Bytes>> {
    if request.method() != Method::GET && request.method() != Method::HEAD {
        return text(
            StatusCode::METHOD_NOT_ALLOWED,
            "only GET and HEAD\n".to_owned(),
        );
    }
    match request.uri().path() {
        "/livez" => text(StatusCode::OK, "ok\n".to_owned()),
        "/readyz" => match readiness(pages) {
            Ok(()) if pages.iter().any(|page| page.metrics.is_standby()) => {
                text(StatusCode::OK, "standby\n".to_owned())
            }
            Ok(()) => text(StatusCode::OK, "ok\n".to_owned()),
            Err(because) => text(StatusCode::SERVICE_UNAVAILABLE, because + "\n"),
        },
        "/metrics" => text(StatusCode::OK, render(pages)),
        _ => text(
            StatusCode::NOT_FOUND,
            "use /livez, /readyz or /metrics\n".to_owned(),
        ),
    }
}

/// Whether all are ready, or why one is not. While the program stands by, the first one tells.
fn readiness(pages: &[Page<'_>]) -> Result<(), String> {
    match pages.first().filter(|page| page.metrics.is_standby()) {
        Some(first) => first.metrics.readiness(),
        None => pages.iter().try_for_each(|page| page.metrics.readiness()),
    }
}

/// The metrics of all, and of the process once.
fn render(pages: &[Page<'_>]) -> String {
    let text = pages.iter().map(Page::render);
    let text = text.chain([crate::metrics::of_process()]);
    #[cfg(feature = "alloc-statistics")]
    let text = text.chain([allocator::statistics()]);
    text.collect()
}

fn text(status: StatusCode, body: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    // The version is that of the Prometheus text format.
    let kind = http::HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;
    use std::time::Instant;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;
    use crate::api::Metric;

    /// More than fit, and fewer than a process may have open.
    const IDLE: usize = 400;
    const PROBES: usize = 200;

    /// Serves on a free port.
    async fn start() -> std::io::Result<SocketAddr> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let metrics = Arc::new(Metrics::default());
        metrics.show(&[&SENT]);
        tokio::spawn(async move {
            let pages = [Page {
                metrics,
                prefix: "sites".to_owned(),
                version: "1.2.3",
            }];
            serve(listener, &pages, std::future::pending()).await;
        });
        Ok(address)
    }

    /// Every probe is answered, and within a second.
    async fn probe(address: SocketAddr) -> std::io::Result<()> {
        for n in 0..PROBES {
            let began = Instant::now();
            let mut stream = TcpStream::connect(address).await?;
            stream
                .write_all(b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
                .await?;
            let mut answer = String::new();
            stream.read_to_string(&mut answer).await?;
            assert!(answer.starts_with("HTTP/1.1 200"), "probe {n}: {answer:?}");
            let took = began.elapsed();
            assert!(took < Duration::from_secs(1), "probe {n}: {took:?}");
        }
        Ok(())
    }

    static SENT: Metric = Metric::counter("mails_delivered_total", "Mails delivered.");

    #[tokio::test]
    async fn an_authors_metrics_are_on_the_page() -> std::io::Result<()> {
        let address = start().await?;
        SENT.add(3);
        let mut stream = TcpStream::connect(address).await?;
        let request = b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n";
        stream.write_all(request).await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        let is_there = answer
            .lines()
            .any(|line| line == "sites_mails_delivered_total 3");
        assert!(is_there, "{answer}");
        Ok(())
    }

    #[tokio::test]
    async fn idle_connections_keep_no_probe_from_being_answered() -> std::io::Result<()> {
        // Nothing sent, and a head that does not end.
        for sent in ["", "GET /metrics HTTP/1.1\r\nHost:"] {
            let address = start().await?;
            let mut idle = Vec::new();
            for _ in 0..IDLE {
                let mut stream = TcpStream::connect(address).await?;
                stream.write_all(sent.as_bytes()).await?;
                idle.push(stream);
            }
            probe(address).await?;
        }
        Ok(())
    }

    /// The client is on a busy node, and others come meanwhile.
    #[tokio::test]
    async fn a_probe_that_sends_its_request_late_is_answered() -> std::io::Result<()> {
        let address = start().await?;
        for _ in 0..3 {
            let mut stream = TcpStream::connect(address).await?;
            let mut others = Vec::new();
            for _ in 0..SILENT - 1 {
                others.push(TcpStream::connect(address).await?);
            }
            stream
                .write_all(b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
                .await?;
            let mut answer = String::new();
            stream.read_to_string(&mut answer).await?;
            assert!(answer.starts_with("HTTP/1.1 200"), "{answer:?}");
        }
        Ok(())
    }

    #[tokio::test]
    async fn connections_that_come_back_keep_no_probe_from_being_answered() -> std::io::Result<()> {
        let address = start().await?;
        for _ in 0..2 * CONNECTIONS {
            tokio::spawn(async move {
                while let Ok(mut stream) = TcpStream::connect(address).await {
                    // Until it is closed by the other side.
                    let _ = stream.read_u8().await;
                }
            });
        }
        probe(address).await
    }

    #[tokio::test]
    async fn no_more_than_the_bound_stay_open() -> std::io::Result<()> {
        let address = start().await?;
        let mut idle = Vec::new();
        for _ in 0..IDLE {
            idle.push(TcpStream::connect(address).await?);
        }
        probe(address).await?;
        let mut open = 0;
        for stream in &mut idle {
            let mut byte = [0];
            let closed = tokio::time::timeout(Duration::from_millis(1), stream.read(&mut byte));
            open += usize::from(closed.await.is_err());
        }
        assert!(open <= SILENT + CONNECTIONS, "{open}");
        Ok(())
    }
}
