//! One request to the API server: bounded in time and in bytes, counted by verb.
//!
//! Guarantees: every request has a deadline that covers the whole answer; that of a watch or a list covers
//! its opening. An answer larger than its bound is an error and is not buffered. A missing permission is
//! logged once, except for lists and watches, which the `controller` reports.
//! Leaves to others: what to request (`watch`, `relist`, `reconcile`), when to retry (`queue`).

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Response, StatusCode, header};
use http_body_util::BodyExt;
use kube::Client;
use kube::client::Body;

use crate::http::buffer::append;
use crate::http::client;
use crate::http::client::Renewed;
use crate::http::deadline::Deadline;
use crate::http::permission::{MissingPermissions, Permission};
use crate::http::server_status::status_error;
use crate::metrics::{Metrics, Verb};
use crate::model;

/// Asks for the metadata only: for writes whose spec is known already.
pub const METADATA: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
/// The same for a list.
pub(crate) const METADATA_LIST: &str =
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
/// Asks for the whole object.
pub const WHOLE: &str = "application/json";

/// The largest answer to a request for one object, bytes: etcd stores 1.5 MiB, and managedFields add
/// to that.
pub const OBJECT_BYTES: usize = 4 << 20;

/// The largest body that is kept until its answer has come, bytes; a larger one is made again by the next reconcile.
const KEPT_BYTES: usize = 32 << 10;

/// What went wrong with a request.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ApiError {
    /// The server answered with an error.
    #[error("{message} ({reason}, {code})")]
    Status {
        /// HTTP status.
        code: u16,
        /// `AlreadyExists`, `Forbidden`, ...
        reason: Box<str>,
        /// The message of the server.
        message: Box<str>,
        /// How long the server asks to wait, five minutes at most.
        retry_after: Option<Duration>,
        /// The token with which an expired list may continue.
        resume: Option<Box<str>>,
        /// Whether the namespace is being deleted, or is gone.
        namespace_terminating: bool,
    },
    /// No complete answer within the deadline.
    #[error("no answer within {} s", .0.as_secs_f32())]
    Timeout(Duration),
    /// The connection failed.
    #[error("the API server cannot be reached: {0}")]
    Unreachable(Box<str>),
    /// The answer was larger than its bound.
    #[error("the answer is larger than {0} bytes")]
    TooLarge(usize),
    /// The answer cannot be decoded.
    #[error("the answer cannot be decoded: {0}")]
    Undecodable(Box<str>),
}

impl ApiError {
    /// The HTTP status, if the server answered.
    pub fn code(&self) -> Option<u16> {
        match self {
            Self::Status { code, .. } => Some(*code),
            _ => None,
        }
    }

    /// Whether the server answered with `reason`.
    pub fn is(&self, wanted: &str) -> bool {
        matches!(self, Self::Status { reason, .. } if &**reason == wanted)
    }

    /// Whether the server does not serve the path of a collection: the CRD of its kind is not installed. What is not
    /// found for another reason, such as a namespace, or what a webhook or a proxy says, has words of its own.
    pub(crate) fn is_of_missing_kind(&self) -> bool {
        // `NotFoundHandler` in apiserver answers in plain text; an aggregated server may answer with a `Status`.
        const WORDS: [&str; 2] = [
            "404 page not found",
            "the server could not find the requested resource",
        ];
        matches!(self, Self::Status { code: 404, message, .. } if WORDS.contains(&message.trim()))
    }

    /// The missing permission, if that is why the server refuses.
    pub(crate) fn missing_permission(&self) -> Option<Permission> {
        match self {
            Self::Status {
                code: 403, message, ..
            } => Permission::missing_in(message),
            _ => None,
        }
    }

    pub(crate) fn undecodable(error: &serde_json::Error) -> Self {
        Self::Undecodable(error.to_string().into())
    }
}

/// A client of the API server that counts and bounds its requests.
#[derive(Clone)]
pub struct Api {
    client: Client,
    metrics: Arc<Metrics>,
    missing: Arc<MissingPermissions>,
    deadline: Arc<Deadline>,
    now_s: fn() -> u32,
}

impl Api {
    /// Sends requests through `client`; each has `deadline` for its answer.
    pub fn new(client: Client, metrics: Arc<Metrics>, deadline: Duration) -> Self {
        Self {
            client,
            metrics,
            missing: Arc::default(),
            deadline: Arc::new(Deadline::new(deadline)),
            now_s: model::now_s,
        }
    }

    /// With another clock than that of the system.
    pub(crate) fn with_clock(self, now_s: fn() -> u32) -> Self {
        Self { now_s, ..self }
    }

    /// Seconds since 1970, for what is written.
    pub(crate) fn now_s(&self) -> u32 {
        (self.now_s)()
    }

    /// The metrics in which requests are counted.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// How many owners wait, behind how many workers: while requests hang, they share the time.
    pub(crate) fn set_backlog(&self, waiting: usize, workers: usize) {
        self.deadline.set_backlog(waiting, workers);
    }

    /// Whether several requests were not answered in time lately.
    pub(crate) fn requests_hang(&self) -> bool {
        self.deadline.requests_hang()
    }

    /// Logs that a permission is missing, once in a while.
    pub(crate) fn report_missing(&self, permission: Permission) {
        self.missing.report(permission);
    }

    /// Sends one request, which an owner waits for, and reads its whole answer. While requests hang and others wait
    /// it has less time.
    ///
    /// # Errors
    /// The server answers with a status of 400 or above, or with more than `limit` bytes; it does not
    /// answer in time, or cannot be reached.
    pub async fn call(
        &self,
        verb: Verb,
        request: Request<'_>,
        limit: usize,
    ) -> Result<Vec<u8>, ApiError> {
        let deadline = self.deadline.now();
        let result = self.exchange(verb, request, limit, deadline).await;
        match &result {
            Err(ApiError::Timeout(_)) => self.deadline.late(),
            _ => self.deadline.answered(),
        }
        result
    }

    async fn exchange(
        &self,
        verb: Verb,
        request: Request<'_>,
        limit: usize,
        deadline: Duration,
    ) -> Result<Vec<u8>, ApiError> {
        let exchange = async {
            let response = self.send(verb, request).await?;
            let status = response.status();
            let retry_after = retry_after(&response);
            if status.is_client_error() || status.is_server_error() {
                let body = read(response.into_body(), limit).await?;
                return Err(status_error(status, &body, retry_after));
            }
            read(response.into_body(), limit).await
        };
        let result = match tokio::time::timeout(deadline, exchange).await {
            Ok(result) => result,
            Err(_) => Err(ApiError::Timeout(deadline)),
        };
        if let Err(error) = &result
            && verb != Verb::List
            && let Some(permission) = error.missing_permission()
        {
            self.report_missing(permission);
        }
        result
    }

    /// Sends a request, and once more where the server refused credentials that are replaced (401). A large body is not
    /// kept for that.
    async fn send(&self, verb: Verb, mut request: Request<'_>) -> Result<Response<Body>, ApiError> {
        let body = request.body.take();
        let body = body.map(|(content_type, bytes)| (content_type, Bytes::from(bytes)));
        let is_large = |body: &(_, Bytes)| body.1.len() > KEPT_BYTES;
        let kept = (!body.as_ref().is_some_and(is_large)).then(|| body.clone());
        self.metrics.request(verb);
        let sent = self.client.send(request.with(body)?).await;
        let response = sent.map_err(unreachable)?;
        let is_renewed = response.extensions().get::<Renewed>().is_some();
        match kept {
            Some(body) if is_renewed => {
                self.metrics.request(verb);
                let sent = self.client.send(request.with(body)?).await;
                sent.map_err(unreachable)
            }
            _ => Ok(response),
        }
    }

    /// How long an answer may take.
    pub(crate) fn deadline(&self) -> Duration {
        self.deadline.longest()
    }

    /// Opens a watch or a list, which the caller reads; the deadline covers its opening only.
    ///
    /// # Errors
    /// The server answers with another status than 200, not in time, or cannot be reached.
    pub async fn open(&self, verb: Verb, request: Request<'_>) -> Result<Body, ApiError> {
        let exchange = async {
            let response = self.send(verb, request).await?;
            if response.status() == StatusCode::OK {
                return Ok(response.into_body());
            }
            let (status, retry_after) = (response.status(), retry_after(&response));
            let body = read(response.into_body(), OBJECT_BYTES).await?;
            Err(status_error(status, &body, retry_after))
        };
        let deadline = self.deadline.longest();
        match tokio::time::timeout(deadline, exchange).await {
            Ok(result) => result,
            Err(_) => Err(ApiError::Timeout(deadline)),
        }
    }
}

/// The parts of a request.
#[derive(Debug, Clone)]
pub struct Request<'a> {
    /// Method.
    pub method: Method,
    /// Path and query.
    pub path: &'a str,
    /// Content type and body, for writes.
    pub body: Option<(&'static str, Vec<u8>)>,
    /// `METADATA` or `WHOLE`.
    pub accept: &'static str,
}

impl<'a> Request<'a> {
    /// Reads what is at `path`.
    pub fn get(path: &'a str) -> Self {
        Self {
            method: Method::GET,
            path,
            body: None,
            accept: WHOLE,
        }
    }

    /// The request with this body.
    fn with(&self, body: Option<(&'static str, Bytes)>) -> Result<http::Request<Body>, ApiError> {
        let mut request = http::Request::builder()
            .method(self.method.clone())
            .uri(self.path)
            .header(header::ACCEPT, self.accept);
        let body = match body {
            Some((content_type, bytes)) => {
                request = request.header(header::CONTENT_TYPE, content_type);
                Body::from(bytes)
            }
            None => Body::empty(),
        };
        request
            .body(body)
            .map_err(|error| ApiError::Undecodable(error.to_string().into()))
    }
}

/// Reads a body of at most `limit` bytes.
async fn read(mut body: Body, limit: usize) -> Result<Vec<u8>, ApiError> {
    let mut bytes = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(unreachable)?;
        if let Some(data) = frame.data_ref() {
            if bytes.len() + data.len() > limit {
                return Err(ApiError::TooLarge(limit));
            }
            append(&mut bytes, data);
        }
    }
    Ok(bytes)
}

pub(crate) fn unreachable(error: kube::Error) -> ApiError {
    ApiError::Unreachable(client::cause(&error).into())
}

fn retry_after<B>(response: &Response<B>) -> Option<Duration> {
    let seconds = response
        .headers()
        .get(header::RETRY_AFTER)?
        .to_str()
        .ok()?
        .parse()
        .ok()?;
    Some(Duration::from_secs(seconds))
}

/// Percent-encodes a query value (RFC 3986: all but the unreserved characters).
pub(crate) fn encode(value: &str) -> String {
    let mut encoded = String::with_capacity(value.len() + 8);
    for byte in value.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                encoded.push(char::from(byte))
            }
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_selector_is_encoded() {
        assert_eq!(encode("a.b/c=d,e"), "a.b%2Fc%3Dd%2Ce");
    }
}
