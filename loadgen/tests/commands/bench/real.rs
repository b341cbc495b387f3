//! Benches on a real control plane: what only there can be told.

use serde_json::Value;

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
    assert_eq!(
        counted["requests"]["by_verb"]["patch edgeapps/status"], 3,
        "{counted}"
    );
    assert_eq!(counted["requests"]["writes_per_object"], 1.0, "{counted}");
    assert_eq!(
        counted["requests"]["idle_writes_per_minute"], 0.0,
        "{counted}"
    );
    assert_eq!(counted["requests"]["wire_bytes_per_object"], Value::Null);
    assert!(
        counted["write_span"]["p99_ms"].as_f64() > Some(0.0),
        "{counted}"
    );
    assert_eq!(drain["requests"], Value::Null, "the audit log was off");
    assert!(drain["api_server_cpu_s"].as_f64() > Some(0.0), "{drain}");
    let written = &drain["datastore"]["written_bytes_per_object"];
    assert!(written.as_f64() > Some(1_000.0), "{drain}");
    // One for each status; the control plane renews leases meanwhile.
    let revisions = &counted["datastore"]["revisions_per_object"];
    let revisions = revisions.as_f64().expect("a number");
    assert!((1.0..20.0).contains(&revisions), "{counted}");
    assert_eq!(run("default-flags")["convergence"]["censored"], 0);
    assert_eq!(dir_command("verify", &bench_folder).status.code(), Some(0));
}
