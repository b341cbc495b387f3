//! What a rule is told about a request, and what it may do with it.

use bytes::Bytes;
use http::request::Parts;
use http::{Method, StatusCode};
use serde_json::{Value, json};

/// A request that has arrived.
pub struct Facts<'a> {
    pub method: &'a Method,
    pub path: &'a str,
    query: &'a str,
    pub body: &'a [u8],
    /// 1 for the first write; 0 for what is no write.
    pub nth_write: usize,
}

/// What becomes of a request.
pub enum Fault {
    /// The server answers it.
    Pass,
    /// Nobody answers it.
    Hang,
    /// The proxy answers it, with a body that is JSON.
    Answer(StatusCode, Bytes),
    /// It is held at this point, and with it all requests that follow.
    HoldAt(Point),
}

/// Where a write is interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    /// The server has not received it.
    Before,
    /// The server has committed it and the operator has no answer.
    Committed,
    /// The operator has its answer.
    Answered,
}

impl<'a> Facts<'a> {
    pub fn new(head: &'a Parts, body: &'a [u8], nth_write: usize) -> Facts<'a> {
        Facts {
            method: &head.method,
            path: head.uri.path(),
            query: head.uri.query().unwrap_or_default(),
            body,
            nth_write,
        }
    }

    pub fn is_write(&self) -> bool {
        is_write(self.method)
    }

    pub fn is_watch(&self) -> bool {
        matches!(self.parameter("watch"), Some("true" | "1"))
    }

    /// The revision after which a watch begins.
    pub fn resource_version(&self) -> u64 {
        let version = self.parameter("resourceVersion").unwrap_or_default();
        version.parse().unwrap_or_default()
    }

    /// Whether it asks for another page of a list than the first.
    pub fn continues(&self) -> bool {
        self.parameter("continue")
            .is_some_and(|token| !token.is_empty())
    }

    /// Whether its path or its body has this text.
    pub fn names(&self, text: &str) -> bool {
        let is_in = |found: &[u8]| {
            found
                .windows(text.len())
                .any(|part| part == text.as_bytes())
        };
        is_in(self.path.as_bytes()) || is_in(self.body)
    }

    fn parameter(&self, name: &str) -> Option<&'a str> {
        let mut pairs = self
            .query
            .split('&')
            .filter_map(|pair| pair.split_once('='));
        pairs.find_map(|(key, value)| (key == name).then_some(value))
    }
}

pub fn is_write(method: &Method) -> bool {
    *method != Method::GET
}

impl Fault {
    /// An answer as a load balancer gives it that has no server.
    pub fn unavailable() -> Fault {
        Fault::Answer(StatusCode::SERVICE_UNAVAILABLE, Bytes::from("no server\n"))
    }

    /// An answer with a `Status` that says 410.
    pub fn gone(code: StatusCode) -> Fault {
        Fault::Answer(code, Bytes::from(format!("{}\n", gone())))
    }

    /// A watch that opens and then says 410 in an event.
    pub fn gone_event() -> Fault {
        let event = json!({ "type": "ERROR", "object": gone() });
        Fault::Answer(StatusCode::OK, Bytes::from(format!("{event}\n")))
    }
}

/// As kube-apiserver words it.
fn gone() -> Value {
    json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": "too old resource version: 1 (2)", "reason": "Expired", "code": 410,
    })
}
