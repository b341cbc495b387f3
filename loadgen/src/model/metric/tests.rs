//! Every figure of a summary has a name, and the name is its path.

use std::collections::BTreeMap;

use serde_json::Value;

use tare_procstat::Memory;

use super::*;
use crate::model::latency::Quantiles;
use crate::model::machine_use::MachineUse;
use crate::model::record::Deletion;
use crate::model::summary::{
    BytesPerObject, Convergence, DatastoreCost, Foreign, GcPause, Knee, LimitedBy, RateSweep,
    Reconcile, Requests, Restarted, WriteSpan, sample,
};
use tare_procstat::CgroupMemory;

/// Every figure is there, and each has another value.
fn complete() -> Subject {
    let mut next = 0;
    let mut number = || {
        next += 1;
        next
    };
    let mut sampled = |peak_bytes| {
        Some(Sampled {
            memory: Memory {
                rss_bytes: number(),
                pss_bytes: number(),
                anon_bytes: number(),
            },
            peak_bytes,
            cgroup: Some(CgroupMemory {
                working_set_bytes: number(),
                peak_bytes: Some(number()),
                kernel_bytes: Some(number()),
                socket_bytes: Some(number()),
            }),
            did_settle: Some(true),
        })
    };
    let mut run = Run::without_figures(Kind::Memory, 1_001, 1_002, vec![]);
    run.memory.empty = sampled(None);
    run.memory.burst = sampled(Some(2_001));
    run.memory.churn = sampled(Some(2_002));
    run.memory.after_soak = sampled(Some(2_003));
    run.memory.restart = sampled(Some(2_004));
    run.memory.settled = sampled(Some(2_005));
    run.memory.deleted = sampled(Some(2_006));
    run.attempt = 5_001;
    run.per_s = Some(5_002);
    let mut value = || {
        let whole: u64 = number();
        whole as f64 + 0.5
    };
    run.machine_use = Some(MachineUse {
        wall_s: value(),
        cores: 5_003,
        outside_cpu_s: Some(value()),
        steal_s: Some(value()),
        cpu_pressure_share: Some(value()),
        probe_before_ms: value(),
        probe_after_ms: value(),
    });
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
    run.controllers_cpu_s = Some(value());
    run.deletion = Some(Deletion {
        gone_s: value(),
        cpu_s: Some(value()),
        api_server_cpu_s: Some(value()),
        controllers_cpu_s: Some(value()),
    });
    run.datastore = Some(DatastoreCost {
        written_bytes_per_object: Some(value()),
        revisions_per_object: Some(value()),
        size_bytes: Some(3_006),
    });
    run.bystanders = Some(Foreign {
        objects: 3_007,
        in_memory: 3_008,
        bytes_per_object: Some(value()),
        cpu_us_per_change: Some(value()),
        requests_per_change: Some(value()),
    });
    run.restart = Some(Restarted { ready_s: value() });
    let mut subject = sample(vec![run]).subjects.remove(0);
    subject.binary_bytes = Some(4_001);
    subject.image_bytes_compressed = Some(4_002);
    subject.image_bytes_unpacked = Some(4_003);
    subject.bytes_per_object = Some(BytesPerObject {
        slope: value(),
        ci95: None,
        intercept_bytes: 4_004,
        sizes: vec![],
        runs: 4_005,
    });
    subject.rate_sweep = Some(RateSweep {
        points: vec![],
        knee: Knee {
            per_s: Some(4_006),
            limited_by: LimitedBy::NotReached,
            because: String::new(),
        },
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
    let known = all_of_run(run);
    let (mut of_run, mut of_subject) = (Vec::new(), Vec::new());
    numbers(&run_json, "", &mut of_run);
    numbers(&subject_json, "", &mut of_subject);
    for path in of_run.iter().chain(&of_subject) {
        assert!(find(path).is_some(), "{path} has no name");
    }
    for (path, value) in known.iter().filter(|(path, _)| !path.starts_with(BY_VERB)) {
        assert_eq!(Some(*value), at(&run_json, path), "{path}");
        assert_eq!(Some(*value), super::of_run(run, path), "{path}");
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
