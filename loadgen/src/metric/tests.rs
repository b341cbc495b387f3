use std::collections::BTreeSet;

use serde_json::{Value, json};
use tare_procstat::{CgroupMemory, Memory};

use super::*;
use crate::plan::cell::Cell;
use crate::record::histogram::Buckets;
use crate::record::latency::Latencies;
use crate::record::machine_use::MachineUse;
use crate::record::request_counts::{Entry, RequestCounts};
use crate::record::summary::{BytesPerObject, Knee, LimitedBy, RateSweep, sample};
use crate::record::{
    Convergence, Datastore, Deletion, FaultResponse, GcPauses, Idle, IdleServer, PhaseMemory,
    Reconcile, ServerRestart, ServerUse, Soak, UntilQuiet, UpdateStorm,
};
use crate::spec::bystanders::{Changed, Found, Use};

fn sampled(rss_bytes: u64) -> Sampled {
    Sampled {
        memory: Memory {
            rss_bytes,
            pss_bytes: rss_bytes + 1,
            anon_bytes: rss_bytes + 2,
        },
        peak_bytes: Some(rss_bytes + 3),
        cgroup: Some(CgroupMemory {
            working_set_bytes: rss_bytes + 4,
            anon_bytes: Some(rss_bytes + 2),
            peak_bytes: Some(rss_bytes + 5),
            kernel_bytes: Some(rss_bytes + 6),
            socket_bytes: Some(rss_bytes + 7),
        }),
        did_settle: Some(true),
        api_server_rss_bytes: Some(rss_bytes + 8),
    }
}

const SERVER: ServerUse = ServerUse {
    cpu_s: Some(0.75),
    rss_before_bytes: Some(100),
    rss_peak_bytes: Some(140),
    reads: Some(4),
    writes: Some(0),
    response_bytes: Some(900),
    datastore_reads: Some(2),
    datastore_objects: Some(3),
};

fn restart(rss_bytes: u64) -> Restart {
    Restart {
        ready_s: 1.5,
        working_s: Some(2.5),
        settled: true,
        memory: Some(sampled(rss_bytes)),
        cpu_s: Some(0.25),
        events: 0,
        server: Some(SERVER),
    }
}

/// A run of 10 objects in which everything was measured.
fn complete() -> Run {
    let mut run = Run::empty(&Cell {
        subject: "tare/none".into(),
        objects: 10,
        repeat: 1,
        kind: Kind::Memory,
        per_s: None,
    });
    let buckets = || Buckets(vec![(Some(0.01), 5), (Some(0.1), 1)]);
    let mut latencies = Latencies::default();
    latencies.record_ns(5_000_000);
    let latencies = || latencies.clone();
    let requests = || {
        let entry = |verb: &str, requests| Entry {
            user: "subject".into(),
            verb: verb.into(),
            resource: "deployments".into(),
            requests,
            request_bytes: Some(100),
            response_bytes: Some(200),
            errors: 0,
        };
        RequestCounts {
            entries: vec![entry("patch", 30), entry("get", 20)],
        }
    };
    let phase = |rss_bytes| Some(sampled(rss_bytes));
    run.memory = PhaseMemory {
        empty: phase(1_000),
        burst: phase(2_000),
        settled: phase(3_000),
        update: phase(4_000),
        after_soak: phase(5_000),
        deleted: phase(6_000),
        server_restart: phase(9_000),
    };
    run.restarts = vec![restart(7_000), restart(8_000), restart(20_000)];
    run.server_restart = Some(ServerRestart {
        back_s: 3.0,
        working_s: 4.5,
        cpu_s: Some(0.125),
    });
    run.without_bystanders = phase(3_002);
    run.machine_use = Some(MachineUse {
        wall_s: 50.0,
        cores: 2,
        outside_cpu_s: Some(2.0),
        steal_s: Some(1.0),
        cpu_pressure_share: Some(0.9),
        probe_before_ms: 200.0,
        probe_after_ms: 208.0,
    });
    run.spawn_to_canary_ms = Some(17.0);
    run.converge_cpu_s = Some(0.5);
    run.until_quiet = Some(UntilQuiet {
        seconds: 9.0,
        cpu_s: Some(0.7),
        server: SERVER,
    });
    run.idle = Some(Idle {
        window_s: 30.0,
        cpu_s: 0.01,
        context_switches: Some(60),
        requests: Some(requests()),
        server: Some(IdleServer {
            seconds: 60.0,
            used: SERVER,
        }),
        highest_rss_bytes: Some(9),
    });
    run.convergence = Some(Convergence {
        objects: 10,
        acked: 10,
        drain_s: Some(4.0),
        offer_s: 1.0,
        offered_per_s: 10.0,
        first_ready_s: Some(1.0),
        last_ready_s: Some(4.0),
        saturated: false,
        censored: 0,
        late: latencies(),
        held_up: latencies(),
        acked_from_intended: latencies(),
        acked_from_sent: latencies(),
        observed_from_intended: latencies(),
        observed_from_sent: latencies(),
        ready_from_intended: latencies(),
        ready_from_sent: latencies(),
    });
    run.soak = Some(Soak {
        events: 50,
        rounds: 5,
        seconds: 9.0,
    });
    run.fault_response = Some(FaultResponse {
        held_s: 60.0,
        most_requests_per_s: 8.0,
        last_requests_per_s: 0.5,
        ready: 0,
    });
    run.update_storm = Some(UpdateStorm {
        rounds: 5,
        updates: 20,
        seconds: 5.0,
        typically_behind: 1,
        most_behind: 3,
        caught_up_ms: Some(80.0),
    });
    run.reconcile = Some(Reconcile {
        buckets: buckets(),
        errors: Some(0),
    });
    run.requests = Some(requests());
    run.write_spans = Some(latencies());
    run.gc_pauses = Some(GcPauses {
        buckets: buckets(),
        total_s: Some(0.02),
    });
    run.api_server_cpu_s = Some(3.0);
    run.controllers_cpu_s = Some(1.0);
    run.deletion = Some(Deletion {
        gone_s: 6.0,
        cpu_s: Some(0.125),
        api_server_cpu_s: Some(2.0),
        controllers_cpu_s: Some(0.5),
    });
    run.datastore = Some(Datastore {
        written_bytes: Some(40_960),
        revisions: Some(40),
        size_bytes: Some(64_000_000),
    });
    run.bystanders = vec![Found {
        kind: "secrets".into(),
        objects: 100,
        in_memory: 1,
        waited_s: 0,
    }];
    let used = |seconds, cpu_s, requests| Use {
        seconds,
        cpu_s: Some(cpu_s),
        requests: Some(requests),
    };
    run.changed_bystanders = Some(Changed {
        changes: 1_000,
        changing: used(20.0, 1.5, 504),
        idle: used(10.0, 0.25, 2),
    });
    run
}

#[test]
fn a_run_in_which_everything_was_measured_has_every_figure() {
    let values = values(&complete());
    for metric in all().iter().filter(|metric| !metric.is_of_subject()) {
        let is_there = match metric.source {
            Source::Verbs => values.contains_key("requests.by_verb.patch deployments"),
            _ => values.contains_key(&metric.id),
        };
        assert!(is_there, "{} has no value", metric.id);
    }
    for (name, want) in [
        ("memory.settled.rss_bytes", 3_000.0),
        ("memory.update.cgroup.socket_bytes", 4_007.0),
        ("memory.restart.rss_bytes", 8_000.0),
        ("memory.restart.peak_bytes", 8_003.0),
        ("cpu.restart_s", 0.25),
        ("cpu.idle_ms_per_minute", 20.0),
        ("cpu.idle_context_switches_per_s", 2.0),
        ("requests.writes_per_object", 3.0),
        ("requests.reads_per_object", 2.0),
        ("requests.wire_bytes_per_object", 60.0),
        ("requests.by_verb.patch deployments", 30.0),
        ("requests.idle_writes_per_minute", 60.0),
        ("datastore.written_bytes_per_object", 4_096.0),
        ("gc_pause.count", 6.0),
        ("gc_pause.total_ms", 20.0),
        ("reconcile.p99_ms", 100.0),
        ("bystanders.bytes_per_object", 50.0 - 0.02),
        ("bystanders.cpu_us_per_change", 1_000.0),
        ("update_storm.writes_per_update", 1.5),
        ("restart.server.rss_increase_bytes", 40.0),
        ("convergence.observed.p99_ms", 5.0),
    ] {
        let value = values.get(name).copied().unwrap_or(f64::NAN);
        assert!(
            (value - want).abs() <= want * 1e-3,
            "{name}: {value}, not {want}"
        );
    }
}

#[test]
fn what_was_not_measured_has_no_value() {
    let run = Run::empty(&complete().cell);
    assert!(values(&run).is_empty(), "{:?}", values(&run));
    let mut without_objects = complete();
    without_objects.cell.objects = 0;
    without_objects.bystanders.clear();
    without_objects.changed_bystanders = None;
    let values = values(&without_objects);
    for name in values.keys() {
        let is_per_object = name.contains("_per_object") || name.starts_with("bystanders.");
        assert!(!is_per_object, "{name}");
    }
}

#[test]
fn a_name_a_label_and_a_unit_are_of_one_figure() {
    let names: BTreeSet<&str> = all().iter().map(|metric| metric.id.as_str()).collect();
    assert_eq!(names.len(), all().len(), "a name twice");
    for metric in all() {
        assert!(
            !metric.unit.is_empty() && !metric.label.is_empty(),
            "{}",
            metric.id
        );
        let same = |other: &&Metric| other.label == metric.label && other.shown == metric.shown;
        assert_eq!(all().iter().filter(same).count(), 1, "{}", metric.label);
        let own_name = match metric.source {
            Source::Verbs => "requests.by_verb.patch deployments",
            _ => &metric.id,
        };
        assert_eq!(find(own_name).map(|found| &found.id), Some(&metric.id));
    }
    for unknown in [
        "memory.settled",
        "memory.setled.rss_bytes",
        "requests.by_verb.",
        "valid",
        "",
    ] {
        assert!(find(unknown).is_none(), "{unknown}");
    }
}

#[test]
fn the_name_of_a_figure_of_a_subject_is_its_path() {
    let mut subject = sample(vec![]).subjects.remove(0);
    subject.binary_bytes = Some(4_001);
    subject.image_bytes_compressed = Some(4_002);
    subject.image_bytes_unpacked = Some(4_003);
    subject.bytes_per_object = Some(BytesPerObject {
        slope: 1.5,
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
    let written = serde_json::to_value(&subject).expect("plain data");
    let at = |path: &str| {
        path.split('.')
            .fold(&written, |value: &Value, key| &value[key])
            .as_f64()
    };
    for metric in all().iter().filter(|metric| metric.is_of_subject()) {
        let value = of_subject(&subject, &metric.id);
        assert!(value.is_some() && value == at(&metric.id), "{}", metric.id);
    }
}

#[test]
fn a_whole_number_is_written_as_one() {
    let run = summary::Run::without_figures(Kind::Memory, 5, 1, vec![]);
    let run = run
        .with("memory.settled.rss_bytes", 3e6)
        .with("cpu.converge_s", 0.5);
    let written = serde_json::to_value(&run).expect("plain data");
    let want = json!({ "memory.settled.rss_bytes": 3_000_000, "cpu.converge_s": 0.5 });
    assert_eq!(written["values"], want);
}

#[test]
fn a_phase_that_did_not_settle_marks_its_figures() {
    let mut run = complete();
    assert!(unsettled(&run).is_empty());
    run.memory.update = Some(Sampled {
        did_settle: Some(false),
        ..sampled(1)
    });
    run.restarts[1].memory = run.memory.update;
    let figures = summary::Run {
        unsettled: unsettled(&run),
        ..summary::Run::without_figures(Kind::Memory, 10, 1, vec![])
    };
    assert_eq!(figures.unsettled, ["update", "restart"]);
    assert!(did_not_settle(&figures, "memory.restart.rss_bytes"));
    assert!(!did_not_settle(&figures, "memory.settled.rss_bytes"));
    assert!(!did_not_settle(&figures, "cpu.restart_s"));
}

#[test]
fn processes_that_are_not_all_of_a_cgroup_are_told() {
    let told = |anon_mb: u64, of_cgroup_mb: Option<u64>| {
        let mut sampled = sampled(200_000_000);
        sampled.memory.anon_bytes = anon_mb * 1_000_000;
        let cgroup = sampled.cgroup.as_mut().expect("it has one");
        cgroup.anon_bytes = of_cgroup_mb.map(|mb| mb * 1_000_000);
        let mut run = complete();
        run.memory.settled = Some(sampled);
        incomplete(&run)
    };
    // A wrapper of 1.7 MB whose program is elsewhere.
    let want = "settled: its processes have 2 MB of anonymous memory, its cgroup 104 MB: one of them is not all of it";
    assert_eq!(told(2, Some(104)), [want]);
    assert_eq!(
        told(104, Some(2)).len(),
        1,
        "processes that left the cgroup"
    );
    for (anon, of_cgroup) in [(104, Some(100)), (2, Some(9)), (2, Some(0)), (2, None)] {
        assert_eq!(told(anon, of_cgroup), [""; 0], "{anon} {of_cgroup:?}");
    }
}
