//! States of Pods and their containers, to make tables of.

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::jiff::Timestamp;
use serde_json::{Value, json};

use super::example::pod_ext::PodExt;

pub const NOW: &str = "2026-11-21T12:00:00Z";
pub const FIVE_MINUTES_AGO: &str = "2026-11-21T11:55:00Z";
pub const AN_HOUR_AGO: &str = "2026-11-21T11:00:00Z";

pub fn now() -> Timestamp {
    NOW.parse().unwrap()
}

/// A Pod with containers `a` and `b` as far as `status` speaks of them.
pub fn pod(spec: Value, status: Value) -> Pod {
    let mut pod = json!({
        "metadata": { "name": "web", "namespace": "shop" },
        "spec": { "containers": [{ "name": "a" }] }, "status": status,
    });
    for (field, value) in spec.as_object().unwrap() {
        pod["spec"][field] = value.clone();
    }
    serde_json::from_value(pod).unwrap()
}

/// The status of a container.
pub fn one(name: &str, ready: bool, state: Value) -> Value {
    json!({
        "name": name, "ready": ready, "state": state, "restartCount": 0, "image": "", "imageID": "",
    })
}

pub fn restarted(mut status: Value, count: i32, ended: Option<&str>) -> Value {
    status["restartCount"] = count.into();
    if let Some(time) = ended {
        status["lastState"] = json!({ "terminated": { "exitCode": 1, "finishedAt": time } });
    }
    status
}

pub fn started(mut status: Value) -> Value {
    status["started"] = true.into();
    status
}

pub fn running() -> Value {
    json!({ "running": {} })
}

pub fn waiting(reason: &str) -> Value {
    json!({ "waiting": { "reason": reason } })
}

pub fn ended(code: i32, reason: &str) -> Value {
    json!({ "terminated": { "exitCode": code, "reason": reason } })
}

pub fn killed(signal: i32) -> Value {
    json!({ "terminated": { "exitCode": 128 + signal, "signal": signal } })
}

pub fn with(phase: &str, statuses: Vec<Value>) -> Value {
    json!({ "phase": phase, "containerStatuses": statuses })
}

pub fn starting(statuses: Vec<Value>) -> Value {
    json!({
        "phase": "Pending", "initContainerStatuses": statuses,
        "containerStatuses": [one("a", false, waiting("PodInitializing"))],
    })
}

pub fn and(mut status: Value, condition: &str, is: &str, reason: &str) -> Value {
    let condition = json!({ "type": condition, "status": is, "reason": reason });
    match status["conditions"].as_array_mut() {
        Some(all) => all.push(condition),
        None => status["conditions"] = json!([condition]),
    }
    status
}

pub fn two() -> Value {
    json!({ "containers": [{ "name": "a" }, { "name": "b" }] })
}

pub fn inits(names: &[&str]) -> Value {
    let all: Vec<Value> = names.iter().map(|name| json!({ "name": name })).collect();
    json!({ "initContainers": all })
}

pub fn sidecar() -> Value {
    let inits = json!([{ "name": "i" }, { "name": "s", "restartPolicy": "Always" }]);
    json!({ "initContainers": inits })
}

pub struct Case {
    name: &'static str,
    spec: Value,
    status: Value,
    /// READY, STATUS, RESTARTS
    want: [&'static str; 3],
}

pub fn case(name: &'static str, spec: Value, status: Value, want: [&'static str; 3]) -> Case {
    Case {
        name,
        spec,
        status,
        want,
    }
}

pub fn check(cases: Vec<Case>) {
    for Case {
        name,
        spec,
        status,
        want,
    } in cases
    {
        let pod = pod(spec, status);
        let (ready, all) = pod.ready();
        let got = [
            format!("{ready}/{all}"),
            pod.status(),
            pod.restarts().text(now()),
        ];
        assert_eq!(got, want, "{name}");
    }
}
