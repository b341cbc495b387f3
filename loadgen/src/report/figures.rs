//! The figures of one run, from its raw data.
//!
//! Guarantees: pure; a figure that was not measured is `None`; quantiles of a histogram from a
//! metrics page are upper bounds of its buckets. Leaves to others: why a figure is missing
//! (`notes`).

use tare_procstat::Memory;

use crate::analyse::statistics::median;
use crate::model::bystanders::Found;
use crate::model::record;
use crate::model::record::{PhaseMemory, Restart, Sampled};
use crate::model::summary::{
    Convergence, Cpu, DatastoreCost, Foreign, GcPause, Reconcile, Requests, Restarted, Run,
    WriteSpan,
};

/// The figures of a run.
pub fn of(run: &record::Run) -> Run {
    let failed = run.failure.iter().map(|failure| failure.reason.clone());
    let invalid_because: Vec<String> = failed.chain(run.invalid_because.iter().cloned()).collect();
    Run {
        objects: run.cell.objects,
        repeat: run.cell.repeat,
        cell: run.cell.kind,
        per_s: run.cell.per_s,
        attempt: run.attempt,
        machine_use: run.machine_use,
        valid: invalid_because.is_empty(),
        invalid_because,
        spawn_to_canary_ms: run.spawn_to_canary_ms,
        memory: PhaseMemory {
            restart: restarted(&run.restarts),
            ..run.memory.clone()
        },
        cpu: cpu(run),
        convergence: run.convergence.as_ref().map(convergence),
        reconcile: run.reconcile.as_ref().map(reconcile),
        write_span: write_span(run),
        requests: requests(run),
        gc_pause: run.gc_pauses.as_ref().map(gc_pause),
        api_server_cpu_s: run.api_server_cpu_s,
        controllers_cpu_s: run.controllers_cpu_s,
        deletion: run.deletion,
        datastore: datastore(run),
        bystanders: foreign(run),
        restart: median_of(&run.restarts, |r| Some(r.ready_s)).map(|ready_s| Restarted { ready_s }),
    }
}

/// Both memories are those of a cold start on the same objects.
fn foreign(run: &record::Run) -> Option<Foreign> {
    let sum = |of: fn(&Found) -> usize| run.bystanders.iter().map(of).sum::<usize>();
    let objects = sum(|found| found.objects);
    let anon_bytes = |sampled: Option<Sampled>| Some(sampled?.memory.anon_bytes as f64);
    let (with, without) = (restarted(&run.restarts), run.without_bystanders);
    let both = anon_bytes(with).zip(anon_bytes(without));
    let changed = run.changed_bystanders;
    (objects > 0).then(|| Foreign {
        objects,
        in_memory: sum(|found| found.in_memory),
        bytes_per_object: both.map(|(with, without)| (with - without) / objects as f64),
        cpu_us_per_change: changed.and_then(|changed| changed.cpu_us_per_change()),
        requests_per_change: changed.and_then(|changed| changed.requests_per_change()),
    })
}

/// The median of each figure over the restarts of a run.
fn restarted(restarts: &[Restart]) -> Option<Sampled> {
    let settled = restarts.iter().filter_map(|r| r.memory?.did_settle);
    let bytes = |of: fn(&Sampled) -> Option<u64>| {
        let median = median_of(restarts, |r| Some(of(r.memory.as_ref()?)? as f64));
        median.map(|bytes| bytes as u64)
    };
    Some(Sampled {
        memory: Memory {
            rss_bytes: bytes(|m| Some(m.memory.rss_bytes))?,
            pss_bytes: bytes(|m| Some(m.memory.pss_bytes))?,
            anon_bytes: bytes(|m| Some(m.memory.anon_bytes))?,
        },
        peak_bytes: bytes(|m| m.peak_bytes),
        cgroup: restarts.last().and_then(|r| r.memory?.cgroup),
        did_settle: settled.reduce(|all, one| all && one),
    })
}

fn median_of(restarts: &[Restart], of: impl Fn(&Restart) -> Option<f64>) -> Option<f64> {
    median(&restarts.iter().filter_map(of).collect::<Vec<_>>())
}

/// Idle figures need a window.
fn idle(run: &record::Run) -> Option<&record::Idle> {
    run.idle.as_ref().filter(|idle| idle.window_s > 0.0)
}

fn per_minute(idle: &record::Idle, amount: f64) -> f64 {
    amount / idle.window_s * 60.0
}

fn cpu(run: &record::Run) -> Cpu {
    let idle = idle(run);
    Cpu {
        converge_s: run.converge_cpu_s,
        restart_s: median_of(&run.restarts, |r| r.cpu_s),
        idle_ms_per_minute: idle.map(|idle| per_minute(idle, idle.cpu_s * 1_000.0)),
        idle_context_switches_per_s: idle
            .and_then(|idle| Some(idle.context_switches? as f64 / idle.window_s)),
    }
}

fn convergence(raw: &record::Convergence) -> Convergence {
    Convergence {
        drain_s: raw.drain_s,
        offered_per_s: raw.offered_per_s,
        saturated: raw.saturated,
        censored: raw.censored,
        observed: raw.observed_from_intended.quantiles(),
        ready: raw.ready_from_intended.quantiles(),
    }
}

fn reconcile(raw: &record::Reconcile) -> Reconcile {
    Reconcile {
        count: raw.buckets.count(),
        p50_ms: raw.buckets.quantile_ms(0.50),
        p99_ms: raw.buckets.quantile_ms(0.99),
        max_ms: raw.buckets.quantile_ms(1.0),
        errors: raw.errors,
    }
}

fn write_span(run: &record::Run) -> Option<WriteSpan> {
    let quantiles = run.write_spans.as_ref()?.quantiles()?;
    Some(WriteSpan {
        p50_ms: quantiles.p50_ms,
        p99_ms: quantiles.p99_ms,
    })
}

/// Nothing per object without objects.
fn requests(run: &record::Run) -> Option<Requests> {
    let request_counts = run.requests.as_ref().filter(|_| run.cell.objects > 0)?;
    let per_object = |count: u64| count as f64 / run.cell.objects as f64;
    let idle = idle(run).and_then(|idle| Some((idle, idle.requests.as_ref()?)));
    Some(Requests {
        writes_per_object: per_object(request_counts.writes()),
        reads_per_object: per_object(request_counts.reads()),
        by_verb: request_counts.by_verb(),
        idle_writes_per_minute: idle.map(|(idle, own)| per_minute(idle, own.writes() as f64)),
        idle_reads_per_minute: idle.map(|(idle, own)| per_minute(idle, own.reads() as f64)),
        wire_bytes_per_object: request_counts.wire_bytes().map(per_object),
    })
}

fn gc_pause(raw: &record::GcPauses) -> GcPause {
    GcPause {
        count: raw.buckets.count(),
        p99_ms: raw.buckets.quantile_ms(0.99),
        max_ms: raw.buckets.max_ms(),
        total_ms: raw.total_s.map(|s| s * 1_000.0),
    }
}

fn datastore(run: &record::Run) -> Option<DatastoreCost> {
    let raw = run.datastore?;
    let per_object = |sum: Option<u64>| {
        let sum = sum.filter(|_| run.cell.objects > 0)?;
        Some(sum as f64 / run.cell.objects as f64)
    };
    Some(DatastoreCost {
        written_bytes_per_object: per_object(raw.written_bytes),
        revisions_per_object: per_object(raw.revisions),
        size_bytes: raw.size_bytes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::cell::{Cell, Kind};

    #[test]
    fn foreign_objects_cost_what_a_restart_without_them_takes_less() {
        let cell = Cell {
            subject: "a/x".into(),
            objects: 5,
            repeat: 1,
            kind: Kind::Memory,
            per_s: None,
        };
        let mut run = record::Run::empty(&cell);
        assert_eq!(foreign(&run), None, "there were none");
        let found = |kind: &str, objects, in_memory| Found {
            kind: kind.into(),
            objects,
            in_memory,
            waited_s: 0,
        };
        run.bystanders = vec![found("secrets", 300, 300), found("configmaps", 100, 7)];
        let cost = foreign(&run).expect("there were some");
        assert_eq!((cost.objects, cost.in_memory), (400, 307));
        assert_eq!(cost.bytes_per_object, None, "no restart");
        run.restarts = vec![Restart {
            ready_s: 1.0,
            settled: true,
            memory: Some(Sampled::settled(3_000_000)),
            cpu_s: None,
            events: 0,
            server: None,
        }];
        run.without_bystanders = Some(Sampled::settled(2_200_000));
        let cost = foreign(&run).expect("there were some");
        assert_eq!(cost.bytes_per_object, Some(2_000.0));
    }
}
