//! Figures by name: the paths that limits, claims, comparisons and tables use.
//!
//! Guarantees: a name is the path of the figure in `summary.json`, which a test checks; a name
//! that is not in the table is unknown. Leaves to others: what a figure means.

use crate::model::cell::Kind;
use crate::model::record::{PhaseMemory, Sampled};
use crate::model::summary::{Run, Subject};

/// How a figure is read.
#[derive(Clone, Copy)]
pub enum Metric<'a> {
    /// One value for each run, such as `memory.settled.rss_bytes`.
    OfRun(fn(&Run) -> Option<f64>),
    /// One phase of each run, such as `memory.settled.rss_bytes`.
    OfPhase(Phase, Bytes),
    /// Requests of one verb and resource in each run, such as `patch deployments`.
    Requests(&'a str),
    /// One value for the subject, such as `binary_bytes`.
    OfSubject(fn(&Subject) -> Option<f64>),
}

/// Before the phase in the name of a figure of memory.
const MEMORY: &str = "memory.";
/// Before the verb and resource in the name of a count of requests.
const BY_VERB: &str = "requests.by_verb.";

/// The metric of this name, if there is one.
pub fn find(path: &str) -> Option<Metric<'_>> {
    if let Some(verb) = path.strip_prefix(BY_VERB) {
        return Some(Metric::Requests(verb));
    }
    if let Some(name) = path.strip_prefix(MEMORY) {
        return of_phase(name).map(|(phase, bytes)| Metric::OfPhase(phase, bytes));
    }
    let of_run = RUN.iter().find(|(name, _)| *name == path);
    let of_subject = || SUBJECT.iter().find(|(name, _)| *name == path);
    of_run
        .map(|(_, read)| Metric::OfRun(*read))
        .or_else(|| of_subject().map(|(_, read)| Metric::OfSubject(*read)))
}

/// The kind of cell that a figure of healthy objects is taken from: times and CPU from drains, which
/// are alone on the machine; memory, requests and what an idle subject costs from memory runs, which
/// settle and which nothing disturbs.
pub fn taken_from(path: &str) -> Kind {
    let settled = ["memory.", "requests.", "cpu.idle_", "bystanders."];
    match settled.iter().any(|start| path.starts_with(start)) {
        true => Kind::Memory,
        false => Kind::Drain,
    }
}

/// A figure of a run; `None` where it was not measured or the name is not one of a run.
pub fn of_run(run: &Run, path: &str) -> Option<f64> {
    match find(path)? {
        Metric::OfRun(read) => read(run),
        Metric::OfPhase(phase, bytes) => number(bytes(phase(&run.memory)?)),
        Metric::Requests(verb) => Some(*run.requests.as_ref()?.by_verb.get(verb)? as f64),
        Metric::OfSubject(_) => None,
    }
}

/// A figure of a subject; `None` where it is not known or the name is not one of a subject.
pub fn of_subject(subject: &Subject, path: &str) -> Option<f64> {
    match find(path)? {
        Metric::OfSubject(read) => read(subject),
        Metric::OfRun(_) | Metric::OfPhase(..) | Metric::Requests(_) => None,
    }
}

/// Every figure of a run that was measured, by name.
pub fn all_of_run(run: &Run) -> Vec<(String, f64)> {
    let named = RUN.iter().filter(|(name, _)| !COUNTS.contains(name));
    let named = named.filter_map(|(name, read)| Some(((*name).to_owned(), read(run)?)));
    let by_verb = run.requests.iter().flat_map(|requests| &requests.by_verb);
    let by_verb = by_verb.map(|(verb, count)| (format!("{BY_VERB}{verb}"), *count as f64));
    let memory = PHASES.iter().flat_map(|(phase, read)| {
        let sampled = read(&run.memory);
        let known = move |(bytes, of): &(&str, Bytes)| {
            let name = format!("{MEMORY}{phase}.{bytes}");
            Some((name, of(sampled?)? as f64))
        };
        BYTES.iter().filter_map(known)
    });
    named.chain(memory).chain(by_verb).collect()
}

/// Every figure of a subject that is known, by name.
pub fn all_of_subject(subject: &Subject) -> Vec<(&'static str, f64)> {
    let read = SUBJECT
        .iter()
        .filter_map(|(name, read)| Some((*name, read(subject)?)));
    read.collect()
}

/// They say which run it is.
const COUNTS: [&str; 4] = ["objects", "repeat", "attempt", "per_s"];

type Reads<T> = [(&'static str, fn(&T) -> Option<f64>)];

const SUBJECT: &Reads<Subject> = &[
    ("binary_bytes", |s| number(s.binary_bytes)),
    ("image_bytes_compressed", |s| {
        number(s.image_bytes_compressed)
    }),
    ("image_bytes_unpacked", |s| number(s.image_bytes_unpacked)),
    ("bytes_per_object.slope", |s| {
        Some(s.bytes_per_object.as_ref()?.slope)
    }),
    ("bytes_per_object.intercept_bytes", |s| {
        Some(s.bytes_per_object.as_ref()?.intercept_bytes as f64)
    }),
    ("bytes_per_object.runs", |s| {
        Some(s.bytes_per_object.as_ref()?.runs as f64)
    }),
    ("rate_sweep.knee.per_s", |s| {
        Some(f64::from(s.rate_sweep.as_ref()?.knee.per_s?))
    }),
];

type Phase = fn(&PhaseMemory) -> Option<Sampled>;
type Bytes = fn(Sampled) -> Option<u64>;

/// Phases of a run, as in `memory.settled.rss_bytes`.
const PHASES: [(&str, Phase); 7] = [
    ("empty", |m| m.empty),
    ("burst", |m| m.burst),
    ("settled", |m| m.settled),
    ("churn", |m| m.churn),
    ("after_soak", |m| m.after_soak),
    ("deleted", |m| m.deleted),
    ("restart", |m| m.restart),
];

/// What is known of each phase.
const BYTES: [(&str, Bytes); 8] = [
    ("rss_bytes", |s| Some(s.memory.rss_bytes)),
    ("pss_bytes", |s| Some(s.memory.pss_bytes)),
    ("anon_bytes", |s| Some(s.memory.anon_bytes)),
    ("peak_bytes", |s| s.peak_bytes),
    ("cgroup.working_set_bytes", |s| {
        Some(s.cgroup?.working_set_bytes)
    }),
    ("cgroup.peak_bytes", |s| s.cgroup?.peak_bytes),
    ("cgroup.kernel_bytes", |s| s.cgroup?.kernel_bytes),
    ("cgroup.socket_bytes", |s| s.cgroup?.socket_bytes),
];

/// A figure of memory, from what follows `memory.` in its name.
fn of_phase(name: &str) -> Option<(Phase, Bytes)> {
    let (phase, bytes) = name.split_once('.')?;
    let (_, phase) = PHASES.iter().find(|(name, _)| *name == phase)?;
    let (_, bytes) = BYTES.iter().find(|(name, _)| *name == bytes)?;
    Some((*phase, *bytes))
}

const RUN: &Reads<Run> = &[
    ("objects", |r| Some(r.objects as f64)),
    ("repeat", |r| Some(f64::from(r.repeat))),
    ("attempt", |r| Some(f64::from(r.attempt))),
    ("per_s", |r| Some(f64::from(r.per_s?))),
    ("machine_use.wall_s", |r| Some(r.machine_use?.wall_s)),
    ("machine_use.cores", |r| {
        Some(f64::from(r.machine_use?.cores))
    }),
    ("machine_use.outside_cpu_s", |r| {
        r.machine_use?.outside_cpu_s
    }),
    ("machine_use.steal_s", |r| r.machine_use?.steal_s),
    ("machine_use.cpu_pressure_share", |r| {
        r.machine_use?.cpu_pressure_share
    }),
    ("machine_use.probe_before_ms", |r| {
        Some(r.machine_use?.probe_before_ms)
    }),
    ("machine_use.probe_after_ms", |r| {
        Some(r.machine_use?.probe_after_ms)
    }),
    ("spawn_to_canary_ms", |r| r.spawn_to_canary_ms),
    ("cpu.converge_s", |r| r.cpu.converge_s),
    ("cpu.restart_s", |r| r.cpu.restart_s),
    ("cpu.idle_ms_per_minute", |r| r.cpu.idle_ms_per_minute),
    ("cpu.idle_context_switches_per_s", |r| {
        r.cpu.idle_context_switches_per_s
    }),
    ("convergence.drain_s", |r| r.convergence.as_ref()?.drain_s),
    ("convergence.offered_per_s", |r| {
        Some(r.convergence.as_ref()?.offered_per_s)
    }),
    ("convergence.censored", |r| {
        Some(r.convergence.as_ref()?.censored as f64)
    }),
    ("convergence.observed.p50_ms", |r| {
        Some(r.convergence.as_ref()?.observed?.p50_ms)
    }),
    ("convergence.observed.p90_ms", |r| {
        Some(r.convergence.as_ref()?.observed?.p90_ms)
    }),
    ("convergence.observed.p99_ms", |r| {
        Some(r.convergence.as_ref()?.observed?.p99_ms)
    }),
    ("convergence.observed.max_ms", |r| {
        Some(r.convergence.as_ref()?.observed?.max_ms)
    }),
    ("convergence.ready.p50_ms", |r| {
        Some(r.convergence.as_ref()?.ready?.p50_ms)
    }),
    ("convergence.ready.p90_ms", |r| {
        Some(r.convergence.as_ref()?.ready?.p90_ms)
    }),
    ("convergence.ready.p99_ms", |r| {
        Some(r.convergence.as_ref()?.ready?.p99_ms)
    }),
    ("convergence.ready.max_ms", |r| {
        Some(r.convergence.as_ref()?.ready?.max_ms)
    }),
    ("reconcile.count", |r| {
        Some(r.reconcile.as_ref()?.count as f64)
    }),
    ("reconcile.p50_ms", |r| r.reconcile.as_ref()?.p50_ms),
    ("reconcile.p99_ms", |r| r.reconcile.as_ref()?.p99_ms),
    ("reconcile.max_ms", |r| r.reconcile.as_ref()?.max_ms),
    ("reconcile.errors", |r| number(r.reconcile.as_ref()?.errors)),
    ("write_span.p50_ms", |r| Some(r.write_span.as_ref()?.p50_ms)),
    ("write_span.p99_ms", |r| Some(r.write_span.as_ref()?.p99_ms)),
    ("requests.writes_per_object", |r| {
        Some(r.requests.as_ref()?.writes_per_object)
    }),
    ("requests.reads_per_object", |r| {
        Some(r.requests.as_ref()?.reads_per_object)
    }),
    ("requests.idle_writes_per_minute", |r| {
        r.requests.as_ref()?.idle_writes_per_minute
    }),
    ("requests.idle_reads_per_minute", |r| {
        r.requests.as_ref()?.idle_reads_per_minute
    }),
    ("requests.wire_bytes_per_object", |r| {
        r.requests.as_ref()?.wire_bytes_per_object
    }),
    ("gc_pause.count", |r| {
        Some(r.gc_pause.as_ref()?.count as f64)
    }),
    ("gc_pause.p99_ms", |r| r.gc_pause.as_ref()?.p99_ms),
    ("gc_pause.max_ms", |r| r.gc_pause.as_ref()?.max_ms),
    ("gc_pause.total_ms", |r| r.gc_pause.as_ref()?.total_ms),
    ("api_server_cpu_s", |r| r.api_server_cpu_s),
    ("controllers_cpu_s", |r| r.controllers_cpu_s),
    ("deletion.gone_s", |r| Some(r.deletion?.gone_s)),
    ("deletion.cpu_s", |r| r.deletion?.cpu_s),
    ("deletion.api_server_cpu_s", |r| {
        r.deletion?.api_server_cpu_s
    }),
    ("deletion.controllers_cpu_s", |r| {
        r.deletion?.controllers_cpu_s
    }),
    ("datastore.written_bytes_per_object", |r| {
        r.datastore.as_ref()?.written_bytes_per_object
    }),
    ("datastore.revisions_per_object", |r| {
        r.datastore.as_ref()?.revisions_per_object
    }),
    ("datastore.size_bytes", |r| {
        number(r.datastore.as_ref()?.size_bytes)
    }),
    ("bystanders.objects", |r| {
        Some(r.bystanders.as_ref()?.objects as f64)
    }),
    ("bystanders.in_memory", |r| {
        Some(r.bystanders.as_ref()?.in_memory as f64)
    }),
    ("bystanders.bytes_per_object", |r| {
        r.bystanders.as_ref()?.bytes_per_object
    }),
    ("bystanders.cpu_us_per_change", |r| {
        r.bystanders.as_ref()?.cpu_us_per_change
    }),
    ("bystanders.requests_per_change", |r| {
        r.bystanders.as_ref()?.requests_per_change
    }),
    ("restart.ready_s", |r| Some(r.restart?.ready_s)),
];

fn number(value: Option<u64>) -> Option<f64> {
    value.map(|value| value as f64)
}

#[cfg(test)]
mod tests;
