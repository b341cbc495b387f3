//! The expected children and status of an EdgeApp.
//!
//! Guarantees: pure; only fields that an EdgeApp's spec determines are compared, because other fields
//! may belong to other managers. A mismatch names the field. Leaves to others: fetching objects, and
//! waiting until they match.

use serde_json::{Value, json};

/// The label that leads from a child to its EdgeApp.
const OWNER_LABEL: &str = "tare.dev/owner";
const MANAGED_BY_LABEL: &str = "app.kubernetes.io/managed-by";
const CONTAINER: &str = "/spec/template/spec/containers/0";

/// An expectation that is not met, and the value found instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch {
    pub expected: String,
    pub seen: String,
}

pub type Check = Result<(), Mismatch>;

/// Compares the field at a JSON pointer; an absent field is `null`.
pub fn field(object: &Value, pointer: &str, want: &Value) -> Check {
    let seen = object.pointer(pointer).unwrap_or(&Value::Null);
    if seen == want {
        return Ok(());
    }
    Err(Mismatch {
        expected: format!("{pointer} {want}"),
        seen: seen.to_string(),
    })
}

/// Checks the Deployment of `app`.
pub fn deployment(object: &Value, app: &Value) -> Check {
    let spec = &app["spec"];
    owned(object, app)?;
    field(object, "/spec/replicas", &spec["replicas"])?;
    let selector = &object["spec"]["selector"]["matchLabels"];
    includes(object, "/spec/template/metadata/labels", selector)?;
    let of_container = |name: &str| format!("{CONTAINER}/{name}");
    field(object, &of_container("image"), &spec["image"])?;
    field(object, &of_container("env"), &spec["env"])?;
    let port = &spec["port"];
    field(object, &of_container("ports/0/containerPort"), port)?;
    let resources = &spec["resources"];
    field(
        object,
        &of_container("resources/requests"),
        &resources["requests"],
    )?;
    let mut limits = resources["limits"].clone();
    if let Some(name) = spec["accelerator"]["resource"].as_str() {
        limits[name] = json!(spec["accelerator"]["count"].to_string());
    }
    field(object, &of_container("resources/limits"), &limits)
}

/// Checks the Service of `app`.
pub fn service(object: &Value, app: &Value) -> Check {
    let spec = &app["spec"];
    owned(object, app)?;
    field(object, "/spec/ports/0/port", &json!(80))?;
    field(object, "/spec/ports/0/targetPort", &spec["port"])?;
    field(
        object,
        "/spec/selector",
        &json!({ OWNER_LABEL: app["metadata"]["name"] }),
    )?;
    if spec["headless"] == true {
        field(object, "/spec/clusterIP", &json!("None"))?;
    }
    Ok(())
}

/// Checks that the child's controller is the EdgeApp, and that its labels name the EdgeApp.
fn owned(object: &Value, app: &Value) -> Check {
    let uid = &app["metadata"]["uid"];
    let owners = object["metadata"]["ownerReferences"].as_array();
    let controller = owners
        .into_iter()
        .flatten()
        .find(|owner| owner["controller"] == true);
    if controller.map(|owner| &owner["uid"]) != Some(uid) {
        return Err(Mismatch {
            expected: format!("a controller ownerReference to uid {uid}"),
            seen: object["metadata"]["ownerReferences"].to_string(),
        });
    }
    let owner = json!({ OWNER_LABEL: app["metadata"]["name"] });
    includes(object, "/metadata/labels", &owner)?;
    match object["metadata"]["labels"][MANAGED_BY_LABEL].as_str() {
        Some(manager) if !manager.is_empty() => Ok(()),
        _ => Err(Mismatch {
            expected: format!("a label {MANAGED_BY_LABEL}"),
            seen: object["metadata"]["labels"].to_string(),
        }),
    }
}

/// Checks that a map holds at least `want`, which is not empty.
fn includes(object: &Value, pointer: &str, want: &Value) -> Check {
    let seen = object.pointer(pointer).unwrap_or(&Value::Null);
    let wanted = want.as_object().filter(|labels| !labels.is_empty());
    let held = wanted.is_some_and(|labels| labels.iter().all(|(key, value)| &seen[key] == value));
    if held {
        return Ok(());
    }
    Err(Mismatch {
        expected: format!("{pointer} with {want}"),
        seen: seen.to_string(),
    })
}

/// Checks that the status is of the newest spec, every replica is ready, no condition reports a fault, and
/// the operator has set no finalizer: the scenario sets none itself.
pub fn converged(app: &Value) -> Check {
    field(
        app,
        "/status/observedGeneration",
        &app["metadata"]["generation"],
    )?;
    condition(app, "Ready", "True")?;
    field(app, "/status/readyReplicas", &app["spec"]["replicas"])?;
    let finalizers = &app["metadata"]["finalizers"];
    if finalizers.as_array().is_some_and(|all| !all.is_empty()) {
        return Err(Mismatch {
            expected: "no finalizer".into(),
            seen: finalizers.to_string(),
        });
    }
    match condition(app, "Degraded", "True") {
        Ok(()) => Err(Mismatch {
            expected: "condition Degraded not True".into(),
            seen: "True".into(),
        }),
        Err(_) => Ok(()),
    }
}

/// Checks that the EdgeApp reports that it cannot be reconciled.
pub fn degraded(app: &Value) -> Check {
    condition(app, "Degraded", "True")?;
    match condition(app, "Ready", "True") {
        Ok(()) => Err(Mismatch {
            expected: "condition Ready not True".into(),
            seen: "True".into(),
        }),
        Err(_) => Ok(()),
    }
}

fn condition(app: &Value, kind: &str, status: &str) -> Check {
    let conditions = app["status"]["conditions"].as_array();
    let seen = conditions
        .into_iter()
        .flatten()
        .find(|condition| condition["type"] == kind);
    if seen.is_some_and(|condition| condition["status"] == status) {
        return Ok(());
    }
    Err(Mismatch {
        expected: format!("condition {kind} {status}"),
        seen: seen.map_or("no such condition".into(), |condition| {
            format!("{} ({})", condition["status"], condition["reason"])
        }),
    })
}

/// The part of somebody else's object that a subject must not change. Status and resourceVersion are
/// left out, because the object's own controller changes them.
pub fn untouched(object: &Value, before: &Value) -> Check {
    for pointer in [
        "/metadata/uid",
        "/metadata/generation",
        "/metadata/labels",
        "/metadata/ownerReferences",
        "/metadata/finalizers",
        "/metadata/deletionTimestamp",
        "/spec",
    ] {
        field(
            object,
            pointer,
            before.pointer(pointer).unwrap_or(&Value::Null),
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn app() -> Value {
        json!({
            "metadata": {"name": "web", "uid": "u-1", "generation": 2},
            "spec": {
                "image": "web:1", "replicas": 2, "port": 8080, "headless": true,
                "env": [{"name": "A", "value": "1"}],
                "resources": {"requests": {"cpu": "50m"}, "limits": {"memory": "64Mi"}},
                "accelerator": {"resource": "example.com/npu", "count": 1},
            },
            "status": {
                "observedGeneration": 2, "readyReplicas": 2,
                "conditions": [
                    {"type": "Ready", "status": "True", "reason": "AllReady"},
                    {"type": "Degraded", "status": "False", "reason": "AsExpected"},
                ],
            },
        })
    }

    fn child() -> Value {
        json!({
            "metadata": {
                "labels": {OWNER_LABEL: "web", MANAGED_BY_LABEL: "op", "extra": "theirs"},
                "ownerReferences": [{"uid": "u-1", "controller": true}],
            },
            "spec": {
                "replicas": 2,
                "selector": {"matchLabels": {OWNER_LABEL: "web"}},
                "template": {
                    "metadata": {"labels": {OWNER_LABEL: "web"}},
                    "spec": {"containers": [{
                        "image": "web:1",
                        "env": [{"name": "A", "value": "1"}],
                        "ports": [{"containerPort": 8080, "protocol": "TCP"}],
                        "resources": {
                            "requests": {"cpu": "50m"},
                            "limits": {"memory": "64Mi", "example.com/npu": "1"},
                        },
                    }]},
                },
            },
        })
    }

    #[test]
    fn a_planned_deployment_is_told_from_one_that_is_not() {
        assert_eq!(deployment(&child(), &app()), Ok(()));
        let cases = [
            (
                "/metadata/ownerReferences/0/uid",
                json!("u-2"),
                "uid \"u-1\"",
            ),
            (
                "/metadata/ownerReferences/0/controller",
                json!(false),
                "ownerReference",
            ),
            (
                "/metadata/labels/tare.dev~1owner",
                json!("other"),
                "/metadata/labels",
            ),
            (
                "/metadata/labels/app.kubernetes.io~1managed-by",
                json!(""),
                "managed-by",
            ),
            ("/spec/replicas", json!(1), "/spec/replicas 2"),
            (
                "/spec/selector/matchLabels",
                json!({"a": "b"}),
                "labels with",
            ),
            (
                "/spec/template/spec/containers/0/image",
                json!("web:2"),
                "image \"web:1\"",
            ),
            ("/spec/template/spec/containers/0/env", json!([]), "/env"),
            (
                "/spec/template/spec/containers/0/resources/limits",
                json!({}),
                "limits",
            ),
        ];
        for (pointer, value, want) in cases {
            let mut object = child();
            *object.pointer_mut(pointer).expect(pointer) = value;
            let mismatch = deployment(&object, &app()).expect_err(pointer);
            assert!(mismatch.expected.contains(want), "{pointer}: {mismatch:?}");
        }
    }

    #[test]
    fn a_status_that_speaks_of_an_older_spec_has_not_converged() {
        assert_eq!(converged(&app()), Ok(()));
        for (pointer, value) in [
            ("/status/observedGeneration", json!(1)),
            ("/status/readyReplicas", json!(1)),
            ("/status/conditions/0/status", json!("False")),
            ("/status/conditions/1/status", json!("True")),
        ] {
            let mut app = app();
            *app.pointer_mut(pointer).expect(pointer) = value;
            assert!(converged(&app).is_err(), "{pointer}");
        }
    }

    #[test]
    fn an_edgeapp_with_a_finalizer_has_not_converged() {
        let mut app = app();
        app["metadata"]["finalizers"] = json!([]);
        assert_eq!(converged(&app), Ok(()));
        app["metadata"]["finalizers"] = json!(["x/y"]);
        let mismatch = converged(&app).expect_err("it has a finalizer");
        assert_eq!(mismatch.expected, "no finalizer");
        assert_eq!(mismatch.seen, r#"["x/y"]"#);
    }

    #[test]
    fn a_status_update_of_its_own_controller_leaves_a_foreign_child_untouched() {
        let before = child();
        let mut after = child();
        after["status"] = json!({"readyReplicas": 1});
        after["metadata"]["resourceVersion"] = json!("9");
        assert_eq!(untouched(&after, &before), Ok(()));
        after["metadata"]["ownerReferences"] = json!([]);
        assert!(untouched(&after, &before).is_err());
    }
}
