//! A request beside its path: query parameters, the media type, the field manager.

use http::{HeaderMap, Uri, header};

use crate::api::pod_log::LogOptions;
use crate::model::status::ApiError;

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
    pub(crate) log: LogOptions,
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
