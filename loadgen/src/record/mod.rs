//! Raw data: what one run and one experiment leave behind, from which every table is rebuilt.
//!
//! Guarantees: figures as they were read, nothing divided or averaged; what was not measured is
//! `None`. Leaves to others: writing (`evidence`) and judging (`report`).

pub mod conformance;
pub mod difference;
pub mod envelope;
pub mod evidence;
pub mod histogram;
pub mod latency;
pub mod machine_use;
pub mod request_counts;
pub mod samples;
pub mod series;
pub mod summary;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tare_procstat::{CgroupMemory, Machine, Memory};

use crate::plan::cell::Cell;
use crate::plan::course::Asked;
use crate::plan::profile::Profile;
use crate::record::conformance::Conformance;
use crate::record::evidence::sums::hex;
use crate::record::histogram::Buckets;
use crate::record::latency::Latencies;
use crate::record::machine_use::MachineUse;
use crate::record::request_counts::RequestCounts;
use crate::spec::bounds::Bounds;
use crate::spec::bystanders::{Bystanders, Changed, Found};
use crate::spec::subject::Subject;
use crate::spec::workload::Scenario;
use crate::timestamp::now_rfc3339;

/// Version of the format of `experiment.json`, `runs/*.json` and `summary.json`.
pub const SCHEMA: u32 = 5;

/// Where and when figures were taken, and by what.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Environment {
    /// RFC 3339.
    pub started_at: String,
    pub command_line: String,
    /// What the report calls this machine.
    pub host_label: String,
    /// Commit that loadgen was built from; `-dirty` where its sources were changed.
    pub loadgen_commit: String,
    /// As in `--control-plane`.
    pub control_plane: String,
    pub control_plane_flags: String,
    /// Known once a server has answered.
    pub kubernetes_version: Option<String>,
    /// Of the datastore's files, where there is a datastore.
    pub filesystem: Option<String>,
    pub machine: Machine,
}

/// What is measured, where and with what.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Origin {
    pub environment: Environment,
    pub scenario: Scenario,
    pub seed: u64,
    pub subjects: Vec<SubjectRecord>,
}

/// `experiment.json`, written before the first run.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Experiment {
    pub schema: u32,
    #[serde(flatten)]
    pub origin: Origin,
    pub profile: Profile,
    pub ready_delay_ms: u64,
    /// Steps beyond those that every bench has.
    pub asked: Asked,
    /// Objects that do not concern the subjects, where they were asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bystanders: Vec<Bystanders>,
    /// What each subject might have, where that was limited.
    #[serde(default, skip_serializing_if = "Bounds::are_none")]
    pub bounds: Bounds,
    /// How long a run may take to converge, where somebody chose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_s: Option<u64>,
    /// Every run that should be there; runs at a rate are known only when those at the lower rates
    /// are done.
    pub planned: Vec<Cell>,
    /// How many memory runs were under way at once, of which one worked.
    pub overlap: usize,
    /// When the bench went on after an interruption.
    pub resumed_at: Vec<String>,
}

/// A subject as it was measured.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct SubjectRecord {
    pub subject: Subject,
    pub target: String,
    pub binary: String,
    /// Of the executable; of the artifacts where the subject names some.
    pub binary_bytes: Option<u64>,
    /// SHA-256, by which `--resume` knows that it measures the same program: of the executable, or of it and the artifacts.
    pub binary_sha256: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<Artifact>,
    /// Of the executable alone, beside artifacts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub executable_sha256: Option<String>,
    /// The commit that the program names: by `--version`, or in Go's build information.
    #[serde(default)]
    pub commit: Option<String>,
}

/// A file of a program beside its executable, or a folder of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Artifact {
    /// As the subject names it.
    pub name: String,
    /// Of all files.
    pub bytes: u64,
    /// Over names and contents of all files, in the order of the names.
    pub sha256: String,
}

impl SubjectRecord {
    /// Size and digest of the whole program, from those of its executable and of its artifacts.
    pub fn of_artifacts(executable_sha256: Option<&str>, artifacts: &[Artifact]) -> (u64, String) {
        let mut sum = Sha256::new();
        sum.update(executable_sha256.unwrap_or_default());
        for artifact in artifacts {
            sum.update([0]);
            sum.update(&artifact.name);
            sum.update([0]);
            sum.update(&artifact.sha256);
        }
        let bytes = artifacts.iter().map(|artifact| artifact.bytes).sum();
        (bytes, hex(&sum.finalize()))
    }
}

/// A subject as an image from scratch, in `images.json`.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
pub struct Image {
    /// Its layer as a tar archive.
    pub unpacked_bytes: u64,
    /// What a node transfers, by compressor.
    pub gzip_bytes: u64,
    pub zstd_bytes: u64,
}

/// `runs/<cell>.json`, written as the run ends.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    pub schema: u32,
    pub cell: Cell,
    /// Counts from 1. Earlier attempts were invalid; they are kept as `runs/<stem>-attempt-N.json`.
    pub attempt: u32,
    pub started_at: String,
    pub wall_s: f64,
    pub machine: RunMachine,
    /// What else went on while this run was timed; `None` in runs that are not timed.
    pub machine_use: Option<MachineUse>,
    /// Each step with its begin and end.
    pub steps: Vec<StepSpan>,
    pub kubernetes_version: Option<String>,
    /// Why it ended early.
    pub failure: Option<Failure>,
    /// Why its figures must not be compared, one sentence each.
    pub invalid_because: Vec<String>,
    /// What a reader should know.
    pub warnings: Vec<String>,
    pub spawn_to_canary_ms: Option<f64>,
    pub memory: PhaseMemory,
    /// From the first object until the last write to an object or child that the harness saw.
    pub converge_cpu_s: Option<f64>,
    /// Each restart on the objects of the run.
    pub restarts: Vec<Restart>,
    /// In runs that restart the API server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_restart: Option<ServerRestart>,
    pub idle: Option<Idle>,
    pub convergence: Option<Convergence>,
    pub soak: Option<Soak>,
    pub fault_response: Option<FaultResponse>,
    pub update_storm: Option<UpdateStorm>,
    pub reconcile: Option<Reconcile>,
    /// Requests from the first object until the subject was quiet.
    pub requests: Option<RequestCounts>,
    /// From the first to the last write per object, out of the audit log.
    pub write_spans: Option<Latencies>,
    pub gc_pauses: Option<GcPauses>,
    /// Over the same time.
    pub api_server_cpu_s: Option<f64>,
    /// Of timed runs with objects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_quiet: Option<UntilQuiet>,
    /// Of kube-controller-manager, which collects children and watches them, over the same time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub controllers_cpu_s: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deletion: Option<Deletion>,
    pub datastore: Option<Datastore>,
    pub generator_cpu_s: Option<f64>,
    /// Foreign objects in the memory of the subject, in memory runs of a bench with bystanders.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bystanders: Vec<Found>,
    /// Settled after a restart on the same objects, without the foreign ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub without_bystanders: Option<Sampled>,
    /// What the subject did while the foreign objects were changed, in runs with a restart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed_bystanders: Option<Changed>,
}

/// The machine and the programs of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunMachine {
    pub cpu_model: Option<String>,
    pub kernel: Option<String>,
    /// As in [`Environment`].
    pub loadgen_commit: String,
    pub loadgen_sha256: Option<String>,
}

/// A step with its begin and end, ms since the run began: the clock of the time series.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StepSpan {
    pub step: String,
    pub from_ms: u64,
    pub to_ms: u64,
    /// Whether the workload asks for it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub of_workload: bool,
    /// How its objects converged; of a step of the workload that has any, the last time of several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<Convergence>,
    /// What the operator needed for a step of the workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operator: Option<Spent>,
}

/// What an operator needed for a step: its processes, or all of its pods.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spent {
    pub before_bytes: f64,
    pub after_bytes: f64,
    /// `None` where its source of memory does not tell it.
    pub cpu_s: Option<f64>,
}

impl Spent {
    /// What was spent between two readings.
    pub fn between(before: Spent, after: Spent) -> Self {
        let cpu_s = after.cpu_s.zip(before.cpu_s);
        Self {
            before_bytes: before.after_bytes,
            after_bytes: after.after_bytes,
            cpu_s: cpu_s.map(|(after, before)| (after - before).max(0.0)),
        }
    }
}

impl Run {
    /// What disturbed its times, one sentence each; nothing where it is not timed.
    pub fn disturbed_by(&self) -> Vec<String> {
        self.machine_use
            .map_or_else(Vec::new, |machine| machine.disturbed_by())
    }

    /// The first attempt at a cell, before anything was measured.
    pub fn empty(cell: &Cell) -> Self {
        Self {
            schema: SCHEMA,
            cell: cell.clone(),
            attempt: 1,
            started_at: now_rfc3339(),
            ..Self::default()
        }
    }
}

/// A run that ended early.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Failure {
    pub reason: String,
    pub last_log_lines: Vec<String>,
}

/// Memory in the phases of a run; `null` for a phase that was not measured.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PhaseMemory {
    pub empty: Option<Sampled>,
    pub burst: Option<Sampled>,
    pub settled: Option<Sampled>,
    pub update: Option<Sampled>,
    /// Settled after the soak.
    pub after_soak: Option<Sampled>,
    pub deleted: Option<Sampled>,
    /// Settled after the API server was restarted, with the peak since then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_restart: Option<Sampled>,
}

/// Memory at the end of a phase.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sampled {
    #[serde(flatten)]
    pub memory: Memory,
    /// Highest RSS until this sample: from the first object offered, or in a restart from the start
    /// of the process. `None` before the first object.
    pub peak_bytes: Option<u64>,
    /// As the node accounts for it; `None` where no cgroup could be made.
    pub cgroup: Option<CgroupMemory>,
    /// Whether it settled first; `None` in phases that do not wait.
    pub did_settle: Option<bool>,
    /// RSS of the API server at the same moment; `None` where its process is not ours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_server_rss_bytes: Option<u64>,
}

#[cfg(test)]
impl Sampled {
    /// Settled, with this anonymous memory alone.
    pub fn settled(anon_bytes: u64) -> Self {
        Self {
            memory: Memory {
                rss_bytes: 0,
                pss_bytes: 0,
                anon_bytes,
            },
            peak_bytes: None,
            cgroup: None,
            did_settle: Some(true),
            api_server_rss_bytes: None,
        }
    }
}

/// What a subject did about objects that cannot become healthy.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
pub struct FaultResponse {
    /// How long they were left so, once all were created.
    pub held_s: f64,
    /// Reads and writes of the subject in that time, by windows of 5 s.
    pub most_requests_per_s: f64,
    pub last_requests_per_s: f64,
    /// How many became Ready all the same.
    pub ready: u64,
}

/// How a subject followed objects that changed all the time.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
pub struct UpdateStorm {
    pub rounds: u64,
    /// That the server has accepted.
    pub updates: u64,
    pub seconds: f64,
    /// Generations behind at the end of a round, of the object that was furthest: median and maximum
    /// over the rounds.
    pub typically_behind: u64,
    pub most_behind: u64,
    /// From the last update until every object was observed; `None` when they never were.
    pub caught_up_ms: Option<f64>,
}

/// A restart of the API server under a subject that runs on.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
pub struct ServerRestart {
    /// From its end until it was ready again.
    pub back_s: f64,
    /// From its end until the subject had observed an object that was created afterwards.
    pub working_s: f64,
    /// CPU of the subject until it had settled.
    pub cpu_s: Option<f64>,
}

/// What happened in a soak.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
pub struct Soak {
    /// Watch events of the objects.
    pub events: u64,
    /// How often all objects were updated, failed and recovered, or were created anew.
    pub rounds: u64,
    pub seconds: f64,
}

/// One restart on objects that exist.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Restart {
    /// From the start of the process until it said that it was ready; where it does not say, until it worked.
    pub ready_s: f64,
    /// From the start of the process until it had observed an object that was created before: a standby is ready long
    /// before it works.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub working_s: Option<f64>,
    /// Whether it settled; otherwise it was sampled anyway.
    pub settled: bool,
    /// Settled, with the peak since the start of the process.
    pub memory: Option<Sampled>,
    /// From the start of the process until it had settled.
    pub cpu_s: Option<f64>,
    /// Watch events of the objects: 0 where the restart changed none.
    pub events: u64,
    /// `None` where the API server is not ours.
    pub server: Option<ServerUse>,
}

/// What a restart cost the API server. The simulated server counts the subject's requests; on a
/// kube-apiserver they are those of all clients for the objects and their children.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServerUse {
    pub cpu_s: Option<f64>,
    pub rss_before_bytes: Option<u64>,
    pub rss_peak_bytes: Option<u64>,
    /// `get` and `list`; watches are not among them.
    pub reads: Option<u64>,
    pub writes: Option<u64>,
    /// Of the answers to these reads, as they were sent.
    pub response_bytes: Option<u64>,
    /// Requests to the datastore that read.
    pub datastore_reads: Option<u64>,
    /// Objects that the server's lists fetched from the datastore.
    pub datastore_objects: Option<u64>,
}

/// What objects cost from before the first one until the API server is quiet.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UntilQuiet {
    pub seconds: f64,
    /// CPU of the subject.
    pub cpu_s: Option<f64>,
    pub server: ServerUse,
}

/// What it takes to delete all objects, from the first request until no object and no child is left.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Deletion {
    /// Until nothing is left.
    pub gone_s: f64,
    /// CPU of the subject.
    pub cpu_s: Option<f64>,
    /// CPU of the API server.
    pub api_server_cpu_s: Option<f64>,
    /// CPU of kube-controller-manager, whose garbage collector deletes children.
    pub controllers_cpu_s: Option<f64>,
}

/// What it costs to do nothing.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Idle {
    pub window_s: f64,
    pub cpu_s: f64,
    /// `None` when a thread ended within the window and took its count with it.
    pub context_switches: Option<u64>,
    pub requests: Option<RequestCounts>,
    /// What the API server did for all clients meanwhile, and of the subject alone its requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<IdleServer>,
    /// Of the subject, twice a second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub highest_rss_bytes: Option<u64>,
}

/// What the API server did while a subject was idle.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IdleServer {
    pub seconds: f64,
    pub used: ServerUse,
}

/// How objects are offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrival {
    /// There is a backlog, however few they are, and no send is late.
    AtOnce,
    /// On a timetable.
    AtRate,
}

/// How the objects of a run converged.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Convergence {
    pub objects: u64,
    pub acked: u64,
    /// First send to the last object Ready; `None` while one is not.
    pub drain_s: Option<f64>,
    /// First send to the last acknowledgement.
    pub offer_s: f64,
    pub offered_per_s: f64,
    /// First send to the first object Ready, and to the last of those that were.
    pub first_ready_s: Option<f64>,
    pub last_ready_s: Option<f64>,
    pub saturated: bool,
    /// Not Ready at the deadline.
    pub censored: u64,
    /// Sends after their due time although a connection was free: the generator was late.
    pub late: Latencies,
    /// Sends after their due time because every connection waited for an answer: the server was.
    pub held_up: Latencies,
    pub acked_from_intended: Latencies,
    pub acked_from_sent: Latencies,
    pub observed_from_intended: Latencies,
    pub observed_from_sent: Latencies,
    pub ready_from_intended: Latencies,
    pub ready_from_sent: Latencies,
}

/// Calls of the subject's reconcile function within a run.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Reconcile {
    pub buckets: Buckets,
    pub errors: Option<u64>,
}

/// Pauses for garbage collection within a run, from the runtime's own histogram.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct GcPauses {
    pub buckets: Buckets,
    /// A lower bound: the client library adds up the lower bounds of the buckets.
    pub total_s: Option<f64>,
}

/// What the objects of a run cost the datastore.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Datastore {
    /// From the first object until the subject was quiet.
    pub written_bytes: Option<u64>,
    /// Revisions in the same time, by the resourceVersion of a list before and after. The objects that
    /// the harness created and the statuses that its readiness agent wrote are subtracted. Leases of the
    /// control plane are among them: less than one a second.
    pub revisions: Option<u64>,
    /// Of its files, in the end.
    pub size_bytes: Option<u64>,
}

/// The evidence of a folder, read back.
#[derive(Debug, Clone)]
pub struct Record {
    pub experiment: Experiment,
    /// By subject, where `scripts/image-sizes.sh` made them.
    pub images: BTreeMap<String, Image>,
    pub runs: BTreeMap<Cell, Run>,
    /// Invalid runs that were measured again.
    pub attempts: Vec<Run>,
    pub conformance: Vec<Conformance>,
}
