//! The command line, and `/livez`, `/readyz` and `/metrics` on a small hyper server.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::{Context as _, bail};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tracing::{debug, warn};

use crate::metrics::Metrics;

/// The address from `--admin ADDRESS` or the variable `ADMIN`; none leaves the server out.
/// `--version` prints one line, `NAME VERSION (COMMIT)`, and ends the process.
pub fn address(program: &str) -> anyhow::Result<Option<SocketAddr>> {
    let mut address = std::env::var("ADMIN").ok();
    let mut arguments = lexopt::Parser::from_env();
    while let Some(argument) = arguments.next()? {
        match argument {
            lexopt::Arg::Long("admin") => {
                let value = arguments.value()?;
                address = Some(value.to_string_lossy().into_owned());
            }
            lexopt::Arg::Long("version") => {
                let (version, commit) = (env!("CARGO_PKG_VERSION"), env!("BUILT_FROM"));
                println!("{program} {version} ({commit})");
                std::process::exit(0);
            }
            other => bail!(
                "{}; usage: [--admin 127.0.0.1:8080] [--version]",
                other.unexpected()
            ),
        }
    }
    address
        .map(|address| {
            let parsed = address.parse();
            parsed.with_context(|| {
                format!("--admin {address}: not an address such as 127.0.0.1:8080")
            })
        })
        .transpose()
}

pub async fn bind(address: SocketAddr) -> anyhow::Result<TcpListener> {
    let listener = TcpListener::bind(address).await;
    listener.with_context(|| format!("cannot serve on --admin {address}"))
}

/// Serves until the process ends.
pub async fn serve(listener: TcpListener, metrics: Arc<Metrics>) {
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                warn!(%error, "cannot accept a connection");
                tokio::time::sleep(std::time::Duration::from_secs(1)).await;
                continue;
            }
        };
        let metrics = metrics.clone();
        tokio::spawn(async move {
            let answer = service_fn(|request: Request<Incoming>| {
                let response = respond(request.uri().path(), &metrics);
                async { Ok::<_, Infallible>(response) }
            });
            let connection = hyper::server::conn::http1::Builder::new()
                .timer(hyper_util::rt::TokioTimer::new())
                .serve_connection(TokioIo::new(stream), answer);
            if let Err(error) = connection.await {
                debug!(%error, "connection ended");
            }
        });
    }
}

fn respond(path: &str, metrics: &Metrics) -> Response<Full<Bytes>> {
    match path {
        "/livez" => answer(StatusCode::OK, "ok"),
        // The port is opened after the API server has answered for EdgeApps. (Whether the store is
        // filled cannot be asked here: a second waiter on `Store::wait_until_ready` may take the
        // Controller's place, which then never starts.)
        "/readyz" => answer(StatusCode::OK, "ok"),
        "/metrics" => answer(StatusCode::OK, metrics.render()),
        _ => answer(StatusCode::NOT_FOUND, "try /livez, /readyz or /metrics"),
    }
}

fn answer(status: StatusCode, body: impl Into<Bytes>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body.into()));
    *response.status_mut() = status;
    response.headers_mut().insert(
        hyper::header::CONTENT_TYPE,
        hyper::header::HeaderValue::from_static("text/plain; version=0.0.4"),
    );
    response
}
