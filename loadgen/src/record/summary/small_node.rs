//! What the operators take of a small node: the question that most readers come with.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The operators on a node with little memory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SmallNode {
    /// Memory of the node: 512 MiB.
    pub node_bytes: u64,
    /// Objects that the question is about.
    pub objects: usize,
    /// Objects of the runs that answer it: the smallest size that was measured and is not below, or
    /// else the largest.
    pub measured_objects: usize,
    /// In the order of the subjects.
    pub operators: Vec<OnSmallNode>,
}

/// One operator on that node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OnSmallNode {
    /// `name/variant`.
    pub subject: String,
    /// Valid memory runs.
    pub runs: usize,
    /// Of these, the runs that did not settle.
    pub did_not_settle: usize,
    /// RSS after settling, median of the runs.
    pub settled_bytes: Option<f64>,
    /// The highest memory of all runs until settled: RSS, or what the cgroup counts where that is more.
    pub peak_bytes: Option<f64>,
    /// Of the node's memory, at the peak.
    pub peak_share: Option<f64>,
}
