//! Memory and CPU of a pod, from the best source that the cluster has.
//!
//! Guarantees: reads only; which source is used is decided once and said, with the reasons why better ones are
//! not. A figure of 0, which a kubelet gives for a young pod, is no figure. Leaves to others: when to read.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::spec::operator::quantity;
use crate::target::cluster::{Cluster, Error};
use crate::target::operator::pods::Pod;
use crate::watch::metrics_text;

/// A port on which no HTTP is spoken may never answer.
const ANSWER: Duration = Duration::from_secs(5);
/// How many ports of a pod are tried.
const MOST_PORTS: usize = 4;
const RESIDENT: &str = "process_resident_memory_bytes";
const CPU: &str = "process_cpu_seconds_total";

/// Where memory is read, the most precise first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// The process's own metrics page, through the API server.
    Metrics { port: u16 },
    /// The summary of the kubelet, through the API server.
    Kubelet,
    /// The API that `kubectl top` reads.
    MetricsServer,
}

/// One look at a container.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Reading {
    pub bytes: f64,
    /// Since the container started.
    pub cpu_s: Option<f64>,
}

impl Source {
    /// The first source that has a figure or, as kubelets have for young pods, will have one.
    ///
    /// # Errors
    /// Why each of them has none.
    pub async fn choose(cluster: &Cluster, namespace: &str, pod: &Pod) -> Result<Chosen, String> {
        let mut passed_over = Vec::new();
        for port in pod.ports.iter().copied().take(MOST_PORTS) {
            let source = Source::Metrics { port };
            match source.read(cluster, namespace, pod).await {
                Ok(Some(_)) => return Ok(source.chosen(passed_over)),
                Ok(None) => passed_over.push(format!("port {port}: its page has no {RESIDENT}")),
                Err(why) => passed_over.push(format!("port {port}: {why}")),
            }
        }
        if pod.ports.is_empty() {
            passed_over.push("its metrics page: the pod names no port".into());
        }
        for source in [Source::Kubelet, Source::MetricsServer] {
            match source.read(cluster, namespace, pod).await {
                Ok(Some(_)) => return Ok(source.chosen(passed_over)),
                Ok(None) if source == Source::Kubelet => return Ok(source.chosen(passed_over)),
                Ok(None) => passed_over.push(format!("{}: not this pod", source.name())),
                Err(why) => passed_over.push(format!("{}: {why}", source.name())),
            }
        }
        Err(passed_over.join("; "))
    }

    fn chosen(self, passed_over: Vec<String>) -> Chosen {
        Chosen {
            source: self,
            passed_over,
        }
    }

    fn name(&self) -> &'static str {
        match self {
            Source::Metrics { .. } => "metrics page",
            Source::Kubelet => "kubelet",
            Source::MetricsServer => "metrics.k8s.io",
        }
    }

    /// What is read, for a table.
    pub fn words(&self) -> String {
        match self {
            Source::Metrics { port } => format!("{RESIDENT} of its metrics page, port {port}"),
            Source::Kubelet => "rssBytes (anonymous memory) of the kubelet's summary".into(),
            Source::MetricsServer => "working set of metrics.k8s.io".into(),
        }
    }

    /// How often there is a new figure.
    pub fn period(&self) -> Duration {
        match self {
            Source::Metrics { .. } => Duration::from_secs(1),
            // Both are updated every 10 to 15 s.
            Source::Kubelet | Source::MetricsServer => Duration::from_secs(5),
        }
    }

    /// How long after a moment there is a figure of it.
    pub fn delay(&self) -> Duration {
        match self {
            Source::Metrics { .. } => Duration::ZERO,
            Source::Kubelet => Duration::from_secs(20),
            Source::MetricsServer => Duration::from_secs(60),
        }
    }

    /// `None` where there is no figure yet.
    ///
    /// # Errors
    /// Why it cannot be read.
    pub async fn read(
        &self,
        cluster: &Cluster,
        namespace: &str,
        pod: &Pod,
    ) -> Result<Option<Reading>, String> {
        let name = &pod.name;
        match self {
            Source::Metrics { port } => {
                let page = page(cluster, namespace, pod, *port);
                let page = tokio::time::timeout(ANSWER, page).await;
                let page = page.map_err(|_| format!("no answer within {} s", ANSWER.as_secs()))?;
                Ok(of_page(&page.map_err(|error| error.words())?))
            }
            Source::Kubelet if pod.node.is_empty() => Err("the pod is on no node".into()),
            Source::Kubelet => {
                let node = &pod.node;
                let path =
                    format!("/api/v1/nodes/{node}/proxy/stats/summary?only_cpu_and_memory=true");
                let summary = ask(cluster, &path).await?;
                Ok(of_summary(&summary, pod))
            }
            Source::MetricsServer => {
                let path =
                    format!("/apis/metrics.k8s.io/v1beta1/namespaces/{namespace}/pods/{name}");
                let metrics = ask(cluster, &path).await?;
                Ok(of_pod_metrics(&metrics, pod))
            }
        }
    }
}

/// A source, and why those that are more precise were passed over.
#[derive(Debug, Clone)]
pub struct Chosen {
    pub source: Source,
    pub passed_over: Vec<String>,
}

async fn ask(cluster: &Cluster, path: &str) -> Result<Value, String> {
    let asked = cluster.get(path);
    asked.await.map_err(|error: Error| error.words())
}

async fn page(cluster: &Cluster, namespace: &str, pod: &Pod, port: u16) -> Result<String, Error> {
    let (name, path) = (&pod.name, pod.metrics_path.trim_start_matches('/'));
    let path = |scheme: &str| {
        format!("/api/v1/namespaces/{namespace}/pods/{scheme}{name}:{port}/proxy/{path}")
    };
    match cluster.text(&path("")).await {
        Ok(page) => Ok(page),
        // A server of HTTPS refuses HTTP; it may take the API server's own request.
        Err(error) => match cluster.text(&path("https:")).await {
            Ok(page) => Ok(page),
            Err(_) => Err(error),
        },
    }
}

fn of_page(page: &str) -> Option<Reading> {
    Some(Reading {
        bytes: positive(metrics_text::counter(page, RESIDENT))?,
        cpu_s: metrics_text::counter(page, CPU),
    })
}

fn of_summary(summary: &Value, pod: &Pod) -> Option<Reading> {
    let found = entry(&summary["pods"], "/podRef/uid", &pod.uid)?;
    let container = entry(&found["containers"], "/name", &pod.container)?;
    let cpu_ns = container["cpu"]["usageCoreNanoSeconds"].as_f64();
    Some(Reading {
        bytes: positive(container["memory"]["rssBytes"].as_f64())?,
        cpu_s: cpu_ns.map(|ns| ns / 1e9),
    })
}

fn of_pod_metrics(metrics: &Value, pod: &Pod) -> Option<Reading> {
    let container = entry(&metrics["containers"], "/name", &pod.container)?;
    let bytes = container["usage"]["memory"].as_str().and_then(quantity);
    Some(Reading {
        bytes: positive(bytes)?,
        // It has the present rate only, not the sum.
        cpu_s: None,
    })
}

/// The one in a list that has this text at a pointer.
fn entry<'a>(list: &'a Value, at: &str, text: &str) -> Option<&'a Value> {
    let mut entries = list.as_array()?.iter();
    entries.find(|entry| entry.pointer(at).and_then(Value::as_str) == Some(text))
}

fn positive(bytes: Option<f64>) -> Option<f64> {
    bytes.filter(|bytes| *bytes > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn pod() -> Pod {
        Pod {
            name: "web-1".into(),
            uid: "u1".into(),
            container: "manager".into(),
            ..Pod::default()
        }
    }

    #[test]
    fn a_metrics_page_has_memory_and_cpu() {
        let page = "process_resident_memory_bytes 3.1e+06\nprocess_cpu_seconds_total 1.5\n";
        let want = Reading {
            bytes: 3.1e6,
            cpu_s: Some(1.5),
        };
        assert_eq!(of_page(page), Some(want));
        assert_eq!(of_page("go_goroutines 7\n"), None);
    }

    #[test]
    fn a_summary_is_of_the_container_that_is_measured_and_zero_is_no_figure() {
        let summary = |rss: u64| {
            json!({"node": {}, "pods": [
                {"podRef": {"name": "other", "uid": "u0"}, "containers": [{"name": "manager", "memory": {"rssBytes": 1}}]},
                {"podRef": {"name": "web-1", "uid": "u1"}, "containers": [
                    {"name": "proxy", "memory": {"rssBytes": 5}},
                    {"name": "manager", "memory": {"rssBytes": rss}, "cpu": {"usageCoreNanoSeconds": 2_500_000_000_u64}}]}]})
        };
        let want = Reading {
            bytes: 7e6,
            cpu_s: Some(2.5),
        };
        assert_eq!(of_summary(&summary(7_000_000), &pod()), Some(want));
        assert_eq!(of_summary(&summary(0), &pod()), None);
    }

    #[test]
    fn pod_metrics_are_quantities() {
        let metrics =
            json!({"containers": [{"name": "manager", "usage": {"cpu": "3m", "memory": "12Mi"}}]});
        let read = of_pod_metrics(&metrics, &pod());
        assert_eq!(read.map(|it| it.bytes), Some(12_582_912.0));
    }
}
