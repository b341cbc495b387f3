//! `metav1.Status` answers: every refusal of the server, worded as kube-apiserver words it.
//!
//! Source of wording, codes and reasons: apimachinery v0.36.4, `pkg/api/errors/errors.go`.

use serde_json::{Map, Value, json};

use crate::model::kind::Kind;
use crate::schema::field_error::FieldError;

/// A request that was refused, with all that the client is told.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ApiError {
    pub(crate) code: u16,
    pub(crate) reason: String,
    pub(crate) message: String,
    pub(crate) details: Option<Value>,
    pub(crate) retry_after_s: Option<u32>,
    /// A fresh token, in an "inconsistent continue" answer only.
    pub(crate) continue_token: Option<String>,
}

impl ApiError {
    pub(crate) fn new(code: u16, reason: &str, message: impl Into<String>) -> ApiError {
        ApiError {
            code,
            reason: reason.to_owned(),
            message: message.into(),
            details: None,
            retry_after_s: None,
            continue_token: None,
        }
    }

    pub(crate) fn bad_request(message: impl Into<String>) -> ApiError {
        ApiError::new(400, "BadRequest", message)
    }

    /// A path that no server has: unknown group, version or resource.
    pub(crate) fn no_such_path() -> ApiError {
        let mut error = ApiError::new(
            404,
            "NotFound",
            "the server could not find the requested resource",
        );
        error.details = Some(json!({}));
        error
    }

    /// What a real server has and this one has not.
    pub(crate) fn not_implemented(what: &str) -> ApiError {
        ApiError::new(
            501,
            "NotImplemented",
            format!("kubesim does not implement {what}"),
        )
    }

    pub(crate) fn not_found(kind: &Kind, name: &str) -> ApiError {
        let message = format!("{} \"{name}\" not found", kind.group_resource());
        ApiError::new(404, "NotFound", message).about(kind, name)
    }

    pub(crate) fn already_exists(kind: &Kind, name: &str) -> ApiError {
        let message = format!("{} \"{name}\" already exists", kind.group_resource());
        ApiError::new(409, "AlreadyExists", message).about(kind, name)
    }

    pub(crate) fn conflict(kind: &Kind, name: &str, why: &str) -> ApiError {
        let message = format!(
            "Operation cannot be fulfilled on {} \"{name}\": {why}",
            kind.group_resource()
        );
        ApiError::new(409, "Conflict", message).about(kind, name)
    }

    pub(crate) fn stale(kind: &Kind, name: &str) -> ApiError {
        ApiError::conflict(
            kind,
            name,
            "the object has been modified; please apply your changes to the latest version and try again",
        )
    }

    pub(crate) fn forbidden(kind: &Kind, name: &str, why: &str) -> ApiError {
        let message = format!("{} \"{name}\" is forbidden: {why}", kind.group_resource());
        ApiError::new(403, "Forbidden", message).about(kind, name)
    }

    pub(crate) fn method_not_allowed(kind: &Kind, verb: &str) -> ApiError {
        let message = format!(
            "{verb} is not supported on resources of kind \"{}\"",
            kind.group_resource()
        );
        ApiError::new(405, "MethodNotAllowed", message).about(kind, "")
    }

    pub(crate) fn invalid(kind: &Kind, name: &str, errors: &[FieldError]) -> ApiError {
        let group_kind = kind.group_kind();
        let bodies: Vec<String> = errors
            .iter()
            .map(|e| format!("{}: {}", e.field, e.message))
            .collect();
        let message = match bodies.as_slice() {
            [] => format!("{group_kind} \"{name}\" is invalid"),
            [one] => format!("{group_kind} \"{name}\" is invalid: {one}"),
            many => format!("{group_kind} \"{name}\" is invalid: [{}]", many.join(", ")),
        };
        let causes: Vec<Value> = errors
            .iter()
            .map(|e| json!({"reason": e.kind, "message": e.message, "field": e.field}))
            .collect();
        let mut error = ApiError::new(422, "Invalid", message);
        error.details = Some(details(&kind.group, &kind.kind, name, causes));
        error
    }

    /// A patch that makes an object which cannot be decoded; it is about no object.
    pub(crate) fn invalid_patch(refused: &FieldError) -> ApiError {
        let FieldError {
            kind,
            field,
            message,
        } = refused;
        let cause = json!({"reason": kind, "message": message, "field": field});
        let mut error = ApiError::new(
            422,
            "Invalid",
            format!(" \"\" is invalid: {field}: {message}"),
        );
        error.details = Some(json!({"causes": [cause]}));
        error
    }

    /// Refused parameters of a request: `options` such as `PatchOptions`.
    pub(crate) fn invalid_options(options: &str, refused: &FieldError) -> ApiError {
        let FieldError {
            kind,
            field,
            message,
        } = refused;
        let text = format!("{options}.meta.k8s.io \"\" is invalid: {field}: {message}");
        let cause = json!({"reason": kind, "message": message, "field": field});
        let mut error = ApiError::new(422, "Invalid", text);
        error.details = Some(details("meta.k8s.io", options, "", vec![cause]));
        error
    }

    pub(crate) fn expired(message: &str) -> ApiError {
        ApiError::new(410, "Expired", message)
    }

    pub(crate) fn internal(message: impl Into<String>) -> ApiError {
        ApiError::new(
            500,
            "InternalError",
            format!("Internal error occurred: {}", message.into()),
        )
    }

    fn about(mut self, kind: &Kind, name: &str) -> ApiError {
        self.details = Some(details(&kind.group, &kind.plural, name, Vec::new()));
        self
    }

    /// The body that goes over the wire.
    pub(crate) fn body(&self) -> Value {
        let mut meta = Map::new();
        if let Some(token) = &self.continue_token {
            meta.insert("continue".to_owned(), json!(token));
        }
        let mut status = json!({
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": meta,
            "status": "Failure",
            "message": self.message,
            "code": self.code,
        });
        if !self.reason.is_empty() {
            status["reason"] = json!(self.reason);
        }
        let mut details = self.details.clone();
        if let Some(seconds) = self.retry_after_s {
            details.get_or_insert_with(|| json!({}))["retryAfterSeconds"] = json!(seconds);
        }
        if let Some(details) = details {
            status["details"] = details;
        }
        status
    }
}

fn details(group: &str, kind: &str, name: &str, causes: Vec<Value>) -> Value {
    let mut details = Map::new();
    for (key, value) in [("name", name), ("group", group), ("kind", kind)] {
        if !value.is_empty() {
            details.insert(key.to_owned(), json!(value));
        }
    }
    if !causes.is_empty() {
        details.insert("causes".to_owned(), Value::Array(causes));
    }
    Value::Object(details)
}
