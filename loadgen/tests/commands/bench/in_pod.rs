//! `credentials = "in-pod"`: a subject that reads the files of a service account.

use std::process::Command;

use serde_json::Value;

use crate::bench::bench_folder::BenchFolder;
use crate::program::{loadgen, text};

pub fn a_subject_with_the_credentials_of_a_pod_is_measured() {
    let may = Command::new("unshare").args(["--mount", "true"]).status();
    if !may.is_ok_and(|status| status.success()) {
        eprintln!("not tested, because mounts cannot be private here: it needs root");
        return;
    }
    let bench_folder = BenchFolder::new("in-pod");
    let mut args = bench_folder.bench(&["in-pod"], "20");
    args.push("--bursts-only".into());
    let output = loadgen(&args);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let file = bench_folder
        .out()
        .join("runs/mock-in-pod-memory-20-r1.json");
    let run = std::fs::read(file).expect("a record");
    let run: Value = serde_json::from_slice(&run).expect("JSON");
    assert!(run["failure"].is_null(), "{run:#}");
    // Of the subject, and not of a shell around it.
    let settled = run["memory"]["settled"]["rss_bytes"].as_u64();
    assert!(settled > Some(5_000_000), "{run:#}");
}
