//! `loadgen bench --restarts N`: subjects are restarted on the objects that exist.

use serde_json::Value;

use crate::bench::bench_folder::{BenchFolder, children_of, dir_command, start};
use crate::program::{loadgen, signal, text, wait_for};

/// The arguments that restart mocks of these behaviours on a few objects.
fn restarts(bench_folder: &BenchFolder, behaviours: &[&str], times: &str) -> Vec<String> {
    let mut args = bench_folder.bench(behaviours, "20");
    args.extend(["--bursts-only", "--restarts", times].map(str::to_owned));
    args
}

/// The record of a run on 20 objects.
fn run_of(bench_folder: &BenchFolder, subject: &str, kind: &str) -> Value {
    let file = format!("runs/mock-{subject}-{kind}-20-r1.json");
    let text = std::fs::read(bench_folder.out().join(file)).expect("a record");
    serde_json::from_slice(&text).expect("JSON")
}

fn recorded(run: &Value) -> &Vec<Value> {
    run["restarts"].as_array().expect("restarts")
}

pub fn every_restart_is_recorded_with_what_it_costs_the_server() {
    let bench_folder = BenchFolder::new("restarts");
    let output = loadgen(&restarts(&bench_folder, &["works", "second"], "2"));
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    for subject in ["works", "second"] {
        let run = run_of(&bench_folder, subject, "memory");
        assert_eq!(recorded(&run).len(), 1, "{run}");
        let memory = &recorded(&run)[0]["memory"];
        let settled = memory["rss_bytes"].as_u64();
        assert!(settled > Some(500_000), "{run}");
        assert!(memory["peak_bytes"].as_u64() >= settled, "{run}");
        assert_eq!(memory["did_settle"], true, "{run}");
        let run = run_of(&bench_folder, subject, "drain");
        assert_eq!(recorded(&run).len(), 2, "{run}");
        for restart in recorded(&run) {
            assert_eq!(
                restart["memory"],
                Value::Null,
                "a timed run does not settle"
            );
            assert_eq!(
                (&restart["events"], &restart["settled"]),
                (&0.into(), &true.into())
            );
            let server = &restart["server"];
            // The mock lists the objects once, and writes the status of the new one.
            assert_eq!(
                (&server["reads"], &server["writes"]),
                (&1.into(), &1.into()),
                "{restart}"
            );
            assert!(
                server["response_bytes"].as_u64() > Some(20 * 2_048),
                "{restart}"
            );
            assert_eq!(
                server["datastore_reads"],
                Value::Null,
                "it has no datastore"
            );
        }
    }
    let page = std::fs::read_to_string(bench_folder.out().join("report.md")).expect("a page");
    let said = text(&output.stdout);
    for want in [
        "Restarts on 20 objects: the subject",
        "Restarts on 20 objects: the API server",
    ] {
        assert!(page.contains(want) && said.contains(want), "{want}: {said}");
    }
    assert!(page.contains("| mock/second | 3 | "), "{page}");
    std::fs::remove_file(bench_folder.out().join("report.md")).expect("removed");
    let report = [
        "report".to_owned(),
        bench_folder.out().display().to_string(),
    ];
    assert!(loadgen(&report).status.success());
    let again = std::fs::read_to_string(bench_folder.out().join("report.md")).expect("a page");
    assert_eq!(again, page, "made anew from the raw data");
}

/// An operator with leader election runs for seconds before it reads anything.
pub fn a_subject_that_does_not_say_when_it_is_ready_is_ready_when_it_observes_a_new_object() {
    let bench_folder = BenchFolder::new("restarts-untold");
    let args = restarts(&bench_folder, &["works"], "2");
    let file = bench_folder.out().with_file_name("works.toml");
    let subject = std::fs::read_to_string(&file).expect("a subject");
    let untold = subject.replace("[ready]\nhttp = \"/readyz\"\n", "");
    assert_ne!(subject, untold);
    std::fs::write(&file, untold).expect("writable");
    let output = loadgen(&args);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    for kind in ["drain", "memory"] {
        let run = run_of(&bench_folder, "works", kind);
        for restart in recorded(&run) {
            assert_eq!(restart["events"], 0, "of the objects: {run}");
            let (ready, working) = (&restart["ready_s"], &restart["working_s"]);
            assert_eq!(ready, working, "it does not say when it is ready");
        }
    }
    assert_eq!(dir_command("verify", &bench_folder).status.code(), Some(0));
}

/// One that waits for a Lease says that it is ready long before it works.
pub fn a_standby_has_started_when_it_works() {
    let bench_folder = BenchFolder::new("restarts-standby");
    let output = loadgen(&restarts(&bench_folder, &["standby"], "1"));
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let run = run_of(&bench_folder, "standby", "memory");
    let restart = &recorded(&run)[0];
    let ready_s = restart["ready_s"].as_f64().expect("it says so");
    let working_s = restart["working_s"].as_f64().expect("it worked");
    assert!(ready_s < 2.0 && working_s > 2.0, "{restart}");
    assert!(run["spawn_to_canary_ms"].as_f64() > Some(2_000.0), "{run}");
}

pub fn a_restart_that_fails_keeps_the_figures_before_it() {
    let bench_folder = BenchFolder::new("restarts-failing");
    let output = loadgen(&restarts(&bench_folder, &["works", "dies-at-once"], "1"));
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.contains("FAILED mock/dies-at-once drain 20: "),
        "{said}"
    );
    let works = run_of(&bench_folder, "works", "drain");
    assert_eq!(works["failure"], Value::Null);
    assert_eq!(recorded(&works).len(), 1);
    assert!(recorded(&run_of(&bench_folder, "dies-at-once", "drain")).is_empty());
}

pub fn ctrl_c_ends_everything_that_was_started() {
    let bench_folder = BenchFolder::new("restarts-ctrl-c");
    let running = start(&restarts(&bench_folder, &["works"], "100"));
    let pid = running.id();
    wait_for("a first start", || {
        bench_folder
            .out()
            .join("logs/mock-works-drain-20-r1.log")
            .exists()
    });
    signal(&running, "-INT");
    let output = running.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
    assert_eq!(children_of(pid), Vec::<String>::new());
}

pub fn a_real_api_server_tells_what_a_restart_made_it_read() {
    let bench_folder = BenchFolder::new("restarts-kube");
    let mut args = restarts(&bench_folder, &["works"], "1");
    args.extend(
        "--repeats 1 --profile quick --control-plane kube"
            .split(' ')
            .map(str::to_owned),
    );
    args.push("--server-restart".to_owned());
    let output = loadgen(&args);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let run = run_of(&bench_folder, "works", "memory");
    let (restart, memory) = (&run["server_restart"], &run["memory"]);
    let back_s = restart["back_s"].as_f64();
    assert!(
        back_s > Some(0.0) && restart["working_s"].as_f64() > back_s,
        "{restart}"
    );
    assert!(memory["server_restart"]["rss_bytes"].is_u64(), "{memory}");
    for phase in ["empty", "settled", "server_restart"] {
        let server = memory[phase]["api_server_rss_bytes"].as_u64();
        assert!(server > Some(50_000_000), "{phase}: {memory}");
    }
    let run = run_of(&bench_folder, "works", "drain");
    let server = &recorded(&run)[0]["server"];
    assert_eq!(
        server["writes"], 1,
        "the status of the new object: {server}"
    );
    assert!(server["reads"].as_u64() >= Some(1), "{server}");
    assert!(
        server["response_bytes"].as_u64() > Some(20 * 2_048),
        "{server}"
    );
    assert!(server["datastore_reads"].is_u64(), "{server}");
    assert!(server["datastore_objects"].is_u64(), "{server}");
    assert!(
        server["rss_peak_bytes"].as_u64() > Some(50_000_000),
        "{server}"
    );
}
