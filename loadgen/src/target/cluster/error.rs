//! Why the API server could not be used.
//!
//! Guarantees: a refusal keeps the server's words. Leaves to others: what is done about it.

use std::path::PathBuf;

use http::Method;

use crate::target::cluster::ANSWER;

/// Why the server could not be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot use kubeconfig {}: {source}", path.display())]
    Kubeconfig {
        path: PathBuf,
        source: kube::config::KubeconfigError,
    },
    #[error("{0}")]
    Proxy(String),
    #[error("cannot make a client: {0}")]
    Client(kube::Error),
    #[error("{method} {path}: {source}")]
    Request {
        method: Method,
        path: String,
        source: Box<kube::Error>,
    },
    #[error("{method} {path}: no answer within {} s", ANSWER.as_secs())]
    Silent { method: Method, path: String },
    #[error("{method} {path}: {source}")]
    Build {
        method: Method,
        path: String,
        source: http::Error,
    },
}

impl Error {
    /// What the server, or the client, says of a request.
    pub(super) fn of(method: Method, path: &str, source: kube::Error) -> Self {
        Self::Request {
            method,
            path: path.to_owned(),
            source: Box::new(source),
        }
    }

    /// The HTTP status, where the server gave one.
    pub fn code(&self) -> Option<u16> {
        match self {
            Error::Request { source, .. } => match source.as_ref() {
                kube::Error::Api(status) => Some(status.code),
                _ => None,
            },
            _ => None,
        }
    }

    /// The server's own words where it gave some, ours otherwise.
    pub fn words(&self) -> String {
        match self {
            Error::Request { source, .. } => match source.as_ref() {
                kube::Error::Api(status) if !status.message.is_empty() => status.message.clone(),
                other => causes(other),
            },
            other => other.to_string(),
        }
    }
}

/// An error with what is behind it, each once.
fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        next = cause.source();
    }
    text
}
