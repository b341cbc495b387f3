//! Built-in kinds pass through their Go-like types: wrong types are refused, unknown fields go.
//!
//! The types are those of `k8s-openapi`, so that a field of a newer version of the API is unknown here.

use serde_json::Value;

use crate::defaults::pod;
use crate::model::kind::{Kind, Rules};
use crate::model::status::ApiError;

/// Decodes and encodes again, as the real server does with every body. Returns the paths of unknown fields.
pub(crate) fn typed(kind: &Kind, object: &mut Value) -> Result<Vec<String>, ApiError> {
    let Some((built_in, typed)) = kind
        .built_in
        .as_ref()
        .and_then(|built_in| Some((built_in, built_in.typed?)))
    else {
        return Ok(Vec::new());
    };
    let decoded = typed(object).map_err(|cause| {
        ApiError::bad_request(format!(
            "{} in version \"{}\" cannot be handled as a {}: json: {cause}",
            kind.kind, kind.version, kind.kind
        ))
    })?;
    let template = built_in.template.and_then(|at| decoded.pointer(at));
    let spec = match kind.rules {
        Rules::Pod => decoded.get("spec"),
        _ => template.and_then(|template| template.get("spec")),
    };
    if spec.is_some_and(|spec| !pod::has_quantities(spec)) {
        return Err(ApiError::bad_request(format!(
            "{} in version \"{}\" cannot be handled as a {}: quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
            kind.kind, kind.version, kind.kind
        )));
    }
    let mut unknown = Vec::new();
    name_unknown(object, &decoded, "", &mut unknown);
    *object = decoded;
    Ok(unknown)
}

/// The fields that were sent and are not there after decoding. Metadata have a type of their own (`metadata`).
fn name_unknown(sent: &Value, decoded: &Value, at: &str, unknown: &mut Vec<String>) {
    match (sent, decoded) {
        (Value::Object(sent), Value::Object(decoded)) => {
            for (key, value) in sent.iter().filter(|(_, value)| !value.is_null()) {
                let path = match at {
                    "" => key.clone(),
                    at => format!("{at}.{key}"),
                };
                match decoded.get(key) {
                    Some(_) if path == "metadata" => {}
                    Some(decoded) => name_unknown(value, decoded, &path, unknown),
                    None => unknown.push(path),
                }
            }
        }
        (Value::Array(sent), Value::Array(decoded)) => {
            for (index, (sent, decoded)) in sent.iter().zip(decoded).enumerate() {
                name_unknown(sent, decoded, &format!("{at}[{index}]"), unknown);
            }
        }
        _ => {}
    }
}
