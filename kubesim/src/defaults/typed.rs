//! Built-in kinds pass through their Go-like types: wrong types are refused, unknown fields go.

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{ConfigMap, Event, Namespace, Pod, Service};
use serde::Serialize;
use serde::de::Deserialize;
use serde_json::Value;

use crate::model::kind::{Kind, Rules};
use crate::model::status::ApiError;

/// Decodes and encodes again, as the real server does with every body.
pub(crate) fn typed(kind: &Kind, object: &mut Value) -> Result<(), ApiError> {
    let result = match kind.rules {
        Rules::Deployment => round_trip::<Deployment>(object),
        Rules::ReplicaSet => round_trip::<ReplicaSet>(object),
        Rules::Service => round_trip::<Service>(object),
        Rules::ConfigMap => round_trip::<ConfigMap>(object),
        Rules::Pod => round_trip::<Pod>(object),
        Rules::Lease => round_trip::<Lease>(object),
        Rules::Namespace => round_trip::<Namespace>(object),
        Rules::Event | Rules::EventView => round_trip::<Event>(object),
        Rules::Definition | Rules::Custom(_) => return Ok(()),
    };
    let decoded = result.map_err(|cause| {
        ApiError::bad_request(format!(
            "{} in version \"{}\" cannot be handled as a {}: json: {cause}",
            kind.kind, kind.version, kind.kind
        ))
    })?;
    *object = decoded;
    Ok(())
}

fn round_trip<'a, T>(object: &'a Value) -> Result<Value, serde_json::Error>
where
    T: Deserialize<'a> + Serialize,
{
    serde_json::to_value(T::deserialize(object)?)
}
