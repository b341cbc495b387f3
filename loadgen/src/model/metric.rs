//! Figures by name: the paths that limits, claims, comparisons and tables use.
//!
//! Guarantees: a name is the path of the figure in `summary.json`, which a test checks; a name
//! that is not in the table is unknown. Leaves to others: what a figure means.

use tare_procstat::Memory;

use crate::model::record::Peaked;
use crate::model::summary::{Run, Subject};

/// How a figure is read.
#[derive(Clone, Copy)]
pub enum Metric<'a> {
    /// One value for each run, such as `memory.settled.rss_bytes`.
    OfRun(fn(&Run) -> Option<f64>),
    /// Requests of one verb and resource in each run, such as `patch deployments`.
    Requests(&'a str),
    /// One value for the subject, such as `binary_bytes`.
    OfSubject(fn(&Subject) -> Option<f64>),
}

/// Before the verb and resource in the name of a count of requests.
const BY_VERB: &str = "requests.by_verb.";

/// The metric of this name, if there is one.
pub fn find(path: &str) -> Option<Metric<'_>> {
    if let Some(verb) = path.strip_prefix(BY_VERB) {
        return Some(Metric::Requests(verb));
    }
    let of_run = RUN.iter().find(|(name, _)| *name == path);
    let of_subject = || SUBJECT.iter().find(|(name, _)| *name == path);
    of_run
        .map(|(_, read)| Metric::OfRun(*read))
        .or_else(|| of_subject().map(|(_, read)| Metric::OfSubject(*read)))
}

/// A figure of a run; `None` where it was not measured or the name is not one of a run.
pub fn of_run(run: &Run, path: &str) -> Option<f64> {
    match find(path)? {
        Metric::OfRun(read) => read(run),
        Metric::Requests(verb) => Some(*run.requests.as_ref()?.by_verb.get(verb)? as f64),
        Metric::OfSubject(_) => None,
    }
}

/// A figure of a subject; `None` where it is not known or the name is not one of a subject.
pub fn of_subject(subject: &Subject, path: &str) -> Option<f64> {
    match find(path)? {
        Metric::OfSubject(read) => read(subject),
        Metric::OfRun(_) | Metric::Requests(_) => None,
    }
}

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
];

const RUN: &Reads<Run> = &[
    ("objects", |r| Some(r.objects as f64)),
    ("repeat", |r| Some(f64::from(r.repeat))),
    ("spawn_to_canary_ms", |r| r.spawn_to_canary_ms),
    ("memory.empty.rss_bytes", |r| rss(r.memory.empty)),
    ("memory.empty.pss_bytes", |r| pss(r.memory.empty)),
    ("memory.empty.anon_bytes", |r| anon(r.memory.empty)),
    ("memory.burst.rss_bytes", |r| rss(end(r.memory.burst))),
    ("memory.burst.pss_bytes", |r| pss(end(r.memory.burst))),
    ("memory.burst.anon_bytes", |r| anon(end(r.memory.burst))),
    ("memory.burst.peak_bytes", |r| peak(r.memory.burst)),
    ("memory.settled.rss_bytes", |r| rss(r.memory.settled)),
    ("memory.settled.pss_bytes", |r| pss(r.memory.settled)),
    ("memory.settled.anon_bytes", |r| anon(r.memory.settled)),
    ("memory.churn.rss_bytes", |r| rss(end(r.memory.churn))),
    ("memory.churn.pss_bytes", |r| pss(end(r.memory.churn))),
    ("memory.churn.anon_bytes", |r| anon(end(r.memory.churn))),
    ("memory.churn.peak_bytes", |r| peak(r.memory.churn)),
    ("memory.after_soak.rss_bytes", |r| {
        rss(end(r.memory.after_soak))
    }),
    ("memory.after_soak.pss_bytes", |r| {
        pss(end(r.memory.after_soak))
    }),
    ("memory.after_soak.anon_bytes", |r| {
        anon(end(r.memory.after_soak))
    }),
    ("memory.after_soak.peak_bytes", |r| {
        peak(r.memory.after_soak)
    }),
    ("memory.deleted.rss_bytes", |r| rss(r.memory.deleted)),
    ("memory.deleted.pss_bytes", |r| pss(r.memory.deleted)),
    ("memory.deleted.anon_bytes", |r| anon(r.memory.deleted)),
    ("memory.restart.rss_bytes", |r| rss(end(r.memory.restart))),
    ("memory.restart.pss_bytes", |r| pss(end(r.memory.restart))),
    ("memory.restart.anon_bytes", |r| anon(end(r.memory.restart))),
    ("memory.restart.peak_bytes", |r| peak(r.memory.restart)),
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
    ("datastore.written_bytes_per_object", |r| {
        r.datastore.as_ref()?.written_bytes_per_object
    }),
    ("datastore.size_bytes", |r| {
        number(r.datastore.as_ref()?.size_bytes)
    }),
];

fn number(value: Option<u64>) -> Option<f64> {
    value.map(|value| value as f64)
}

fn rss(memory: Option<Memory>) -> Option<f64> {
    Some(memory?.rss_bytes as f64)
}

fn pss(memory: Option<Memory>) -> Option<f64> {
    Some(memory?.pss_bytes as f64)
}

fn anon(memory: Option<Memory>) -> Option<f64> {
    Some(memory?.anon_bytes as f64)
}

fn end(memory: Option<Peaked>) -> Option<Memory> {
    Some(memory?.memory)
}

fn peak(memory: Option<Peaked>) -> Option<f64> {
    Some(memory?.peak_bytes? as f64)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::Value;

    use super::*;
    use crate::model::cell::Kind;
    use crate::model::latency::Quantiles;
    use crate::model::summary::{
        BytesPerObject, Convergence, DatastoreCost, GcPause, Reconcile, Requests, WriteSpan, sample,
    };

    /// Every figure is there, and each has another value.
    fn complete() -> Subject {
        let mut next = 0;
        let mut number = || {
            next += 1;
            next
        };
        let mut memory = || Memory {
            rss_bytes: number(),
            pss_bytes: number(),
            anon_bytes: number(),
        };
        let mut run = Run::without_figures(Kind::Burst, 1_001, 1_002, vec![]);
        run.memory.empty = Some(memory());
        run.memory.settled = Some(memory());
        run.memory.deleted = Some(memory());
        let mut peaked = |peak_bytes| {
            Some(Peaked {
                memory: memory(),
                peak_bytes: Some(peak_bytes),
            })
        };
        run.memory.burst = peaked(2_001);
        run.memory.churn = peaked(2_002);
        run.memory.after_soak = peaked(2_003);
        run.memory.restart = peaked(2_004);
        let mut value = || {
            let whole: u64 = number();
            whole as f64 + 0.5
        };
        run.spawn_to_canary_ms = Some(value());
        run.cpu.converge_s = Some(value());
        run.cpu.restart_s = Some(value());
        run.cpu.idle_ms_per_minute = Some(value());
        run.cpu.idle_context_switches_per_s = Some(value());
        let mut quantiles = || {
            Some(Quantiles {
                p50_ms: value(),
                p90_ms: value(),
                p99_ms: value(),
                max_ms: value(),
            })
        };
        let (observed, ready) = (quantiles(), quantiles());
        run.convergence = Some(Convergence {
            drain_s: Some(value()),
            offered_per_s: value(),
            saturated: false,
            censored: 3_001,
            observed,
            ready,
        });
        run.reconcile = Some(Reconcile {
            count: 3_002,
            p50_ms: Some(value()),
            p99_ms: Some(value()),
            max_ms: Some(value()),
            errors: Some(3_003),
        });
        run.write_span = Some(WriteSpan {
            p50_ms: value(),
            p99_ms: value(),
        });
        run.requests = Some(Requests {
            writes_per_object: value(),
            reads_per_object: value(),
            by_verb: BTreeMap::from([("patch deployments".to_owned(), 3_004)]),
            idle_writes_per_minute: Some(value()),
            idle_reads_per_minute: Some(value()),
            wire_bytes_per_object: Some(value()),
        });
        run.gc_pause = Some(GcPause {
            count: 3_005,
            p99_ms: Some(value()),
            max_ms: Some(value()),
            total_ms: Some(value()),
        });
        run.api_server_cpu_s = Some(value());
        run.datastore = Some(DatastoreCost {
            written_bytes_per_object: Some(value()),
            size_bytes: Some(3_006),
        });
        let mut subject = sample(vec![run]).subjects.remove(0);
        subject.binary_bytes = Some(4_001);
        subject.image_bytes_compressed = Some(4_002);
        subject.image_bytes_unpacked = Some(4_003);
        subject.bytes_per_object = Some(BytesPerObject {
            slope: value(),
            ci95: None,
            intercept_bytes: 4_004,
            sizes: vec![],
        });
        subject
    }

    fn at(value: &Value, path: &str) -> Option<f64> {
        path.split('.')
            .try_fold(value, |value, key| value.get(key))?
            .as_f64()
    }

    /// Paths of all numbers, but for those in lists.
    fn numbers(value: &Value, path: &str, found: &mut Vec<String>) {
        match value {
            Value::Number(_) => found.push(path.to_owned()),
            Value::Object(fields) => {
                let dot = if path.is_empty() { "" } else { "." };
                for (key, value) in fields {
                    numbers(value, &format!("{path}{dot}{key}"), found);
                }
            }
            _ => {}
        }
    }

    #[test]
    fn a_name_is_the_path_of_its_figure_and_every_figure_has_one() {
        let subject = complete();
        let run = &subject.runs[0];
        let run_json = serde_json::to_value(run).expect("plain data");
        let subject_json = serde_json::to_value(&subject).expect("plain data");
        for (path, read) in RUN {
            assert!(read(run).is_some(), "{path}");
            assert_eq!(read(run), at(&run_json, path), "{path}");
        }
        for (path, read) in SUBJECT {
            assert!(read(&subject).is_some(), "{path}");
            assert_eq!(read(&subject), at(&subject_json, path), "{path}");
        }
        let (mut of_run, mut of_subject) = (Vec::new(), Vec::new());
        numbers(&run_json, "", &mut of_run);
        numbers(&subject_json, "", &mut of_subject);
        for path in of_run.iter().chain(&of_subject) {
            assert!(find(path).is_some(), "{path} has no name");
        }
        let verb = "requests.by_verb.patch deployments";
        assert_eq!(super::of_run(run, verb), Some(3_004.0));
    }

    #[test]
    fn other_names_are_unknown() {
        for path in [
            "memory.settled",
            "memory.setled.rss_bytes",
            "valid",
            "name",
            "",
        ] {
            assert!(find(path).is_none(), "{path}");
        }
    }
}
