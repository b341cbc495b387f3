//! `summary.json`: its shape, and how it follows from the raw data.
//!
//! Guarantees: pure, so that the same raw data gives the same summary; a figure that was not
//! measured is `null`. Leaves to others: why it is null (`notes`), and checking (`schema`).

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;
use testbed::weigh::Memory;

use super::compare::{self, Comparison};
use super::notes;
use crate::latency::Quantiles;
use crate::record::{self, Peaked, Record};
use crate::statistics::line_fit;
use crate::subject::Language;

#[derive(Debug, Clone, Serialize)]
pub struct Summary {
    pub schema: u32,
    pub environment: Environment,
    pub scenario: Scenario,
    pub noise_floor: Option<Value>,
    pub subjects: Vec<Subject>,
    pub comparisons: Vec<Comparison>,
    pub claims: Vec<Value>,
    pub notes: Vec<String>,
}

#[derive(Debug, Clone, Serialize)]
pub struct Environment {
    pub control_plane: String,
    pub control_plane_flags: String,
    pub kubernetes_version: Option<String>,
    pub kernel: Option<String>,
    pub cpu_model: Option<String>,
    pub cores: Option<usize>,
    pub memory_bytes: Option<u64>,
    pub page_size_bytes: Option<u64>,
    pub transparent_huge_pages: Option<String>,
    pub filesystem: Option<String>,
    pub cgroup: Option<testbed::weigh::Cgroup>,
    pub swap: Option<bool>,
    pub tare_revision: String,
    pub started_at: String,
    pub command_line: String,
    pub host_label: String,
}

#[derive(Debug, Clone, Serialize)]
pub struct Scenario {
    pub name: String,
    pub object_bytes: usize,
    pub service: String,
    pub seed: u64,
    pub ready_delay_ms: u64,
    pub settle: record::Settle,
}

#[derive(Debug, Clone, Serialize)]
pub struct Subject {
    pub name: String,
    pub variant: String,
    pub language: Language,
    pub target: String,
    pub profile: Option<String>,
    pub allocator: Option<String>,
    pub binary_bytes: Option<u64>,
    pub image_bytes_compressed: Option<u64>,
    pub image_bytes_unpacked: Option<u64>,
    pub runs: Vec<Run>,
    pub bytes_per_object: Option<BytesPerObject>,
}

#[derive(Debug, Clone, Serialize)]
pub struct Run {
    pub objects: usize,
    pub repeat: u32,
    pub cell: &'static str,
    pub valid: bool,
    pub invalid_reason: Option<String>,
    pub spawn_to_canary_ms: Option<f64>,
    pub memory: Phases,
    pub cpu: Cpu,
    pub convergence: Option<Convergence>,
    pub reconcile: Option<Reconcile>,
    /// From the audit log of a real control plane.
    pub write_span: Option<Value>,
    pub requests: Option<Requests>,
    pub gc_pause: Option<Value>,
    pub api_server_cpu_s: Option<f64>,
    pub datastore: Option<Value>,
}

#[derive(Debug, Clone, Serialize)]
pub struct Phases {
    pub empty: Option<Memory>,
    pub burst: Option<Peak>,
    pub settled: Option<Memory>,
    pub churn: Option<Peak>,
    pub deleted: Option<Memory>,
    pub restart: Option<Peak>,
    pub cgroup_peak_bytes: Option<u64>,
}

#[derive(Debug, Clone, Serialize)]
pub struct Peak {
    #[serde(flatten)]
    pub memory: Memory,
    pub peak_bytes: Option<u64>,
}

#[derive(Debug, Clone, Serialize)]
pub struct Cpu {
    pub converge_s: Option<f64>,
    pub restart_s: Option<f64>,
    pub idle_ms_per_minute: Option<f64>,
    pub idle_context_switches_per_s: Option<f64>,
}

#[derive(Debug, Clone, Serialize)]
pub struct Convergence {
    pub drain_s: Option<f64>,
    pub offered_per_s: f64,
    pub saturated: bool,
    pub censored: u64,
    /// From the intended send time.
    pub observed: Option<Quantiles>,
    pub ready: Option<Quantiles>,
}

#[derive(Debug, Clone, Serialize)]
pub struct Reconcile {
    pub count: u64,
    pub p50_ms: Option<f64>,
    pub p99_ms: Option<f64>,
    pub max_ms: Option<f64>,
    pub errors: Option<u64>,
}

#[derive(Debug, Clone, Serialize)]
pub struct Requests {
    pub writes_per_object: f64,
    pub reads_per_object: f64,
    pub by_verb: BTreeMap<String, u64>,
    pub idle_writes_per_minute: Option<f64>,
    pub idle_reads_per_minute: Option<f64>,
    pub wire_bytes_per_object: f64,
}

#[derive(Debug, Clone, Serialize)]
pub struct BytesPerObject {
    pub slope: f64,
    pub ci95: Option<[f64; 2]>,
    pub intercept_bytes: i64,
    pub sizes: Vec<usize>,
}

/// The summary of a folder's raw data.
pub fn summarise(record: &Record) -> Summary {
    let experiment = &record.experiment;
    let machine = &experiment.machine;
    let version = record
        .runs
        .values()
        .find_map(|run| run.kubernetes_version.clone());
    let subjects = experiment
        .subjects
        .iter()
        .map(|subject| summarise_subject(subject, record))
        .collect();
    let mut summary = Summary {
        schema: 1,
        environment: Environment {
            control_plane: experiment.control_plane.clone(),
            control_plane_flags: experiment.control_plane_flags.clone(),
            kubernetes_version: version,
            kernel: machine.kernel.clone(),
            cpu_model: machine.cpu_model.clone(),
            cores: machine.cores,
            memory_bytes: machine.memory_bytes,
            page_size_bytes: machine.page_size_bytes,
            transparent_huge_pages: machine.transparent_huge_pages.clone(),
            filesystem: experiment.filesystem.clone(),
            cgroup: machine.cgroup,
            swap: machine.swap,
            tare_revision: experiment.tare_revision.clone(),
            started_at: experiment.started_at.clone(),
            command_line: experiment.command_line.clone(),
            host_label: experiment.host_label.clone(),
        },
        scenario: Scenario {
            name: experiment.scenario.name.clone(),
            object_bytes: experiment.scenario.object_bytes,
            service: experiment.scenario.service.clone(),
            seed: experiment.seed,
            ready_delay_ms: experiment.ready_delay_ms,
            settle: experiment.settle,
        },
        noise_floor: None,
        subjects,
        comparisons: Vec::new(),
        claims: Vec::new(),
        notes: Vec::new(),
    };
    summary.comparisons = compare::comparisons(&summary);
    summary.notes = notes::notes(&summary, record);
    summary
}

fn summarise_subject(subject: &record::SubjectRecord, record: &Record) -> Subject {
    let id = subject.subject.id();
    let own = record.runs.iter().filter(|(cell, _)| cell.subject == id);
    let runs: Vec<Run> = own.map(|(_, run)| summarise_run(run)).collect();
    Subject {
        name: subject.subject.name.clone(),
        variant: subject.subject.variant.clone(),
        language: subject.subject.language,
        target: subject.target.clone(),
        profile: subject.subject.profile.clone(),
        allocator: subject.subject.allocator.clone(),
        binary_bytes: subject.binary_bytes,
        image_bytes_compressed: None,
        image_bytes_unpacked: None,
        bytes_per_object: bytes_per_object(&runs),
        runs,
    }
}

fn summarise_run(run: &record::Run) -> Run {
    let reasons: Vec<&str> = run
        .failure
        .iter()
        .map(|f| f.reason.as_str())
        .chain(run.doubts.iter().map(String::as_str))
        .collect();
    let idle = run.idle.as_ref().filter(|idle| idle.window_s > 0.0);
    let per_minute = |idle: &record::Idle, n: f64| n / idle.window_s * 60.0;
    let idle_requests = |count: fn(&crate::measure::ledger::Ledger) -> u64| {
        idle.and_then(|i| Some(per_minute(i, count(i.requests.as_ref()?) as f64)))
    };
    let objects = run.cell.objects as f64;
    Run {
        objects: run.cell.objects,
        repeat: run.cell.repeat,
        cell: run.cell.kind.name(),
        valid: reasons.is_empty(),
        invalid_reason: (!reasons.is_empty()).then(|| reasons.join("; ")),
        spawn_to_canary_ms: run.spawn_to_canary_ms,
        memory: Phases {
            empty: run.memory.empty,
            burst: run.memory.burst.map(peak),
            settled: run.memory.settled,
            churn: run.memory.churn.map(peak),
            deleted: run.memory.deleted,
            restart: run.memory.restart.map(peak),
            cgroup_peak_bytes: None,
        },
        cpu: Cpu {
            converge_s: run.converge_cpu_s,
            restart_s: run.restart_cpu_s,
            idle_ms_per_minute: idle.map(|i| per_minute(i, i.cpu_s * 1_000.0)),
            idle_context_switches_per_s: idle
                .and_then(|i| Some(i.context_switches? as f64 / i.window_s)),
        },
        convergence: run.convergence.as_ref().map(|c| Convergence {
            drain_s: c.drain_s,
            offered_per_s: c.offered_per_s,
            saturated: c.saturated,
            censored: c.censored,
            observed: c.observed_from_intended.quantiles(),
            ready: c.ready_from_intended.quantiles(),
        }),
        reconcile: run.reconcile.as_ref().map(|r| Reconcile {
            count: r.buckets.count(),
            p50_ms: r.buckets.quantile_ms(0.50),
            p99_ms: r.buckets.quantile_ms(0.99),
            max_ms: r.buckets.quantile_ms(1.0),
            errors: r.errors,
        }),
        write_span: None,
        requests: run
            .requests
            .as_ref()
            .filter(|_| objects > 0.0)
            .map(|ledger| Requests {
                writes_per_object: ledger.writes() as f64 / objects,
                reads_per_object: ledger.reads() as f64 / objects,
                by_verb: ledger.by_verb(),
                idle_writes_per_minute: idle_requests(|l| l.writes()),
                idle_reads_per_minute: idle_requests(|l| l.reads()),
                wire_bytes_per_object: ledger.wire_bytes() as f64 / objects,
            }),
        gc_pause: None,
        api_server_cpu_s: run.api_server_cpu_s,
        datastore: None,
    }
}

fn peak(peaked: Peaked) -> Peak {
    Peak {
        memory: peaked.memory,
        peak_bytes: peaked.peak_bytes,
    }
}

/// The slope of settled anonymous bytes over the sizes of the valid bursts.
fn bytes_per_object(runs: &[Run]) -> Option<BytesPerObject> {
    let bursts = runs.iter().filter(|run| run.valid && run.cell == "burst");
    let points: Vec<(f64, f64)> = bursts
        .filter_map(|run| Some((run.objects as f64, run.memory.settled?.anon_bytes as f64)))
        .collect();
    let line = line_fit(&points)?;
    let mut sizes: Vec<usize> = points
        .iter()
        .map(|(objects, _)| *objects as usize)
        .collect();
    sizes.sort_unstable();
    sizes.dedup();
    Some(BytesPerObject {
        slope: line.slope,
        ci95: line.slope_ci95,
        intercept_bytes: line.intercept.round() as i64,
        sizes,
    })
}

impl Subject {
    pub fn id(&self) -> String {
        format!("{}/{}", self.name, self.variant)
    }
}
