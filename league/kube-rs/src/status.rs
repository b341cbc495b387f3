//! The status of an EdgeApp from what was observed. Guarantees: pure; `lastTransitionTime` moves
//! only when a condition's `status` does.

use k8s_openapi::api::apps::v1::{Deployment, DeploymentStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::ResourceExt;

use crate::children::{OWNER_LABEL, endpoint};
use crate::edgeapp::{EdgeApp, EdgeAppStatus, Phase};

/// How far a Deployment has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    pub generation: Option<i64>,
    pub observed_generation: Option<i64>,
    pub replicas: i32,
    pub updated_replicas: i32,
    pub ready_replicas: i32,
}

impl From<&Deployment> for Progress {
    fn from(deployment: &Deployment) -> Self {
        let status = deployment.status.as_ref();
        let count = |field: fn(&DeploymentStatus) -> Option<i32>| status.and_then(field);
        Self {
            generation: deployment.metadata.generation,
            observed_generation: status.and_then(|status| status.observed_generation),
            replicas: count(|status| status.replicas).unwrap_or(0),
            updated_replicas: count(|status| status.updated_replicas).unwrap_or(0),
            ready_replicas: count(|status| status.ready_replicas).unwrap_or(0),
        }
    }
}

/// The status once the children are as planned.
pub fn observed(app: &EdgeApp, progress: Progress, now: &Time) -> EdgeAppStatus {
    let ready_replicas = progress.ready_replicas;
    // While a pod of the old template is left, nothing tells which of them are ready.
    let rolled_out = progress.observed_generation >= progress.generation
        && progress.replicas <= progress.updated_replicas
        && ready_replicas >= app.spec.replicas;
    let readiness = format!(
        "{ready_replicas} of {} replicas are ready",
        app.spec.replicas
    );
    let conditions = if rolled_out {
        [
            ("Ready", true, "ReplicasReady", readiness.as_str()),
            ("Progressing", false, "RolledOut", ""),
            ("Degraded", false, "AsExpected", ""),
        ]
    } else {
        [
            ("Ready", false, "ReplicasNotReady", readiness.as_str()),
            ("Progressing", true, "RollingOut", readiness.as_str()),
            ("Degraded", false, "AsExpected", ""),
        ]
    };
    EdgeAppStatus {
        phase: Some(if rolled_out {
            Phase::Running
        } else {
            Phase::Progressing
        }),
        replicas: progress.replicas,
        ready_replicas,
        endpoint: endpoint(app),
        ..status_of(app, conditions, now)
    }
}

/// The status when a child cannot be brought about.
pub fn degraded(app: &EdgeApp, reason: &str, message: &str, now: &Time) -> EdgeAppStatus {
    let last = app.status.clone().unwrap_or_default();
    let conditions = [
        ("Ready", false, reason, message),
        ("Progressing", false, reason, message),
        ("Degraded", true, reason, message),
    ];
    EdgeAppStatus {
        phase: Some(Phase::Failed),
        replicas: last.replicas,
        ready_replicas: last.ready_replicas,
        endpoint: last.endpoint,
        ..status_of(app, conditions, now)
    }
}

fn status_of(
    app: &EdgeApp,
    conditions: [(&str, bool, &str, &str); 3],
    now: &Time,
) -> EdgeAppStatus {
    EdgeAppStatus {
        selector: Some(format!("{OWNER_LABEL}={}", app.name_any())),
        observed_generation: app.metadata.generation,
        conditions: conditions
            .map(|(type_, holds, reason, message)| {
                let status = if holds { "True" } else { "False" };
                Condition {
                    type_: type_.to_owned(),
                    status: status.to_owned(),
                    reason: reason.to_owned(),
                    message: message.to_owned(),
                    observed_generation: app.metadata.generation,
                    last_transition_time: transition_time(app, type_, status, now),
                }
            })
            .into(),
        ..Default::default()
    }
}

/// When the condition took this status: long ago if it had it already, else now.
fn transition_time(app: &EdgeApp, type_: &str, status: &str, now: &Time) -> Time {
    app.status
        .iter()
        .flat_map(|last| &last.conditions)
        .find(|last| last.type_ == type_ && last.status == status)
        .map_or(now, |last| &last.last_transition_time)
        .clone()
}

#[cfg(test)]
mod tests {
    use k8s_openapi::jiff::Timestamp;

    use super::*;

    fn app(replicas: i32) -> EdgeApp {
        let spec = serde_json::json!({ "image": "web:1", "replicas": replicas, "port": 8080 });
        let mut app = EdgeApp::new("web", serde_json::from_value(spec).expect("a spec"));
        app.metadata.namespace = Some("shop".to_owned());
        app.metadata.generation = Some(3);
        app
    }

    fn deployment(observed: Option<i64>, ready: i32) -> Progress {
        let mut deployment = Deployment::default();
        deployment.metadata.generation = Some(2);
        deployment.status = Some(DeploymentStatus {
            observed_generation: observed,
            ready_replicas: Some(ready),
            ..Default::default()
        });
        Progress::from(&deployment)
    }

    fn time(second: i64) -> Time {
        Time(Timestamp::from_second(second).expect("a time"))
    }

    #[test]
    fn an_app_runs_when_its_deployment_is_observed_and_ready() {
        for (name, deployment, want) in [
            ("nothing yet", deployment(None, 0), Phase::Progressing),
            (
                "ready, of an older generation",
                deployment(Some(1), 2),
                Phase::Progressing,
            ),
            ("one of two", deployment(Some(2), 1), Phase::Progressing),
            ("all", deployment(Some(2), 2), Phase::Running),
        ] {
            let status = observed(&app(2), deployment, &time(0));
            assert_eq!(status.phase, Some(want), "{name}");
        }
        let idle = observed(&app(0), deployment(Some(2), 0), &time(0));
        assert_eq!(idle.phase, Some(Phase::Running), "no replicas wanted");
    }

    #[test]
    fn a_transition_time_moves_only_with_the_status() {
        let mut app = app(1);
        app.status = Some(observed(&app, deployment(None, 0), &time(1)));
        let waiting = observed(&app, deployment(Some(2), 0), &time(2));
        assert_eq!(waiting.conditions[0].last_transition_time, time(1));
        let running = observed(&app, deployment(Some(2), 1), &time(3));
        assert_eq!(running.conditions[0].last_transition_time, time(3));
        assert_eq!(
            running.conditions[2].last_transition_time,
            time(1),
            "Degraded"
        );
    }
}
