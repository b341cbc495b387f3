//! `loadgen run --operator`: an operator in the cluster beside a run. The simulated server has no nodes, so
//! its memory comes from metrics.k8s.io; the other sources are tested on a real node.

use serde_json::{Value, json};

use crate::program::wait_for;
use crate::run::simulated_cluster::{SimulatedCluster, assert_success, code, said};

/// What a metrics server would serve.
const POD_METRICS: &str = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: pods.metrics.k8s.io
  annotations: {api-approved.kubernetes.io: 'unapproved, for a test'}
spec:
  group: metrics.k8s.io
  names: {kind: PodMetrics, plural: pods}
  scope: Namespaced
  versions:
  - name: v1beta1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
";

/// A Deployment with one pod, and what a metrics server would say of it.
pub fn cluster(name: &str) -> SimulatedCluster {
    let cluster = SimulatedCluster::without_crd(name);
    cluster.server.install(POD_METRICS).expect("a valid CRD");
    cluster.create_namespace("shop");
    let labels = json!({"app.kubernetes.io/name": "web"});
    let container =
        json!({"name": "manager", "image": "web:1", "resources": {"limits": {"memory": "16Mi"}}});
    cluster.create(
        "/apis/apps/v1/namespaces/shop/deployments",
        &json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
            "spec": {"replicas": 1, "selector": {"matchLabels": labels},
                     "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}}},
        }),
    );
    for (pod, labels) in [("web-1", labels), ("other", json!({"app": "other"}))] {
        cluster.create(
            "/api/v1/namespaces/shop/pods",
            &json!({
                "apiVersion": "v1", "kind": "Pod", "metadata": {"name": pod, "labels": labels},
                "spec": {"containers": [container]},
            }),
        );
    }
    cluster.create(
        "/apis/metrics.k8s.io/v1beta1/namespaces/shop/pods",
        &json!({
            "apiVersion": "metrics.k8s.io/v1beta1", "kind": "PodMetrics", "metadata": {"name": "web-1"},
            "timestamp": "2026-01-01T00:00:00Z", "window": "15s",
            "containers": [{"name": "manager", "usage": {"cpu": "3m", "memory": "12Mi"}}],
        }),
    );
    cluster
}

pub fn measured() {
    let cluster = cluster("operator");
    let words = ["run", "configmaps", "--count", "5", "--idle-s", "1"];
    let words = [&words[..], &["--operator", "deployment/shop/web"]].concat();
    let output = cluster.loadgen(&words);
    let text = said(&output);
    assert_success(&output);
    for want in [
        "deployment/shop/web: working set of metrics.k8s.io, ",
        "more precise sources of memory are not there: its metrics page: the pod names no port; kubelet: the pod is on no node",
    ] {
        assert!(text.contains(want), "{want} not in {text}");
    }
    let row = text.lines().find(|line| line.starts_with("web-1 "));
    let row: Vec<&str> = row.unwrap_or_default().split_whitespace().collect();
    assert_eq!(
        row,
        ["web-1", "12.6", "12.6", "12.6", "16.8", "–", "0"],
        "{text}"
    );
    let of_others = text.lines().any(|line| line.starts_with("other "));
    assert!(!of_others, "only its own pods: {text}");
}

pub fn killed_for_memory() {
    let cluster = cluster("operator-killed");
    let words = ["run", "configmaps", "--count", "5", "--idle-s", "8"];
    let words = [&words[..], &["--operator", "deployment/shop/web"]].concat();
    let running = cluster.start(&words);
    wait_for("objects of the run", || {
        cluster.names("configmaps").len() == 5
    });
    let ended = json!({"terminated": {"reason": "OOMKilled", "exitCode": 137, "finishedAt": "2026-01-01T00:00:00Z",
                                      "startedAt": "2026-01-01T00:00:00Z"}});
    let status: Value = json!({"status": {"containerStatuses": [{
        "name": "manager", "image": "web:1", "imageID": "", "ready": true, "restartCount": 1, "lastState": ended}]}});
    cluster.patch("/api/v1/namespaces/shop/pods/web-1/status", &status);
    let output = running.wait_with_output().expect("it ends");
    let text = said(&output);
    assert_eq!(code(&output), Some(1), "{text}");
    for want in [
        "web-1 was killed for memory once; its limit is 16.8 MB",
        "the end of its log:",
    ] {
        assert!(text.contains(want), "{want} not in {text}");
    }
    assert_eq!(cluster.names("configmaps"), Vec::<String>::new());
}

pub fn not_measurable() {
    let cluster = cluster("operator-unknown");
    for (operator, status, want) in [
        ("web", 2, "write deployment/NAMESPACE/NAME"),
        (
            "deployment/shop/none",
            1,
            "deployment/shop/none: not in the cluster",
        ),
    ] {
        let output =
            cluster.loadgen(&["run", "configmaps", "--count", "5", "--operator", operator]);
        let text = said(&output);
        assert_eq!(code(&output), Some(status), "{text}");
        assert!(text.contains(want), "{want} not in {text}");
        let errors = text.lines().filter(|line| line.starts_with("error: "));
        assert_eq!(errors.count(), 1, "{text}");
    }
    assert_eq!(cluster.names("configmaps"), Vec::<String>::new());
    let namespaces = cluster.names("namespaces");
    assert!(
        !namespaces.iter().any(|it| it.starts_with("loadgen-")),
        "{namespaces:?}"
    );
}
