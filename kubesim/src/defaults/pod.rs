//! Pods and pod templates.

use serde_json::{Value, json};

use crate::defaults::{default, quantity};
use crate::model::json::{as_map, map_at};
use crate::schema::field_error::FieldError;

/// A Pod of its own: pending for ever, since nothing here runs it.
pub(crate) fn shape(object: &mut Value) -> Vec<FieldError> {
    let errors = shape_spec(object.get_mut("spec").unwrap_or(&mut Value::Null), "spec");
    for list in ["/spec/initContainers", "/spec/containers"] {
        let containers = object.pointer_mut(list).and_then(Value::as_array_mut);
        for container in containers.into_iter().flatten() {
            request_what_is_limited(container);
        }
    }
    let status = map_at(object, "status");
    default(status, "phase", "Pending");
    default(status, "qosClass", "BestEffort");
    errors
}

/// Defaults and checks of a pod spec.
pub(crate) fn shape_spec(spec: &mut Value, at: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let map = as_map(spec);
    default(map, "restartPolicy", "Always");
    default(map, "terminationGracePeriodSeconds", 30);
    default(map, "dnsPolicy", "ClusterFirst");
    default(map, "securityContext", json!({}));
    default(map, "schedulerName", "default-scheduler");
    if let Some(account) = map
        .get("serviceAccountName")
        .filter(|a| a.as_str() != Some(""))
        .cloned()
    {
        default(map, "serviceAccount", account);
    }
    for list in ["initContainers", "containers"] {
        let containers = map.get_mut(list).and_then(Value::as_array_mut);
        for (i, container) in containers.into_iter().flatten().enumerate() {
            shape_container(container, &format!("{at}.{list}[{i}]"), &mut errors);
        }
    }
    for volume in map
        .get_mut("volumes")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
    {
        for source in ["configMap", "secret", "projected", "downwardAPI"] {
            if let Some(Value::Object(source)) = volume.get_mut(source) {
                default(source, "defaultMode", 420);
            }
        }
        if let Some(size) = volume.pointer_mut("/emptyDir/sizeLimit")
            && let Some(canonical) = size.as_str().and_then(quantity::canonical)
        {
            *size = json!(canonical);
        }
    }
    if map
        .get("containers")
        .and_then(Value::as_array)
        .is_none_or(Vec::is_empty)
    {
        errors.push(FieldError::required(format!("{at}.containers"), ""));
    }
    errors
}

fn shape_container(container: &mut Value, at: &str, errors: &mut Vec<FieldError>) {
    let map = as_map(container);
    let image = map
        .get("image")
        .and_then(Value::as_str)
        .unwrap_or("")
        .to_owned();
    for (field, empty) in [
        (
            "name",
            map.get("name")
                .and_then(Value::as_str)
                .unwrap_or("")
                .is_empty(),
        ),
        ("image", image.is_empty()),
    ] {
        if empty {
            errors.push(FieldError::required(format!("{at}.{field}"), ""));
        }
    }
    default(map, "terminationMessagePath", "/dev/termination-log");
    default(map, "terminationMessagePolicy", "File");
    default(
        map,
        "imagePullPolicy",
        if is_latest(&image) {
            "Always"
        } else {
            "IfNotPresent"
        },
    );
    default(map, "resources", json!({}));
    for port in map
        .get_mut("ports")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
    {
        default(as_map(port), "protocol", "TCP");
    }
    for probe in ["livenessProbe", "readinessProbe", "startupProbe"] {
        if let Some(Value::Object(probe)) = map.get_mut(probe) {
            default(probe, "timeoutSeconds", 1);
            default(probe, "periodSeconds", 10);
            default(probe, "successThreshold", 1);
            default(probe, "failureThreshold", 3);
            if let Some(Value::Object(get)) = probe.get_mut("httpGet") {
                default(get, "scheme", "HTTP");
                default(get, "path", "/");
            }
        }
    }
    for env in map
        .get_mut("env")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
    {
        if let Some(Value::Object(field)) = env.pointer_mut("/valueFrom/fieldRef") {
            default(field, "apiVersion", "v1");
        }
    }
    if let Some(Value::Object(resources)) = map.get_mut("resources") {
        shape_resources(resources, at, errors);
        check_limits(resources, at, errors);
    }
}

/// Canonical quantities.
fn shape_resources(
    resources: &mut serde_json::Map<String, Value>,
    at: &str,
    errors: &mut Vec<FieldError>,
) {
    for part in ["limits", "requests"] {
        let quantities = resources.get_mut(part).and_then(Value::as_object_mut);
        for (name, value) in quantities.into_iter().flatten() {
            let text = match &*value {
                Value::String(text) => text.clone(),
                Value::Number(number) => number.to_string(),
                _ => String::new(),
            };
            match quantity::canonical(&text) {
                Some(canonical) => *value = json!(canonical),
                None => errors.push(FieldError::invalid(
                    format!("{at}.resources.{part}[{name}]"),
                    value,
                    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
                )),
            }
        }
    }
}

/// No request is above its limit (`ValidateResourceRequirements`).
fn check_limits(
    resources: &serde_json::Map<String, Value>,
    at: &str,
    errors: &mut Vec<FieldError>,
) {
    let part = |part: &str| resources.get(part).and_then(Value::as_object);
    let (Some(requests), Some(limits)) = (part("requests"), part("limits")) else {
        return;
    };
    let nano = |value: &Value| quantity::nano(value.as_str()?);
    for (name, request) in requests {
        let Some(limit) = limits.get(name) else {
            continue;
        };
        if let (Some(requested), Some(most)) = (nano(request), nano(limit))
            && requested > most
        {
            let limit = limit.as_str().unwrap_or_default();
            errors.push(FieldError::invalid(
                format!("{at}.resources.requests"),
                request,
                &format!("must be less than or equal to {name} limit of {limit}"),
            ));
        }
    }
}

/// A limit without a request is the request too: in Pods, not in templates (`SetDefaults_Pod`).
fn request_what_is_limited(container: &mut Value) {
    let Some(Value::Object(resources)) = container.get_mut("resources") else {
        return;
    };
    if let Some(Value::Object(limits)) = resources.get("limits").cloned() {
        let requests = as_map(resources.entry("requests").or_insert(json!({})));
        for (name, value) in limits {
            default(requests, &name, value);
        }
    }
}

fn is_latest(image: &str) -> bool {
    let last = image.rsplit('/').next().unwrap_or(image);
    if last.contains('@') {
        return false;
    }
    last.split_once(':').is_none_or(|(_, tag)| tag == "latest")
}
