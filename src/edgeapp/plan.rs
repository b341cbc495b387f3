//! The children of an EdgeApp: a Deployment and, with a port, a Service of the same name.
//!
//! Guarantees: pure. A field that the spec does not set is planned as `null`, so that it is removed from
//! the child, too. Leaves to others: the status (`status`), labels that identify children, owner
//! references and every write (the runtime).

use std::borrow::Cow;
use std::convert::Infallible;

use serde_json::{Map, Value, json};

use tare_runtime::api::{
    Child, Children, DEPLOYMENT, Failure, Kind, Operator, Owner, Plan, Requeue, SERVICE,
};

use crate::edgeapp::resource::{EdgeApp, EdgeAppSpec, Quantity, Resources};
use crate::edgeapp::status;
use crate::edgeapp::status::EdgeAppStatus;

/// Names the EdgeApp of a child, and selects its pods.
pub(crate) const OWNER_LABEL: &str = "tare.dev/owner";

/// What a Service with a cluster IP listens on.
pub(crate) const SERVICE_PORT: i32 = 80;

/// Set on headless Services.
const HEADLESS_LABEL: &str = "tare.dev/headless";

/// The operator for EdgeApps.
#[derive(Debug, Clone, Copy, Default)]
pub struct EdgeApps;

impl Operator for EdgeApps {
    type Resource = EdgeApp;
    type Status = EdgeAppStatus;
    type Error = Infallible;
    type Observed = ();

    const NAME: &'static str = "tare";
    // The garbage collector deletes the children, as it does those of Deployments.
    const FINALIZER: Option<&'static str> = None;
    const RETIRED_FINALIZERS: &'static [&'static str] = &["tare.dev/cleanup"];
    const SEES_LABELS: bool = false;
    const KINDS: &'static [Kind] = &[SERVICE, DEPLOYMENT];

    fn plan(
        &self,
        owner: &Owner<Self>,
        children: &Children,
    ) -> Result<Plan<EdgeAppStatus>, Infallible> {
        let name = owner.meta.name.as_ref();
        Ok(Plan {
            children: vec![
                // Selector and cluster IP cannot be changed: another one needs a new object.
                Child::new(DEPLOYMENT, name, deployment_body(name, &owner.spec))
                    .immutable(&["/spec/selector"]),
                service(name, &owner.spec),
            ],
            status: status::planned(owner, children),
            requeue: Requeue::Default,
        })
    }

    fn failed(
        &self,
        owner: &Owner<Self>,
        children: &Children,
        failure: &Failure,
    ) -> Option<EdgeAppStatus> {
        Some(status::failed(owner, children, failure))
    }

    fn degraded(&self, owner: &Owner<Self>, children: &Children) -> Option<Failure> {
        status::degraded(owner, children)
    }

    fn owner_label() -> Cow<'static, str> {
        OWNER_LABEL.into()
    }
}

fn deployment_body(name: &str, spec: &EdgeAppSpec) -> Value {
    json!({
        "spec": {
            "replicas": spec.replicas,
            "selector": {"matchLabels": {OWNER_LABEL: name}},
            "template": {
                "metadata": {"labels": {OWNER_LABEL: name}},
                "spec": {"containers": [{
                    "name": "app",
                    "image": spec.image,
                    "ports": spec.port.map(|port| json!([{"containerPort": port, "protocol": "TCP"}])),
                    "env": environment(spec),
                    "resources": resources(spec),
                }]}
            }
        }
    })
}

fn environment(spec: &EdgeAppSpec) -> Value {
    if spec.env.is_empty() {
        return Value::Null;
    }
    spec.env
        .iter()
        .map(|var| json!({"name": var.name, "value": var.value}))
        .collect()
}

/// Requests and limits. The accelerator is a limit, because extended resources are never overcommitted.
fn resources(spec: &EdgeAppSpec) -> Value {
    let none = Resources::default();
    let wanted = spec.resources.as_ref().unwrap_or(&none);
    let quantities = |map: &std::collections::BTreeMap<String, Quantity>| -> Map<String, Value> {
        let mut quantities = Map::new();
        // `collect` would sort them first, with 4 KB of code.
        quantities.extend(
            map.iter()
                .map(|(name, quantity)| (name.clone(), Value::from(quantity.0.as_str()))),
        );
        quantities
    };
    let mut limits = quantities(&wanted.limits);
    let requests = quantities(&wanted.requests);
    if let Some(accelerator) = &spec.accelerator {
        limits.insert(
            accelerator.resource.clone(),
            Value::from(accelerator.count.to_string()),
        );
    }
    let or_null = |map: Map<String, Value>| {
        if map.is_empty() {
            Value::Null
        } else {
            Value::Object(map)
        }
    };
    json!({"requests": or_null(requests), "limits": or_null(limits)})
}

fn service(name: &str, spec: &EdgeAppSpec) -> Child {
    let Some(port) = spec.port else {
        return Child::absent(SERVICE, name);
    };
    let headless = spec.headless == Some(true);
    let mut body = json!({
        // The label records that a Service was created headless. The cluster IP does not, because the
        // server sets it where the plan does not.
        "metadata": {"labels": {HEADLESS_LABEL: headless.then_some("true")}},
        "spec": {
            "selector": {OWNER_LABEL: name},
            "ports": [{"port": SERVICE_PORT, "targetPort": port, "protocol": "TCP"}],
        }
    });
    if headless {
        body["spec"]["clusterIP"] = Value::from("None");
    }
    Child::new(SERVICE, name, body)
        .immutable(&["/spec/clusterIP", "/metadata/labels/tare.dev~1headless"])
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_runtime::model::{ChildState, Meta};

    /// A JSON pointer into `{"deployment", "service", "status"}` and what must be there.
    type Expected = (&'static str, fn() -> Value);

    struct Case {
        name: &'static str,
        spec: Value,
        deployment: Option<ChildState>,
        want: &'static [Expected],
    }

    fn state(generation: i64, observed: i64, ready: i32) -> ChildState {
        ChildState {
            generation,
            observed_generation: observed,
            replicas: ready,
            updated_replicas: ready,
            ready_replicas: ready,
            available_replicas: ready,
            ..ChildState::default()
        }
    }

    const CONTAINER: &str = "/deployment/spec/template/spec/containers/0";

    #[test]
    fn plan_by_table() -> Result<(), Box<dyn std::error::Error>> {
        let cases = [
            Case {
                name: "new, without a port: no Service, progressing",
                spec: json!({"image": "web:1"}),
                deployment: None,
                want: &[
                    ("/deployment/spec/replicas", || json!(1)),
                    ("/service", || Value::Null),
                    ("/status/phase", || json!("Progressing")),
                    ("/status/endpoint", || Value::Null),
                    ("/status/observedGeneration", || json!(7)),
                    ("/status/conditions/0/status", || json!("False")),
                ],
            },
            Case {
                name: "headless Service",
                spec: json!({"image": "web:1", "port": 8080, "headless": true}),
                deployment: None,
                want: &[
                    ("/service/spec/clusterIP", || json!("None")),
                    ("/service/spec/ports/0/targetPort", || json!(8080)),
                    ("/status/endpoint", || json!("web.shop.svc:8080")),
                ],
            },
            Case {
                name: "Service with a cluster IP",
                spec: json!({"image": "web:1", "port": 8080}),
                deployment: None,
                want: &[("/status/endpoint", || json!("web.shop.svc:80"))],
            },
            Case {
                name: "a removed env and port are planned as null",
                spec: json!({"image": "web:1"}),
                deployment: None,
                want: &[("/env", || Value::Null), ("/ports", || Value::Null)],
            },
            Case {
                name: "env, resources and accelerator",
                spec: json!({"image": "web:1", "env": [{"name": "A", "value": "1"}],
                    "resources": {"limits": {"cpu": 1}}, "accelerator": {"resource": "nvidia.com/gpu"}}),
                deployment: None,
                want: &[
                    ("/env/0/name", || json!("A")),
                    (
                        "/resources/limits",
                        || json!({"cpu": "1", "nvidia.com/gpu": "1"}),
                    ),
                    ("/resources/requests", || Value::Null),
                ],
            },
            Case {
                name: "ready",
                spec: json!({"image": "web:1", "replicas": 2}),
                deployment: Some(state(1, 1, 2)),
                want: &[
                    ("/status/phase", || json!("Running")),
                    ("/status/readyReplicas", || json!(2)),
                    ("/status/conditions/0/status", || json!("True")),
                    ("/status/conditions/1/status", || json!("False")),
                ],
            },
            Case {
                name: "old replicas are ready, the newest spec was not seen yet",
                spec: json!({"image": "web:2", "replicas": 2}),
                deployment: Some(state(2, 1, 2)),
                want: &[("/status/phase", || json!("Progressing"))],
            },
            Case {
                name: "the old pod is ready, the new one is not",
                spec: json!({"image": "web:2"}),
                deployment: Some(ChildState {
                    replicas: 2,
                    ..state(2, 2, 1)
                }),
                want: &[
                    ("/status/phase", || json!("Progressing")),
                    ("/status/readyReplicas", || json!(1)),
                    ("/status/conditions/0/status", || json!("False")),
                ],
            },
            Case {
                name: "pods are refused",
                spec: json!({"image": "web:1"}),
                deployment: Some(ChildState {
                    refused: true,
                    stalled: true,
                    ..state(1, 1, 0)
                }),
                want: &[
                    ("/status/phase", || json!("Failed")),
                    ("/status/observedGeneration", || json!(7)),
                    ("/status/conditions/2/reason", || json!("ReplicaFailure")),
                    ("/status/conditions/2/message", || {
                        json!("Deployment \"web\" may not make its pods: exceeded quota")
                    }),
                ],
            },
            Case {
                name: "no replicas asked for",
                spec: json!({"image": "web:1", "replicas": 0}),
                deployment: Some(state(1, 1, 0)),
                want: &[("/status/phase", || json!("Running"))],
            },
            Case {
                name: "stalled",
                spec: json!({"image": "web:1"}),
                deployment: Some(ChildState {
                    stalled: true,
                    ..state(1, 1, 0)
                }),
                want: &[
                    ("/status/phase", || json!("Failed")),
                    ("/status/conditions/2/status", || json!("True")),
                    ("/status/conditions/2/reason", || {
                        json!("ProgressDeadlineExceeded")
                    }),
                ],
            },
        ];
        for case in cases {
            let meta = Meta {
                name: "web".into(),
                namespace: "shop".into(),
                generation: 7,
                ..Meta::default()
            };
            let owner = Owner::new(meta, serde_json::from_value(case.spec)?);
            let mut children = Children::default();
            if let Some(state) = case.deployment {
                children.record(&DEPLOYMENT, "web", state);
                children.record_refusal(&DEPLOYMENT, "web", "exceeded quota");
            }
            let plan = EdgeApps.plan(&owner, &children)?;
            let body = |kind: Kind| {
                plan.children
                    .iter()
                    .find(|c| c.kind == kind)
                    .and_then(|c| c.body.clone())
            };
            let whole = json!({"deployment": body(DEPLOYMENT), "service": body(SERVICE), "status": plan.status});
            for (pointer, want) in case.want {
                let found = whole
                    .pointer(pointer)
                    .or_else(|| whole.pointer(&format!("{CONTAINER}{pointer}")))
                    .unwrap_or(&Value::Null);
                assert_eq!(found, &want(), "{}: {pointer}", case.name);
            }
        }
        Ok(())
    }
}
