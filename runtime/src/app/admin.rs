//! The admin port: `/livez`, `/readyz`, `/metrics`.
//!
//! Guarantees: at most four connections at once, each with a timeout and a bounded head. It answers as
//! long as the process lives, whatever the API server does.
//! Leaves to others: the metrics themselves (`metrics`, `allocator`).

use std::convert::Infallible;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use http::{Method, Request, Response, StatusCode, header};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;

use crate::app::allocator;
use crate::metrics::text::Page;
use crate::metrics::{Build, Metrics};

/// Connections served at once: a scraper, two probes and a person.
const CONNECTIONS: usize = 4;
/// How long one connection may take.
const TIMEOUT: Duration = Duration::from_secs(5);
/// The largest head of a request, bytes (hyper's smallest).
const HEAD_BYTES: usize = 8 << 10;

/// Serves until `shutdown` completes.
pub async fn serve(
    listener: TcpListener,
    metrics: Arc<Metrics>,
    build: Build<'_>,
    shutdown: impl Future<Output = ()>,
) {
    let mut connections = FuturesUnordered::new();
    tokio::pin!(shutdown);
    loop {
        tokio::select! {
            () = &mut shutdown => return,
            accepted = listener.accept(), if connections.len() < CONNECTIONS => match accepted {
                Ok((stream, _)) => connections.push(connection(stream, &metrics, build)),
                // Most likely the process is out of file descriptors; retry when one may be free.
                Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
            },
            Some(()) = connections.next(), if !connections.is_empty() => {}
        }
    }
}

async fn connection(stream: tokio::net::TcpStream, metrics: &Metrics, build: Build<'_>) {
    let answer =
        service_fn(|request| async move { Ok::<_, Infallible>(answer(&request, metrics, build)) });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(TIMEOUT)
        .max_buf_size(HEAD_BYTES)
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), answer);
    // A client that breaks off or is too slow gets no answer.
    let _ = tokio::time::timeout(TIMEOUT, connection).await;
}

fn answer(
    request: &Request<Incoming>,
    metrics: &Metrics,
    build: Build<'_>,
) -> Response<Full<Bytes>> {
    if request.method() != Method::GET && request.method() != Method::HEAD {
        return text(
            StatusCode::METHOD_NOT_ALLOWED,
            "only GET and HEAD\n".to_owned(),
        );
    }
    match request.uri().path() {
        "/livez" => text(StatusCode::OK, "ok\n".to_owned()),
        "/readyz" => match metrics.readiness() {
            Ok(()) if metrics.is_standby() => text(StatusCode::OK, "standby\n".to_owned()),
            Ok(()) => text(StatusCode::OK, "ok\n".to_owned()),
            Err(because) => text(StatusCode::SERVICE_UNAVAILABLE, because + "\n"),
        },
        "/metrics" => text(StatusCode::OK, metrics_page(metrics, build)),
        _ => text(
            StatusCode::NOT_FOUND,
            "use /livez, /readyz or /metrics\n".to_owned(),
        ),
    }
}

/// Renders all metrics, those of the allocator last.
fn metrics_page(metrics: &Metrics, build: Build<'_>) -> String {
    let mut page = Page::after(metrics.render(&build), build.prefix);
    let name = "allocator_bytes";
    for (index, figure) in allocator::figures().iter().enumerate() {
        if index == 0 {
            page.family(name, "gauge", "Memory of the heap by its state.");
        }
        let state = figure.state;
        page.labelled(name, format_args!("state=\"{state}\""), figure.bytes);
    }
    page.text
}

fn text(status: StatusCode, body: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    // The version is that of the Prometheus text format.
    let kind = http::HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}
