//! From a request line to what is asked for: path, verb, query parameters.

use std::borrow::Cow;

use http::{HeaderMap, Method, Uri, header};

use crate::logs::Asked;
use crate::status::ApiError;

/// What a path names.
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
    /// `GET /testbed/ledger`
    Ledger,
    /// `POST /testbed/compact`
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
    /// `edgeapps/status`, as the ledger books it.
    pub(crate) fn booked(&self) -> Cow<'_, str> {
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
            ["testbed", "ledger"] => Route::Ledger,
            ["testbed", "compact"] => Route::Compact,
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

/// The query parameters that mean something here.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Query {
    pub(crate) label_selector: String,
    pub(crate) field_selector: String,
    pub(crate) limit: usize,
    pub(crate) continue_token: String,
    pub(crate) resource_version: String,
    pub(crate) resource_version_match: String,
    pub(crate) watch: bool,
    pub(crate) bookmarks: bool,
    pub(crate) timeout_s: Option<u64>,
    pub(crate) send_initial_events: Option<bool>,
    pub(crate) dry_run: Option<String>,
    pub(crate) field_manager: Option<String>,
    pub(crate) field_validation: Option<String>,
    pub(crate) force: bool,
    pub(crate) propagation_policy: Option<String>,
    /// Of `pods/log`.
    pub(crate) log: Asked,
}

impl Query {
    pub(crate) fn parse(uri: &Uri) -> Result<Query, ApiError> {
        let mut query = Query::default();
        for (key, value) in form_urlencoded::parse(uri.query().unwrap_or("").as_bytes()) {
            let flag = || matches!(&*value, "true" | "1");
            let number = || {
                value.parse::<u64>().map_err(|_| {
                    ApiError::bad_request(format!("{key}: \"{value}\" is not a whole number"))
                })
            };
            match &*key {
                "labelSelector" => query.label_selector = value.into_owned(),
                "fieldSelector" => query.field_selector = value.into_owned(),
                "limit" if !value.is_empty() => {
                    query.limit = usize::try_from(number()?).unwrap_or(usize::MAX);
                }
                "continue" => query.continue_token = value.into_owned(),
                "resourceVersion" => query.resource_version = value.into_owned(),
                "resourceVersionMatch" => query.resource_version_match = value.into_owned(),
                "watch" => query.watch = flag(),
                "allowWatchBookmarks" => query.bookmarks = flag(),
                "timeoutSeconds" if !value.is_empty() => query.timeout_s = Some(number()?),
                "sendInitialEvents" if !value.is_empty() => {
                    query.send_initial_events = Some(flag());
                }
                "dryRun" if !value.is_empty() => query.dry_run = Some(value.into_owned()),
                "fieldManager" if !value.is_empty() => {
                    query.field_manager = Some(value.into_owned());
                }
                "fieldValidation" if !value.is_empty() => {
                    query.field_validation = Some(value.into_owned());
                }
                "force" => query.force = flag(),
                "propagationPolicy" if !value.is_empty() => {
                    query.propagation_policy = Some(value.into_owned());
                }
                other => query.log.read(other, &value),
            }
        }
        Ok(query)
    }
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

/// How objects are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    Full,
    MetadataOnly,
}

impl Shape {
    /// The first media type of `Accept` that can be served.
    pub(crate) fn negotiate(headers: &HeaderMap) -> Result<Shape, ApiError> {
        let accept = headers
            .get(header::ACCEPT)
            .and_then(|v| v.to_str().ok())
            .unwrap_or("");
        if accept.trim().is_empty() {
            return Ok(Shape::Full);
        }
        for media in accept.split(',') {
            let mut parts = media.split(';').map(str::trim);
            let name = parts.next().unwrap_or("");
            if !matches!(name, "application/json" | "application/*" | "*/*") {
                continue;
            }
            match parts.find_map(|p| p.strip_prefix("as=")) {
                None => return Ok(Shape::Full),
                Some("PartialObjectMetadata" | "PartialObjectMetadataList") => {
                    return Ok(Shape::MetadataOnly);
                }
                Some(_) => {}
            }
        }
        Err(ApiError::new(
            406,
            "NotAcceptable",
            "only the following media types are accepted: application/json, application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
        ))
    }
}

/// `fieldManager`, else what comes before the slash in `User-Agent`, as the real server does.
pub(crate) fn manager(headers: &HeaderMap, query: &Query) -> String {
    query.field_manager.clone().unwrap_or_else(|| {
        headers
            .get(header::USER_AGENT)
            .and_then(|v| v.to_str().ok())
            .and_then(|agent| agent.split('/').next())
            .filter(|agent| !agent.is_empty())
            .unwrap_or("unknown")
            .chars()
            .take(128)
            .collect()
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
