//! What a run measures besides memory: times, CPU, requests, the datastore, foreign objects, trouble.
//!
//! Guarantees: nothing per object without objects; quantiles of a histogram from a metrics page are upper bounds of its
//! buckets. Leaves to others: memory (`of_memory`), restarts (`of_restart`).

use crate::metric::{Metric, Shown, Source};
use crate::model::bystanders::Found;
use crate::model::cell::Kind;
use crate::model::latency::Quantiles;
use crate::model::record::{Idle, Run, Sampled, UpdateStorm};
use crate::model::request_counts::RequestCounts;

/// Runs with nothing else at work on the machine.
const TIMED: &[Kind] = &[Kind::Drain];
/// The same at a rate, too.
const BUSY: &[Kind] = &[Kind::Drain, Kind::Rate];
const RATE: &[Kind] = &[Kind::Rate];
const SETTLED: &[Kind] = &[Kind::Memory];
/// On a real server requests are counted in runs of their own.
const COUNTED: &[Kind] = &[Kind::Memory, Kind::RequestCount];
const AUDITED: &[Kind] = &[Kind::RequestCount];
const UNHEALTHY: &[Kind] = &[Kind::Rejected, Kind::NeverReady];
const STORM: &[Kind] = &[Kind::UpdateStorm];

const NO_COUNT: &str =
    "counted by the simulated API server, or in `request-count` runs; none with 0 objects";
const AFTER_SETTLING: &str = "measured only after the subject settled";
const NOT_OURS: &str = "nothing to measure with 0 objects, or loadgen did not start the API server";
const NO_CONTROLLERS: &str =
    "measured where loadgen started kube-controller-manager; nothing to measure with 0 objects";
const NO_DELETION: &str = "measured in drains with --deletions";
const NO_DATASTORE: &str = "the simulated server keeps its objects in memory, and that of an existing cluster cannot be read";
const NO_COLLECTOR: &str = "the subject has no garbage collector, or the run has 0 objects";
const NO_COLLECTION: &str = "no collection happened, or the bucket has no upper bound";
const NO_LIST: &str =
    "only with --bystanders; what a change costs is measured in runs with a restart";
const NO_KERNEL: &str =
    "only timed runs are judged by what else the machine did, and the kernel may not tell it";

fn run(
    id: &str,
    label: &str,
    unit: &'static str,
    kinds: &'static [Kind],
    read: fn(&Run) -> Option<f64>,
) -> Metric {
    Metric::new(id, label, unit, kinds, Source::Run(read))
}

/// In the order of the tables.
pub(super) fn metrics() -> Vec<Metric> {
    let parts = [times(), cpu(), datastore(), pauses(), requests(), calls()];
    let parts = parts
        .into_iter()
        .chain([foreign(), unhealthy(), storm(), soak(), machine()]);
    parts.flatten().collect()
}

fn times() -> Vec<Metric> {
    vec![
        run(
            "spawn_to_canary_ms",
            "start to first object observed, ms",
            "ms",
            TIMED,
            |r| r.spawn_to_canary_ms,
        )
        .shown(Shown::Work)
        .compared(),
        run("convergence.drain_s", "time to drain, s", "s", TIMED, |r| {
            r.convergence.as_ref()?.drain_s
        })
        .shown(Shown::Work)
        .compared(),
        run(
            "convergence.offered_per_s",
            "offered, objects/s",
            "1/s",
            TIMED,
            |r| Some(r.convergence.as_ref()?.offered_per_s),
        )
        .shown(Shown::Work)
        .better_when_higher(),
        run(
            "convergence.censored",
            "not ready at the deadline",
            "count",
            BUSY,
            |r| Some(r.convergence.as_ref()?.censored as f64),
        ),
        run(
            "convergence.saturated",
            "backlog kept growing (1) or not (0)",
            "count",
            BUSY,
            |r| Some(f64::from(u8::from(r.convergence.as_ref()?.saturated))),
        ),
        run(
            "convergence.observed.p50_ms",
            "observed P50, ms",
            "ms",
            RATE,
            |r| Some(observed(r)?.p50_ms),
        )
        .compared(),
        run(
            "convergence.observed.p90_ms",
            "observed P90, ms",
            "ms",
            RATE,
            |r| Some(observed(r)?.p90_ms),
        ),
        run(
            "convergence.observed.p99_ms",
            "observed P99, ms",
            "ms",
            RATE,
            |r| Some(observed(r)?.p99_ms),
        )
        .compared(),
        run(
            "convergence.observed.max_ms",
            "observed max, ms",
            "ms",
            RATE,
            |r| Some(observed(r)?.max_ms),
        ),
        run(
            "convergence.ready.p50_ms",
            "ready P50, ms",
            "ms",
            RATE,
            |r| Some(ready(r)?.p50_ms),
        ),
        run(
            "convergence.ready.p90_ms",
            "ready P90, ms",
            "ms",
            RATE,
            |r| Some(ready(r)?.p90_ms),
        ),
        run(
            "convergence.ready.p99_ms",
            "ready P99, ms",
            "ms",
            RATE,
            |r| Some(ready(r)?.p99_ms),
        ),
        run(
            "convergence.ready.max_ms",
            "ready max, ms",
            "ms",
            RATE,
            |r| Some(ready(r)?.max_ms),
        ),
    ]
}

fn observed(run: &Run) -> Option<Quantiles> {
    run.convergence.as_ref()?.observed_from_intended.quantiles()
}

fn ready(run: &Run) -> Option<Quantiles> {
    run.convergence.as_ref()?.ready_from_intended.quantiles()
}

fn cpu() -> Vec<Metric> {
    vec![
        run("cpu.converge_s", "CPU to converge, s", "s", BUSY, |r| {
            r.converge_cpu_s
        })
        .shown(Shown::Work)
        .compared(),
        run(
            "cpu.idle_ms_per_minute",
            "CPU idle, ms/min",
            "ms/min",
            SETTLED,
            |r| Some(per_minute(idle(r)?, idle(r)?.cpu_s * 1_000.0)),
        )
        .shown(Shown::Work)
        .compared()
        .missing(AFTER_SETTLING),
        run(
            "cpu.idle_context_switches_per_s",
            "context switches idle, /s",
            "1/s",
            SETTLED,
            |r| Some(idle(r)?.context_switches? as f64 / idle(r)?.window_s),
        )
        .shown(Shown::Work)
        .missing("measured only after the subject settled, if none of its threads ended meanwhile"),
        run("api_server_cpu_s", "API server CPU, s", "s", BUSY, |r| {
            r.api_server_cpu_s
        })
        .shown(Shown::Work)
        .compared()
        .missing(NOT_OURS),
        run(
            "controllers_cpu_s",
            "kube-controller-manager CPU, s",
            "s",
            TIMED,
            |r| r.controllers_cpu_s,
        )
        .shown(Shown::Work)
        .missing(NO_CONTROLLERS),
        run(
            "deletion.gone_s",
            "deletion with all children, s",
            "s",
            TIMED,
            |r| Some(r.deletion?.gone_s),
        )
        .shown(Shown::Work)
        .compared()
        .missing(NO_DELETION),
        deletion("deletion.cpu_s", "CPU of the deletion, s", |r| {
            r.deletion?.cpu_s
        }),
        deletion(
            "deletion.api_server_cpu_s",
            "API server CPU of the deletion, s",
            |r| r.deletion?.api_server_cpu_s,
        ),
        deletion(
            "deletion.controllers_cpu_s",
            "kube-controller-manager CPU of the deletion, s",
            |r| r.deletion?.controllers_cpu_s,
        ),
    ]
}

fn deletion(id: &str, label: &str, read: fn(&Run) -> Option<f64>) -> Metric {
    run(id, label, "s", TIMED, read)
        .shown(Shown::Work)
        .missing(NO_DELETION)
}

/// Idle figures need a window.
fn idle(run: &Run) -> Option<&Idle> {
    run.idle.as_ref().filter(|idle| idle.window_s > 0.0)
}

fn per_minute(idle: &Idle, amount: f64) -> f64 {
    amount / idle.window_s * 60.0
}

/// Nothing per object without objects.
fn per_object(run: &Run, amount: u64) -> Option<f64> {
    (run.cell.objects > 0).then(|| amount as f64 / run.cell.objects as f64)
}

fn datastore() -> Vec<Metric> {
    vec![
        run(
            "datastore.written_bytes_per_object",
            "datastore written per object, KB",
            "bytes/object",
            TIMED,
            |r| per_object(r, r.datastore?.written_bytes?),
        )
        .divided(1e3)
        .shown(Shown::Work)
        .compared()
        .missing(NO_DATASTORE),
        run(
            "datastore.revisions_per_object",
            "datastore revisions per object",
            "1/object",
            TIMED,
            |r| per_object(r, r.datastore?.revisions?),
        )
        .shown(Shown::Work)
        .missing(NO_DATASTORE),
        run(
            "datastore.size_bytes",
            "datastore size, MB",
            "bytes",
            TIMED,
            |r| Some(r.datastore?.size_bytes? as f64),
        )
        .divided(1e6)
        .shown(Shown::Work)
        .missing(NO_DATASTORE),
    ]
}

fn pauses() -> Vec<Metric> {
    vec![
        run("gc_pause.count", "GC pauses", "count", TIMED, |r| {
            Some(r.gc_pauses.as_ref()?.buckets.count() as f64)
        })
        .shown(Shown::Work)
        .missing(NO_COLLECTOR),
        run(
            "gc_pause.p99_ms",
            "GC pause P99, ms (bucket)",
            "ms",
            TIMED,
            |r| r.gc_pauses.as_ref()?.buckets.quantile_ms(0.99),
        )
        .shown(Shown::Work)
        .missing(NO_COLLECTION),
        run(
            "gc_pause.max_ms",
            "GC pause max, ms (bucket)",
            "ms",
            TIMED,
            |r| r.gc_pauses.as_ref()?.buckets.max_ms(),
        )
        .shown(Shown::Work)
        .missing(NO_COLLECTION),
        run(
            "gc_pause.total_ms",
            "GC pauses together, ms (a lower bound)",
            "ms",
            TIMED,
            |r| Some(r.gc_pauses.as_ref()?.total_s? * 1_000.0),
        )
        .missing(NO_COLLECTOR),
    ]
}

fn requests() -> Vec<Metric> {
    let verbs = Metric::new(
        "requests.by_verb",
        "requests by verb and resource",
        "count",
        COUNTED,
        Source::Verbs,
    );
    vec![
        run(
            "requests.writes_per_object",
            "write requests per object",
            "1/object",
            COUNTED,
            |r| per_object(r, r.requests.as_ref()?.writes()),
        )
        .shown(Shown::Work)
        .compared()
        .limited(0.1)
        .missing(NO_COUNT),
        run(
            "requests.reads_per_object",
            "read requests per object",
            "1/object",
            COUNTED,
            |r| per_object(r, r.requests.as_ref()?.reads()),
        )
        .shown(Shown::Work)
        .compared()
        .limited(0.1)
        .missing(NO_COUNT),
        run(
            "requests.wire_bytes_per_object",
            "bytes on the wire per object, KB",
            "bytes/object",
            COUNTED,
            |r| per_object(r, r.requests.as_ref()?.wire_bytes()?),
        )
        .divided(1e3)
        .shown(Shown::Work)
        .compared()
        .missing("an audit log does not contain sizes; only the simulated API server counts bytes"),
        run(
            "requests.idle_writes_per_minute",
            "idle write requests, /min",
            "1/min",
            COUNTED,
            |r| idle_requests(r, RequestCounts::writes),
        )
        .shown(Shown::Work)
        .limited(1.0)
        .missing(AFTER_SETTLING),
        run(
            "requests.idle_reads_per_minute",
            "idle read requests, /min",
            "1/min",
            COUNTED,
            |r| idle_requests(r, RequestCounts::reads),
        )
        .shown(Shown::Work)
        .limited(1.0)
        .missing(AFTER_SETTLING),
        verbs.missing(NO_COUNT),
        write_span(
            "write_span.p50_ms",
            "first to last write of an object P50, ms",
            |r| Some(r.write_spans.as_ref()?.quantiles()?.p50_ms),
        ),
        write_span(
            "write_span.p99_ms",
            "first to last write of an object P99, ms",
            |r| Some(r.write_spans.as_ref()?.quantiles()?.p99_ms),
        )
        .compared(),
    ]
}

fn write_span(id: &str, label: &str, read: fn(&Run) -> Option<f64>) -> Metric {
    run(id, label, "ms", AUDITED, read)
        .shown(Shown::Requests)
        .missing("read from the audit log of a real control plane, which is on only in `request-count` runs")
}

fn idle_requests(run: &Run, count: fn(&RequestCounts) -> u64) -> Option<f64> {
    per_object(run, run.requests.as_ref()?.writes())?;
    let idle = idle(run)?;
    Some(per_minute(idle, count(idle.requests.as_ref()?) as f64))
}

fn calls() -> Vec<Metric> {
    vec![
        run("reconcile.count", "reconcile calls", "count", TIMED, |r| {
            Some(r.reconcile.as_ref()?.buckets.count() as f64)
        })
        .shown(Shown::Work),
        run(
            "reconcile.p50_ms",
            "reconcile P50, ms (bucket)",
            "ms",
            TIMED,
            |r| r.reconcile.as_ref()?.buckets.quantile_ms(0.50),
        )
        .shown(Shown::Work),
        run(
            "reconcile.p99_ms",
            "reconcile P99, ms (bucket)",
            "ms",
            TIMED,
            |r| r.reconcile.as_ref()?.buckets.quantile_ms(0.99),
        )
        .shown(Shown::Work),
        run(
            "reconcile.max_ms",
            "reconcile max, ms (bucket)",
            "ms",
            TIMED,
            |r| r.reconcile.as_ref()?.buckets.quantile_ms(1.0),
        )
        .missing("the highest bucket of its histogram has no upper bound"),
        run(
            "reconcile.errors",
            "reconcile errors",
            "count",
            TIMED,
            |r| Some(r.reconcile.as_ref()?.errors? as f64),
        )
        .missing("the subject exports no error counter"),
    ]
}

fn foreign() -> Vec<Metric> {
    let of = |id: &str, label: &str, unit: &'static str, read: fn(&Run) -> Option<f64>| {
        run(id, label, unit, SETTLED, read).missing(NO_LIST)
    };
    vec![
        of("bystanders.objects", "foreign objects", "count", |r| {
            found(r, |found| found.objects)
        }),
        of(
            "bystanders.in_memory",
            "foreign objects found in its memory",
            "count",
            |r| found(r, |found| found.in_memory),
        )
        .compared()
        .limited(0.0),
        of(
            "bystanders.bytes_per_object",
            "bytes for each foreign object",
            "bytes/object",
            |r| {
                let anon_bytes = |sampled: Sampled| sampled.memory.anon_bytes as f64;
                let with = super::median_of(&r.restarts, |restart| restart.memory.map(anon_bytes))?;
                Some((with - anon_bytes(r.without_bystanders?)) / found(r, |found| found.objects)?)
            },
        )
        .shown(Shown::Foreign)
        .compared()
        .limited(100.0),
        of(
            "bystanders.cpu_us_per_change",
            "CPU for each change of one, µs",
            "µs",
            |r| {
                found(r, |found| found.objects)?;
                r.changed_bystanders?.cpu_us_per_change()
            },
        )
        .shown(Shown::Foreign)
        .compared(),
        of(
            "bystanders.requests_per_change",
            "requests for each 1,000 changes",
            "1/change",
            |r| {
                found(r, |found| found.objects)?;
                r.changed_bystanders?.requests_per_change()
            },
        )
        .divided(1e-3)
        .shown(Shown::Foreign)
        .compared()
        .limited(0.1),
    ]
}

/// A sum over the kinds of foreign objects; `None` where there were none.
fn found(run: &Run, of: fn(&Found) -> usize) -> Option<f64> {
    let objects: usize = run.bystanders.iter().map(|found| found.objects).sum();
    (objects > 0).then(|| run.bystanders.iter().map(of).sum::<usize>() as f64)
}

fn unhealthy() -> Vec<Metric> {
    let of = |id: &str, label: &str, unit: &'static str, read: fn(&Run) -> Option<f64>| {
        run(id, label, unit, UNHEALTHY, read).missing("only with --unhealthy")
    };
    vec![
        of(
            "unhealthy.most_requests_per_s",
            "requests/s, highest in any 5 s",
            "1/s",
            |r| Some(r.fault_response?.most_requests_per_s),
        )
        .shown(Shown::Unhealthy)
        .compared(),
        of(
            "unhealthy.last_requests_per_s",
            "requests/s, in the last 5 s",
            "1/s",
            |r| Some(r.fault_response?.last_requests_per_s),
        )
        .shown(Shown::Unhealthy)
        .compared(),
        of("unhealthy.ready", "ready all the same", "count", |r| {
            Some(r.fault_response?.ready as f64)
        }),
    ]
}

fn storm() -> Vec<Metric> {
    let of = |id: &str, label: &str, unit: &'static str, read: fn(&Run) -> Option<f64>| {
        let storm = run(id, label, unit, STORM, read).missing("only with --update-storm");
        storm.shown(Shown::UpdateStorm).compared()
    };
    vec![
        of(
            "update_storm.typically_behind",
            "generations behind, median of rounds",
            "count",
            |r| Some(r.update_storm?.typically_behind as f64),
        ),
        of(
            "update_storm.most_behind",
            "generations behind, maximum",
            "count",
            |r| Some(r.update_storm?.most_behind as f64),
        ),
        of(
            "update_storm.caught_up_ms",
            "time to catch up after the last update, ms",
            "ms",
            |r| r.update_storm?.caught_up_ms,
        ),
        of(
            "update_storm.writes_per_update",
            "writes per update",
            "1/update",
            |r| per_update(r.update_storm?, r.requests.as_ref()?.writes()),
        ),
        of(
            "update_storm.reads_per_update",
            "reads per update",
            "1/update",
            |r| per_update(r.update_storm?, r.requests.as_ref()?.reads()),
        ),
    ]
}

fn per_update(storm: UpdateStorm, requests: u64) -> Option<f64> {
    (storm.updates > 0).then(|| requests as f64 / storm.updates as f64)
}

fn soak() -> Vec<Metric> {
    let of = |id: &str, label: &str, unit: &'static str, read: fn(&Run) -> Option<f64>| {
        run(id, label, unit, SETTLED, read)
            .missing("only with --soak-events, in the first run at the largest size")
    };
    vec![
        of("soak.events", "watch events of the soak", "count", |r| {
            Some(r.soak?.events as f64)
        }),
        of("soak.seconds", "length of the soak, s", "s", |r| {
            Some(r.soak?.seconds)
        }),
    ]
}

fn machine() -> Vec<Metric> {
    let of = |id: &str, label: &str, unit: &'static str, read: fn(&Run) -> Option<f64>| {
        run(id, label, unit, TIMED, read).missing(NO_KERNEL)
    };
    vec![
        of("machine_use.wall_s", "length of the run, s", "s", |r| {
            Some(r.machine_use?.wall_s)
        }),
        of("machine_use.cores", "processors", "count", |r| {
            Some(f64::from(r.machine_use?.cores))
        }),
        of(
            "machine_use.outside_cpu_s",
            "CPU of other programs, s",
            "s",
            |r| r.machine_use?.outside_cpu_s,
        ),
        of(
            "machine_use.steal_s",
            "CPU taken by the hypervisor, s",
            "s",
            |r| r.machine_use?.steal_s,
        ),
        of(
            "machine_use.cpu_pressure_share",
            "share of the time in which a task waited for CPU",
            "share",
            |r| r.machine_use?.cpu_pressure_share,
        ),
        of(
            "machine_use.probe_before_ms",
            "a fixed piece of work before the run, ms",
            "ms",
            |r| Some(r.machine_use?.probe_before_ms),
        ),
        of(
            "machine_use.probe_after_ms",
            "a fixed piece of work after the run, ms",
            "ms",
            |r| Some(r.machine_use?.probe_after_ms),
        ),
    ]
}
