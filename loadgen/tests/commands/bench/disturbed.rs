//! Benches beside another program: what it disturbs is not valid, is kept, and is measured again.

use std::process::{Child, Command};

use serde_json::Value;

use crate::bench::bench_folder::{BenchFolder, dir_command};
use crate::program::{loadgen, text};

/// A program that uses a core until it is dropped.
struct Busy(Child);

impl Busy {
    fn start() -> Self {
        let endless = Command::new("sh")
            .args(["-c", "while :; do :; done"])
            .spawn();
        Self(endless.expect("sh starts"))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub fn a_timed_run_beside_other_work_is_invalid_and_measured_again() {
    let bench_folder = BenchFolder::new("disturbed");
    let mut args = bench_folder.bench(&["works"], "20");
    let attempts = args.iter().position(|arg| arg == "--attempts");
    args[attempts.expect("there") + 1] = "2".into();
    args.push("--bursts-only".into());
    let busy = Busy::start();
    let output = loadgen(&args);
    drop(busy);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(
        said.contains("measured again (attempt 2 of at most 2)"),
        "{said}"
    );
    let read = |name: &str| -> Value {
        let text = std::fs::read(bench_folder.out().join(name)).expect(name);
        serde_json::from_slice(&text).expect("JSON")
    };
    let first = read("runs/mock-works-drain-20-r1-attempt-1.json");
    let last = read("runs/mock-works-drain-20-r1.json");
    for (attempt, run) in [(1, &first), (2, &last)] {
        assert_eq!(run["attempt"], attempt, "{run}");
        let because = run["invalid_because"].to_string();
        assert!(because.contains("other programs used "), "{because}");
        assert!(
            run["machine_use"]["outside_cpu_s"].as_f64() > Some(0.1),
            "{run}"
        );
    }
    assert!(
        !bench_folder
            .out()
            .join("runs/mock-works-drain-20-r1-attempt-2.json")
            .exists()
    );
    let memory = read("runs/mock-works-memory-20-r1.json");
    assert_eq!(memory["machine_use"], Value::Null, "it is not timed");
    assert_eq!(memory["invalid_because"], serde_json::json!([]));
    let report = text(&output.stdout);
    assert!(
        report.contains("INVALID mock/works drain 20, attempt 1: other programs used"),
        "{report}"
    );
    assert_eq!(dir_command("verify", &bench_folder).status.code(), Some(0));
}
