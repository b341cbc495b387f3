//! Benches on a real control plane: what only there can be told.

use serde_json::{Value, json};

use crate::bench::bench_folder::{BenchFolder, dir_command};
use crate::program::{loadgen, text};

pub fn requests_are_counted_in_runs_of_their_own() {
    counts("kube");
}

pub fn the_same_on_kine() {
    counts("kine");
}

fn counts(control_plane: &str) {
    let bench_folder = BenchFolder::new(control_plane);
    let mut args = bench_folder.bench(&["works"], "3");
    let more = [
        "--repeats",
        "1",
        "--profile",
        "quick",
        "--control-plane",
        control_plane,
    ];
    args.extend(more.map(str::to_owned));
    let output = loadgen(&args);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let said = text(&output.stderr);
    assert!(said.starts_with("6 runs, about "), "{said}");
    let report = text(&output.stdout);
    for want in [
        "Requests at 3 objects, counted in separate runs with the API server's audit log",
        "Default flags: 3 objects, API server with fsync",
    ] {
        assert!(report.contains(want), "{want} not in {report}");
    }
    let summary = bench_folder.summary();
    assert_eq!(summary["environment"]["control_plane"], control_plane);
    let run = |cell: &str| {
        let runs = summary["subjects"][0]["runs"].as_array();
        let mut of_cell = runs.expect("runs").iter().filter(|run| run["cell"] == cell);
        of_cell
            .next()
            .cloned()
            .unwrap_or_else(|| panic!("no {cell}"))
    };
    let (drain, counted) = (run("drain"), run("request-count"));
    let (drain, counted) = (&drain["values"], &counted["values"]);
    for (name, want) in [
        ("requests.by_verb.patch edgeapps/status", json!(3)),
        ("requests.writes_per_object", json!(1)),
        ("requests.idle_writes_per_minute", json!(0)),
        ("requests.wire_bytes_per_object", Value::Null),
    ] {
        assert_eq!(counted[name], want, "{counted}");
    }
    let span_ms = counted["write_span.p99_ms"].as_f64();
    assert!(span_ms > Some(0.0), "{counted}");
    let writes = &drain["requests.writes_per_object"];
    assert_eq!(*writes, Value::Null, "the audit log was off");
    assert!(drain["api_server_cpu_s"].as_f64() > Some(0.0), "{drain}");
    let written = &drain["datastore.written_bytes_per_object"];
    assert!(written.as_f64() > Some(1_000.0), "{drain}");
    // One for each status; the control plane renews leases meanwhile.
    let revisions = &counted["datastore.revisions_per_object"];
    let revisions = revisions.as_f64().expect("a number");
    assert!((1.0..20.0).contains(&revisions), "{counted}");
    assert_eq!(run("default-flags")["values"]["convergence.censored"], 0);
    assert_eq!(dir_command("verify", &bench_folder).status.code(), Some(0));
}
