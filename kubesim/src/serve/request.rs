//! One request from arrival to answer: path, request count, faults, verb, body.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use bytes::Bytes;
use futures::StreamExt;
use http::request::Parts;
use http::{HeaderMap, Method, Request, Response, header};
use http_body::{Body as HttpBody, Frame};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, Limited, StreamBody};
use serde_json::json;

use crate::api;
use crate::api::answer::Answer;
use crate::api::call::Call;
use crate::api::query::{Query, Shape, manager};
use crate::api::watch::Watch;
use crate::api::{discovery, list};
use crate::controllers;
use crate::faults::{RequestFacts, RequestFault};
use crate::model::kind;
use crate::model::status::ApiError;
use crate::requests::Counter;
use crate::serve::route::{Route, Target};
use crate::serve::{access_review, route, websocket};
use crate::state::{Inner, Served};

/// Every response body.
pub(crate) type Body = UnsyncBoxBody<Bytes, Infallible>;

/// The connection is lost where the answer should have been.
#[derive(Debug, thiserror::Error)]
#[error("connection closed by the server before the answer was sent")]
pub(crate) struct Dropped;

/// Answers one request of `user`.
pub(crate) async fn answer<B>(
    inner: &Arc<Inner>,
    user: &str,
    request: Request<B>,
) -> Result<Response<Body>, Dropped>
where
    B: HttpBody + Send,
    B::Data: Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    controllers::ensure(inner);
    let (mut parts, body) = request.into_parts();
    match Route::parse(parts.uri.path()) {
        Route::Resource(target) => resource(inner, user, &mut parts, target, body).await,
        route => Ok(respond(other(inner, user, &parts.method, &route), None)),
    }
}

/// Answers a path that names no resource.
fn other(inner: &Inner, user: &str, method: &Method, route: &Route) -> Answer {
    let admin_only = || {
        let message = format!(
            "user \"{user}\" may not use the paths below /kubesim; user \"{}\" may",
            inner.options.admin_user
        );
        ApiError::new(403, "Forbidden", message)
    };
    let result = match route {
        Route::Version => Ok(discovery::version()),
        Route::Health => return Answer::Whole(200, Bytes::from_static(b"ok")),
        Route::CoreVersions => Ok(discovery::core_versions()),
        Route::Groups => Ok(discovery::groups(inner)),
        Route::Group(group) => discovery::group(inner, group),
        Route::Resources(group, version) => discovery::resources(inner, group, version),
        Route::Requests | Route::Compact if user != inner.options.admin_user => Err(admin_only()),
        Route::Requests => Ok(serde_json::to_value(inner.requests.snapshot()).unwrap_or_default()),
        Route::Compact if method == Method::POST => {
            inner.store.compact();
            Ok(json!({"revision": inner.store.revision()}))
        }
        _ => Err(ApiError::no_such_path()),
    };
    match result {
        Ok(value) => Answer::json(200, &value),
        Err(error) => refusal(&error),
    }
}

async fn resource<B>(
    inner: &Arc<Inner>,
    user: &str,
    parts: &mut Parts,
    target: Target,
    body: B,
) -> Result<Response<Body>, Dropped>
where
    B: HttpBody + Send,
    B::Data: Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let connection = websocket::Connection::of(&mut parts.extensions);
    let (method, headers) = (&parts.method, &parts.headers);
    let query = match Query::parse(&parts.uri) {
        Ok(query) => query,
        Err(error) => return Ok(respond(refusal(&error), None)),
    };
    let Some(verb) = route::verb(method, &target, &query) else {
        let error = ApiError::new(
            405,
            "MethodNotAllowed",
            "the server does not allow this method on the requested resource",
        );
        return Ok(respond(refusal(&error), None));
    };
    let (counter, nth) = inner.requests.open(user, verb, &target.counted_as());
    // Before a fault: a client that is killed by its closure has sent the whole request, which is carried out.
    let body = match read(body, inner.options.max_body_bytes).await {
        Ok(body) => body,
        Err(error) => return Ok(respond(refusal(&error), Some(&counter))),
    };
    let facts = RequestFacts {
        user,
        verb,
        resource: &target.resource,
        subresource: target.subresource.as_deref(),
        namespace: target.namespace.as_deref(),
        name: target.name.as_deref(),
        nth,
    };
    let fault = inner.faults.request(&facts);
    match &fault {
        RequestFault::Pass | RequestFault::AfterDrop => {}
        RequestFault::Hang => std::future::pending().await,
        RequestFault::Delay(delay) => tokio::time::sleep(*delay).await,
        RequestFault::Status {
            code,
            reason,
            message,
            retry_after_s,
        } => {
            let mut error = ApiError::new(*code, reason, message.clone());
            error.retry_after_s = *retry_after_s;
            return Ok(respond(refusal(&error), Some(&counter)));
        }
    }
    counter.request_bytes.fetch_add(body.len() as u64, Relaxed);
    let answer = match access_review::is_asked(verb, &target) {
        true => access_review::answer(inner, user, headers, &body),
        false => dispatch(inner, user, verb, headers, &target, query, &body),
    };
    let answer = answer.unwrap_or_else(|error| refusal(&error));
    if fault == RequestFault::AfterDrop {
        return Err(Dropped);
    }
    if verb == "watch"
        && websocket::is_asked(headers)
        && let Answer::Stream(lines) = answer
    {
        let lines = lines.inspect(move |bytes| {
            let bytes = bytes.len() as u64;
            counter.response_bytes.fetch_add(bytes, Relaxed);
        });
        return Ok(websocket::answer(headers, connection, lines.boxed()));
    }
    Ok(respond(answer, Some(&counter)))
}

async fn read<B>(body: B, max_bytes: usize) -> Result<Bytes, ApiError>
where
    B: HttpBody + Send,
    B::Data: Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    match Limited::new(body, max_bytes).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(cause) if cause.is::<http_body_util::LengthLimitError>() => Err(ApiError::new(
            413,
            "RequestEntityTooLarge",
            format!("Request entity too large: limit is {max_bytes}"),
        )),
        Err(cause) => Err(ApiError::bad_request(format!(
            "the body could not be read: {cause}"
        ))),
    }
}

/// Finds the resource and runs the verb.
fn dispatch(
    inner: &Arc<Inner>,
    user: &str,
    verb: &'static str,
    headers: &HeaderMap,
    target: &Target,
    query: Query,
    body: &Bytes,
) -> Result<Answer, ApiError> {
    let Some(Served { table, kind }) =
        inner.served_version(&target.group, &target.version, &target.resource)
    else {
        return Err(if kind::known_elsewhere(&target.group, &target.resource) {
            ApiError::not_implemented(&format!(
                "{} of group \"{}\"",
                target.resource, target.group
            ))
        } else {
            ApiError::no_such_path()
        });
    };
    if target.namespace.is_some() != kind.namespaced {
        let across = matches!(verb, "list" | "watch") && kind.namespaced;
        if !across {
            return Err(ApiError::no_such_path());
        }
    }
    let shape = Shape::negotiate(headers)?;
    let namespace = target.namespace.as_deref();
    match verb {
        "list" => {
            let page = list::page(&inner.store, table, &kind.plural, namespace, &query)?;
            Ok(list_answer(page, &kind, shape))
        }
        "watch" => {
            let watch = Watch::open(inner, table, kind, user, namespace, &query, shape)?;
            let lines = watch.lines().map(|Ok(bytes)| bytes);
            Ok(Answer::Stream(lines.boxed()))
        }
        verb => {
            let call = Call {
                inner,
                served: &Served { table, kind },
                namespace: namespace.unwrap_or(""),
                name: target.name.as_deref().unwrap_or(""),
                subresource: target.subresource.as_deref(),
                manager: manager(headers, &query),
                query: &query,
                shape,
            };
            api::run(verb, &call, headers, body)
        }
    }
}

fn list_answer(page: list::Page, kind: &Arc<kind::Kind>, shape: Shape) -> Answer {
    if page.weight() > 128 * 1024 {
        return Answer::Stream(futures::stream::iter(page.encode(kind, shape)).boxed());
    }
    let body: Vec<u8> = page.encode(kind, shape).flatten().collect();
    Answer::Whole(200, Bytes::from(body))
}

pub(crate) fn refusal(error: &ApiError) -> Answer {
    Answer::Rejected(error.clone())
}

/// The HTTP response; its bytes are counted as they leave.
pub(crate) fn respond(answer: Answer, counter: Option<&Arc<Counter>>) -> Response<Body> {
    let (answer, retry_after_s) = match answer {
        Answer::Rejected(error) => (Answer::json(error.code, &error.body()), error.retry_after_s),
        other => (other, None),
    };
    let content_type = match answer {
        Answer::Whole(204, _) => None,
        Answer::Text(_) => Some("text/plain"),
        _ => Some("application/json"),
    };
    let (code, body) = match answer {
        // Turned into a whole answer above.
        Answer::Rejected(error) => (error.code, Full::new(Bytes::new()).boxed_unsync()),
        Answer::Whole(code, bytes) => {
            if let Some(counter) = counter {
                counter
                    .response_bytes
                    .fetch_add(bytes.len() as u64, Relaxed);
            }
            (code, Full::new(bytes).boxed_unsync())
        }
        Answer::Stream(stream) | Answer::Text(stream) => {
            let counter = counter.cloned();
            let frames = stream.map(move |bytes| {
                if let Some(counter) = &counter {
                    counter
                        .response_bytes
                        .fetch_add(bytes.len() as u64, Relaxed);
                }
                Ok(Frame::data(bytes))
            });
            (200, StreamBody::new(frames).boxed_unsync())
        }
    };
    if code >= 400
        && let Some(counter) = counter
    {
        counter.errors.fetch_add(1, Relaxed);
    }
    let mut response = Response::new(body);
    *response.status_mut() =
        http::StatusCode::from_u16(code).unwrap_or(http::StatusCode::INTERNAL_SERVER_ERROR);
    if let Some(content_type) = content_type {
        let content_type = header::HeaderValue::from_static(content_type);
        response
            .headers_mut()
            .insert(header::CONTENT_TYPE, content_type);
    }
    if let Some(seconds) = retry_after_s {
        response
            .headers_mut()
            .insert(header::RETRY_AFTER, seconds.into());
    }
    response
}
