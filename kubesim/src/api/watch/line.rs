//! The lines of a watch: one JSON event each.

use serde_json::{Value, json};

use crate::api::list::{full, metadata_only};
use crate::api::query::Shape;
use crate::model::kind::Kind;
use crate::model::record::Record;
use crate::model::status::ApiError;

/// A change of an object.
pub(crate) fn event(
    out: &mut Vec<u8>,
    event_type: &str,
    record: &Record,
    kind: &Kind,
    shape: Shape,
) {
    out.extend_from_slice(b"{\"type\":\"");
    out.extend_from_slice(event_type.as_bytes());
    out.extend_from_slice(b"\",\"object\":");
    match shape {
        Shape::Full => out.extend_from_slice(&full(kind, record)),
        Shape::MetadataOnly => metadata_only(out, record),
    }
    out.extend_from_slice(b"}\n");
}

/// An event whose object decodes as no type, though the line is JSON.
pub(crate) fn garbage(out: &mut Vec<u8>, event_type: &str, record: &Record, kind: &Kind) {
    let object = json!({
        "apiVersion": kind.api_version(),
        "kind": kind.kind,
        "metadata": {
            "name": record.name(),
            "namespace": record.namespace(),
            "resourceVersion": record.revision.to_string(),
            "labels": "not a map",
        },
        "spec": "not a spec",
        "status": "not a status",
    });
    push(out, &json!({"type": event_type, "object": object}));
}

/// Type and revision only; the one that ends the initial events says so.
pub(crate) fn bookmark(revision: u64, ends_initial: bool, kind: &Kind, shape: Shape) -> Vec<u8> {
    let mut metadata = json!({"resourceVersion": revision.to_string()});
    if ends_initial {
        metadata["annotations"] = json!({"k8s.io/initial-events-end": "true"});
    }
    let (kind, api_version) = match shape {
        Shape::Full => (kind.kind.clone(), kind.api_version()),
        Shape::MetadataOnly => (
            "PartialObjectMetadata".to_owned(),
            "meta.k8s.io/v1".to_owned(),
        ),
    };
    let object = json!({"kind": kind, "apiVersion": api_version, "metadata": metadata});
    let mut out = Vec::new();
    push(&mut out, &json!({"type": "BOOKMARK", "object": object}));
    out
}

/// An ERROR event with code 410.
pub(crate) fn expired(message: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let status = ApiError::expired(message).body();
    push(&mut out, &json!({"type": "ERROR", "object": status}));
    out
}

fn push(out: &mut Vec<u8>, event: &Value) {
    out.extend_from_slice(event.to_string().as_bytes());
    out.push(b'\n');
}
