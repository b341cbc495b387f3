//! Workloads as data: what is created, when it counts as observed and ready, which children it gets.
//!
//! Guarantees: a workload is files, in a folder of its own or in this program, and what is shipped uses
//! the same format as a user's. Leaves to others: creating the objects (`load`).

pub mod child;
pub mod condition;
pub mod conformance;
pub mod file;
pub mod fill;
pub mod fixture;
pub mod folder;
pub mod manifest;
pub mod mix;
pub mod place;
pub mod scenario;
pub mod shipped;
pub mod template;

use serde_json::Value;

use crate::spec::step::Step;
use crate::spec::subject::Convergence;
pub use crate::spec::workload::child::Readiness;
use crate::spec::workload::conformance::ConformanceScenario;
pub use crate::spec::workload::fixture::Fixture;
pub use crate::spec::workload::manifest::Manifest;
pub use crate::spec::workload::place::{Error, Source};
pub use crate::spec::workload::scenario::{Resource, Scenario, label_selector};
pub use crate::spec::workload::shipped::{default, find, named};

/// The name of the object that is there before the subject starts.
pub const CANARY: &str = "canary";

/// The same before its next starts: no object of a run ends in a word.
pub fn canary(start: usize) -> String {
    match start {
        0 => CANARY.to_owned(),
        _ => format!("{CANARY}-{start}-again"),
    }
}

/// The label of everything that loadgen creates on an existing cluster: objects, and namespaces that
/// it made for them. Its value is the run.
pub const RUN_LABEL: &str = "loadgen.tare.dev/run";

/// The label by which fixtures are told from the objects of a run, which may be of the same kind.
pub const FIXTURE_LABEL: &str = "loadgen.tare.dev/fixture";

/// The label of a namespace of objects that do not concern the operator: all of its run's go with it.
pub const BYSTANDERS_LABEL: &str = "loadgen.tare.dev/bystanders";

/// A workload that can be used.
#[derive(Debug, Clone)]
pub struct Workload {
    /// That of its folder.
    pub name: String,
    pub description: String,
    pub scenario: Scenario,
    /// When an object is observed and ready, where a subject does not say.
    pub convergence: Convergence,
    /// The child whose readiness a soak changes.
    pub readiness: Option<Readiness>,
    /// The same objects with children that the API server rejects.
    pub rejected: Option<Scenario>,
    /// Definitions that are there before the objects.
    pub crds: Vec<Manifest>,
    /// Objects that are made once before the others.
    pub fixtures: Vec<Fixture>,
    /// What is done with the objects once all are created.
    pub steps: Vec<Step>,
    /// What an operator has to do before it is measured.
    pub conformance: Option<ConformanceScenario>,
    /// For errors that only a server knows.
    pub source: Source,
}

/// The most bytes of one object: etcd takes 1.5 MiB in one request (`--max-request-bytes`), and the managed
/// fields, the status and what a child has beside the spec come on top of what is sent.
const MOST_BYTES: usize = 1_400_000;

impl Workload {
    /// The least and the most `object_bytes` that its objects can have.
    ///
    /// # Errors
    /// Its template cannot be rendered.
    pub fn sizes(&self) -> Result<(usize, usize), template::Error> {
        let mut bare = self.scenario.clone();
        bare.object_bytes = 0;
        let least = bare.object(&bare.resource.longest_name(), scenario::LAST_INDEX, 0)?;
        let least = least.len();
        let most = match (self.scenario.has_words(), self.scenario.grows()) {
            (false, _) => least,
            (true, false) => least + fill::IN_ANNOTATION,
            (true, true) => MOST_BYTES,
        };
        Ok((least, most))
    }

    /// # Errors
    /// The first step that needs a kube-apiserver that loadgen has started.
    pub fn needs_no_own_server(&self) -> Result<(), place::Error> {
        match self.steps.iter().position(Step::needs_own_server) {
            None => Ok(()),
            Some(number) => Err(self.source.part("steps", number).error(
                "do",
                "restart-server: loadgen ends no API server but a kube-apiserver of its own; use loadgen bench --control-plane kube",
            )),
        }
    }
}

/// A kind of object that the subject makes for each of ours.
#[derive(
    Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
#[serde(deny_unknown_fields)]
pub struct ChildKind {
    /// `apps/v1`, or `v1` for the core group.
    pub api_version: String,
    /// `Deployment`.
    pub kind: String,
    /// `deployments`.
    pub plural: String,
    /// How many each object has.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub per_object: usize,
    /// How those of our objects are told from others of their namespace.
    #[serde(default, skip_serializing_if = "FoundBy::is_namespace")]
    pub found_by: FoundBy,
}

/// How children are found.
#[derive(
    Debug, Clone, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum FoundBy {
    /// Everything of the kind in the namespace of the objects.
    #[default]
    Namespace,
    /// An owner reference to the kind of the objects.
    Owner,
    /// A label selector, such as `app.kubernetes.io/managed-by=mine`.
    Label(String),
    /// A text that is in the name.
    Name(String),
}

impl FoundBy {
    fn is_namespace(&self) -> bool {
        *self == FoundBy::Namespace
    }
}

fn one() -> usize {
    1
}

fn is_one(number: &usize) -> bool {
    *number == 1
}

fn yes() -> bool {
    true
}

fn is_yes(value: &bool) -> bool {
    *value
}

impl ChildKind {
    /// Path of the collection in a namespace.
    pub fn path(&self, namespace: &str) -> String {
        let root = root(&self.api_version);
        format!("{root}/namespaces/{namespace}/{}", self.plural)
    }
}

/// What is said of children by loadgen, because nothing on the control plane does it.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StandIn {
    /// `batch/v1`.
    pub api_version: String,
    /// `jobs`.
    pub plural: String,
    /// From the creation of a child until it is said.
    pub delay_ms: u64,
    /// The status that each child gets.
    pub status: Value,
}

impl StandIn {
    /// Path of the collection in a namespace.
    pub fn path(&self, namespace: &str) -> String {
        let root = root(&self.api_version);
        format!("{root}/namespaces/{namespace}/{}", self.plural)
    }
}

/// The root of an API: `/apis/apps/v1`, or `/api/v1` for the core group.
pub fn root(api_version: &str) -> String {
    match api_version.contains('/') {
        true => format!("/apis/{api_version}"),
        false => format!("/api/{api_version}"),
    }
}

/// `("apps", "v1")`; the core group has no name.
pub fn group_and_version(api_version: &str) -> (&str, &str) {
    api_version.split_once('/').unwrap_or(("", api_version))
}

/// A merge patch on a template.
fn patched(value: &Value, patch: &Value) -> Value {
    let mut patched = value.clone();
    json_patch::merge(&mut patched, patch);
    patched
}
