//! What Go's `omitempty` leaves out of built-in kinds beside empty lists and maps: `""`, `false` and `0` of fields
//! that are no pointers. The names are those of `k8s.io/api` v0.36.4 in Deployments, Services, ConfigMaps, Secrets
//! and Pods.

use serde_json::Value;

/// Texts that are pointers, or have no `omitempty`.
const KEPT_TEXTS: [&str; 13] = [
    "key",
    "mountPath",
    "devicePath",
    "fieldPath",
    "resource",
    "topologyKey",
    "whenUnsatisfiable",
    "appProtocol",
    "ingressClassName",
    "loadBalancerClass",
    "runtimeClassName",
    "storageClassName",
    "volumeMode",
];

/// Truth values that are no pointers.
const DROPPED_FALSE: [&str; 10] = [
    "hostIPC",
    "hostNetwork",
    "hostPID",
    "paused",
    "publishNotReadyAddresses",
    "readOnly",
    "stdin",
    "stdinOnce",
    "tty",
    "defaultAddCapabilities",
];

/// Numbers that are no pointers; some have a default then.
const DROPPED_ZERO: [&str; 9] = [
    "failureThreshold",
    "healthCheckNodePort",
    "hostPort",
    "initialDelaySeconds",
    "minReadySeconds",
    "nodePort",
    "periodSeconds",
    "successThreshold",
    "timeoutSeconds",
];

/// Maps from a free key to a text, which is kept even if it is empty.
const TEXT_MAPS: [&str; 9] = [
    "annotations",
    "binaryData",
    "data",
    "labels",
    "limits",
    "matchLabels",
    "nodeSelector",
    "requests",
    "stringData",
];

/// Drops the zero values of a spec; the status is the server's own.
pub(crate) fn drop_zeros(object: &mut Value) {
    if let Value::Object(map) = object {
        if map.get("type") == Some(&Value::from("")) {
            map.remove("type");
        }
        if let Some(spec) = map.get_mut("spec") {
            drop_in("spec", spec);
        }
    }
}

fn drop_in(field: &str, value: &mut Value) {
    match value {
        // A Service's selector is a map from a free key to a text, the others are not.
        Value::Object(map) if field == "selector" && map.values().all(Value::is_string) => {}
        Value::Object(_) if TEXT_MAPS.contains(&field) => {}
        Value::Object(map) => map.retain(|field, value| {
            drop_in(field, value);
            !is_dropped(field, value)
        }),
        Value::Array(items) => items.iter_mut().for_each(|item| drop_in("", item)),
        _ => {}
    }
}

fn is_dropped(field: &str, value: &Value) -> bool {
    match value {
        Value::String(text) => text.is_empty() && !KEPT_TEXTS.contains(&field),
        Value::Bool(truth) => !truth && DROPPED_FALSE.contains(&field),
        Value::Number(number) => number.as_i64() == Some(0) && DROPPED_ZERO.contains(&field),
        _ => false,
    }
}
