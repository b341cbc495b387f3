//! Watches over WebSockets, as fabric8's clients and browsers ask for them.

use std::time::Duration;

use futures::{SinkExt, StreamExt};
use http::{Request, Response, header};
use hyper_util::rt::TokioIo;
use kube::client::Body;
use serde_json::Value;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::Role;

use crate::expect::{Check, Expect, Failure, equal, text};
use crate::fixture::config_map;
use crate::{Context, theme};

theme! { "websocket":
    a_websocket_watch_shows_each_event_in_a_text_frame,
    a_websocket_watch_ends_with_a_close_frame,
    a_websocket_is_closed_when_the_client_closes_it,
    a_websocket_is_asked_for_as_browsers_do,
    a_request_that_fails_does_not_become_a_websocket,
    a_list_does_not_become_a_websocket,
}

/// Of RFC 6455.
const KEY: &str = "dGhlIHNhbXBsZSBub25jZQ==";
const UPGRADE: [(header::HeaderName, &str); 5] = [
    (header::CONNECTION, "Upgrade"),
    (header::UPGRADE, "websocket"),
    (header::SEC_WEBSOCKET_VERSION, "13"),
    (header::SEC_WEBSOCKET_KEY, KEY),
    (header::ORIGIN, "https://localhost"),
];

type Socket = WebSocketStream<TokioIo<hyper::upgrade::Upgraded>>;

impl Context {
    /// Asks for a path with these headers in place of the usual ones; an empty one is left out.
    async fn ask(
        &self,
        path: &str,
        other: &[(header::HeaderName, &str)],
    ) -> Result<Response<Body>, Failure> {
        let mut request = Request::get(path);
        for (name, value) in UPGRADE {
            let other = other.iter().find(|(other, _)| *other == name);
            match other.map_or(value, |(_, value)| value) {
                "" => {}
                value => request = request.header(name, value),
            }
        }
        for (name, value) in other {
            if !UPGRADE.iter().any(|(usual, _)| usual == name) {
                request = request.header(name, *value);
            }
        }
        let invalid = |error: http::Error| Failure::new(path, "a request", error.to_string());
        let request = request.body(Body::empty()).map_err(invalid)?;
        self.client.send(request).await.succeeds(path)
    }

    fn watch_path(&self, query: &str) -> String {
        let namespace = &self.namespace;
        format!("/api/v1/namespaces/{namespace}/configmaps?watch=true&{query}")
    }

    async fn connect(&self, query: &str) -> Result<Socket, Failure> {
        let response = self.ask(&self.watch_path(query), &[]).await?;
        equal("the code", &response.status().as_u16(), &101)?;
        let accept = response.headers().get(header::SEC_WEBSOCKET_ACCEPT);
        let accept = accept.and_then(|accept| accept.to_str().ok());
        let want = derive_accept_key(KEY.as_bytes());
        equal("Sec-WebSocket-Accept", &accept, &Some(want.as_str()))?;
        let upgraded = hyper::upgrade::on(response).await;
        let refused =
            |error: hyper::Error| Failure::new("upgrading", "a connection", error.to_string());
        let io = TokioIo::new(upgraded.map_err(refused)?);
        Ok(WebSocketStream::from_raw_socket(io, Role::Client, None).await)
    }
}

/// The next frame that is no pong.
async fn frame(socket: &mut Socket) -> Result<Message, Failure> {
    const TIMEOUT: Duration = Duration::from_secs(30);
    let what = "the next frame";
    let received = async {
        loop {
            match socket.next().await {
                Some(Ok(Message::Pong(_))) => {}
                other => return other,
            }
        }
    };
    match tokio::time::timeout(TIMEOUT, received).await {
        Ok(Some(Ok(message))) => Ok(message),
        Ok(Some(Err(error))) => Err(Failure::new(what, "a frame", error.to_string())),
        Ok(None) => Err(Failure::new(what, "a frame", "the end")),
        Err(_) => Err(Failure::new(what, "a frame", "none in 30 s")),
    }
}

async fn event(socket: &mut Socket, kind: &str, name: &str) -> Check {
    let Message::Text(line) = frame(socket).await? else {
        return Err(Failure::new("the next frame", "text", "another"));
    };
    let decoded = |error: serde_json::Error| Failure::new("a frame", "JSON", error.to_string());
    let event: Value = serde_json::from_str(&line).map_err(decoded)?;
    equal("its type", text(&event, "/type").as_str(), kind)?;
    equal(
        "its object",
        text(&event, "/object/metadata/name").as_str(),
        name,
    )
}

async fn closes_normally(socket: &mut Socket) -> Check {
    let Message::Close(Some(close)) = frame(socket).await? else {
        return Err(Failure::new("the last frame", "a close", "another"));
    };
    equal("its code", &u16::from(close.code), &1000)
}

async fn send(socket: &mut Socket, message: Message) -> Check {
    let lost = |error: tokio_tungstenite::tungstenite::Error| {
        Failure::new("sending", "a frame", error.to_string())
    };
    socket.send(message).await.map_err(lost)
}

async fn a_websocket_watch_shows_each_event_in_a_text_frame(context: Context) -> Check {
    let maps = context.config_maps();
    maps.create(config_map("one")).await.succeeds("creating")?;
    let mut socket = context.connect("fieldSelector=metadata.name%3Done").await?;
    event(&mut socket, "ADDED", "one").await?;
    send(&mut socket, Message::Ping(bytes::Bytes::from_static(b"hi"))).await?;
    send(&mut socket, Message::text("ignored")).await?;
    maps.delete("one").await.succeeds("deleting")?;
    event(&mut socket, "DELETED", "one").await
}

async fn a_websocket_watch_ends_with_a_close_frame(context: Context) -> Check {
    let only_none = "fieldSelector=metadata.name%3Dnone&timeoutSeconds=1";
    let mut socket = context.connect(only_none).await?;
    closes_normally(&mut socket).await
}

async fn a_websocket_is_closed_when_the_client_closes_it(context: Context) -> Check {
    let mut socket = context
        .connect("fieldSelector=metadata.name%3Dnone")
        .await?;
    send(&mut socket, Message::Close(None)).await?;
    match frame(&mut socket).await? {
        Message::Close(_) => Ok(()),
        _ => Err(Failure::new("the answer", "a close", "another frame")),
    }
}

/// The server wants an origin, version 13 and at most one subprotocol, which it takes whatever it is.
async fn a_websocket_is_asked_for_as_browsers_do(context: Context) -> Check {
    let path = context.watch_path("timeoutSeconds=1");
    for (name, value, code) in [
        (header::CONNECTION, "keep-alive, Upgrade", 101),
        (header::ORIGIN, "", 403),
        (header::ORIGIN, "null", 403),
        (header::SEC_WEBSOCKET_VERSION, "8", 400),
        (header::SEC_WEBSOCKET_KEY, "", 400),
        (header::SEC_WEBSOCKET_PROTOCOL, "one, two", 400),
    ] {
        let answer = context.ask(&path, &[(name.clone(), value)]).await?;
        let what = format!("{name}: {value}");
        equal(&what, &answer.status().as_u16(), &code)?;
    }
    let one = [(header::SEC_WEBSOCKET_PROTOCOL, "one")];
    let answer = context.ask(&path, &one).await?;
    let taken = answer.headers().get(header::SEC_WEBSOCKET_PROTOCOL);
    let taken = taken.and_then(|taken| taken.to_str().ok());
    equal("the subprotocol", &taken, &Some("one"))
}

async fn a_request_that_fails_does_not_become_a_websocket(context: Context) -> Check {
    let namespace = &context.namespace;
    let path = format!("/api/v1/namespaces/{namespace}/nothings?watch=true");
    let answer = context.ask(&path, &[]).await?;
    equal("the code", &answer.status().as_u16(), &404)
}

async fn a_list_does_not_become_a_websocket(context: Context) -> Check {
    let namespace = &context.namespace;
    let path = format!("/api/v1/namespaces/{namespace}/configmaps?limit=1");
    let answer = context.ask(&path, &[]).await?;
    equal("the code", &answer.status().as_u16(), &200)
}
