//! The operators of `examples/`, as programs: installed, run, healed, taken down.

use http::Method;
use serde_json::{Value, json};

use crate::operator::Operator;
use crate::world::{JSON, World, text};

/// Installs the CRD of an example as its user does, and starts it.
async fn started(world: &World, example: &str, args: &[&str]) -> Operator {
    let output = world.site.run_example(example, &["install"]).await;
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{example} install: {err}");
    world.operate_example(example, args).await
}

async fn make(world: &World, resource: &str, kind: &str, spec: Value) -> Value {
    let group = match kind {
        "InferenceService" => "ai.example.com/v1",
        _ => "example.com/v1",
    };
    let object = json!({"apiVersion": group, "kind": kind,
        "metadata": {"name": "hello"}, "spec": spec});
    world.make(resource, object).await
}

async fn until_replicas(world: &World, deployment: &str, replicas: i64) -> Value {
    let what = format!("{replicas} replicas");
    world
        .until(&what, "deployments", deployment, |object| {
            object["spec"]["replicas"] == replicas
        })
        .await
}

pub async fn webapp_applies_heals_and_goes(world: World) {
    let operator = started(&world, "webapp", &[]).await;
    let spec = json!({"image": "nginx:1.27", "replicas": 3});
    make(&world, "webapps", "WebApp", spec).await;
    let ready = json!({"available_replicas": 3, "ready": true});
    world
        .until("it is ready", "webapps", "hello", |app| {
            app["status"] == ready
        })
        .await;
    let deployment = world.get("deployments", "hello").await;
    let managers = deployment["metadata"]["managedFields"].as_array().cloned();
    let ours = managers
        .into_iter()
        .flatten()
        .find(|entry| entry["manager"] == "webapp-operator" && entry["operation"] == "Apply");
    assert!(ours.is_some(), "not applied: {deployment}");

    let touch = json!({"spec": {"replicas": 9}});
    world.patch("deployments", "hello", touch).await;
    until_replicas(&world, "hello", 3).await;
    // A field that is applied no more is taken away, and the others stay.
    let scale = json!({"spec": {"replicas": 1}});
    world.patch("webapps", "hello", scale).await;
    until_replicas(&world, "hello", 1).await;
    world.delete("webapps", "hello").await;
    world.until_gone("webapps", "hello").await;
    assert!(world.get("deployments", "hello").await.is_null());
    operator.terminate().await;
}

pub async fn webapp_leaves_a_foreign_deployment_alone(world: World) {
    let foreign = json!({"apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "hello"},
        "spec": {"replicas": 2, "selector": {"matchLabels": {"a": "b"}}, "template": {
            "metadata": {"labels": {"a": "b"}},
            "spec": {"containers": [{"name": "c", "image": "foreign:1"}]}}}});
    let before = world.make("deployments", foreign).await;
    let operator = started(&world, "webapp", &[]).await;
    let spec = json!({"image": "nginx:1.27", "replicas": 3});
    make(&world, "webapps", "WebApp", spec).await;
    operator
        .until_figure(
            "webapp_operator_reconcile_errors_total{reason=\"Collision\"}",
            |n| n >= 1.0,
        )
        .await;
    world.delete("webapps", "hello").await;
    world.until_gone("webapps", "hello").await;
    let after = world.get("deployments", "hello").await;
    assert_eq!(
        text(&after, "/metadata/uid"),
        text(&before, "/metadata/uid")
    );
    assert_eq!(after["spec"], before["spec"]);
    operator.terminate().await;
}

pub async fn myservice_makes_both_follows_and_heals_after_a_restart(world: World) {
    let operator = started(&world, "myservice", &[]).await;
    let spec = json!({"image": "nginx:1.27", "replicas": 3});
    make(&world, "myservices", "MyService", spec).await;
    until_replicas(&world, "hello-deployment", 3).await;
    let service = world
        .until("there is a Service", "services", "hello-service", |o| {
            !o.is_null()
        })
        .await;
    assert_eq!(service["spec"]["selector"], json!({"app": "hello"}));
    world
        .patch("myservices", "hello", json!({"spec": {"replicas": 5}}))
        .await;
    until_replicas(&world, "hello-deployment", 5).await;
    operator.terminate().await;

    let touch = json!({"spec": {"replicas": 9}});
    world.patch("deployments", "hello-deployment", touch).await;
    world.delete("services", "hello-service").await;
    world.until_gone("services", "hello-service").await;
    let operator = world.operate_example("myservice", &[]).await;
    until_replicas(&world, "hello-deployment", 5).await;
    world
        .until("it is back", "services", "hello-service", |o| !o.is_null())
        .await;
    world.delete("myservices", "hello").await;
    world.until_gone("deployments", "hello-deployment").await;
    world.until_gone("services", "hello-service").await;
    operator.terminate().await;
}

pub async fn inference_service_is_refused_or_ready(world: World) {
    let image = ["--image", "registry.local/server:1"];
    let operator = started(&world, "inference_service", &image).await;
    let wrong = json!({"apiVersion": "ai.example.com/v1", "kind": "InferenceService",
        "metadata": {"name": "wrong"}, "spec": {"model": "m", "replicas": 1, "gpu_type": "T4"}});
    let path = world.path("inferenceservices", "");
    let refused = world.ask(Method::POST, &path, JSON, &wrong).await;
    let refused = refused.expect_err("it was taken").to_string();
    assert!(
        refused.contains("spec.gpu_type: Unsupported value"),
        "{refused}"
    );

    let spec = json!({"model": "m", "replicas": 2, "gpu_type": "L40S", "max_batch_size": 4});
    make(&world, "inferenceservices", "InferenceService", spec).await;
    let ready = world
        .until("it is Ready", "inferenceservices", "hello", |object| {
            object["status"]["phase"] == "Ready"
        })
        .await;
    let endpoint = format!("http://hello.{}.svc.cluster.local", world.namespace);
    assert_eq!(ready["status"]["endpoint"], endpoint);
    assert_eq!(ready["status"]["ready_replicas"], 2);
    world.delete("inferenceservices", "hello").await;
    world.until_gone("deployments", "hello").await;
    operator.terminate().await;
}

pub async fn echo_survives_a_kill_at_either_end(world: World) {
    let operator = started(&world, "echo", &[]).await;
    make(&world, "echoes", "Echo", json!({"replicas": 2})).await;
    // Wherever it is just now.
    operator.kill();
    let operator = world.operate_example("echo", &[]).await;
    until_replicas(&world, "hello", 2).await;
    let echo = world.get("echoes", "hello").await;
    assert_eq!(
        echo["metadata"]["finalizers"],
        json!(["echoes.example.com/finalizer"])
    );
    world
        .patch("echoes", "hello", json!({"spec": {"replicas": 4}}))
        .await;
    until_replicas(&world, "hello", 4).await;
    world.delete("echoes", "hello").await;
    operator.kill();
    let operator = world.operate_example("echo", &[]).await;
    world.until_gone("echoes", "hello").await;
    world.until_gone("deployments", "hello").await;
    operator.terminate().await;
}
