//! Pods and pod templates.

use serde_json::{Value, json};

use crate::defaults::{default, image, quantity, resources};
use crate::model::json::{as_map, map_at};
use crate::model::names;
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
    for (i, volume) in map
        .get_mut("volumes")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
        .enumerate()
    {
        let sources = volume.as_object().into_iter().flatten();
        let mut sources = sources.filter(|(name, source)| *name != "name" && !source.is_null());
        if let (Some(_), Some((second, _))) = (sources.next(), sources.next()) {
            let field = format!("{at}.volumes[{i}].{second}");
            let detail = "may not specify more than 1 volume type";
            errors.push(FieldError::forbidden(field, detail));
        }
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
    let name = map.get("name").and_then(Value::as_str).unwrap_or("");
    if let Some(why) = Some(name)
        .filter(|name| !name.is_empty())
        .and_then(names::refuse_label)
    {
        errors.push(FieldError::invalid(
            format!("{at}.name"),
            &json!(name),
            &why,
        ));
    }
    default(map, "terminationMessagePath", "/dev/termination-log");
    default(map, "terminationMessagePolicy", "File");
    default(
        map,
        "imagePullPolicy",
        if image::is_latest(&image) {
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
    let variables = map.get_mut("env").and_then(Value::as_array_mut);
    for (i, env) in variables.into_iter().flatten().enumerate() {
        check_variable(env, &format!("{at}.env[{i}].name"), errors);
        if let Some(Value::Object(field)) = env.pointer_mut("/valueFrom/fieldRef") {
            default(field, "apiVersion", "v1");
        }
    }
    if let Some(Value::Object(resources)) = map.get_mut("resources") {
        resources::shape(resources, &format!("{at}.resources"), errors);
    }
}

/// Every printable ASCII character but `=` (`IsRelaxedEnvVarName`).
fn check_variable(env: &Value, at: &str, errors: &mut Vec<FieldError>) {
    let name = env.get("name").and_then(Value::as_str).unwrap_or("");
    if name.is_empty() {
        errors.push(FieldError::required(at, ""));
    } else if !name.chars().all(|c| matches!(c, ' '..='~') && c != '=') {
        let detail = "a valid environment variable name must consist only of printable ASCII characters other than '='";
        errors.push(FieldError::invalid(at, &json!(name), detail));
    }
}

/// Whether the quantities of all containers can be decoded.
pub(crate) fn has_quantities(spec: &Value) -> bool {
    let lists = ["initContainers", "containers"];
    let containers = lists.iter().filter_map(|list| spec.get(list)?.as_array());
    let mut resources = containers
        .flatten()
        .filter_map(|one| one.get("resources")?.as_object());
    !resources.any(resources::undecodable)
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
