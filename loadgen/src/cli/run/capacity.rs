//! Whether the cluster has nodes, and how many more pods fit on them.
//!
//! Guarantees: reads only, in pages; a read that is not permitted is reported as unknown capacity.
//! Counts pods only; CPU and memory are left to the scheduler. Leaves to others: the decision to go on.

use std::collections::HashSet;

use serde::Deserialize;

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

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Node {
    metadata: NodeMeta,
    spec: NodeSpec,
    status: NodeStatus,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct NodeMeta {
    name: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct NodeSpec {
    unschedulable: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct NodeStatus {
    allocatable: Allocatable,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Allocatable {
    pods: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Pod {
    spec: PodSpec,
    status: PodStatus,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct PodSpec {
    node_name: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct PodStatus {
    phase: String,
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
        let pods: Vec<Pod> = cluster.all("/api/v1/pods", "").await?;
        Ok(Self::of(&nodes, &pods))
    }

    fn of(nodes: &[Node], pods: &[Pod]) -> Self {
        let open = || nodes.iter().filter(|node| !node.spec.unschedulable);
        let names: HashSet<&str> = open().map(|node| node.metadata.name.as_str()).collect();
        let holds = open().map(|node| node.status.allocatable.pods.parse::<u64>().unwrap_or(0));
        let takes_a_place = |pod: &&Pod| {
            let ended = matches!(pod.status.phase.as_str(), "Succeeded" | "Failed");
            // A pod that waits for a node will take a place too.
            let waits = pod.spec.node_name.is_empty();
            !ended && (waits || names.contains(pod.spec.node_name.as_str()))
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
