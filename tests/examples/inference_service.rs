//! InferenceService: phases, endpoint, and what cannot be brought about.

use std::time::Duration;

use kube::api::{Api, Patch, PatchParams, PostParams};
use kubesim::Options;
use serde_json::{Value, json};
use tare_runtime::api::Failure;
use tare_runtime::api::Retry;
use tare_runtime::cache::Mode;

use crate::in_every_mode;
use crate::support::{Running, World, config, pass};
use example::InferenceServices;
use example::resource::{InferenceError, InferenceService, InferenceServiceSpec};

#[allow(dead_code)] // its command line is tested as a process
#[path = "../../examples/inference_service/main.rs"]
mod example;

const CRD: &str = include_str!("../../examples/inference_service/crd.yaml");

in_every_mode! {
    it_is_provisioned_then_ready_and_has_an_endpoint,
    an_older_schema_leaves_the_gpu_type_to_the_operator,
}

/// A server with `crd`, on which Deployments take a second to become ready.
fn world(mode: Mode, crd: &str) -> World {
    let options = Options {
        ready_delay: Duration::from_secs(1),
        ..Options::default()
    };
    let world = World::with(mode, options);
    world.server.install(crd).unwrap();
    world
}

fn operate(world: &World) -> Running {
    let image = "registry.local/server:1".to_owned();
    let operator = InferenceServices { image };
    world.operate_with(operator, world.server.client("tare"), config())
}

async fn create(world: &World, gpu: &str) -> kube::Result<InferenceService> {
    let object = json!({"apiVersion": "ai.example.com/v1", "kind": "InferenceService",
        "metadata": {"name": "llm", "namespace": "default"},
        "spec": {"model": "tiny", "replicas": 2, "gpu_type": gpu, "max_batch_size": 8}});
    let object: InferenceService = serde_json::from_value(object).unwrap();
    let api: Api<InferenceService> = world.api();
    api.create(&PostParams::default(), &object).await
}

fn status(world: &World) -> Value {
    world.get("inferenceservices", "llm")["status"].clone()
}

async fn until(world: &World, phase: &str) {
    world
        .until(phase, |world| status(world)["phase"] == phase)
        .await;
}

async fn it_is_provisioned_then_ready_and_has_an_endpoint(mode: Mode) {
    let world = world(mode, CRD);
    let running = operate(&world);
    create(&world, "H100").await.unwrap();
    until(&world, "Provisioning").await;
    assert_eq!(status(&world)["endpoint"], Value::Null);
    until(&world, "Ready").await;
    assert_eq!(status(&world)["ready_replicas"], 2);
    assert_eq!(
        status(&world)["endpoint"],
        "http://llm.default.svc.cluster.local"
    );
    let deployment = world.get("deployments", "llm");
    let pod = &deployment["spec"]["template"]["spec"];
    let container = &pod["containers"][0];
    assert_eq!(
        pod["nodeSelector"]["nvidia.com/gpu.product"],
        "NVIDIA-H100-80GB-HBM3"
    );
    assert_eq!(container["image"], "registry.local/server:1");
    assert_eq!(
        container["args"],
        json!(["--model=tiny", "--max-batch-size=8"])
    );
    assert_eq!(container["resources"]["limits"]["nvidia.com/gpu"], "1");
    running.stop().await;
}

async fn an_older_schema_leaves_the_gpu_type_to_the_operator(mode: Mode) {
    // With today's schema the server itself refuses it.
    let today = world(mode, CRD);
    let refused = create(&today, "T4").await.unwrap_err().to_string();
    assert!(
        refused.contains("gpu_type") && refused.contains("L40S"),
        "{refused}"
    );

    let mut older: Value =
        serde_json::to_value(<InferenceService as kube::CustomResourceExt>::crd()).unwrap();
    let gpu = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/gpu_type";
    older
        .pointer_mut(gpu)
        .unwrap()
        .as_object_mut()
        .unwrap()
        .remove("enum");
    let world = world(mode, &older.to_string());
    let running = operate(&world);
    create(&world, "T4").await.unwrap();
    until(&world, "Failed").await;
    assert!(world.get("deployments", "llm").is_null());
    world
        .until("an Event says why", |world| {
            let events = world.server.objects("events");
            events.iter().any(|event| {
                event["reason"] == "InvalidGpuType"
                    && event["message"] == "invalid GPU type: T4 (expected: A100, H100, L40S)"
            })
        })
        .await;
    let writes = world.writes();
    pass(50).await;
    assert_eq!(world.writes(), writes, "an error waits for a minute");
    let api: Api<InferenceService> = world.api();
    let patch = Patch::Merge(json!({"spec": {"gpu_type": "A100"}}));
    api.patch("llm", &PatchParams::default(), &patch)
        .await
        .unwrap();
    until(&world, "Ready").await;
    running.stop().await;
}

#[test]
fn errors_are_typed() {
    let spec = |json: Value| serde_json::from_value::<InferenceServiceSpec>(json).unwrap();
    let plan = |spec| example::children::deployment("llm", &spec, "server:1").unwrap_err();
    assert_eq!(
        plan(spec(json!({"replicas": 1, "gpu_type": "A100"}))),
        InferenceError::MissingField("model")
    );
    let wrong = plan(spec(json!({"model": "m", "replicas": 1, "gpu_type": "T4"})));
    assert_eq!(
        wrong.to_string(),
        "invalid GPU type: T4 (expected: A100, H100, L40S)"
    );
    let failure = |reason| Failure {
        reason,
        message: "why".to_owned(),
        retry: Retry::Backoff,
    };
    assert_eq!(
        InferenceError::from(&failure("Timeout")),
        InferenceError::Timeout("why".into())
    );
    assert_eq!(
        InferenceError::from(&failure("Forbidden")),
        InferenceError::Kubernetes("why".into())
    );
}
