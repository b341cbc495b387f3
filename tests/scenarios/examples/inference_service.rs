//! InferenceService: phases, endpoint, and errors with a type.

use http::Method;
use serde_json::{Value, json};
use tare_runtime::api::{Failure, Retry};
use tare_runtime::cache::Mode;

use super::Example::InferenceService;
use super::SERVER_IMAGE;
use crate::cluster::Cluster;
use crate::cluster::objects::container;
use crate::cluster::simulated::{Simulated, pass};
use crate::cluster::user::JSON;
use example::resource::{InferenceError, InferenceServiceSpec};

#[allow(dead_code)] // its command line is tested as a process
#[path = "../../../examples/inference_service/main.rs"]
pub mod example;

fn spec(gpu: &str) -> Value {
    json!({ "model": "tiny", "replicas": 2, "gpu_type": gpu, "max_batch_size": 8 })
}

async fn until_phase(cluster: &Cluster, phase: &str) -> Value {
    let is_in_it = |object: &Value| object["status"]["phase"] == phase;
    cluster
        .until(phase, "inferenceservices", "llm", is_in_it)
        .await
}

pub async fn it_is_refused_or_provisioned_then_ready_with_an_endpoint(cluster: Cluster) {
    InferenceService.install(&cluster).await;
    let operator = InferenceService.operate(&cluster).await;
    let wrong = InferenceService.object("wrong", spec("T4"));
    let path = cluster.path("inferenceservices", "");
    let refused = cluster.request(Method::POST, &path, JSON, &wrong).await;
    let refused = refused.expect_err("the server accepts it").to_string();
    assert!(
        refused.contains("spec.gpu_type: Unsupported value") && refused.contains("L40S"),
        "{refused}"
    );

    InferenceService.create(&cluster, "llm", spec("H100")).await;
    let provisioning = until_phase(&cluster, "Provisioning").await;
    assert_eq!(provisioning["status"]["endpoint"], Value::Null);
    let ready = until_phase(&cluster, "Ready").await;
    assert_eq!(ready["status"]["ready_replicas"], 2);
    let endpoint = format!("http://llm.{}.svc.cluster.local", cluster.namespace);
    assert_eq!(ready["status"]["endpoint"], endpoint);
    let deployment = cluster.get("deployments", "llm").await;
    let pod = &deployment["spec"]["template"]["spec"];
    let product = &pod["nodeSelector"]["nvidia.com/gpu.product"];
    assert_eq!(product, "NVIDIA-H100-80GB-HBM3");
    let container = container(&deployment);
    assert_eq!(container["image"], SERVER_IMAGE);
    assert_eq!(
        container["args"],
        json!(["--model=tiny", "--max-batch-size=8"])
    );
    assert_eq!(container["resources"]["limits"]["nvidia.com/gpu"], "1");
    cluster.delete("inferenceservices", "llm").await;
    cluster.until_gone("deployments", "llm").await;
    operator.terminate().await;
}

/// Each owner asks for 30 s. That is no reason to list anything, also not after a restart that forgot it.
pub async fn its_requeue_is_its_own_and_survives_a_restart(mode: Mode) {
    let simulated = Simulated::new(mode);
    let cluster = Cluster::simulated(simulated.clone());
    InferenceService.install(&cluster).await;
    let operator = InferenceService.operate(&cluster).await;
    for name in ["llm", "other", "third"] {
        InferenceService.create(&cluster, name, spec("H100")).await;
    }
    until_phase(&cluster, "Ready").await;
    let owners = || simulated.requests("get", "inferenceservices");
    let lists = || simulated.requests("list", "inferenceservices");
    let mut operator = Some(operator);
    for restarted in [false, true] {
        if restarted && let Some(before) = operator.take() {
            before.terminate().await;
            operator = Some(InferenceService.operate(&cluster).await);
        }
        pass(70).await;
        let (read, listed, writes) = (owners(), lists(), simulated.writes());
        pass(300).await;
        let read = owners() - read;
        let wanted = match mode {
            Mode::Pruned => 0..=0,
            Mode::None | Mode::Metadata => 27..=30,
        };
        assert!(wanted.contains(&read), "{read} reads in five minutes");
        assert_eq!(lists(), listed, "restarted: {restarted}");
        assert_eq!(simulated.writes(), writes, "restarted: {restarted}");
    }
    if let Some(operator) = operator {
        operator.terminate().await;
    }
}

pub async fn an_older_schema_leaves_the_gpu_type_to_the_operator(mode: Mode) {
    let crd = <example::resource::InferenceService as kube::CustomResourceExt>::crd();
    let mut older = serde_json::to_value(crd).expect("a CRD is JSON");
    let gpu = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/gpu_type";
    let gpu = older.pointer_mut(gpu).and_then(Value::as_object_mut);
    gpu.expect("gpu_type").remove("enum");
    let simulated = Simulated::slow(mode);
    let installed = simulated.server.install(&older.to_string());
    installed.expect("install the older CRD");
    let cluster = Cluster::simulated(simulated.clone());
    let operator = InferenceService.operate(&cluster).await;
    InferenceService.create(&cluster, "llm", spec("T4")).await;
    until_phase(&cluster, "Failed").await;
    assert!(simulated.get("deployments", "llm").is_null());
    let is_told = |cluster: &Simulated| {
        let events = cluster.server.objects("events");
        events.iter().any(|event| {
            event["reason"] == "InvalidGpuType"
                && event["message"] == "invalid GPU type: T4 (expected: A100, H100, L40S)"
        })
    };
    simulated.until("an Event says why", is_told).await;
    let writes = simulated.writes();
    pass(50).await;
    assert_eq!(
        simulated.writes(),
        writes,
        "a retry within the first minute"
    );
    let change = json!({ "gpu_type": "A100" });
    InferenceService.change(&cluster, "llm", change).await;
    until_phase(&cluster, "Ready").await;
    operator.terminate().await;
}

pub fn errors_are_typed() {
    let spec = |json: Value| {
        let spec = serde_json::from_value::<InferenceServiceSpec>(json);
        spec.expect("a valid spec")
    };
    let error = |spec| {
        let planned = example::children::deployment("llm", &spec, "server:1");
        planned.expect_err("a plan for a wrong spec")
    };
    assert_eq!(
        error(spec(json!({"replicas": 1, "gpu_type": "A100"}))),
        InferenceError::MissingField("model")
    );
    let wrong = error(spec(json!({"model": "m", "replicas": 1, "gpu_type": "T4"})));
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
