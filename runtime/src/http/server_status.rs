//! The `Status` object with which the API server refuses a request.
//!
//! Guarantees: an answer of a proxy, which is no `Status`, is an error too; what the server asks to wait is bounded.
//! Leaves to others: what the error means (`reconcile`, `watch`, `relist`).

use std::time::Duration;

use http::StatusCode;
use serde::Deserialize;

use crate::http::request::ApiError;
use crate::model::decoded;

/// The longest that a server can make us wait: as long as the longest back-off of our own. A proxy that asks for a
/// day would stop the owner for a day.
const LONGEST_RETRY_AFTER: Duration = Duration::from_secs(300);

/// The fields of a `Status` object that matter here.
#[derive(Deserialize, Default)]
pub(crate) struct ServerStatus {
    #[serde(default)]
    pub code: u16,
    #[serde(default)]
    pub reason: Box<str>,
    #[serde(default)]
    pub message: Box<str>,
    #[serde(default)]
    pub metadata: ServerStatusMeta,
    #[serde(default)]
    pub details: Option<ServerStatusDetails>,
}

#[derive(Deserialize, Default)]
pub(crate) struct ServerStatusMeta {
    #[serde(default, rename = "continue")]
    pub resume: Option<Box<str>>,
}

#[derive(Deserialize, Default)]
pub(crate) struct ServerStatusDetails {
    /// The resource that it is about: `namespaces`, ...
    #[serde(default)]
    pub kind: Box<str>,
    #[serde(default)]
    pub causes: Vec<ServerStatusCause>,
    #[serde(default, rename = "retryAfterSeconds")]
    pub retry_after_s: Option<u64>,
}

#[derive(Deserialize, Default)]
pub(crate) struct ServerStatusCause {
    #[serde(default)]
    pub reason: Box<str>,
}

impl ServerStatus {
    pub(crate) fn into_error(self, retry_after: Option<Duration>) -> ApiError {
        let details = self.details.unwrap_or_default();
        let retry_after = retry_after.or(details.retry_after_s.map(Duration::from_secs));
        let mut causes = details.causes.iter();
        let is_terminating = causes.any(|cause| &*cause.reason == "NamespaceTerminating");
        // What is made in a namespace that is not there any more. Of a kind that is not served nothing is said at all.
        let is_gone = self.code == 404 && &*details.kind == "namespaces";
        ApiError::Status {
            code: self.code,
            reason: self.reason,
            message: self.message,
            retry_after: retry_after.map(|asked| asked.min(LONGEST_RETRY_AFTER)),
            resume: self.metadata.resume.filter(|token| !token.is_empty()),
            namespace_terminating: is_terminating || is_gone,
        }
    }
}

/// The error in an answer with `status`.
pub(crate) fn status_error(
    status: StatusCode,
    body: &[u8],
    retry_after: Option<Duration>,
) -> ApiError {
    let mut parsed: ServerStatus = decoded(body).unwrap_or_default();
    if parsed.message.is_empty() {
        // A proxy answers with a text of its own: its first line says enough.
        let text = String::from_utf8_lossy(&body[..body.len().min(200)]);
        parsed.message = text.lines().next().unwrap_or_default().into();
        parsed.reason = status.canonical_reason().unwrap_or("Unknown").into();
    }
    parsed.code = status.as_u16();
    parsed.into_error(retry_after)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_error_has_the_message_of_the_server() {
        let body = br#"{"kind":"Status","reason":"Forbidden","code":403,"message":"no",
            "details":{"causes":[{"reason":"NamespaceTerminating"}]}}"#;
        let error = status_error(StatusCode::FORBIDDEN, body, None);
        assert!(
            matches!(
                error,
                ApiError::Status {
                    code: 403,
                    namespace_terminating: true,
                    ..
                }
            ),
            "{error:?}"
        );
        let error = status_error(StatusCode::BAD_GATEWAY, b"upstream is down\n<html>", None);
        assert_eq!(error.to_string(), "upstream is down (Bad Gateway, 502)");
    }

    #[test]
    fn a_namespace_that_is_gone_is_told_from_a_kind_that_is_not_served() {
        let gone = br#"{"kind":"Status","reason":"NotFound","code":404,
            "message":"namespaces \"shop\" not found","details":{"name":"shop","kind":"namespaces"}}"#;
        let object = br#"{"kind":"Status","reason":"NotFound","code":404,
            "details":{"name":"web","kind":"services"}}"#;
        for (body, want) in [
            (&gone[..], true),
            (object, false),
            (b"404 page not found", false),
        ] {
            let error = status_error(StatusCode::NOT_FOUND, body, None);
            let ApiError::Status {
                namespace_terminating,
                ..
            } = error
            else {
                panic!("{error:?}");
            };
            assert_eq!(namespace_terminating, want);
        }
    }

    #[test]
    fn a_server_cannot_make_us_wait_for_a_day() {
        let day = Duration::from_secs(86_400);
        let body = br#"{"kind":"Status","code":429,"details":{"retryAfterSeconds":86400}}"#;
        for (header, body) in [(Some(day), &b"{}"[..]), (None, body)] {
            let error = status_error(StatusCode::TOO_MANY_REQUESTS, body, header);
            let ApiError::Status { retry_after, .. } = error else {
                panic!("{error:?}");
            };
            assert_eq!(retry_after, Some(LONGEST_RETRY_AFTER));
        }
    }

    proptest! {
        /// A proxy may answer with anything.
        #[test]
        fn any_answer_becomes_an_error_with_its_code(
            code in 400..600u16,
            body in prop_oneof![
                proptest::collection::vec(any::<u8>(), 0..400),
                "\\{\"(code|reason|message|details|metadata)\":(70000|-1|null|\"\"|\\[\\]|\\{\\})(,\"details\":\\{\"retryAfterSeconds\":(1e99|-1|99999999999)\\})?\\}"
                    .prop_map(String::into_bytes),
            ],
        ) {
            let status = StatusCode::from_u16(code).expect("a code");
            let error = status_error(status, &body, None);
            prop_assert_eq!(error.code(), Some(code));
            let text = error.to_string();
            prop_assert!(text.contains(&code.to_string()), "{text}");
            prop_assert!(text.len() < 1_000 && !text.contains('\n'), "{text}");
        }
    }
}
