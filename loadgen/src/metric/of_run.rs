//! What a run measures besides memory: times, CPU, requests, the datastore, foreign objects, trouble.
//!
//! Guarantees: nothing per object without objects; quantiles of a histogram from a metrics page are upper bounds of its
//! buckets. Leaves to others: memory (`of_memory`), restarts (`of_restart`).

use crate::metric::Metric;
use crate::metric::Shown::{self, Foreign, Memory, Requests, Unhealthy, Work};
use crate::plan::cell::Kind;
use crate::record::histogram::Buckets;
use crate::record::latency::Quantiles;
use crate::record::request_counts::RequestCounts;
use crate::record::{Idle, IdleServer, Run, Sampled, UpdateStorm};
use crate::spec::bystanders::Found;

/// Runs with nothing else at work on the machine.
const TIMED: &[Kind] = &[Kind::Drain];
/// The same at a rate, too.
const BUSY: &[Kind] = &[Kind::Drain, Kind::Rate];
const RATE: &[Kind] = &[Kind::Rate];
const QUIET: &[Kind] = &[Kind::Memory];
/// On a real server requests are counted in runs of their own.
const COUNTED: &[Kind] = &[Kind::Memory, Kind::RequestCount];
const AUDITED: &[Kind] = &[Kind::RequestCount];
const TROUBLE: &[Kind] = &[Kind::Rejected, Kind::NeverReady];
const STORM: &[Kind] = &[Kind::UpdateStorm];

const NO_OBJECT: &str = "nothing to measure with 0 objects, or the subject does not export it";
const NOT_ALL_READY: &str = "nothing to measure with 0 objects, or not all became ready";
const NO_COUNT: &str =
    "counted by the simulated API server, or in `request-count` runs; none with 0 objects";
const NO_SIZES: &str =
    "an audit log does not contain sizes; only the simulated API server counts bytes";
const UNSETTLED: &str = "measured only after the subject settled";
const NO_SWITCHES: &str =
    "measured only after the subject settled, if none of its threads ended meanwhile";
const NOT_OURS: &str = "nothing to measure with 0 objects, or loadgen did not start the API server";
const NOT_QUIET: &str =
    "nothing to measure with 0 objects, or loadgen did not start the API server";
const NOT_WATCHED: &str = "measured where the subject is idle for 30 s or more after it settled: at the largest size, with --idle-s or a thorough profile";
const NO_MANAGER: &str =
    "measured where loadgen started kube-controller-manager; nothing to measure with 0 objects";
const NOT_DELETED: &str = "measured in drains with --deletions";
const NO_DATASTORE: &str = "the simulated server keeps its objects in memory, and that of an existing cluster cannot be read";
const NO_GC: &str = "the subject has no garbage collector, or the run has 0 objects";
const NO_PAUSE: &str = "no collection happened, or the bucket has no upper bound";
const NO_BOUND: &str = "the highest bucket of its histogram has no upper bound";
const NO_COUNTER: &str = "the subject exports no error counter";
const NO_AUDIT: &str =
    "read from the audit log of a real control plane, which is on only in `request-count` runs";
const NOT_ASKED: &str =
    "only with --bystanders; what a change costs is measured in runs with a restart";
const HEALTHY: &str = "only with --unhealthy";
const NO_STORM: &str = "only with --update-storm";
const NO_SOAK: &str = "only with --soak-events, in the first run at the largest size";
const NOT_RESTARTED: &str = "only with --server-restart, in memory runs at the largest size";
const NO_KERNEL: &str =
    "only timed runs are judged by what else the machine did, and the kernel may not tell it";

/// Memory for each foreign object.
pub(super) const FOREIGN_BYTES: &str = "bystanders.bytes_per_object";

/// In the order of the tables.
pub(super) fn metrics() -> Vec<Metric> {
    figures! { Run
        "spawn_to_canary_ms", "start to first object observed, ms", "ms", TIMED, NO_OBJECT, [shown(Work), compared] => |r| r.spawn_to_canary_ms;
        "convergence.drain_s", "time to drain, s", "s", TIMED, NOT_ALL_READY, [shown(Work), compared] => |r| r.convergence.as_ref()?.drain_s;
        "convergence.offered_per_s", "offered, objects/s", "1/s", TIMED, NO_OBJECT, [shown(Work), higher] => |r| Some(r.convergence.as_ref()?.offered_per_s);
        "convergence.censored", "not ready at the deadline", "count", BUSY, NO_OBJECT, [] => |r| Some(r.convergence.as_ref()?.censored as f64);
        "convergence.saturated", "backlog kept growing (1) or not (0)", "count", BUSY, NO_OBJECT, [] => |r| Some(f64::from(u8::from(r.convergence.as_ref()?.saturated)));
        "convergence.observed.p50_ms", "observed P50, ms", "ms", RATE, NO_OBJECT, [compared] => |r| Some(observed(r)?.p50_ms);
        "convergence.observed.p90_ms", "observed P90, ms", "ms", RATE, NO_OBJECT, [] => |r| Some(observed(r)?.p90_ms);
        "convergence.observed.p99_ms", "observed P99, ms", "ms", RATE, NO_OBJECT, [compared] => |r| Some(observed(r)?.p99_ms);
        "convergence.observed.max_ms", "observed max, ms", "ms", RATE, NO_OBJECT, [] => |r| Some(observed(r)?.max_ms);
        "convergence.ready.p50_ms", "ready P50, ms", "ms", RATE, NO_OBJECT, [] => |r| Some(ready(r)?.p50_ms);
        "convergence.ready.p90_ms", "ready P90, ms", "ms", RATE, NO_OBJECT, [] => |r| Some(ready(r)?.p90_ms);
        "convergence.ready.p99_ms", "ready P99, ms", "ms", RATE, NO_OBJECT, [] => |r| Some(ready(r)?.p99_ms);
        "convergence.ready.max_ms", "ready max, ms", "ms", RATE, NO_OBJECT, [] => |r| Some(ready(r)?.max_ms);

        "cpu.converge_s", "CPU to converge, s", "s", BUSY, NO_OBJECT, [shown(Work), compared] => |r| r.converge_cpu_s;
        "cpu.idle_ms_per_minute", "CPU idle, ms/min", "ms/min", QUIET, UNSETTLED, [shown(Work), compared] => |r| Some(per_minute(idle(r)?, idle(r)?.cpu_s * 1_000.0));
        "cpu.idle_context_switches_per_s", "context switches idle, /s", "1/s", QUIET, NO_SWITCHES, [shown(Work)] => |r| Some(idle(r)?.context_switches? as f64 / idle(r)?.window_s);
        "api_server_cpu_s", "API server CPU, s", "s", BUSY, NOT_OURS, [shown(Work), compared] => |r| r.api_server_cpu_s;
        "until_quiet.cpu_s", "CPU until the API server is quiet, s", "s", TIMED, NOT_QUIET, [shown(Work), compared] => |r| r.until_quiet?.cpu_s;
        "until_quiet.api_server_cpu_s", "API server CPU until it is quiet, s", "s", TIMED, NOT_QUIET, [shown(Work), compared] => |r| r.until_quiet?.server.cpu_s;
        "until_quiet.writes_per_object", "write requests per object until the API server is quiet", "1/object", TIMED, NOT_QUIET, [shown(Work), compared, limited(0.1)] => |r| per_object(r, r.until_quiet?.server.writes?);
        "until_quiet.reads_per_object", "read requests per object until the API server is quiet", "1/object", TIMED, NOT_QUIET, [shown(Work), compared, limited(0.1)] => |r| per_object(r, r.until_quiet?.server.reads?);
        "idle.writes_per_hour", "idle write requests, /h", "1/h", QUIET, NOT_WATCHED, [shown(Work), limited(10.0)] => |r| Some(per_hour(idle_server(r)?, idle_server(r)?.used.writes? as f64));
        "idle.reads_per_hour", "idle read requests, /h", "1/h", QUIET, NOT_WATCHED, [shown(Work), limited(10.0)] => |r| Some(per_hour(idle_server(r)?, idle_server(r)?.used.reads? as f64));
        "idle.api_server_cpu_s_per_hour", "API server CPU while idle, s/h", "s/h", QUIET, NOT_WATCHED, [shown(Work)] => |r| Some(per_hour(idle_server(r)?, idle_server(r)?.used.cpu_s?));
        "idle.highest_rss_bytes", "highest RSS while idle, MB", "bytes", QUIET, NOT_WATCHED, [shown(Memory), divided(1e6)] => |r| Some(r.idle.as_ref()?.highest_rss_bytes? as f64);
        "controllers_cpu_s", "kube-controller-manager CPU, s", "s", TIMED, NO_MANAGER, [shown(Work)] => |r| r.controllers_cpu_s;
        "deletion.gone_s", "deletion with all children, s", "s", TIMED, NOT_DELETED, [shown(Work), compared] => |r| Some(r.deletion?.gone_s);
        "deletion.cpu_s", "CPU of the deletion, s", "s", TIMED, NOT_DELETED, [shown(Work)] => |r| r.deletion?.cpu_s;
        "deletion.api_server_cpu_s", "API server CPU of the deletion, s", "s", TIMED, NOT_DELETED, [shown(Work)] => |r| r.deletion?.api_server_cpu_s;
        "deletion.controllers_cpu_s", "kube-controller-manager CPU of the deletion, s", "s", TIMED, NOT_DELETED, [shown(Work)] => |r| r.deletion?.controllers_cpu_s;

        "datastore.written_bytes_per_object", "datastore written per object, KB", "bytes/object", TIMED, NO_DATASTORE, [shown(Work), compared, divided(1e3)] => |r| per_object(r, r.datastore?.written_bytes?);
        "datastore.revisions_per_object", "datastore revisions per object", "1/object", TIMED, NO_DATASTORE, [shown(Work)] => |r| per_object(r, r.datastore?.revisions?);
        "datastore.size_bytes", "datastore size, MB", "bytes", TIMED, NO_DATASTORE, [shown(Work), divided(1e6)] => |r| Some(r.datastore?.size_bytes? as f64);

        "gc_pause.count", "GC pauses", "count", TIMED, NO_GC, [shown(Work)] => |r| Some(pauses(r)?.count() as f64);
        "gc_pause.p99_ms", "GC pause P99, ms (bucket)", "ms", TIMED, NO_PAUSE, [shown(Work)] => |r| pauses(r)?.quantile_ms(0.99);
        "gc_pause.max_ms", "GC pause max, ms (bucket)", "ms", TIMED, NO_PAUSE, [shown(Work)] => |r| pauses(r)?.max_ms();
        "gc_pause.total_ms", "GC pauses together, ms (a lower bound)", "ms", TIMED, NO_GC, [] => |r| Some(r.gc_pauses.as_ref()?.total_s? * 1_000.0);

        "requests.writes_per_object", "write requests per object", "1/object", COUNTED, NO_COUNT, [shown(Work), compared, limited(0.1)] => |r| per_object(r, r.requests.as_ref()?.writes());
        "requests.reads_per_object", "read requests per object", "1/object", COUNTED, NO_COUNT, [shown(Work), compared, limited(0.1)] => |r| per_object(r, r.requests.as_ref()?.reads());
        "requests.wire_bytes_per_object", "bytes on the wire per object, KB", "bytes/object", COUNTED, NO_SIZES, [shown(Work), compared, divided(1e3)] => |r| per_object(r, r.requests.as_ref()?.wire_bytes()?);
        "requests.idle_writes_per_minute", "idle write requests, /min", "1/min", COUNTED, UNSETTLED, [shown(Work), limited(1.0)] => |r| idle_requests(r, RequestCounts::writes);
        "requests.idle_reads_per_minute", "idle read requests, /min", "1/min", COUNTED, UNSETTLED, [shown(Work), limited(1.0)] => |r| idle_requests(r, RequestCounts::reads);
        "write_span.p50_ms", "first to last write of an object P50, ms", "ms", AUDITED, NO_AUDIT, [shown(Requests)] => |r| Some(r.write_spans.as_ref()?.quantiles()?.p50_ms);
        "write_span.p99_ms", "first to last write of an object P99, ms", "ms", AUDITED, NO_AUDIT, [shown(Requests), compared] => |r| Some(r.write_spans.as_ref()?.quantiles()?.p99_ms);

        "reconcile.count", "reconcile calls", "count", TIMED, NO_OBJECT, [shown(Work)] => |r| Some(calls(r)?.count() as f64);
        "reconcile.p50_ms", "reconcile P50, ms (bucket)", "ms", TIMED, NO_OBJECT, [shown(Work)] => |r| calls(r)?.quantile_ms(0.50);
        "reconcile.p99_ms", "reconcile P99, ms (bucket)", "ms", TIMED, NO_OBJECT, [shown(Work)] => |r| calls(r)?.quantile_ms(0.99);
        "reconcile.max_ms", "reconcile max, ms (bucket)", "ms", TIMED, NO_BOUND, [] => |r| calls(r)?.max_ms();
        "reconcile.errors", "reconcile errors", "count", TIMED, NO_COUNTER, [] => |r| Some(r.reconcile.as_ref()?.errors? as f64);

        "bystanders.objects", "foreign objects", "count", QUIET, NOT_ASKED, [] => |r| found(r, |found| found.objects);
        "bystanders.in_memory", "foreign objects found in its memory", "count", QUIET, NOT_ASKED, [compared, limited(0.0)] => |r| found(r, |found| found.in_memory);
        FOREIGN_BYTES, "bytes for each foreign object", "bytes/object", QUIET, NOT_ASKED, [shown(Foreign), compared, limited(100.0)] => bytes_per_foreign_object;
        "bystanders.cpu_us_per_change", "CPU for each change of one, µs", "µs", QUIET, NOT_ASKED, [shown(Foreign), compared] => |r| r.changed_bystanders?.cpu_us_per_change();
        "bystanders.requests_per_change", "requests for each 1,000 changes", "1/change", QUIET, NOT_ASKED, [shown(Foreign), compared, divided(1e-3), limited(0.1)] => |r| r.changed_bystanders?.requests_per_change();

        "unhealthy.most_requests_per_s", "requests/s, highest in any 5 s", "1/s", TROUBLE, HEALTHY, [shown(Unhealthy), compared] => |r| Some(r.fault_response?.most_requests_per_s);
        "unhealthy.last_requests_per_s", "requests/s, in the last 5 s", "1/s", TROUBLE, HEALTHY, [shown(Unhealthy), compared] => |r| Some(r.fault_response?.last_requests_per_s);
        "unhealthy.ready", "ready all the same", "count", TROUBLE, HEALTHY, [] => |r| Some(r.fault_response?.ready as f64);

        "update_storm.typically_behind", "generations behind, median of rounds", "count", STORM, NO_STORM, [shown(Shown::UpdateStorm), compared] => |r| Some(r.update_storm?.typically_behind as f64);
        "update_storm.most_behind", "generations behind, maximum", "count", STORM, NO_STORM, [shown(Shown::UpdateStorm), compared] => |r| Some(r.update_storm?.most_behind as f64);
        "update_storm.caught_up_ms", "time to catch up after the last update, ms", "ms", STORM, NO_STORM, [shown(Shown::UpdateStorm), compared] => |r| r.update_storm?.caught_up_ms;
        "update_storm.writes_per_update", "writes per update", "1/update", STORM, NO_STORM, [shown(Shown::UpdateStorm), compared] => |r| per_update(r.update_storm?, r.requests.as_ref()?.writes());
        "update_storm.reads_per_update", "reads per update", "1/update", STORM, NO_STORM, [shown(Shown::UpdateStorm), compared] => |r| per_update(r.update_storm?, r.requests.as_ref()?.reads());

        "server_restart.back_s", "API server back after its restart, s", "s", QUIET, NOT_RESTARTED, [] => |r| Some(r.server_restart?.back_s);
        "server_restart.working_s", "first new object observed after a restart of the API server, s", "s", QUIET, NOT_RESTARTED, [shown(Work), compared] => |r| Some(r.server_restart?.working_s);
        "server_restart.cpu_s", "CPU of a restart of the API server, s", "s", QUIET, NOT_RESTARTED, [shown(Work), compared] => |r| r.server_restart?.cpu_s;

        "soak.events", "watch events of the soak", "count", QUIET, NO_SOAK, [shown(Memory)] => |r| Some(r.soak?.events as f64);
        "soak.seconds", "length of the soak, s", "s", QUIET, NO_SOAK, [] => |r| Some(r.soak?.seconds);

        "machine_use.wall_s", "length of the run, s", "s", TIMED, NO_KERNEL, [] => |r| Some(r.machine_use?.wall_s);
        "machine_use.cores", "processors", "count", TIMED, NO_KERNEL, [] => |r| Some(f64::from(r.machine_use?.cores));
        "machine_use.outside_cpu_s", "CPU of other programs, s", "s", TIMED, NO_KERNEL, [] => |r| r.machine_use?.outside_cpu_s;
        "machine_use.steal_s", "CPU taken by the hypervisor, s", "s", TIMED, NO_KERNEL, [] => |r| r.machine_use?.steal_s;
        "machine_use.cpu_pressure_share", "share of the time in which a task waited for CPU", "share", TIMED, NO_KERNEL, [] => |r| r.machine_use?.cpu_pressure_share;
        "machine_use.probe_before_ms", "a fixed piece of work before the run, ms", "ms", TIMED, NO_KERNEL, [] => |r| Some(r.machine_use?.probe_before_ms);
        "machine_use.probe_after_ms", "a fixed piece of work after the run, ms", "ms", TIMED, NO_KERNEL, [] => |r| Some(r.machine_use?.probe_after_ms);
    }
}

fn observed(run: &Run) -> Option<Quantiles> {
    run.convergence.as_ref()?.observed_from_intended.quantiles()
}

fn ready(run: &Run) -> Option<Quantiles> {
    run.convergence.as_ref()?.ready_from_intended.quantiles()
}

fn calls(run: &Run) -> Option<&Buckets> {
    Some(&run.reconcile.as_ref()?.buckets)
}

fn pauses(run: &Run) -> Option<&Buckets> {
    Some(&run.gc_pauses.as_ref()?.buckets)
}

/// Idle figures need a window.
fn idle(run: &Run) -> Option<&Idle> {
    run.idle.as_ref().filter(|idle| idle.window_s > 0.0)
}

fn idle_server(run: &Run) -> Option<IdleServer> {
    run.idle.as_ref()?.server
}

fn per_hour(server: IdleServer, amount: f64) -> f64 {
    amount / server.seconds * 3_600.0
}

fn per_minute(idle: &Idle, amount: f64) -> f64 {
    amount / idle.window_s * 60.0
}

/// Nothing per object without objects.
fn per_object(run: &Run, amount: u64) -> Option<f64> {
    (run.cell.objects > 0).then(|| amount as f64 / run.cell.objects as f64)
}

fn idle_requests(run: &Run, count: fn(&RequestCounts) -> u64) -> Option<f64> {
    per_object(run, run.requests.as_ref()?.writes())?;
    let idle = idle(run)?;
    Some(per_minute(idle, count(idle.requests.as_ref()?) as f64))
}

fn per_update(storm: UpdateStorm, requests: u64) -> Option<f64> {
    (storm.updates > 0).then(|| requests as f64 / storm.updates as f64)
}

/// A sum over the kinds of foreign objects; `None` where there were none.
fn found(run: &Run, of: fn(&Found) -> usize) -> Option<f64> {
    let objects: usize = run.bystanders.iter().map(|found| found.objects).sum();
    (objects > 0).then(|| run.bystanders.iter().map(of).sum::<usize>() as f64)
}

/// Both memories are those of a cold start on the same objects.
fn bytes_per_foreign_object(run: &Run) -> Option<f64> {
    let anon_bytes = |sampled: Sampled| sampled.memory.anon_bytes as f64;
    let with = super::median_of(&run.restarts, |restart| restart.memory.map(anon_bytes))?;
    let without = anon_bytes(run.without_bystanders?);
    Some((with - without) / found(run, |found| found.objects)?)
}
