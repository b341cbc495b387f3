//! A request to the API server, as far as faults and oracles need to know it.

use http::{Method, Request};

/// A request.
#[derive(Clone, Debug)]
pub struct Call {
    pub verb: &'static str,
    pub resource: String,
    pub subresource: String,
    pub namespace: String,
    pub name: String,
}

impl Call {
    pub fn of<B>(request: &Request<B>) -> Call {
        let parts: Vec<&str> = request.uri().path().split('/').skip(1).collect();
        // api/VERSION or apis/GROUP/VERSION
        let rest = match parts.first() {
            Some(&"api") => parts.get(2..),
            _ => parts.get(3..),
        };
        let rest = rest.unwrap_or_default();
        let (namespace, rest) = match rest {
            ["namespaces", namespace, rest @ ..] if !rest.is_empty() => (*namespace, rest),
            rest => ("", rest),
        };
        let part = |index: usize| rest.get(index).copied().unwrap_or_default().to_owned();
        let query = request.uri().query().unwrap_or_default();
        let is_watch = query
            .split('&')
            .any(|one| matches!(one, "watch=1" | "watch=true"));
        let verb = match *request.method() {
            Method::POST => "create",
            Method::PATCH => "patch",
            Method::DELETE => "delete",
            Method::PUT => "update",
            _ if is_watch => "watch",
            _ if rest.len() > 1 => "get",
            _ => "list",
        };
        Call {
            verb,
            resource: part(0),
            name: part(1),
            subresource: part(2),
            namespace: namespace.to_owned(),
        }
    }

    pub fn is_write(&self) -> bool {
        !matches!(self.verb, "get" | "list" | "watch")
    }
}

impl std::fmt::Display for Call {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.verb, self.resource)?;
        for part in [&self.name, &self.subresource] {
            if !part.is_empty() {
                write!(f, "/{part}")?;
            }
        }
        Ok(())
    }
}
