//! `summary.json`: the figures of all runs and what follows from them.
//!
//! These types are the format: they are written, read back, checked, and `loadgen schema` prints
//! their JSON Schema. Guarantees: a figure that was not measured is `null`, never 0. Leaves to
//! others: computing the figures (`report::summary`).

pub mod claim;
pub mod rate_sweep;
pub mod small_node;

pub use crate::model::summary::claim::{Claim, ClaimMeaning, ClaimResult};
pub use crate::model::summary::rate_sweep::{Knee, LimitedBy, RateOutcome, RatePoint, RateSweep};
pub use crate::model::summary::small_node::{OnSmallNode, SmallNode};

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::cell::Kind;
use crate::model::latency::Quantiles;
use crate::model::machine_use::MachineUse;
use crate::model::profile::Profile;
use crate::model::record::{Deletion, Environment, PhaseMemory};
use crate::model::subject::Language;

/// A campaign: every subject, its runs, and their comparison.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Summary {
    /// Version of this format ([`crate::model::record::SCHEMA`]).
    pub schema: u32,
    pub environment: Environment,
    pub scenario: Scenario,
    /// What the runs do not share: processors, kernels, versions. Empty in a folder of one machine.
    pub mixed: Vec<String>,
    /// For each figure that was measured twice (A/A).
    pub noise_floors: Vec<NoiseFloor>,
    /// `null` without memory runs.
    pub small_node: Option<SmallNode>,
    pub subjects: Vec<Subject>,
    pub comparisons: Vec<Comparison>,
    /// Published figures beside ours.
    pub claims: Vec<Claim>,
    /// What a reader must know; every `null` is named here with its reason.
    pub notes: Vec<String>,
}

/// What was created, and how the runs were timed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    pub name: String,
    /// Size of one object as it is sent.
    pub object_bytes: usize,
    /// `headless` or `cluster-ip`.
    pub service: String,
    /// Decides the order of runs and the content of objects.
    pub seed: u64,
    /// From a Deployment's creation until it is reported ready.
    pub ready_delay_ms: u64,
    pub profile: Profile,
}

/// An operator under test with its runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Subject {
    pub name: String,
    pub variant: String,
    /// Where the subjects of a bench have different workloads: they do different work and are not compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<String>,
    pub language: Language,
    /// Target triple.
    pub target: String,
    /// Build profile.
    pub profile: Option<String>,
    pub allocator: Option<String>,
    /// The commit that the program names.
    pub commit: Option<String>,
    pub binary_sha256: Option<String>,
    pub binary_bytes: Option<u64>,
    /// Packed with zstd -19.
    pub image_bytes_compressed: Option<u64>,
    pub image_bytes_unpacked: Option<u64>,
    pub runs: Vec<Run>,
    /// `null` with fewer than two sizes of 500 objects or more.
    pub bytes_per_object: Option<BytesPerObject>,
    /// `null` without runs at a rate.
    pub rate_sweep: Option<RateSweep>,
}

/// The slope of settled anonymous memory over the number of objects (least squares), from sizes of 500
/// and more: the step from 0 to the first objects is not a cost of each.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BytesPerObject {
    /// Bytes per object.
    pub slope: f64,
    /// Needs three points.
    pub ci95: Option<[f64; 2]>,
    /// Memory at 0 objects on that line.
    pub intercept_bytes: i64,
    /// Numbers of objects that it rests on.
    pub sizes: Vec<usize>,
    /// Valid runs that it rests on.
    pub runs: usize,
}

/// The figures of one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Run {
    pub objects: usize,
    /// Counts from 1.
    pub repeat: u32,
    pub cell: Kind,
    /// Objects offered per second, in runs at a rate.
    pub per_s: Option<u32>,
    /// Counts from 1; earlier attempts were invalid.
    pub attempt: u32,
    /// What else went on; `null` in runs that are not timed.
    pub machine_use: Option<MachineUse>,
    /// Whether its figures may be compared.
    pub valid: bool,
    /// Why not; empty for a valid run.
    pub invalid_because: Vec<String>,
    /// From the start of the process until it observed a first object.
    pub spawn_to_canary_ms: Option<f64>,
    pub memory: PhaseMemory,
    pub cpu: Cpu,
    pub convergence: Option<Convergence>,
    pub reconcile: Option<Reconcile>,
    /// Time from the first to the last write of an object, from the audit log.
    pub write_span: Option<WriteSpan>,
    pub requests: Option<Requests>,
    pub gc_pause: Option<GcPause>,
    pub api_server_cpu_s: Option<f64>,
    pub controllers_cpu_s: Option<f64>,
    /// What it takes to delete all objects with their children.
    pub deletion: Option<Deletion>,
    pub datastore: Option<DatastoreCost>,
    /// Foreign objects, in memory runs of a bench with `--bystanders`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bystanders: Option<Foreign>,
    /// In runs with a restart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restart: Option<Restarted>,
}

/// What objects that do not concern the subject cost it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Foreign {
    /// Of all kinds together.
    pub objects: usize,
    /// How many were found in its memory: an upper bound of what it holds.
    pub in_memory: usize,
    /// Anonymous memory after a restart with them, less that after a restart without them, for each of them.
    /// Only in runs with a restart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_per_object: Option<f64>,
    /// CPU for each change of one of them, beyond what it uses while nothing changes. Only in runs with a restart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_us_per_change: Option<f64>,
    /// Requests for each change, in the same way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests_per_change: Option<f64>,
}

/// Starts on the objects that exist.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Restarted {
    /// From the start of the process until it said that it was ready; the median of the run's restarts.
    pub ready_s: f64,
}

/// CPU time of the subject.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cpu {
    /// From the first object until the last write to an object or child.
    pub converge_s: Option<f64>,
    pub restart_s: Option<f64>,
    pub idle_ms_per_minute: Option<f64>,
    pub idle_context_switches_per_s: Option<f64>,
}

/// How the objects of the run converged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Convergence {
    /// From the first send until the last object is Ready; `null` when one is not.
    pub drain_s: Option<f64>,
    pub offered_per_s: f64,
    /// The backlog kept growing while objects were offered.
    pub saturated: bool,
    /// Objects that were not Ready at the deadline.
    pub censored: u64,
    /// From the intended send time until the status is observed.
    pub observed: Option<Quantiles>,
    /// From the intended send time until Ready.
    pub ready: Option<Quantiles>,
}

/// Calls of the reconcile function; quantiles are upper bounds of histogram buckets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Reconcile {
    pub count: u64,
    pub p50_ms: Option<f64>,
    pub p99_ms: Option<f64>,
    pub max_ms: Option<f64>,
    pub errors: Option<u64>,
}

/// Requests of the subject to the API server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Requests {
    pub writes_per_object: f64,
    /// Gets and lists; watches are not counted.
    pub reads_per_object: f64,
    /// Requests by verb and resource, such as `patch deployments`.
    pub by_verb: BTreeMap<String, u64>,
    pub idle_writes_per_minute: Option<f64>,
    pub idle_reads_per_minute: Option<f64>,
    /// Both directions.
    pub wire_bytes_per_object: Option<f64>,
}

/// Time from the first to the last write of an object.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WriteSpan {
    pub p50_ms: f64,
    pub p99_ms: f64,
}

/// Garbage collection pauses, as upper bounds of the runtime's histogram buckets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GcPause {
    pub count: u64,
    pub p99_ms: Option<f64>,
    pub max_ms: Option<f64>,
    /// A lower bound.
    pub total_ms: Option<f64>,
}

/// What the objects cost the datastore.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DatastoreCost {
    pub written_bytes_per_object: Option<f64>,
    /// Changes of objects that the datastore keeps a revision of, without the harness's own. A write
    /// request that changes nothing has none.
    pub revisions_per_object: Option<f64>,
    /// Size of its files at the end.
    pub size_bytes: Option<u64>,
}

/// The ratio between two measurements of the same subject (A/A).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoiseFloor {
    /// Path of the figure within a run.
    pub metric: String,
    /// The runs that it holds for.
    pub cell: Kind,
    pub ratio: f64,
    pub ci95: Option<[f64; 2]>,
    pub pairs: usize,
}

/// The ratio of a figure between two subjects.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Comparison {
    /// Path of the figure within a run.
    pub metric: String,
    pub cell: Kind,
    pub objects: usize,
    /// `name/variant`.
    pub subject: String,
    pub against: String,
    /// `subject` divided by `against`, geometric mean of the pairs.
    pub ratio: f64,
    /// Needs two pairs.
    pub ci95: Option<[f64; 2]>,
    pub pairs: usize,
    /// Larger than noise explains; `null` without a noise floor for the metric.
    pub significant: Option<bool>,
}

impl Summary {
    /// Whether its subjects do different work.
    pub fn is_of_several_workloads(&self) -> bool {
        self.subjects
            .iter()
            .any(|subject| subject.workload.is_some())
    }
}

impl Subject {
    /// `name/variant`.
    pub fn id(&self) -> String {
        format!("{}/{}", self.name, self.variant)
    }

    /// The runs of one kind and size.
    pub fn runs_of(&self, cell: Kind, objects: usize) -> impl Iterator<Item = &Run> {
        self.runs
            .iter()
            .filter(move |run| run.cell == cell && run.objects == objects)
    }
}

impl Run {
    /// A run without figures: valid, unless reasons say otherwise.
    pub fn without_figures(
        cell: Kind,
        objects: usize,
        repeat: u32,
        invalid_because: Vec<String>,
    ) -> Self {
        Self {
            objects,
            repeat,
            cell,
            per_s: None,
            attempt: 1,
            machine_use: None,
            valid: invalid_because.is_empty(),
            invalid_because,
            spawn_to_canary_ms: None,
            memory: PhaseMemory::default(),
            cpu: Cpu {
                converge_s: None,
                restart_s: None,
                idle_ms_per_minute: None,
                idle_context_switches_per_s: None,
            },
            convergence: None,
            reconcile: None,
            write_span: None,
            requests: None,
            gc_pause: None,
            api_server_cpu_s: None,
            controllers_cpu_s: None,
            deletion: None,
            datastore: None,
            bystanders: None,
            restart: None,
        }
    }
}

/// A summary of the subject `tare/none` with these runs.
#[cfg(test)]
pub fn sample(runs: Vec<Run>) -> Summary {
    use crate::model::record::SCHEMA;
    let text = || "…".to_owned();
    Summary {
        schema: SCHEMA,
        environment: Environment {
            started_at: "2026-11-21T08:00:00Z".into(),
            command_line: text(),
            host_label: text(),
            loadgen_commit: text(),
            control_plane: "kube".into(),
            control_plane_flags: text(),
            kubernetes_version: None,
            filesystem: None,
            machine: tare_procstat::machine(),
        },
        scenario: Scenario {
            name: "widgets".into(),
            object_bytes: 2_048,
            service: "headless".into(),
            seed: 1,
            ready_delay_ms: 0,
            profile: Profile::Quick,
        },
        mixed: vec![],
        noise_floors: vec![],
        small_node: None,
        subjects: vec![Subject {
            name: "tare".into(),
            variant: "none".into(),
            workload: None,
            language: Language::Rust,
            target: text(),
            profile: None,
            allocator: None,
            commit: None,
            binary_sha256: None,
            binary_bytes: None,
            image_bytes_compressed: None,
            image_bytes_unpacked: None,
            runs,
            bytes_per_object: None,
            rate_sweep: None,
        }],
        comparisons: vec![],
        claims: vec![],
        notes: vec![],
    }
}
