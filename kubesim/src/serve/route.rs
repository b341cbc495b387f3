//! Paths and verbs of requests.

use std::borrow::Cow;

use http::Method;

use crate::api::query::Query;

/// What a path names, decoded.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Route {
    Resource(Target),
    Version,
    Health,
    /// `/api`
    CoreVersions,
    /// `/apis`
    Groups,
    /// `/apis/{group}`
    Group(String),
    /// `/api/v1`, `/apis/{group}/{version}`
    Resources(String, String),
    /// `GET /kubesim/requests`
    Requests,
    /// `POST /kubesim/compact`
    Compact,
    Unknown,
}

/// A resource path, decoded.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Target {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) namespace: Option<String>,
    pub(crate) resource: String,
    pub(crate) name: Option<String>,
    pub(crate) subresource: Option<String>,
}

impl Target {
    /// `edgeapps/status`: the name under which requests are counted.
    pub(crate) fn counted_as(&self) -> Cow<'_, str> {
        match &self.subresource {
            Some(sub) => Cow::Owned(format!("{}/{sub}", self.resource)),
            None => Cow::Borrowed(&self.resource),
        }
    }
}

impl Route {
    pub(crate) fn parse(path: &str) -> Route {
        let segments: Vec<String> = path
            .split('/')
            .filter(|s| !s.is_empty())
            .map(|s| {
                percent_encoding::percent_decode_str(s)
                    .decode_utf8_lossy()
                    .into_owned()
            })
            .collect();
        let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
        match segments.as_slice() {
            ["version"] => Route::Version,
            ["livez" | "readyz" | "healthz", ..] => Route::Health,
            ["kubesim", "requests"] => Route::Requests,
            ["kubesim", "compact"] => Route::Compact,
            ["api"] => Route::CoreVersions,
            ["apis"] => Route::Groups,
            ["apis", group] => Route::Group((*group).to_owned()),
            ["api", version] => Route::Resources(String::new(), (*version).to_owned()),
            ["apis", group, version] => {
                Route::Resources((*group).to_owned(), (*version).to_owned())
            }
            ["api", version, rest @ ..] => resource("", version, rest),
            ["apis", group, version, rest @ ..] => resource(group, version, rest),
            _ => Route::Unknown,
        }
    }
}

fn resource(group: &str, version: &str, rest: &[&str]) -> Route {
    let (namespace, rest) = match rest {
        // A namespace itself and its own subresources.
        ["namespaces"] | ["namespaces", _] | ["namespaces", _, "status" | "finalize"]
            if group.is_empty() =>
        {
            (None, rest)
        }
        ["namespaces", namespace, rest @ ..] if !rest.is_empty() => (Some(*namespace), rest),
        _ => (None, rest),
    };
    let owned = |s: &&str| (*s).to_owned();
    let (resource, name, subresource) = match rest {
        [resource] => (resource, None, None),
        [resource, name] => (resource, Some(name), None),
        [resource, name, subresource] => (resource, Some(name), Some(subresource)),
        _ => return Route::Unknown,
    };
    Route::Resource(Target {
        group: group.to_owned(),
        version: version.to_owned(),
        namespace: namespace.map(str::to_owned),
        resource: owned(resource),
        name: name.map(owned),
        subresource: subresource.map(owned),
    })
}

/// The audit log's word for the request.
pub(crate) fn verb(method: &Method, target: &Target, query: &Query) -> Option<&'static str> {
    let named = target.name.is_some();
    Some(match *method {
        Method::GET if !named && query.watch => "watch",
        Method::GET if !named => "list",
        Method::GET => "get",
        Method::POST => "create",
        Method::PUT => "update",
        Method::PATCH => "patch",
        Method::DELETE if named => "delete",
        Method::DELETE => "deletecollection",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::{Route, Target};

    #[test]
    fn paths_by_table() {
        let target = |group: &str,
                      ns: Option<&str>,
                      resource: &str,
                      name: Option<&str>,
                      sub: Option<&str>| {
            Route::Resource(Target {
                group: group.to_owned(),
                version: "v1".to_owned(),
                namespace: ns.map(str::to_owned),
                resource: resource.to_owned(),
                name: name.map(str::to_owned),
                subresource: sub.map(str::to_owned),
            })
        };
        let cases = [
            ("/api/v1/pods", target("", None, "pods", None, None)),
            (
                "/api/v1/namespaces",
                target("", None, "namespaces", None, None),
            ),
            (
                "/api/v1/namespaces/a",
                target("", None, "namespaces", Some("a"), None),
            ),
            (
                "/api/v1/namespaces/a/finalize",
                target("", None, "namespaces", Some("a"), Some("finalize")),
            ),
            (
                "/api/v1/namespaces/a/pods",
                target("", Some("a"), "pods", None, None),
            ),
            (
                "/apis/apps/v1/namespaces/a/deployments/b%2Dc/status",
                target(
                    "apps",
                    Some("a"),
                    "deployments",
                    Some("b-c"),
                    Some("status"),
                ),
            ),
            (
                "/apis/apps/v1",
                Route::Resources("apps".to_owned(), "v1".to_owned()),
            ),
            ("/readyz?x", Route::Unknown),
            ("/readyz/ping", Route::Health),
            ("/nothing", Route::Unknown),
        ];
        for (path, want) in cases {
            assert_eq!(Route::parse(path), want, "{path}");
        }
    }
}
