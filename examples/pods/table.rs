//! Pods as `kubectl get pods -o wide` prints them.
//!
//! Source of the widths: `GetNewTabWriter` in cli-runtime v0.36.4, `pkg/printers/tabwriter.go`.

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;

use super::pod_ext::PodExt;

const COLUMNS: [&str; 10] = [
    "NAMESPACE",
    "NAME",
    "READY",
    "STATUS",
    "RESTARTS",
    "AGE",
    "IP",
    "NODE",
    "NOMINATED NODE",
    "READINESS GATES",
];

/// Between two columns.
const PADDING: usize = 3;
/// Of a column, its padding included.
const LEAST_WIDTH: usize = 6;

pub fn wide(pods: &[Pod], with_namespace: bool, now: Timestamp) -> String {
    let first = usize::from(!with_namespace);
    let header = COLUMNS.map(str::to_owned);
    let rows = std::iter::once(header).chain(pods.iter().map(|pod| row(pod, now)));
    let rows: Vec<Vec<String>> = rows.map(|row| row[first..].to_vec()).collect();
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        (cells.max().unwrap_or(0) + PADDING).max(LEAST_WIDTH)
    };
    let last = COLUMNS.len() - first - 1;
    let widths: Vec<usize> = (0..last).map(width).collect();
    let mut text = String::new();
    for row in &rows {
        for (cell, width) in row.iter().zip(&widths) {
            text.push_str(&format!("{cell:width$}"));
        }
        text.push_str(&row[last]);
        text.push('\n');
    }
    text
}

fn row(pod: &Pod, now: Timestamp) -> [String; 10] {
    let or_none = |cell: Option<&str>| cell.unwrap_or("<none>").to_owned();
    let node = pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref());
    let status = pod.status.as_ref();
    let nominated = status.and_then(|status| status.nominated_node_name.as_deref());
    let (ready, all) = pod.ready();
    let gates = pod
        .readiness_gates()
        .map(|(open, all)| format!("{open}/{all}"));
    [
        pod.namespace().unwrap_or_default(),
        pod.name_any(),
        format!("{ready}/{all}"),
        pod.status(),
        pod.restarts().text(now),
        pod.age(now),
        or_none(pod.ip()),
        or_none(node),
        or_none(nominated),
        or_none(gates.as_deref()),
    ]
}
