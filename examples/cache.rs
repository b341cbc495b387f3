//! Cache: a Valkey server as a StatefulSet, with a headless Service, a ConfigMap, a PodDisruptionBudget and a password.
//!
//! The password is a Secret that the Cache names: when it changes, the pods are rolled. Labels of the Cache are on all that it
//! owns. The annotation `example.com/paused: "true"` leaves everything as it is.
//!
//! `cargo run --example cache -- run --install-crd`, and in another terminal
//! `kubectl apply -f examples/cache/sample.yaml && kubectl get statefulsets,services,poddisruptionbudgets`

use tare_runtime::prelude::*;

/// A cache in memory.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(group = "example.com", version = "v1", kind = "Cache")]
#[kube(namespaced, status = "ReadyStatus")]
#[serde(rename_all = "camelCase")]
pub struct CacheSpec {
    pub image: String,
    #[serde(default = "one")]
    #[schemars(range(min = 0, max = 100))]
    pub replicas: i32,
    /// What it may hold, in MiB.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub memory_mib: u32,
    /// A Secret in the same namespace with the key `password`.
    pub password_secret: String,
}

fn one() -> i32 {
    1
}

#[derive(Debug, thiserror::Error)]
#[error("there is no Secret {0:?} with the key \"password\"; create it")]
pub struct NoPassword(String);

impl PlanError for NoPassword {
    fn reason(&self) -> &'static str {
        "NoPassword"
    }
    /// The Secret is watched.
    fn retry(&self) -> Retry {
        Retry::AwaitChange
    }
}

pub struct Caches;

impl Operator for Caches {
    type Resource = Cache;
    type Status = ReadyStatus;
    type Error = NoPassword;
    type Observed = ();
    const NAME: &'static str = "cache-operator";
    const FINALIZER: Option<&'static str> = None;
    const KINDS: &'static [Kind] = &[STATEFUL_SET, SERVICE, CONFIG_MAP, POD_DISRUPTION_BUDGET];
    const REFERENCES: &'static [Kind] = &[SECRET];

    fn references(&self, cache: &Owner<Self>) -> Vec<Reference> {
        vec![Reference::new(SECRET, &cache.spec.password_secret)]
    }

    fn is_paused(&self, cache: &Owner<Self>) -> bool {
        let paused = cache.meta.annotations.get("example.com/paused");
        paused.is_some_and(|paused| paused == "true")
    }

    fn plan(&self, cache: &Owner<Self>, seen: &Children) -> Result<Plan<ReadyStatus>, NoPassword> {
        let (name, spec) = (&*cache.meta.name, &cache.spec);
        let password = Reference::new(SECRET, &spec.password_secret);
        let secret = cache.references.get(&password);
        if secret.is_none_or(|secret| secret["data"]["password"].is_null()) {
            return Err(NoPassword(spec.password_secret.clone()));
        }
        let config = format!("maxmemory {}mb\n", spec.memory_mib);
        let labels = &cache.meta.labels;
        let selected = json!({"example.com/cache": name});
        let mut of_pods = json!(labels);
        of_pods["example.com/cache"] = json!(name);
        let digest = cache.references.digest(&password);
        let from = json!({"secretKeyRef": {"name": spec.password_secret, "key": "password"}});
        let template = json!({
            "metadata": {"labels": of_pods, "annotations": {
                "example.com/password": digest, "example.com/config": config,
            }},
            "spec": {
                "containers": [{
                    "name": "cache", "image": spec.image, "ports": [{"containerPort": 6379}],
                    "command": ["valkey-server", "/etc/valkey/valkey.conf", "--requirepass", "$(PASSWORD)"],
                    "env": [{"name": "PASSWORD", "valueFrom": from}],
                    "volumeMounts": [{"name": "config", "mountPath": "/etc/valkey"}],
                }],
                "volumes": [{"name": "config", "configMap": {"name": name}}],
            },
        });
        let set = json!({"spec": {
            "replicas": spec.replicas, "serviceName": name, "selector": {"matchLabels": selected},
            "template": template,
        }});
        let ports = json!([{"port": 6379}]);
        let service = json!({"clusterIP": "None", "selector": selected, "ports": ports});
        let budget = json!({"maxUnavailable": 1, "selector": {"matchLabels": selected}});
        let bodies = [
            (CONFIG_MAP, json!({"data": {"valkey.conf": config}})),
            (SERVICE, json!({"spec": service})),
            (STATEFUL_SET, set),
            (POD_DISRUPTION_BUDGET, json!({"spec": budget})),
        ];
        let children = bodies.map(|(kind, mut body)| {
            body["metadata"] = json!({"labels": labels});
            Child::new(kind, name, body)
        });
        let set = seen.get(&STATEFUL_SET, name);
        let status = match set.is_some_and(|set| set.is_ready(spec.replicas)) {
            true => ReadyStatus::new(&cache.meta, true, "Running", ""),
            false => ReadyStatus::new(&cache.meta, false, "Starting", "waits for its pods"),
        };
        Ok(Plan::new(children, status))
    }

    fn failed(&self, cache: &Owner<Self>, _: &Children, why: &Failure) -> Option<ReadyStatus> {
        let status = ReadyStatus::new(&cache.meta, false, why.reason, &why.message);
        Some(status)
    }
}

fn main() -> ExitCode {
    Program::of::<Cache>("an operator for Caches", env!("TARE_VERSION"))
        .main(Caches, std::env::args_os().skip(1))
}
