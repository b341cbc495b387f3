//! What is between the operator and the server: latency, faults, and the oracle that looks at every write.
//!
//! Guarantees: what happens follows from the seed and from the order of the requests.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body::Frame;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use kube::Client;
use kube::client::Body;
use kubesim::Server;
use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedSender;
use tokio::time::sleep;

use crate::call::Call;
use crate::events;
use crate::faults::{Crash, Faults};
use crate::process::Process;
use crate::step::{RequestFault, When};
use crate::writes::Writes;

pub type Error = Box<dyn std::error::Error + Send + Sync>;
/// The body of an answer.
pub type Answer = UnsyncBoxBody<Bytes, Error>;

/// The way of one operator process to the server.
#[derive(Clone)]
pub struct Transport {
    pub server: Server,
    pub faults: Faults,
    pub process: Arc<Process>,
    pub writes: Arc<Writes>,
    /// Takes how long the operator is down after it was killed.
    pub killed: UnboundedSender<Duration>,
}

impl Transport {
    /// A client of the server that uses it.
    pub fn client(&self) -> Client {
        let inner = self.server.client("tare");
        let transport = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let (transport, inner) = (transport.clone(), inner.clone());
            async move { transport.carry(&inner, request).await }
        });
        Client::new(service, "default")
    }

    async fn carry(
        &self,
        inner: &Client,
        request: Request<Body>,
    ) -> Result<Response<Answer>, Error> {
        self.process.is_alive().await;
        let call = Call::of(&request);
        let (fault, crash, there_ms, back_ms) = {
            let mut state = self.faults.lock();
            let longest_ms = state.latency_ms;
            let (there_ms, back_ms) = (state.rng.below(longest_ms), state.rng.below(longest_ms));
            let fault = state.of_request(&call);
            let crash = match call.is_write() {
                true => state.of_write(),
                false => None,
            };
            match fault {
                Some(fault) => state.note(format_args!("-> {call} {fault:?}")),
                None => state.note(format_args!("-> {call}")),
            }
            (fault, crash, there_ms, back_ms)
        };
        // What is on its way while the datastore is restored is not judged: nothing fences it.
        let restores = self.faults.lock().restores;
        sleep(Duration::from_millis(there_ms)).await;
        if let Some(Crash {
            when: When::Before,
            down_ms,
            ..
        }) = crash
        {
            self.crash(down_ms).await;
        }
        match fault {
            Some(RequestFault::Refuse(code)) => return Ok(refusal(code)),
            Some(RequestFault::Unsent) => return Err("connection refused".into()),
            Some(RequestFault::Silence) => std::future::pending().await,
            Some(RequestFault::Slow { ms }) => sleep(Duration::from_millis(ms)).await,
            _ => {}
        }
        self.process.is_alive().await;
        let before = self.writes.arrives(&self.server, &call);
        let request = self.traced(request).await?;
        let response = inner.send(request).await?;
        let code = response.status().as_u16();
        self.faults.note(format_args!("   {call} = {code}"));
        if let Some(before) = before
            && code < 300
        {
            let mut state = self.faults.lock();
            state.writes += 1;
            state.made_and_deleted.0 += u64::from(code == 201 && call.resource != "events");
            state.made_and_deleted.1 += u64::from(call.verb == "delete");
            let reaction = state.reaction_to(&call);
            drop(state);
            if let Some(reaction) = reaction {
                tokio::spawn(reaction.act(self.server.client("user")));
            }
            let wrong = self.writes.after(&self.server, &call, before);
            if self.faults.lock().restores == restores {
                wrong.into_iter().for_each(|one| self.faults.violation(one));
            }
        }
        if let Some(Crash {
            when: When::Committed,
            down_ms,
            ..
        }) = crash
        {
            self.crash(down_ms).await;
        }
        match fault {
            Some(RequestFault::Late504) => return Ok(refusal(504)),
            Some(RequestFault::Unanswered) => return Err("connection reset".into()),
            Some(RequestFault::LateSilence) => std::future::pending().await,
            _ => {}
        }
        sleep(Duration::from_millis(back_ms)).await;
        self.process.is_alive().await;
        if let Some(Crash {
            when: When::Answered,
            down_ms,
            ..
        }) = crash
        {
            self.crash(down_ms).await;
        }
        let (parts, body) = response.into_parts();
        let body = match fault {
            Some(RequestFault::Cut { bytes, error }) => cut(body, bytes.into(), error),
            Some(RequestFault::Garbage) => garbled(body).await?,
            _ if call.verb == "watch" && code < 300 => {
                events::carry(body, call.resource, self.faults.clone())
            }
            _ => body.map_err(Error::from).boxed_unsync(),
        };
        Ok(Response::from_parts(parts, body))
    }

    /// Notes what is written, where somebody reads the trace.
    async fn traced(&self, request: Request<Body>) -> Result<Request<Body>, Error> {
        if self.faults.lock().trace.is_none() {
            return Ok(request);
        }
        let (parts, body) = request.into_parts();
        let bytes = body.collect().await?.to_bytes();
        if !bytes.is_empty() {
            let text = String::from_utf8_lossy(&bytes);
            self.faults.lock().explain(format_args!("{text}"));
        }
        Ok(Request::from_parts(parts, Body::from(bytes.to_vec())))
    }

    /// The process ends here.
    async fn crash(&self, down_ms: u64) {
        self.faults.note(format_args!("killed for {down_ms} ms"));
        self.process.kill();
        // The receiver lives as long as the run.
        let _ = self.killed.send(Duration::from_millis(down_ms));
        std::future::pending().await
    }
}

/// A Status that says why nothing was done.
fn refusal(code: u16) -> Response<Answer> {
    let reason = match code {
        400 => "BadRequest",
        403 => "Forbidden",
        409 => "Conflict",
        410 => "Expired",
        422 => "Invalid",
        429 => "TooManyRequests",
        503 => "ServiceUnavailable",
        504 => "Timeout",
        _ => "InternalError",
    };
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": "a fault of the simulation", "reason": reason, "code": code,
    });
    let body = Full::new(Bytes::from(status.to_string()));
    let mut response = Response::new(body.map_err(|never| match never {}).boxed_unsync());
    *response.status_mut() = http::StatusCode::from_u16(code).expect("a status code");
    response.headers_mut().insert(
        http::header::CONTENT_TYPE,
        http::HeaderValue::from_static("application/json"),
    );
    if code == 429 {
        response.headers_mut().insert(
            http::header::RETRY_AFTER,
            http::HeaderValue::from_static("1"),
        );
    }
    response
}

/// The body with an object that decodes as no type: the one that was asked for, or the first one of a list.
async fn garbled(body: Body) -> Result<Answer, Error> {
    let bytes = body.collect().await?.to_bytes();
    let mut answer: Value = serde_json::from_slice(&bytes)?;
    match answer.get_mut("items").map(|items| items.get_mut(0)) {
        Some(Some(first)) => events::garble(first),
        Some(None) => {}
        None => events::garble(&mut answer),
    }
    let body = Full::new(Bytes::from(answer.to_string()));
    Ok(body.map_err(|never| match never {}).boxed_unsync())
}

/// The body up to so many bytes.
fn cut(body: Body, bytes: usize, error: bool) -> Answer {
    let frames = futures::stream::unfold(Some((body, bytes)), move |state| async move {
        let (mut body, left) = state?;
        let end: Option<Error> = error.then(|| "connection reset".into());
        let frame = match left {
            0 => return end.map(|error| (Err(error), None)),
            _ => body.frame().await?,
        };
        let data = match frame.map(Frame::into_data) {
            Ok(Ok(data)) => data,
            Ok(Err(other)) => return Some((Ok(other), Some((body, left)))),
            Err(error) => return Some((Err(Error::from(error)), None)),
        };
        let data = data.slice(..data.len().min(left));
        let left = left - data.len();
        Some((Ok(Frame::data(data)), Some((body, left))))
    });
    StreamBody::new(frames).boxed_unsync()
}
