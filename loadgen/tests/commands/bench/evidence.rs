//! What a bench keeps beside its figures.

use std::io::Read;
use std::path::Path;

use flate2::read::GzDecoder;
use serde_json::Value;

use crate::bench::bench_folder::BenchFolder;
use crate::program::{loadgen, text};

fn unpacked(path: &Path) -> String {
    let file = std::fs::File::open(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut text = String::new();
    let read = GzDecoder::new(file).read_to_string(&mut text);
    read.expect("packed text");
    text
}

fn run(bench_folder: &BenchFolder, stem: &str) -> Value {
    let path = bench_folder.out().join(format!("runs/{stem}.json"));
    let text = std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    serde_json::from_slice(&text).expect("JSON")
}

pub fn what_was_read_beside_a_run_is_kept() {
    let bench_folder = BenchFolder::new("evidence");
    let mut args = bench_folder.bench(&["works"], "20");
    args.push("--bursts-only".into());
    let output = loadgen(&args);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");

    let stem = "mock-works-memory-20-r1";
    let series = unpacked(&bench_folder.out().join(format!("series/{stem}.tsv.gz")));
    let mut lines = series.lines();
    assert_eq!(lines.next(), Some("# every_ms 250"));
    assert_eq!(lines.next(), Some("# differences to the row before"));
    let columns: Vec<&str> = lines.next().expect("columns").split('\t').collect();
    let column = |name: &str| {
        columns
            .iter()
            .position(|column| *column == name)
            .expect("there")
    };
    let rows: Vec<Vec<&str>> = lines.map(|line| line.split('\t').collect()).collect();
    let last = rows.last().expect("rows");
    let ready = rows
        .iter()
        .filter_map(|row| row[column("ready")].parse::<i64>().ok());
    assert_eq!(ready.sum::<i64>(), 20, "{series}");
    assert_ne!(last[column("ready")], "", "known to the end: {series}");
    assert_ne!(last[column("server_cpu_ms")], "", "{series}");

    for packed in [format!("{stem}.log.gz"), format!("{stem}/kubesim.log.gz")] {
        unpacked(&bench_folder.out().join("logs").join(packed));
    }
    assert!(
        !bench_folder.out().join(format!("logs/{stem}.log")).exists(),
        "packed"
    );

    let settled = &run(&bench_folder, stem)["memory"]["settled"];
    let cgroup = &settled["cgroup"];
    match said.contains("memory as a node accounts for it is not measured") {
        true => assert_eq!(*cgroup, Value::Null),
        false => {
            let (working_set, peak) = (&cgroup["working_set_bytes"], &cgroup["peak_bytes"]);
            assert!(working_set.as_u64() > Some(500_000), "{settled}");
            assert!(peak.as_u64() >= working_set.as_u64(), "{settled}");
            assert_ne!(last[column("cgroup_bytes")], "", "{series}");
        }
    }
    let commit = &bench_folder.summary()["environment"]["loadgen_commit"];
    assert!(
        commit.as_str().is_some_and(|commit| !commit.is_empty()),
        "{commit}"
    );
}
