//! The format of a `workload.toml`.
//!
//! Guarantees: an unknown field is refused; `loadgen schema workload` prints these types. Leaves to others:
//! what the values may be.

use serde::Deserialize;
use serde_json::Value;

use crate::spec::step::Step;
use crate::spec::subject::Convergence;
use crate::spec::workload::scenario::{Enlarge, Pods};
use crate::spec::workload::{ChildKind, StandIn, one, yes};

/// What is in a `workload.toml`. Paths are relative to it; texts of templates hold minijinja expressions.
#[derive(Debug, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkloadFile {
    /// For the list of workloads.
    pub(super) description: String,
    /// Whether this is meant where no workload is named; shipped ones only.
    #[serde(default)]
    #[allow(dead_code)]
    pub(super) default: bool,
    /// A TOML file: what an operator has to do before it is measured; without, it is not checked.
    pub(super) conformance: Option<String>,
    /// `headless`, `cluster-ip` or `none`: what the report says of the children.
    #[serde(default = "no_service")]
    pub(super) service: String,
    /// Size of one object as it is sent, JSON; needs `{{ words }}` in the template.
    pub(super) object_bytes: Option<usize>,
    /// Time from the creation of a child until it is ready, where the control plane can be told.
    #[serde(default)]
    pub(super) ready_delay_ms: u64,
    /// Files with the definitions of the kinds, installed before the objects.
    #[serde(default)]
    pub(super) crds: Vec<String>,
    /// Files with objects that are made once before the others, and removed after them.
    #[serde(default)]
    pub(super) fixtures: Vec<String>,
    pub(super) object: ObjectFile,
    /// How many of the objects are of this kind, where there are others beside it.
    #[serde(default = "one")]
    pub(super) share: usize,
    /// Further kinds that are offered in turn with this one.
    #[serde(default)]
    pub(super) also: Vec<AlsoFile>,
    /// Kinds of objects that the operator makes for each of these.
    #[serde(default)]
    pub(super) children: Vec<ChildKind>,
    /// What loadgen says of children on control planes of its own, which have no nodes.
    #[serde(default)]
    pub(super) stand_in: Vec<StandIn>,
    /// What `loadgen run` does with the objects once all are created.
    #[serde(default)]
    pub(super) steps: Vec<Step>,
    pub(super) readiness: Option<ReadinessFile>,
    /// When an object is observed and ready.
    #[serde(default)]
    pub(super) convergence: Convergence,
}

/// What is created.
#[derive(Debug, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ObjectFile {
    /// `example.com/v1`, or `v1` for the core group.
    pub(super) api_version: String,
    pub(super) kind: String,
    pub(super) plural: String,
    /// False for a kind of the whole cluster.
    #[serde(default = "yes")]
    pub(super) namespaced: bool,
    /// Where they are created, on control planes of loadgen's own.
    pub(super) namespace: Option<String>,
    /// What their names begin with.
    pub(super) name: String,
    /// A YAML file: an object without apiVersion, kind and name.
    pub(super) template: String,
    /// A YAML file: the merge patch by which an object is updated; without, an annotation changes.
    pub(super) update: Option<String>,
    /// A YAML file: a merge patch on the template that makes objects whose children are rejected.
    pub(super) rejected: Option<String>,
    /// Where an object says how many pods it asks for.
    pub(super) pods: Option<Pods>,
    /// How an object grows that is larger than its annotations may be.
    pub(super) enlarge: Option<Enlarge>,
}

/// A further kind.
#[derive(Debug, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AlsoFile {
    /// How many of the objects are of this kind, where the first kind has its own `share`.
    #[serde(default = "one")]
    pub(super) share: usize,
    /// Size of one object as it is sent, JSON; needs `{{ words }}` in the template.
    pub(super) object_bytes: Option<usize>,
    /// Its namespace is that of the first kind.
    pub(super) object: ObjectFile,
    /// When an object is observed and ready.
    #[serde(default)]
    pub(super) convergence: Convergence,
}

/// What a node would say of the child whose readiness decides about the object's.
#[derive(Debug, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ReadinessFile {
    /// Path of the child's status, with `{{ namespace }}` and `{{ name }}` of the object.
    pub(super) path: String,
    /// The merge patch that makes it ready.
    pub(super) ready: Value,
    pub(super) not_ready: Value,
}

fn no_service() -> String {
    "none".into()
}
