//! The pods of an operator: where they run, how often their containers were restarted and why.
//!
//! Guarantees: reads only; a pod that is being deleted does not count. Leaves to others: its memory (`memory`).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::spec::operator::{OperatorName, quantity};
use crate::target::cluster::{Cluster, Error};

/// Lines of a log that are kept.
const LOG_LINES: usize = 20;
/// The container that `kubectl logs` takes, too.
const DEFAULT_CONTAINER: &str = "kubectl.kubernetes.io/default-container";
/// What a kubelet answers, as if it were the log, where a container's file is gone.
const NO_LOG: &str = "unable to retrieve container logs";
/// Annotations that Prometheus is commonly configured to follow.
const SCRAPE_PORT: &str = "prometheus.io/port";
const SCRAPE_PATH: &str = "prometheus.io/path";

/// One pod.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Pod {
    pub name: String,
    pub uid: String,
    /// Empty while it has none.
    pub node: String,
    /// The container that is measured.
    pub container: String,
    /// Memory limit of that container.
    pub limit_bytes: Option<f64>,
    /// Where its metrics may be, the likeliest first.
    pub ports: Vec<u16>,
    pub metrics_path: String,
    /// Whether its condition says so.
    pub ready: bool,
    /// Of all of its containers.
    pub restarts: u64,
    /// How a container of it ended last.
    pub last_end: Option<End>,
}

/// How a container ended.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct End {
    pub reason: String,
    pub exit_code: i64,
    /// RFC 3339, in UTC: texts order as times do.
    pub finished_at: String,
}

impl End {
    pub fn is_out_of_memory(&self) -> bool {
        self.reason == "OOMKilled"
    }
}

/// Why an operator cannot be measured.
#[derive(Debug, thiserror::Error)]
pub enum NotFound {
    #[error("{0}: not in the cluster; `kubectl get {kind} -A` lists those that are", kind = .0.kind.plural())]
    Absent(OperatorName),
    #[error("{0}: has no pod; is it scaled to 0?")]
    NoPod(OperatorName),
    #[error("{0}: its selector cannot be read")]
    NoSelector(OperatorName),
    #[error(transparent)]
    Cluster(#[from] Error),
}

/// The label selector of the operator's pods, as in a path.
///
/// # Errors
/// It is not there.
pub async fn selector(cluster: &Cluster, operator: &OperatorName) -> Result<String, NotFound> {
    let path = operator.path();
    let asked = cluster.get::<Controller>(&path);
    let controller = asked.await.map_err(|error| match error.code() {
        Some(404) => NotFound::Absent(operator.clone()),
        _ => error.into(),
    })?;
    let labels = controller.spec.selector.match_labels.into_iter();
    let labels: Vec<String> = labels
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    // A selector of expressions only would choose every pod of the namespace.
    match labels.is_empty() {
        true => Err(NotFound::NoSelector(operator.clone())),
        false => Ok(encoded(&labels.join(","))),
    }
}

/// Its pods by name.
///
/// # Errors
/// Pods may not be listed, or there is none.
pub async fn list(
    cluster: &Cluster,
    operator: &OperatorName,
    selector: &str,
) -> Result<Vec<Pod>, NotFound> {
    let namespace = &operator.namespace;
    let collection = format!("/api/v1/namespaces/{namespace}/pods");
    let selector = format!("labelSelector={selector}&");
    let list: Vec<PodObject> = cluster.all(&collection, &selector).await?;
    let present = list
        .into_iter()
        .filter(|pod| pod.metadata.deletion_timestamp.is_none());
    let mut pods: Vec<Pod> = present.map(PodObject::into_pod).collect();
    pods.sort_by(|a, b| a.name.cmp(&b.name));
    match pods.is_empty() {
        true => Err(NotFound::NoPod(operator.clone())),
        false => Ok(pods),
    }
}

/// The last lines of a container's log; those of the one before it where it was restarted.
///
/// # Errors
/// The server's words.
pub async fn log(cluster: &Cluster, namespace: &str, pod: &Pod) -> Result<Vec<String>, Error> {
    let (name, container) = (&pod.name, &pod.container);
    let path = |previous: bool| {
        format!(
            "/api/v1/namespaces/{namespace}/pods/{name}/log?container={container}&tailLines={LOG_LINES}&previous={previous}"
        )
    };
    let text = match cluster.text(&path(pod.restarts > 0)).await {
        Ok(text) if !text.starts_with(NO_LOG) => text,
        // The log of the one before it is gone once the node has cleaned up.
        _ if pod.restarts > 0 => cluster.text(&path(false)).await?,
        other => other?,
    };
    Ok(text.lines().map(str::to_owned).collect())
}

/// What a label selector holds, in a query.
pub fn encoded(selector: &str) -> String {
    let mut text = String::new();
    for byte in selector.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => {
                text.push(char::from(byte));
            }
            other => text.push_str(&format!("%{other:02X}")),
        }
    }
    text
}

#[derive(Deserialize)]
struct Controller {
    spec: ControllerSpec,
}

#[derive(Deserialize)]
struct ControllerSpec {
    selector: Selector,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Selector {
    #[serde(default)]
    match_labels: BTreeMap<String, String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct PodObject {
    metadata: Metadata,
    spec: Spec,
    status: Status,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Metadata {
    name: String,
    uid: String,
    annotations: BTreeMap<String, String>,
    deletion_timestamp: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Spec {
    node_name: String,
    containers: Vec<Container>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Container {
    name: String,
    ports: Vec<Port>,
    resources: Resources,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Port {
    name: String,
    container_port: u16,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Resources {
    limits: BTreeMap<String, String>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Status {
    container_statuses: Vec<ContainerStatus>,
    conditions: Vec<Condition>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Condition {
    #[serde(rename = "type")]
    kind: String,
    status: String,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ContainerStatus {
    restart_count: u64,
    last_state: LastState,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct LastState {
    terminated: Option<End>,
}

impl PodObject {
    fn into_pod(self) -> Pod {
        let Self {
            metadata,
            spec,
            status,
        } = self;
        let annotations = &metadata.annotations;
        let chosen = annotations.get(DEFAULT_CONTAINER);
        let is_chosen = |container: &&Container| Some(&container.name) == chosen;
        let containers = &spec.containers;
        let measured = containers.iter().find(is_chosen).or(containers.first());
        let limit = measured.and_then(|container| container.resources.limits.get("memory"));
        let mut ports: Vec<&Port> = containers.iter().flat_map(|it| &it.ports).collect();
        // Stable: the order of the containers stays otherwise.
        ports.sort_by_key(|port| !port.name.contains("metrics"));
        let annotated = annotations.get(SCRAPE_PORT).and_then(|it| it.parse().ok());
        let mut numbers: Vec<u16> = annotated.into_iter().collect();
        for port in ports {
            if !numbers.contains(&port.container_port) {
                numbers.push(port.container_port);
            }
        }
        let path = annotations.get(SCRAPE_PATH);
        let statuses = &status.container_statuses;
        let ends = statuses
            .iter()
            .filter_map(|it| it.last_state.terminated.clone());
        let mut conditions = status.conditions.iter();
        Pod {
            ready: conditions.any(|it| it.kind == "Ready" && it.status == "True"),
            container: measured.map(|it| it.name.clone()).unwrap_or_default(),
            limit_bytes: limit.and_then(|limit| quantity(limit)),
            ports: numbers,
            metrics_path: path.cloned().unwrap_or_else(|| "/metrics".into()),
            restarts: statuses.iter().map(|it| it.restart_count).sum(),
            last_end: ends.max_by(|a, b| a.finished_at.cmp(&b.finished_at)),
            name: metadata.name,
            uid: metadata.uid,
            node: spec.node_name,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_tells_what_is_measured_where_and_how_it_ended() {
        let object = serde_json::json!({
            "metadata": {"name": "web-1", "uid": "u1", "annotations": {DEFAULT_CONTAINER: "manager"}},
            "spec": {"nodeName": "n1", "containers": [
                {"name": "proxy", "ports": [{"name": "https", "containerPort": 8443}]},
                {"name": "manager", "resources": {"limits": {"memory": "16Mi"}},
                 "ports": [{"name": "webhook", "containerPort": 9443}, {"name": "http-metrics", "containerPort": 8080}]}]},
            "status": {"conditions": [{"type": "Ready", "status": "True"}], "containerStatuses": [
                {"restartCount": 1, "lastState": {"terminated": {"reason": "Error", "exitCode": 1, "finishedAt": "2026-01-01T00:00:01Z"}}},
                {"restartCount": 2, "lastState": {"terminated": {"reason": "OOMKilled", "exitCode": 137, "finishedAt": "2026-01-01T00:00:09Z"}}}]},
        });
        let pod: PodObject = serde_json::from_value(object).expect("a pod");
        let pod = pod.into_pod();
        assert_eq!(
            (pod.container.as_str(), pod.node.as_str()),
            ("manager", "n1")
        );
        assert_eq!(pod.limit_bytes, Some(16_777_216.0));
        assert_eq!(pod.ports, [8080, 8443, 9443]);
        assert!(pod.ready);
        assert_eq!((pod.restarts, pod.metrics_path.as_str()), (3, "/metrics"));
        assert!(pod.last_end.expect("it ended").is_out_of_memory());
    }

    #[test]
    fn a_pod_that_has_not_started_is_read() {
        let pod: PodObject =
            serde_json::from_value(serde_json::json!({"metadata": {"name": "x"}})).expect("a pod");
        let pod = pod.into_pod();
        assert_eq!((pod.restarts, pod.last_end, pod.ports.len()), (0, None, 0));
    }

    #[test]
    fn a_selector_is_safe_in_a_query() {
        assert_eq!(
            encoded("app.k8s.io/name=web,x=1"),
            "app.k8s.io%2Fname%3Dweb%2Cx%3D1"
        );
    }
}
