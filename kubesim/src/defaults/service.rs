//! Services: addresses, families, ports.

use std::net::Ipv4Addr;

use serde_json::{Value, json};

use crate::defaults::addresses::Addresses;
use crate::defaults::default;
use crate::model::json::{as_map, map_at};
use crate::model::names;
use crate::schema::field_error::FieldError;

pub(crate) fn shape(
    addresses: &Addresses,
    object: &mut Value,
    old: Option<&Value>,
) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let spec = map_at(object, "spec");
    default(spec, "type", "ClusterIP");
    default(spec, "sessionAffinity", "None");
    let external = spec.get("type") == Some(&json!("ExternalName"));
    if !external {
        default(spec, "internalTrafficPolicy", "Cluster");
        default(spec, "ipFamilies", json!(["IPv4"]));
        default(spec, "ipFamilyPolicy", "SingleStack");
    }
    let several = spec
        .get("ports")
        .and_then(Value::as_array)
        .is_some_and(|p| p.len() > 1);
    for (i, port) in spec
        .get_mut("ports")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
        .enumerate()
    {
        let port = as_map(port);
        default(port, "protocol", "TCP");
        let number = port.get("port").cloned().unwrap_or(Value::Null);
        default(port, "targetPort", number.clone());
        if number.as_i64().is_none_or(|n| !(1..=65_535).contains(&n)) {
            errors.push(FieldError::invalid(
                format!("spec.ports[{i}].port"),
                &number,
                "must be between 1 and 65535, inclusive",
            ));
        }
        if several
            && port
                .get("name")
                .and_then(Value::as_str)
                .unwrap_or("")
                .is_empty()
        {
            errors.push(FieldError::required(format!("spec.ports[{i}].name"), ""));
        }
    }
    let selector = spec.get("selector").and_then(Value::as_object);
    errors.extend(names::refuse_labels(selector, "spec.selector"));
    let headless = spec.get("clusterIP") == Some(&json!("None"));
    if !external && !headless && spec.get("ports").is_none() {
        errors.push(FieldError::required("spec.ports", ""));
    }
    default(map_at(object, "status"), "loadBalancer", json!({}));
    if errors.is_empty() && !external {
        address(addresses, object, old, &mut errors);
    }
    errors
}

/// Gives an address to a new Service; an old one keeps its own.
fn address(
    addresses: &Addresses,
    object: &mut Value,
    old: Option<&Value>,
    errors: &mut Vec<FieldError>,
) {
    let spec = map_at(object, "spec");
    let before = old
        .and_then(|old| old.pointer("/spec/clusterIP"))
        .and_then(Value::as_str);
    let wanted = spec
        .get("clusterIP")
        .and_then(Value::as_str)
        .filter(|ip| !ip.is_empty());
    let chosen = match (before, wanted) {
        (Some(before), Some(wanted)) if before != wanted => {
            errors.push(FieldError::invalid(
                "spec.clusterIPs[0]",
                &json!([wanted]),
                "may not change once set",
            ));
            return;
        }
        (Some(before), _) => before.to_owned(),
        (None, Some(wanted)) => {
            if let Ok(address) = wanted.parse::<Ipv4Addr>() {
                addresses.claim(address);
            } else if wanted != "None" {
                errors.push(FieldError::invalid(
                    "spec.clusterIPs[0]",
                    &json!(wanted),
                    "must be a valid IP address",
                ));
                return;
            }
            wanted.to_owned()
        }
        (None, None) => {
            let next = addresses.next();
            let Some(address) = next else {
                errors.push(FieldError::invalid(
                    "spec.clusterIPs",
                    &Value::Null,
                    "failed to allocate IP: range is full",
                ));
                return;
            };
            address.to_string()
        }
    };
    spec.insert("clusterIP".to_owned(), json!(chosen));
    spec.insert("clusterIPs".to_owned(), json!([chosen]));
}

/// Gives the address back.
pub(crate) fn released(addresses: &Addresses, object: &Value) {
    let address = object.pointer("/spec/clusterIP").and_then(Value::as_str);
    if let Some(Ok(address)) = address.map(str::parse::<Ipv4Addr>) {
        addresses.release(address);
    }
}
