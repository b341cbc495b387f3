//! Built-in kinds pass through their Go-like types: wrong types are refused, unknown fields go.
//!
//! The types are those of `k8s-openapi`, so that a field of a newer version of the API is unknown here.

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{ConfigMap, Event, Namespace, Pod, Secret, Service};
use serde::Serialize;
use serde::de::Deserialize;
use serde_json::Value;

use crate::defaults::pod;
use crate::model::kind::{Kind, Rules};
use crate::model::status::ApiError;

/// Decodes and encodes again, as the real server does with every body. Returns the paths of unknown fields.
pub(crate) fn typed(kind: &Kind, object: &mut Value) -> Result<Vec<String>, ApiError> {
    let result = match kind.rules {
        Rules::Deployment => round_trip::<Deployment>(object),
        Rules::ReplicaSet => round_trip::<ReplicaSet>(object),
        Rules::Service => round_trip::<Service>(object),
        Rules::ConfigMap => round_trip::<ConfigMap>(object),
        Rules::Secret => round_trip::<Secret>(object),
        Rules::Pod => round_trip::<Pod>(object),
        Rules::Lease => round_trip::<Lease>(object),
        Rules::Namespace => round_trip::<Namespace>(object),
        Rules::Event | Rules::EventView => round_trip::<Event>(object),
        Rules::Definition | Rules::Custom(_) => return Ok(Vec::new()),
    };
    let decoded = result.map_err(|cause| {
        ApiError::bad_request(format!(
            "{} in version \"{}\" cannot be handled as a {}: json: {cause}",
            kind.kind, kind.version, kind.kind
        ))
    })?;
    let spec = match kind.rules {
        Rules::Deployment | Rules::ReplicaSet => decoded.pointer("/spec/template/spec"),
        Rules::Pod => decoded.get("spec"),
        _ => None,
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

fn round_trip<'a, T>(object: &'a Value) -> Result<Value, serde_json::Error>
where
    T: Deserialize<'a> + Serialize,
{
    serde_json::to_value(T::deserialize(object)?)
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
