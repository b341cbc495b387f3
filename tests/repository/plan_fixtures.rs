//! What EdgeApps become, written down as JSON in `league/fixtures/`, so that operators in other
//! languages are held to the very plan that Tare carries out.
//!
//! `TARE_WRITE_FIXTURES=1 cargo test --test repository plan_fixtures` writes the files anew.

#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tare::edgeapp::EdgeApps;
use tare_runtime::api::{
    Children, DEPLOYMENT, Failure, Kind, Operator, Owner, Plan, Retry, SERVICE, Status,
};
use tare_runtime::model::{ChildState, Meta};

/// One EdgeApp, what its Deployment tells, and what follows.
struct Case {
    name: &'static str,
    spec: Value,
    deployment: Option<ChildState>,
    /// Reason and message of its failure, if it failed.
    failure: Option<(&'static str, &'static str)>,
}

fn case(name: &'static str, spec: Value) -> Case {
    Case {
        name,
        spec,
        deployment: None,
        failure: None,
    }
}

fn ready(replicas: i32) -> ChildState {
    ChildState {
        generation: 3,
        observed_generation: 3,
        replicas,
        updated_replicas: replicas,
        ready_replicas: replicas,
        available_replicas: replicas,
        ..ChildState::default()
    }
}

fn cases() -> Vec<Case> {
    let plain = || json!({"image": "web:1"});
    let two = || json!({"image": "web:1", "replicas": 2, "port": 8080});
    vec![
        case("image-only", plain()),
        case("cluster-ip", json!({"image": "web:1", "port": 8080})),
        case(
            "headless",
            json!({"image": "web:1", "port": 8080, "headless": true}),
        ),
        case(
            "everything",
            json!({
                "image": "registry.local/shop/web:1.4", "replicas": 3, "port": 8080, "headless": false,
                "env": [{"name": "B", "value": "2"}, {"name": "A"}],
                "resources": {"requests": {"cpu": "50m", "memory": "64Mi"}, "limits": {"cpu": 1}},
                "accelerator": {"resource": "nvidia.com/gpu", "count": 2},
            }),
        ),
        case(
            "accelerator-only",
            json!({"image": "web:1", "accelerator": {"resource": "example.com/npu"}}),
        ),
        Case {
            deployment: Some(ready(2)),
            ..case("ready", two())
        },
        Case {
            deployment: Some(ready(1)),
            ..case("one-of-two-ready", two())
        },
        Case {
            deployment: Some(ChildState {
                updated_replicas: 1,
                ..ready(2)
            }),
            ..case("old-pods-still-ready", two())
        },
        Case {
            deployment: Some(ChildState {
                observed_generation: 2,
                ..ready(2)
            }),
            ..case("newest-spec-not-seen", two())
        },
        Case {
            deployment: Some(ready(0)),
            ..case("no-replicas", json!({"image": "web:1", "replicas": 0}))
        },
        Case {
            deployment: Some(ChildState {
                stalled: true,
                ..ready(0)
            }),
            ..case("stalled", plain())
        },
        Case {
            failure: Some(("Collision", "Deployment \"web\" belongs to nobody")),
            ..case("degraded", two())
        },
        Case {
            deployment: Some(ready(2)),
            failure: Some(("Rejected", "no")),
            ..case("degraded-while-running", two())
        },
    ]
}

#[test]
fn fixtures_on_disk_are_what_edgeapps_become() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("league/fixtures");
    let write = std::env::var_os("TARE_WRITE_FIXTURES").is_some();
    let mut expected: Vec<PathBuf> = Vec::new();
    for case in cases() {
        let path = folder.join(format!("plan-{}.json", case.name));
        let text = serde_json::to_string_pretty(&fixture(&case)).unwrap() + "\n";
        if write {
            std::fs::write(&path, &text).unwrap();
        }
        let on_disk = std::fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(
            on_disk,
            text,
            "{} is stale: run TARE_WRITE_FIXTURES=1 cargo test --test repository plan_fixtures",
            path.display()
        );
        expected.push(path);
    }
    let files = std::fs::read_dir(&folder).unwrap();
    let mut found: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
    found.sort();
    expected.sort();
    assert_eq!(found, expected, "a file without its case");
}

fn fixture(case: &Case) -> Value {
    let owner = Owner::<EdgeApps>::new(
        Meta {
            name: "web".into(),
            namespace: "shop".into(),
            generation: 7,
            observed_generation: Some(6),
            ..Meta::default()
        },
        serde_json::from_value(case.spec.clone()).unwrap(),
    );
    let mut children = Children::default();
    if let Some(state) = &case.deployment {
        children.record(&DEPLOYMENT, "web", state.clone());
    }
    let plan: Plan<Status<EdgeApps>> = EdgeApps.plan(&owner, &children).unwrap();
    let body = |kind: Kind| plan.children.iter().find(|c| c.kind == kind)?.body.clone();
    let status = match case.failure {
        Some((reason, message)) => {
            let failure = Failure {
                reason,
                message: message.to_owned(),
                retry: Retry::Backoff,
            };
            EdgeApps.failed(&owner, &children, &failure).unwrap()
        }
        None => plan.status.clone(),
    };
    json!({
        "@generated": "by tests/repository/plan_fixtures.rs",
        "owner": {
            "namespace": "shop", "name": "web", "generation": 7, "observedGeneration": 6,
            // As the API server keeps it, with its defaults.
            "spec": owner.spec,
        },
        "deployment": case.deployment.as_ref().map(|state| json!({
            "generation": state.generation,
            "observedGeneration": state.observed_generation,
            "replicas": state.replicas,
            "updatedReplicas": state.updated_replicas,
            "readyReplicas": state.ready_replicas,
            "stalled": state.stalled,
        })),
        "failure": case.failure.map(|(reason, message)| json!({"reason": reason, "message": message})),
        "plan": {"deployment": body(DEPLOYMENT), "service": body(SERVICE), "status": status},
    })
}
