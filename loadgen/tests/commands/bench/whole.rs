//! Benches that run to their end: what works is measured, what fails is reported.

use std::process::Command;

use serde_json::Value;

use crate::bench::bench_folder::{BUSY_S, BenchFolder, children_of, dir_command, start};
use crate::program::{LOADGEN, loadgen, text};

pub fn a_tiny_bench_ends_with_a_report_that_can_be_rebuilt() {
    let bench_folder = BenchFolder::new("tiny");
    let output = loadgen(&bench_folder.bench(&["works", "second"], "20"));
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    let report = text(&output.stdout);
    for want in [
        "Memory at 20 objects",
        "RSS settled, MB",
        "At 20 objects mock/works settles at",
        "Next: ",
    ] {
        assert!(report.contains(want), "{want} not in {report}");
    }

    let summary = bench_folder.summary();
    for subject in summary["subjects"].as_array().expect("subjects") {
        let runs = subject["runs"].as_array().expect("runs");
        assert_eq!(runs.len(), 2 + 2, "drain, memory and two rates: {runs:?}");
        let of = |kind: &str| {
            let found = runs.iter().find(|run| run["cell"] == kind);
            found.unwrap_or_else(|| panic!("no {kind}"))
        };
        let (drain, memory) = (of("drain"), of("memory"));
        assert_eq!(memory["values"]["requests.writes_per_object"], 1);
        let by_verb = "requests.by_verb.patch edgeapps/status";
        assert_eq!(memory["values"][by_verb], 20);
        assert_eq!(drain["values"]["convergence.censored"], 0);
        assert_eq!(drain["values"]["reconcile.count"], 20);
        assert_eq!(drain["values"]["reconcile.errors"], 0);
        assert_eq!(drain["values"]["until_quiet.writes_per_object"], 1);
        assert!(
            memory["values"]["memory.settled.rss_bytes"]
                .as_u64()
                .is_some_and(|bytes| bytes > 500_000)
        );
        assert!(
            memory["values"]["memory.restart.peak_bytes"].is_u64(),
            "{memory}"
        );
        assert!(
            memory["values"]["memory.deleted.anon_bytes"].is_u64(),
            "{memory}"
        );
    }
    let notes = summary["notes"].to_string();
    let skipped = "conformance of mock/works not checked: --skip-conformance";
    assert!(notes.contains(skipped), "{notes}");
    assert!(!notes.contains("did not settle"), "{notes}");
    assert_eq!(dir_command("verify", &bench_folder).status.code(), Some(0));

    let path = bench_folder.out().join("summary.json");
    let written = std::fs::read(&path).expect("a summary");
    std::fs::remove_file(&path).expect("ours");
    let rebuilt = dir_command("report", &bench_folder);
    assert_eq!(rebuilt.status.code(), Some(0), "{}", text(&rebuilt.stderr));
    assert_eq!(
        std::fs::read(&path).expect("rebuilt"),
        written,
        "the same raw data, the same summary"
    );
    assert_eq!(text(&rebuilt.stdout), report, "and the same words");

    type Break = fn(&mut Value);
    let breaks: [(Break, &str); 2] = [
        (
            |summary| {
                let run = summary["subjects"][0]["runs"][0].as_object_mut();
                run.expect("a run").remove("unsettled");
            },
            "summary.json: subjects[0].runs[0].unsettled: missing, the raw data gives 0 entries",
        ),
        (
            |summary| summary["scenario"]["seed"] = "one".into(),
            "summary.json: scenario.seed: \"one\", the raw data gives ",
        ),
    ];
    for (change, want) in breaks {
        let mut broken = summary.clone();
        change(&mut broken);
        std::fs::write(&path, broken.to_string()).expect("ours");
        let verified = dir_command("verify", &bench_folder);
        let problems = text(&verified.stdout);
        assert_eq!(verified.status.code(), Some(1), "{problems}");
        assert_eq!(problems.lines().count(), 1, "{problems}");
        assert!(problems.contains(want), "{problems}");
    }
}

pub fn subjects_that_die_or_hang_are_failed_runs_with_their_log_tail() {
    let bench_folder = BenchFolder::new("failing");
    let mut args = bench_folder.bench(&["dies-at-once", "dies", "hangs"], "20");
    args.extend(["--deadline-s".into(), "3".into()]);
    let output = loadgen(&args);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let report = text(&output.stdout);
    for want in [
        "FAILED mock/dies-at-once drain 20: mock/dies-at-once ended by itself (exit status: 1)",
        "    | error: the mock subject dies at once, as asked for",
        "    | error: the mock subject dies at ea-",
        "FAILED mock/hangs drain 20: no object converged within 3 s (--deadline-s); 20 censored; ",
        "it has no /status/observedGeneration; it has no condition Ready",
    ] {
        assert!(report.contains(want), "{want} not in {report}");
    }
    let summary = bench_folder.summary();
    for subject in summary["subjects"].as_array().expect("subjects") {
        assert_eq!(subject["runs"][0]["valid"], false, "{subject}");
        assert!(
            subject["runs"][0]["invalid_because"][0].is_string(),
            "{subject}"
        );
    }
    let hangs = &summary["subjects"][2]["runs"][0];
    assert_eq!(hangs["values"]["convergence.censored"], 20, "{hangs}");
    assert_eq!(dir_command("verify", &bench_folder).status.code(), Some(0));
}

pub fn a_subject_that_ends_at_each_start_is_given_up_after_three_runs() {
    let bench_folder = BenchFolder::new("given-up");
    let mut args = bench_folder.bench(&["dies-at-once"], "20");
    args.extend(["--bursts-only", "--repeats", "3"].map(str::to_owned));
    let output = loadgen(&args);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let report = text(&output.stdout);
    let ended = "mock/dies-at-once ended by itself (exit status: 1)";
    let not_tried = format!(": not tried: 3 runs before it ended alike: {ended}");
    let failed = report.lines().filter(|line| line.starts_with("FAILED "));
    let (left, tried): (Vec<&str>, Vec<&str>) = failed.partition(|line| line.ends_with(&not_tried));
    assert!(tried.len() == 3 && left.len() > 1, "{report}");
}

pub fn a_subject_behind_a_wrapper_is_measured_with_all_it_starts() {
    let bench_folder = BenchFolder::new("wrapped");
    let mut args = bench_folder.bench(&["works", "wrapped"], "20");
    args.extend(["--memory-only", "--repeats", "1"].map(str::to_owned));
    args.retain(|arg| arg != "--rates" && arg != "20,40");
    let bench = start(&args);
    let pid = bench.id();
    let output = bench.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(children_of(pid), Vec::<String>::new());
    let summary = bench_folder.summary();
    let figure = |subject: usize, name: &str| {
        let run = &summary["subjects"][subject]["runs"][0];
        let figure = run["values"][name].as_f64();
        figure.unwrap_or_else(|| panic!("no {name} in {run}"))
    };
    let anon = "memory.settled.anon_bytes";
    let (alone, wrapped) = (figure(0, anon), figure(1, anon));
    assert!(
        wrapped > 0.8 * alone,
        "{wrapped} bytes, {alone} without the wrapper"
    );
    assert!(figure(1, "cpu.converge_s") > 0.0);
    // It was ended and started again.
    assert!(figure(1, "memory.restart.anon_bytes") > 0.5 * alone);
    // What the shell has started beside it is waited for, too.
    let run = bench_folder
        .out()
        .join("runs/mock-wrapped-memory-20-r1.json");
    let run = std::fs::read(run).expect("a run");
    let run: Value = serde_json::from_slice(&run).expect("JSON");
    let mut steps = run["steps"].as_array().expect("steps").iter();
    let settled = steps.find(|step| step["step"] == "settle");
    let settled_ms = settled.and_then(|step| step["to_ms"].as_u64());
    // Memory is sampled after 10 s of quiet. Beside other programs its last second may not count as work.
    assert!(settled_ms > Some((BUSY_S + 9) * 1_000), "{settled:?}");
}

pub fn a_subject_that_fails_the_conformance_scenario_is_not_measured() {
    let bench_folder = BenchFolder::new("gate");
    let mut args = bench_folder.bench(&["works"], "0");
    args.retain(|arg| arg != "--skip-conformance");
    args.extend(["--deadline-s".into(), "1".into()]);
    let output = loadgen(&args);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let report = text(&output.stdout);
    let why = "mock/works is not measured, since it failed the conformance scenario: create: \
               EdgeApp edge/create: expected /status/readyReplicas 2 within 1 s, seen ";
    assert!(report.contains(why), "{report}");
    let kept = std::fs::read(bench_folder.out().join("conformance/mock-works.json")).expect("kept");
    let kept: Value = serde_json::from_slice(&kept).expect("JSON");
    assert_eq!(kept["result"], "failed", "{kept}");
    // One step that fails stops no other.
    let outcome = &kept["steps"][2]["outcome"];
    assert!(outcome["failed"].is_object(), "{kept}");
    assert_eq!(bench_folder.summary()["subjects"], serde_json::json!([]));
    assert_eq!(dir_command("verify", &bench_folder).status.code(), Some(0));
}

pub fn a_full_disk_is_one_line_and_leaves_nothing_that_looks_whole() {
    let bench_folder = BenchFolder::new("full-disk");
    let mut args = bench_folder.bench(&["works"], "3000");
    args.insert(0, LOADGEN.into());
    // A limit on file size stands in for the disk: 64 blocks of 512 or 1,024 bytes hold
    // experiment.json and not 3,000 samples. The shell ignores the signal, and so does its child.
    let script = "trap '' XFSZ; ulimit -f 64; exec \"$@\"";
    let output = Command::new("sh")
        .args(["-c", script, "sh"])
        .args(&args)
        .output()
        .expect("sh starts");
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    let errors: Vec<&str> = said
        .lines()
        .filter(|line| line.starts_with("error: "))
        .collect();
    assert_eq!(errors.len(), 1, "{said}");
    assert!(
        errors[0].contains("samples/") && errors[0].contains("--out"),
        "{said}"
    );
    assert!(!bench_folder.out().join("summary.json").exists());
    let samples =
        std::fs::read_dir(bench_folder.out().join("samples")).expect("the folder was made");
    assert_eq!(samples.count(), 0, "no sample file, whole or partial");
}

pub fn a_subject_beside_itself_gives_the_noise_floor() {
    let bench_folder = BenchFolder::new("noise");
    let mut args = bench_folder.bench(&["works", "second"], "4");
    args.extend(["--repeats-largest".into(), "2".into()]);
    let output = loadgen(&args);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let summary = bench_folder.summary();
    let runs = summary["subjects"][0]["runs"].as_array().expect("runs");
    let a_a = runs.iter().filter(|run| run["cell"] == "memory-aa");
    assert_eq!(a_a.count(), 2, "{runs:?}");
    let floors = summary["noise_floors"].as_array().expect("floors");
    let floor = floors
        .iter()
        .find(|floor| floor["metric"] == "memory.settled.rss_bytes")
        .expect("of settled memory");
    assert_eq!(floor["cell"], "memory", "{floor}");
    assert_eq!(floor["pairs"], 2, "{floor}");
    // The same program: its memory differs by pages, not by tenths.
    let ratio = floor["ratio"].as_f64().expect("a ratio");
    assert!((0.8..1.25).contains(&ratio), "{floor}");
    let comparisons = summary["comparisons"].as_array().expect("comparisons");
    let settled = comparisons
        .iter()
        .find(|c| c["metric"] == "memory.settled.rss_bytes")
        .expect("compared");
    assert!(settled["significant"].is_boolean(), "{settled}");
    assert_eq!(dir_command("verify", &bench_folder).status.code(), Some(0));
}

pub fn several_runs_may_be_under_way_at_once() {
    let bench_folder = BenchFolder::new("overlap");
    let mut args = bench_folder.bench(&["works", "second"], "0,5");
    args.extend(["--overlap", "3", "--bursts-only"].map(str::to_owned));
    let output = loadgen(&args);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(
        said.starts_with("6 runs, up to 3 memory runs under way at once, "),
        "{said}"
    );
    let summary = bench_folder.summary();
    for subject in summary["subjects"].as_array().expect("subjects") {
        let runs = subject["runs"].as_array().expect("runs");
        let cells: Vec<&str> = runs.iter().filter_map(|run| run["cell"].as_str()).collect();
        assert_eq!(
            cells,
            ["memory", "drain", "memory"],
            "no rates were asked for"
        );
        let memory = runs.iter().filter(|run| run["cell"] == "memory");
        assert!(memory.clone().all(|run| run["valid"] == true), "{runs:?}");
    }
    let notes = summary["notes"].to_string();
    assert!(
        notes.contains("idle phases of up to 3 runs overlapped"),
        "{notes}"
    );
    assert_eq!(dir_command("verify", &bench_folder).status.code(), Some(0));
}
