//! Benches beside another program: what it disturbs has a mark, and is measured again where the user asks for it.

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

pub fn a_disturbed_run_of_the_quick_profile_has_a_mark_and_a_sentence() {
    let bench_folder = BenchFolder::new("disturbed");
    let mut args = bench_folder.bench(&["works"], "20");
    // Once measured again, and kept.
    let attempts = args.iter().position(|arg| arg == "--attempts");
    args[attempts.expect("there") + 1] = "2".into();
    args.push("--bursts-only".into());
    let busy = Busy::start();
    let output = loadgen(&args);
    drop(busy);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(
        said.contains("disturbed: other programs used")
            && said.contains("measured again (attempt 2 of at most 2)"),
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
        assert_eq!(run["invalid_because"], serde_json::json!([]), "{run}");
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
    let summary = bench_folder.summary();
    let runs = summary["subjects"][0]["runs"].as_array().expect("runs");
    let drain = runs.iter().find(|run| run["cell"] == "drain");
    let drain = drain.expect("of 20 objects");
    assert_eq!(drain["valid"], true, "{drain}");
    assert!(drain["disturbed_by"][0].is_string(), "{drain}");
    let report = text(&output.stdout);
    for want in [
        "WARNING Figures with * are of runs that something disturbed: 1 of 2; of the first, other programs used",
        "INVALID mock/works drain 20, attempt 1: other programs used",
        "DISTURBED mock/works drain 20: other programs used",
    ] {
        assert!(report.contains(want), "{want} not in {report}");
    }
    let marked = |line: &&str| line.starts_with("time to drain, s");
    let row = report.lines().find(marked);
    assert!(row.is_some_and(|row| row.contains('*')), "{row:?}");
    assert_eq!(dir_command("verify", &bench_folder).status.code(), Some(0));
}
