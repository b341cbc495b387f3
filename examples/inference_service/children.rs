//! What an InferenceService becomes: a Deployment of model servers and the Service in front of them.

use tare_runtime::prelude::*;

use super::resource::{InferenceError, InferenceServiceSpec};

/// Each GPU type, and what the node label `nvidia.com/gpu.product` says where there is one.
const GPUS: [(&str, &str); 3] = [
    ("A100", "NVIDIA-A100-SXM4-80GB"),
    ("H100", "NVIDIA-H100-80GB-HBM3"),
    ("L40S", "NVIDIA-L40S"),
];

/// The model servers.
pub fn deployment(
    name: &str,
    spec: &InferenceServiceSpec,
    image: &str,
) -> Result<Value, InferenceError> {
    let model = spec.model.as_ref();
    let model = model.ok_or(InferenceError::MissingField("model"))?;
    let gpu = GPUS.iter().find(|(gpu, _)| *gpu == spec.gpu_type);
    let (_, product) = gpu.ok_or_else(|| InferenceError::InvalidGpuType(spec.gpu_type.clone()))?;
    let mut arguments = vec![format!("--model={model}")];
    let batch = spec.max_batch_size;
    arguments.extend(batch.map(|size| format!("--max-batch-size={size}")));
    Ok(json!({"spec": {
        "replicas": spec.replicas,
        "selector": {"matchLabels": {"app": name}},
        "template": {"metadata": {"labels": {"app": name}}, "spec": {
            "nodeSelector": {"nvidia.com/gpu.product": product},
            "containers": [{
                "name": "server",
                "image": image,
                "args": arguments,
                "ports": [{"containerPort": 8080, "protocol": "TCP"}],
                "resources": {"limits": {"nvidia.com/gpu": "1"}},
            }],
        }},
    }}))
}

/// Where they are reached.
pub fn front(name: &str) -> Value {
    let ports = json!([{"port": 80, "targetPort": 8080, "protocol": "TCP"}]);
    json!({"spec": {"selector": {"app": name}, "ports": ports}})
}
