//! SelfSubjectAccessReviews: whether a user may make a request.
//!
//! Guarantees: the answer is that of the faults in force: a request that they refuse with 403 is not allowed, and any
//! other is. Nothing is stored, and the request that is asked about is not counted. Leaves to others: refusing the request itself
//! (`request`).

use bytes::Bytes;
use http::{HeaderMap, header};
use serde_json::{Value, json};

use crate::api::answer::Answer;
use crate::api::body::parse_body;
use crate::faults::{RequestFacts, RequestFault};
use crate::model::status::ApiError;
use crate::serve::route::Target;
use crate::state::Inner;

/// Whether a request creates a review.
pub(crate) fn is_asked(verb: &str, target: &Target) -> bool {
    verb == "create"
        && target.group == "authorization.k8s.io"
        && target.version == "v1"
        && target.resource == "selfsubjectaccessreviews"
        && target.name.is_none()
        && target.namespace.is_none()
}

/// The review with its status.
pub(crate) fn answer(
    inner: &Inner,
    user: &str,
    headers: &HeaderMap,
    body: &Bytes,
) -> Result<Answer, ApiError> {
    let content_type = headers.get(header::CONTENT_TYPE);
    let content_type = content_type.and_then(|value| value.to_str().ok());
    let mut review = parse_body(body, content_type.unwrap_or("application/json"))?;
    let asked = &review["spec"]["resourceAttributes"];
    let (is_resource, is_path) = (
        asked.is_object(),
        review["spec"]["nonResourceAttributes"].is_object(),
    );
    if is_resource == is_path {
        return Err(ApiError::new(
            422,
            "Invalid",
            "SelfSubjectAccessReview.authorization.k8s.io \"\" is invalid: spec.resourceAttributes: Invalid value: \
             exactly one of nonResourceAttributes or resourceAttributes must be specified",
        ));
    }
    let refused = match is_resource {
        true => refusal(inner, user, asked),
        false => None,
    };
    review["apiVersion"] = "authorization.k8s.io/v1".into();
    review["kind"] = "SelfSubjectAccessReview".into();
    if review["metadata"].is_null() {
        review["metadata"] = json!({});
    }
    review["status"] = match refused {
        Some(reason) => json!({"allowed": false, "reason": reason}),
        None => json!({"allowed": true}),
    };
    Ok(Answer::json(201, &review))
}

/// Why such a request would be refused.
fn refusal(inner: &Inner, user: &str, asked: &Value) -> Option<String> {
    let text = |field: &str| asked[field].as_str().filter(|text| !text.is_empty());
    let (verb, resource) = (text("verb").unwrap_or("*"), text("resource").unwrap_or("*"));
    let counted_as = match text("subresource") {
        Some(sub) => format!("{resource}/{sub}"),
        None => resource.to_owned(),
    };
    let facts = RequestFacts {
        user,
        verb,
        resource,
        subresource: text("subresource"),
        namespace: text("namespace"),
        name: text("name"),
        nth: inner.requests.snapshot().count(user, verb, &counted_as),
    };
    match inner.faults.request(&facts) {
        RequestFault::Status {
            code: 403, message, ..
        } => Some(message),
        _ => None,
    }
}
