//! Requests of a client in process.
//!
//! Guarantees: a request is answered without a connection, but for one that changes the protocol: it gets a connection
//! in memory of its own, so that the client can go on with it. Leaves to others: the answer ([`crate::serve::request`]).

use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Collected, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1 as client;
use hyper::server::conn::http1 as server;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;

use crate::serve::request::{Body, Dropped};
use crate::serve::websocket::Upgraded;
use crate::serve::{request, websocket};
use crate::state::Inner;

/// Bytes on their way.
const BUFFER: usize = 64 * 1024;

/// Answers a request of `user`.
pub(crate) async fn answer(
    inner: Arc<Inner>,
    user: Arc<str>,
    request: Request<kube::client::Body>,
) -> Result<Response<Body>, Dropped> {
    if !websocket::is_asked(request.headers()) {
        return request::answer(&inner, &user, request).await;
    }
    let (ours, theirs) = tokio::io::duplex(BUFFER);
    tokio::spawn(serve(inner, user, ours));
    let (mut sender, connection) = client::handshake(TokioIo::new(theirs))
        .await
        .map_err(|_| Dropped)?;
    tokio::spawn(connection.with_upgrades());
    let response = sender.send_request(request).await.map_err(|_| Dropped)?;
    let (parts, body) = response.into_parts();
    // A refusal is short; a body that breaks off is an empty one.
    let body = match parts.status {
        StatusCode::SWITCHING_PROTOCOLS => Bytes::new(),
        _ => body
            .collect()
            .await
            .map(Collected::to_bytes)
            .unwrap_or_default(),
    };
    Ok(Response::from_parts(parts, Full::new(body).boxed_unsync()))
}

/// One connection, until its WebSocket has ended.
async fn serve(inner: Arc<Inner>, user: Arc<str>, stream: tokio::io::DuplexStream) {
    let upgraded = Upgraded::default();
    let of_requests = upgraded.clone();
    let service = service_fn(move |mut request: Request<Incoming>| {
        let (inner, user) = (inner.clone(), user.clone());
        request.extensions_mut().insert(of_requests.clone());
        async move { request::answer(&inner, &user, request).await }
    });
    let connection = server::Builder::new()
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades();
    if connection.await.is_ok()
        && let Some(websocket) = upgraded.take()
    {
        websocket.await;
    }
}
