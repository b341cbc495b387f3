//! The pods of an operator: where they run, how often their containers were restarted and why.
//!
//! Guarantees: reads only; a pod that is being deleted does not count. Leaves to others: its memory (`memory`).

use k8s_openapi::api::core::v1;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::spec::operator::{OperatorName, quantity};
use crate::spec::workload::label_selector;
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
    fn of(state: &v1::ContainerStateTerminated) -> Self {
        let at = state.finished_at.as_ref();
        Self {
            reason: state.reason.clone().unwrap_or_default(),
            exit_code: state.exit_code.into(),
            finished_at: at.map_or_else(String::new, |at| at.0.to_string()),
        }
    }

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
    let asked = cluster.get::<Value>(&path);
    let controller = asked.await.map_err(|error| match error.code() {
        Some(404) => NotFound::Absent(operator.clone()),
        _ => error.into(),
    })?;
    let labels = controller["spec"]["selector"]["matchLabels"].as_object();
    let label = |(key, value): (&String, &Value)| Some(format!("{key}={}", value.as_str()?));
    let labels: Vec<String> = labels.into_iter().flatten().filter_map(label).collect();
    // A selector of expressions only would choose every pod of the namespace.
    match labels.is_empty() {
        true => Err(NotFound::NoSelector(operator.clone())),
        false => Ok(label_selector(&labels.join(","))),
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
    let list: Vec<v1::Pod> = cluster.all(&collection, selector).await?;
    let present = list
        .into_iter()
        .filter(|pod| pod.metadata.deletion_timestamp.is_none());
    let mut pods: Vec<Pod> = present.map(pod).collect();
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

/// What is measured of a pod.
fn pod(object: v1::Pod) -> Pod {
    let v1::Pod {
        metadata,
        spec,
        status,
    } = object;
    let (spec, status) = (spec.unwrap_or_default(), status.unwrap_or_default());
    let annotations = metadata.annotations.unwrap_or_default();
    let chosen = annotations.get(DEFAULT_CONTAINER);
    let is_chosen = |container: &&v1::Container| Some(&container.name) == chosen;
    let containers = &spec.containers;
    let measured = containers.iter().find(is_chosen).or(containers.first());
    let resources = measured.and_then(|container| container.resources.as_ref());
    let limit = resources.and_then(|it| it.limits.as_ref()?.get("memory"));
    let ports = containers.iter().flat_map(|it| it.ports.iter().flatten());
    let mut ports: Vec<&v1::ContainerPort> = ports.collect();
    // Stable: the order of the containers stays otherwise.
    let of_metrics = |name: &String| name.contains("metrics");
    ports.sort_by_key(|port| !port.name.as_ref().is_some_and(of_metrics));
    let annotated = annotations.get(SCRAPE_PORT).and_then(|it| it.parse().ok());
    let mut numbers: Vec<u16> = annotated.into_iter().collect();
    for port in ports {
        let number = u16::try_from(port.container_port);
        numbers.extend(number.ok().filter(|number| !numbers.contains(number)));
    }
    let path = annotations.get(SCRAPE_PATH);
    let statuses = status.container_statuses.unwrap_or_default();
    let restarts = statuses
        .iter()
        .map(|it| u64::try_from(it.restart_count).unwrap_or(0));
    let ends = statuses
        .iter()
        .filter_map(|it| it.last_state.as_ref()?.terminated.as_ref());
    let mut conditions = status.conditions.iter().flatten();
    Pod {
        ready: conditions.any(|it| it.type_ == "Ready" && it.status == "True"),
        container: measured.map(|it| it.name.clone()).unwrap_or_default(),
        limit_bytes: limit.and_then(|limit| quantity(&limit.0)),
        ports: numbers,
        metrics_path: path.cloned().unwrap_or_else(|| "/metrics".into()),
        restarts: restarts.sum(),
        last_end: ends
            .max_by(|a, b| a.finished_at.cmp(&b.finished_at))
            .map(End::of),
        name: metadata.name.unwrap_or_default(),
        uid: metadata.uid.unwrap_or_default(),
        node: spec.node_name.unwrap_or_default(),
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
        let pod = pod(serde_json::from_value(object).expect("a pod"));
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
        let object = serde_json::json!({"metadata": {"name": "x"}});
        let pod = pod(serde_json::from_value(object).expect("a pod"));
        assert_eq!((pod.restarts, pod.last_end, pod.ports.len()), (0, None, 0));
    }
}
