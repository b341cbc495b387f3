//! Watches over WebSockets: the handshake, and each event as a text frame.
//!
//! Guarantees: the handshake is answered as kube-apiserver v1.36.4 does (`golang.org/x/net/websocket`): it wants an
//! `Origin`, version 13 and at most one subprotocol, which it takes; pings are answered, a close ends the watch, and the
//! end of the watch closes with code 1000. Leaves to others: what the watch says ([`crate::api::watch`]).

use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use futures::{SinkExt, StreamExt};
use http::{Extensions, HeaderMap, HeaderValue, Response, StatusCode, Uri, header};
use http_body_util::{BodyExt, Full};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio::io::AsyncWriteExt;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role};

use crate::serve::request::Body;

/// A subprotocol that is a bearer token, for browsers.
const TOKEN: &str = "base64url.bearer.authorization.k8s.io.";

/// What a connection does once its last request has changed the protocol.
#[derive(Clone, Default)]
pub(crate) struct Upgraded(Arc<Mutex<Option<BoxFuture<'static, ()>>>>);

impl Upgraded {
    /// Taken by the connection when HTTP has ended on it.
    pub(crate) fn take(&self) -> Option<BoxFuture<'static, ()>> {
        let mut next = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        next.take()
    }
}

/// The connection's side of an upgrade, which a request brings along.
#[derive(Default)]
pub(crate) struct Connection {
    on_upgrade: Option<OnUpgrade>,
    upgraded: Upgraded,
}

impl Connection {
    pub(crate) fn of(extensions: &mut Extensions) -> Connection {
        Connection {
            on_upgrade: extensions.remove(),
            upgraded: extensions.remove().unwrap_or_default(),
        }
    }
}

/// Whether a request is to become a WebSocket.
pub(crate) fn is_asked(headers: &HeaderMap) -> bool {
    let is_upgrade = |word: &str| word.trim().eq_ignore_ascii_case("upgrade");
    text(headers, header::UPGRADE).eq_ignore_ascii_case("websocket")
        && text(headers, header::CONNECTION).split(',').any(is_upgrade)
}

/// The bearer token among the subprotocols, which leaves their list; another one has to stay.
pub(crate) fn take_token(headers: &mut HeaderMap) -> Option<String> {
    let offered = text(headers, header::SEC_WEBSOCKET_PROTOCOL).to_owned();
    let (tokens, rest): (Vec<&str>, Vec<&str>) = offered
        .split(',')
        .map(str::trim)
        .partition(|protocol| protocol.starts_with(TOKEN));
    if rest.is_empty() {
        return None;
    }
    let encoded = tokens.first()?.strip_prefix(TOKEN)?;
    let token = String::from_utf8(URL_SAFE_NO_PAD.decode(encoded).ok()?).ok()?;
    let rest = HeaderValue::from_str(&rest.join(", ")).ok()?;
    headers.insert(header::SEC_WEBSOCKET_PROTOCOL, rest);
    Some(token)
}

/// The answer to the handshake; where it is 101, the connection goes on with the lines.
pub(crate) fn answer(
    headers: &HeaderMap,
    connection: Connection,
    lines: BoxStream<'static, Bytes>,
) -> Response<Body> {
    let (key, protocol) = match offer(headers) {
        Ok(offer) => offer,
        Err(refusal) => return *refusal,
    };
    if let Some(on_upgrade) = connection.on_upgrade {
        let Upgraded(next) = connection.upgraded;
        let mut next = next.lock().unwrap_or_else(PoisonError::into_inner);
        *next = Some(Box::pin(run(on_upgrade, lines)));
    }
    let mut response = plain(StatusCode::SWITCHING_PROTOCOLS, "");
    let answer = response.headers_mut();
    answer.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
    answer.insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
    if let Ok(accept) = HeaderValue::from_str(&derive_accept_key(key.as_bytes())) {
        answer.insert(header::SEC_WEBSOCKET_ACCEPT, accept);
    }
    if let Ok(protocol) = HeaderValue::from_str(protocol)
        && !protocol.is_empty()
    {
        answer.insert(header::SEC_WEBSOCKET_PROTOCOL, protocol);
    }
    response
}

/// Key and subprotocol of a handshake, checked in the order of the real server.
fn offer(headers: &HeaderMap) -> Result<(&str, &str), Box<Response<Body>>> {
    if text(headers, header::SEC_WEBSOCKET_VERSION) != "13" {
        let message = "missing or bad WebSocket Version";
        let mut refusal = plain(StatusCode::BAD_REQUEST, message);
        let version = HeaderValue::from_static("13");
        refusal
            .headers_mut()
            .insert(header::SEC_WEBSOCKET_VERSION, version);
        return Err(Box::new(refusal));
    }
    let key = text(headers, header::SEC_WEBSOCKET_KEY);
    if key.is_empty() {
        let message = "mismatch challenge/response";
        return Err(Box::new(plain(StatusCode::BAD_REQUEST, message)));
    }
    let origin = text(headers, header::ORIGIN).parse::<Uri>();
    if origin.is_err() || origin.is_ok_and(|origin| origin.scheme().is_none()) {
        return Err(Box::new(plain(StatusCode::FORBIDDEN, "")));
    }
    let protocol = text(headers, header::SEC_WEBSOCKET_PROTOCOL).trim();
    if protocol.contains(',') {
        return Err(Box::new(plain(StatusCode::BAD_REQUEST, "")));
    }
    Ok((key, protocol))
}

fn plain(code: StatusCode, text: &'static str) -> Response<Body> {
    let mut response = Response::new(Full::new(Bytes::from_static(text.as_bytes())).boxed_unsync());
    *response.status_mut() = code;
    response
}

fn text(headers: &HeaderMap, name: header::HeaderName) -> &str {
    let value = headers.get(name).and_then(|value| value.to_str().ok());
    value.unwrap_or("")
}

async fn run(on_upgrade: OnUpgrade, mut lines: BoxStream<'static, Bytes>) {
    let upgraded = match on_upgrade.await {
        Ok(upgraded) => TokioIo::new(upgraded),
        Err(cause) => {
            tracing::debug!(%cause, "the connection did not become a WebSocket");
            return;
        }
    };
    let mut socket = WebSocketStream::from_raw_socket(upgraded, Role::Server, None).await;
    loop {
        // Received first, so that a close is seen under a flood of events.
        let chunk = tokio::select! {
            biased;
            received = socket.next() => match received {
                // Reading on answers a ping and a close.
                Some(Ok(_)) => continue,
                _ => break,
            },
            chunk = lines.next() => match chunk {
                Some(chunk) => chunk,
                None => break,
            },
        };
        for line in chunk.split_inclusive(|byte| *byte == b'\n') {
            let line = String::from_utf8_lossy(line).into_owned();
            if socket.send(Message::text(line)).await.is_err() {
                return;
            }
        }
    }
    let normal = CloseFrame {
        code: CloseCode::Normal,
        reason: "".into(),
    };
    // Both fail where the client has closed or gone already.
    let _ = socket.close(Some(normal)).await;
    let _ = socket.get_mut().shutdown().await;
}
