//! Server-side apply and managedFields on the server.

use k8s_openapi::api::apps::v1::Deployment;
use kube::api::{Api, Patch, PatchParams, PostParams};
use kubesim::{Options, Server};
use serde_json::{Value, json};

fn config(env: &[(&str, &str)], replicas: Option<i64>) -> Value {
    let env: Vec<Value> = env
        .iter()
        .map(|(name, value)| json!({"name": name, "value": value}))
        .collect();
    let mut object = json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web", "labels": {"app": "web"}},
        "spec": {
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "app", "image": "nginx:1", "env": env}]},
            },
        },
    });
    if let Some(replicas) = replicas {
        object["spec"]["replicas"] = json!(replicas);
    }
    object
}

async fn apply(
    server: &Server,
    manager: &str,
    force: bool,
    config: &Value,
) -> Result<Value, kube::core::Status> {
    let api: Api<Deployment> = Api::default_namespaced(server.client("alice"));
    let mut params = PatchParams::apply(manager);
    params.force = force;
    match api.patch("web", &params, &Patch::Apply(config)).await {
        Ok(object) => Ok(serde_json::to_value(object).unwrap()),
        Err(kube::Error::Api(status)) => Err(*status),
        Err(other) => panic!("{other}"),
    }
}

const ENV: &str = "/spec/template/spec/containers/0/env";

#[tokio::test(start_paused = true)]
async fn apply_creates_merges_and_is_idempotent() {
    let server = Server::new(Options {
        ready: kubesim::Readiness::Never,
        ..Options::default()
    });
    let first = apply(&server, "op", false, &config(&[("A", "1")], Some(2)))
        .await
        .unwrap();
    assert_eq!(first["metadata"]["generation"], 1);
    // Its first status write goes by.
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    let before = server.revision();
    apply(&server, "op", false, &config(&[("A", "1")], Some(2)))
        .await
        .unwrap();
    assert_eq!(server.revision(), before, "the same again changes nothing");
    let entry = &first["metadata"]["managedFields"][0];
    assert_eq!(
        (&entry["manager"], &entry["operation"]),
        (&json!("op"), &json!("Apply"))
    );
    assert_eq!(
        entry["fieldsV1"]["f:spec"]["f:template"]["f:spec"]["f:containers"]["k:{\"name\":\"app\"}"]
            ["f:env"]["k:{\"name\":\"A\"}"],
        json!({".": {}, "f:name": {}, "f:value": {}})
    );
}

#[tokio::test(start_paused = true)]
async fn a_field_dropped_from_the_next_apply_is_removed() {
    let server = Server::new(Options::default());
    apply(
        &server,
        "op",
        false,
        &config(&[("A", "1"), ("B", "2")], Some(3)),
    )
    .await
    .unwrap();
    let after = apply(&server, "op", false, &config(&[("B", "2")], None))
        .await
        .unwrap();
    assert_eq!(
        after.pointer(ENV).unwrap(),
        &json!([{"name": "B", "value": "2"}])
    );
    assert_eq!(after["spec"]["replicas"], 1, "back to the default");
    let after = apply(&server, "op", false, &config(&[], None))
        .await
        .unwrap();
    assert!(after.pointer(ENV).is_none());
}

#[tokio::test(start_paused = true)]
async fn what_another_manager_owns_stays_or_conflicts() {
    let server = Server::new(Options::default());
    apply(&server, "op", false, &config(&[("A", "1")], Some(3)))
        .await
        .unwrap();
    let theirs = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
        "spec": {"replicas": 5, "template": {"spec": {"containers": [{"name": "app", "env": [{"name": "C", "value": "3"}]}]}}},
    });
    let refusal = apply(&server, "human", false, &theirs).await.unwrap_err();
    assert_eq!((refusal.code, refusal.reason.as_str()), (409, "Conflict"));
    assert_eq!(
        refusal.message,
        "Apply failed with 1 conflict: conflict with \"op\": .spec.replicas"
    );
    let cause = &refusal.details.unwrap().causes[0];
    assert_eq!(
        (cause.reason.as_str(), cause.field.as_str()),
        ("FieldManagerConflict", ".spec.replicas")
    );

    apply(&server, "human", true, &theirs).await.unwrap();
    let after = apply(&server, "op", false, &config(&[], None))
        .await
        .unwrap();
    assert_eq!(after["spec"]["replicas"], 5, "taken over");
    assert_eq!(
        after.pointer(ENV).unwrap(),
        &json!([{"name": "C", "value": "3"}])
    );
}

#[tokio::test(start_paused = true)]
async fn updates_are_recorded_by_user_agent_or_field_manager() {
    let server = Server::new(Options::default());
    apply(&server, "op", false, &config(&[("A", "1")], Some(3)))
        .await
        .unwrap();
    let api: Api<Deployment> = Api::default_namespaced(server.client("alice"));
    let params = PatchParams {
        field_manager: Some("scaler".to_owned()),
        ..PatchParams::default()
    };
    let patch = Patch::Merge(json!({"spec": {"replicas": 9}}));
    api.patch("web", &params, &patch).await.unwrap();
    let stored = server.object("deployments", "default", "web").unwrap();
    let managers = stored["metadata"]["managedFields"]
        .as_array()
        .unwrap()
        .clone();
    let of = |name: &str| {
        managers
            .iter()
            .find(|m| m["manager"] == name)
            .unwrap()
            .clone()
    };
    assert_eq!(
        of("scaler")["fieldsV1"],
        json!({"f:spec": {"f:replicas": {}}})
    );
    assert!(of("op")["fieldsV1"]["f:spec"].get("f:replicas").is_none());
    let refusal = apply(&server, "op", false, &config(&[("A", "1")], Some(3)))
        .await
        .unwrap_err();
    assert!(
        refusal.message.starts_with(
            "Apply failed with 1 conflict: conflict with \"scaler\" using apps/v1 at "
        ),
        "{}",
        refusal.message
    );
}

#[tokio::test(start_paused = true)]
async fn managed_fields_are_what_a_real_server_records() {
    let server = Server::new(Options::default());
    let api: Api<Deployment> = Api::default_namespaced(server.client("alice"));
    let object: Deployment = serde_json::from_value(json!({
        "metadata": {"name": "nginx", "labels": {"app": "nginx"}},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {"app": "nginx"}},
            "template": {
                "metadata": {"labels": {"app": "nginx"}},
                "spec": {"containers": [{"name": "nginx", "image": "nginx", "resources": {}}]},
            },
        },
    }))
    .unwrap();
    let params = PostParams {
        field_manager: Some("kubectl-create".to_owned()),
        ..PostParams::default()
    };
    api.create(&params, &object).await.unwrap();
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    let stored = server.object("deployments", "default", "nginx").unwrap();
    let managers = stored["metadata"]["managedFields"].as_array().unwrap();
    let of = |name: &str| managers.iter().find(|m| m["manager"] == name).unwrap();
    let real = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    assert_eq!(
        of("kubectl-create")["fieldsV1"],
        real(include_str!("../data/kubectl-create-deployment.json"))
    );
    assert_eq!(
        of("kube-controller-manager")["fieldsV1"],
        real(include_str!("../data/deployment-status.json"))
    );
    assert_eq!(of("kube-controller-manager")["subresource"], "status");
}
