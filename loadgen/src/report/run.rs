//! One run in `summary.json`: its shape, and how it follows from the raw data.
//!
//! Guarantees: pure; a figure that was not measured is `null`; quantiles of a histogram from a
//! metrics page are upper bounds of its buckets. Leaves to others: why something is null (`notes`).

use std::collections::BTreeMap;

use serde::Serialize;
use tare_procstat::weigh::Memory;

use crate::model::latency::Quantiles;
use crate::model::record;
use crate::model::record::Peaked;

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
    pub write_span: Option<WriteSpan>,
    pub requests: Option<Requests>,
    pub gc_pause: Option<GcPause>,
    pub api_server_cpu_s: Option<f64>,
    pub datastore: Option<Datastore>,
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
    pub wire_bytes_per_object: Option<f64>,
}

#[derive(Debug, Clone, Serialize)]
pub struct WriteSpan {
    pub p50_ms: f64,
    pub p99_ms: f64,
}

#[derive(Debug, Clone, Serialize)]
pub struct GcPause {
    pub count: u64,
    pub p99_ms: Option<f64>,
    pub max_ms: Option<f64>,
    pub total_ms: Option<f64>,
}

#[derive(Debug, Clone, Serialize)]
pub struct Datastore {
    pub written_bytes_per_object: Option<f64>,
    pub size_bytes: Option<u64>,
}

/// The summary of one run.
pub fn summarise_run(run: &record::Run) -> Run {
    let reasons: Vec<&str> = run
        .failure
        .iter()
        .map(|f| f.reason.as_str())
        .chain(run.invalid_because.iter().map(String::as_str))
        .collect();
    let idle = run.idle.as_ref().filter(|idle| idle.window_s > 0.0);
    let per_minute = |idle: &record::Idle, n: f64| n / idle.window_s * 60.0;
    let idle_requests = |count: fn(&crate::model::ledger::Ledger) -> u64| {
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
        write_span: run.write_spans.as_ref().and_then(|spans| {
            let quantiles = spans.quantiles()?;
            Some(WriteSpan {
                p50_ms: quantiles.p50_ms,
                p99_ms: quantiles.p99_ms,
            })
        }),
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
                wire_bytes_per_object: ledger.wire_bytes().map(|bytes| bytes as f64 / objects),
            }),
        gc_pause: run.gc_pauses.as_ref().map(|pauses| GcPause {
            count: pauses.buckets.count(),
            p99_ms: pauses.buckets.quantile_ms(0.99),
            max_ms: pauses.buckets.max_ms(),
            total_ms: pauses.total_s.map(|s| s * 1_000.0),
        }),
        api_server_cpu_s: run.api_server_cpu_s,
        datastore: run.datastore.map(|datastore| Datastore {
            written_bytes_per_object: datastore
                .written_bytes
                .filter(|_| objects > 0.0)
                .map(|bytes| bytes as f64 / objects),
            size_bytes: datastore.size_bytes,
        }),
    }
}

fn peak(peaked: Peaked) -> Peak {
    Peak {
        memory: peaked.memory,
        peak_bytes: peaked.peak_bytes,
    }
}
