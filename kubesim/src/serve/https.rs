//! The server on a socket: HTTPS/1.1, bearer tokens, one task per connection.
//!
//! Guarantees: connections are joined before `serve` returns; headers are bounded in size and in
//! time, bodies in size (413).

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use http::{Request, Response, header};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use crate::error::Error;
use crate::model::status::ApiError;
use crate::serve::request::{Body, Dropped};
use crate::serve::websocket::Upgraded;
use crate::serve::{request, websocket};
use crate::state::Inner;
use crate::tls::Tls;

/// For a handshake.
const HANDSHAKE_TIME: Duration = Duration::from_secs(10);
/// For the headers of a request, the idle time before them included: hyper has one timer for both,
/// and kube-apiserver leaves idle connections open for 90 s.
const HEADER_TIME: Duration = Duration::from_secs(90);
/// 32 KB of headers are more than any client of Kubernetes sends.
const HEADER_BYTES: usize = 32 * 1024;
/// Between the shutdown signal and cutting what is still open.
const GRACE: Duration = Duration::from_secs(1);

/// Serves until `shutdown`, then ends watches, finishes what is in flight and joins.
///
/// # Errors
/// The TLS configuration is refused. A failed accept is logged and tried again.
pub(crate) async fn serve(
    server: Arc<Inner>,
    listener: TcpListener,
    tls: Tls,
    shutdown: impl Future<Output = ()>,
) -> Result<(), Error> {
    let acceptor = TlsAcceptor::from(Arc::new(tls.config()?));
    let mut connections = JoinSet::new();
    let (stop, stopped) = watch::channel(false);
    tokio::pin!(shutdown);
    loop {
        tokio::select! {
            () = &mut shutdown => break,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    let inner = server.clone();
                    connections.spawn(connection(inner, acceptor.clone(), stream, stopped.clone()));
                }
                Err(cause) => {
                    tracing::warn!(%cause, "accept failed");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            },
            Some(_) = connections.join_next(), if !connections.is_empty() => {}
        }
    }
    drop(listener);
    let _ = stop.send(true);
    server.close_watches();
    let joined = async { while connections.join_next().await.is_some() {} };
    if tokio::time::timeout(GRACE, joined).await.is_err() {
        connections.shutdown().await;
    }
    Ok(())
}

async fn connection(
    inner: Arc<Inner>,
    acceptor: TlsAcceptor,
    stream: TcpStream,
    mut stopped: watch::Receiver<bool>,
) {
    // Events must not wait for one another.
    let _ = stream.set_nodelay(true);
    let stream = match tokio::time::timeout(HANDSHAKE_TIME, acceptor.accept(stream)).await {
        Ok(Ok(stream)) => stream,
        Ok(Err(cause)) => {
            tracing::debug!(%cause, "TLS handshake failed");
            return;
        }
        Err(_) => return,
    };
    let upgraded = Upgraded::default();
    let of_requests = upgraded.clone();
    let service = service_fn(move |mut request: Request<Incoming>| {
        let inner = inner.clone();
        request.extensions_mut().insert(of_requests.clone());
        async move { authenticated(&inner, request).await }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIME)
        .max_buf_size(HEADER_BYTES)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades();
    tokio::pin!(connection);
    let told_to_stop = async { stopped.wait_for(|stop| *stop).await.is_ok() };
    tokio::select! {
        ended = &mut connection => log_end(ended),
        _ = told_to_stop => {
            connection.as_mut().graceful_shutdown();
            log_end(connection.await);
        }
    }
    // A WebSocket ends with its watch, which the end of the server cuts.
    if let Some(websocket) = upgraded.take() {
        websocket.await;
    }
}

fn log_end(ended: Result<(), hyper::Error>) {
    if let Err(cause) = ended {
        tracing::debug!(%cause, "connection ended");
    }
}

async fn authenticated(
    inner: &Arc<Inner>,
    mut request: Request<Incoming>,
) -> Result<Response<Body>, Dropped> {
    let path = request.uri().path();
    let open = matches!(path, "/livez" | "/readyz" | "/healthz" | "/version");
    let token = match request.headers().get(header::AUTHORIZATION) {
        Some(value) => value.to_str().ok().and_then(|value| {
            let token = value.strip_prefix("Bearer ")?;
            Some(token.trim().to_owned())
        }),
        None if websocket::is_asked(request.headers()) => {
            websocket::take_token(request.headers_mut())
        }
        None => None,
    };
    let user = token.and_then(|token| inner.user_of_token(&token));
    match user {
        Some(user) => request::answer(inner, &user, request).await,
        None if open => request::answer(inner, "system:anonymous", request).await,
        None => Ok(unauthorized()),
    }
}

fn unauthorized() -> Response<Body> {
    let error = ApiError::new(401, "Unauthorized", "Unauthorized");
    request::respond(request::refusal(&error), None)
}
