//! Whether the cluster has nodes, and how many more pods fit on them.
//!
//! Guarantees: reads only, in pages; a read that is not permitted is reported as unknown capacity.
//! Counts pods only; CPU and memory are left to the scheduler. Leaves to others: the decision to go on.

use std::collections::HashSet;

use k8s_openapi::api::core::v1::{Node, Pod};

use crate::report::table::grouped;
use crate::target::cluster::{Cluster, Error};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Nodes {
    /// There is no node, or the server has no such resource.
    Absent,
    Present,
    /// The user may not list nodes.
    Unknown,
}

/// Places for pods on schedulable nodes, and the pods that take one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Capacity {
    pub nodes: u64,
    pub allocatable: u64,
    pub present: u64,
}

/// # Errors
/// The server does not answer.
pub async fn nodes(cluster: &Cluster) -> Result<Nodes, Error> {
    match cluster.count("/api/v1/nodes", "", 1).await {
        Ok(0) => Ok(Nodes::Absent),
        Ok(_) => Ok(Nodes::Present),
        // The simulated server has no such resource.
        Err(error) if matches!(error.code(), Some(404 | 501)) => Ok(Nodes::Absent),
        Err(error) if error.code() == Some(403) => Ok(Nodes::Unknown),
        Err(error) => Err(error),
    }
}

impl Capacity {
    /// # Errors
    /// Nodes or pods may not be listed, or the server does not answer.
    pub async fn read(cluster: &Cluster) -> Result<Self, Error> {
        let nodes: Vec<Node> = cluster.all("/api/v1/nodes", "").await?;
        let mut known = Self::of(&nodes, &[]);
        // Page by page: a large cluster has more pods than should be held at once.
        let count = |page: Vec<Pod>| {
            known.present += Self::of(&nodes, &page).present;
            true
        };
        cluster.pages("/api/v1/pods", "", count).await?;
        Ok(known)
    }

    fn of(nodes: &[Node], pods: &[Pod]) -> Self {
        let is_open = |node: &&Node| {
            let spec = node.spec.as_ref();
            !spec.and_then(|spec| spec.unschedulable).unwrap_or(false)
        };
        let open = || nodes.iter().filter(is_open);
        let names: HashSet<&str> = open().map(|node| text(&node.metadata.name)).collect();
        let holds = open().map(|node| {
            let status = node.status.as_ref();
            let pods = status.and_then(|status| status.allocatable.as_ref()?.get("pods"));
            pods.and_then(|pods| pods.0.parse::<u64>().ok())
                .unwrap_or(0)
        });
        let takes_a_place = |pod: &&Pod| {
            let phase = pod.status.as_ref().map_or("", |status| text(&status.phase));
            let node = pod.spec.as_ref().map_or("", |spec| text(&spec.node_name));
            let ended = matches!(phase, "Succeeded" | "Failed");
            // A pod that waits for a node will take a place too.
            !ended && (node.is_empty() || names.contains(node))
        };
        Self {
            nodes: names.len() as u64,
            allocatable: holds.sum(),
            present: pods.iter().filter(takes_a_place).count() as u64,
        }
    }

    pub fn fit(&self) -> u64 {
        self.allocatable.saturating_sub(self.present)
    }
}

fn text(field: &Option<String>) -> &str {
    field.as_deref().unwrap_or_default()
}

/// One line that compares the pods asked for with those that fit.
pub fn sentence(wanted: u64, capacity: &Result<Capacity, Error>) -> String {
    let count = |n: u64| grouped(n as usize);
    let wanted_text = format!("pods: {} asked for", count(wanted));
    match capacity {
        Err(error) => format!("{wanted_text}; how many fit is unknown: {}", error.words()),
        Ok(known) => {
            let nodes = if known.nodes == 1 { "node" } else { "nodes" };
            let more = match wanted.saturating_sub(known.fit()) {
                0 => String::new(),
                more => format!("; {} find no place on a node", count(more)),
            };
            format!(
                "{wanted_text}, {} fit: {} {nodes} for {} pods, {} there{more}",
                count(known.fit()),
                count(known.nodes),
                count(known.allocatable),
                count(known.present),
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn node(name: &str, pods: &str, unschedulable: bool) -> Value {
        json!({"metadata": {"name": name}, "spec": {"unschedulable": unschedulable}, "status": {"allocatable": {"pods": pods, "cpu": "4"}}})
    }

    fn pod(phase: &str, node: &str) -> Value {
        json!({"spec": {"nodeName": node}, "status": {"phase": phase}})
    }

    #[test]
    fn what_fits_is_what_nodes_hold_without_what_is_there() {
        struct Case {
            name: &'static str,
            nodes: Vec<Value>,
            pods: Vec<Value>,
            want: &'static str,
        }
        let cases = [
            Case {
                name: "room",
                nodes: vec![node("a", "110", false), node("b", "110", false)],
                pods: vec![
                    pod("Running", "a"),
                    pod("Succeeded", "a"),
                    pod("Failed", "b"),
                ],
                want: "pods: 100 asked for, 219 fit: 2 nodes for 220 pods, 1 there",
            },
            Case {
                name: "a cordoned node takes none, a waiting pod counts",
                nodes: vec![node("a", "110", true), node("b", "20", false)],
                pods: vec![pod("Pending", ""), pod("Running", "a"), pod("Running", "b")],
                want: "pods: 100 asked for, 18 fit: 1 node for 20 pods, 2 there; 82 find no place on a node",
            },
            Case {
                name: "no nodes",
                nodes: vec![],
                pods: vec![],
                want: "pods: 100 asked for, 0 fit: 0 nodes for 0 pods, 0 there; 100 find no place on a node",
            },
            Case {
                name: "a node without a pod capacity counts as 0",
                nodes: vec![json!({})],
                pods: vec![pod("Pending", "")],
                want: "pods: 100 asked for, 0 fit: 1 node for 0 pods, 1 there; 100 find no place on a node",
            },
        ];
        for case in cases {
            let nodes: Vec<Node> = serde_json::from_value(json!(case.nodes)).expect(case.name);
            let pods: Vec<Pod> = serde_json::from_value(json!(case.pods)).expect(case.name);
            let known = Capacity::of(&nodes, &pods);
            assert_eq!(sentence(100, &Ok(known)), case.want, "{}", case.name);
        }
    }
}
