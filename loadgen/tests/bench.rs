//! `loadgen bench` end to end, with mock subjects in place of operators: what works is measured,
//! what fails is reported, what is stopped leaves nothing behind.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

const LOADGEN: &str = env!("CARGO_BIN_EXE_loadgen");

/// A folder with a subject.toml per behaviour.
struct Bed(PathBuf);

impl Bed {
    fn new(name: &str) -> Self {
        let path =
            std::env::temp_dir().join(format!("loadgen-bench-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("temporary folder");
        Self(path)
    }

    /// The arguments that measure mocks of these behaviours.
    fn bench(&self, behaviours: &[&str], objects: &str) -> Vec<String> {
        // A mock is no operator: it would not pass.
        let mut args: Vec<String> = ["bench", "--no-build", "--skip-conformance"]
            .map(str::to_owned)
            .to_vec();
        args.extend(["--objects".into(), objects.into()]);
        args.extend(["--out".into(), self.out().display().to_string()]);
        let names: Vec<String> = behaviours.iter().map(|b| format!("mock/{b}")).collect();
        args.extend(["--subjects".into(), names.join(",")]);
        for behaviour in behaviours {
            let file = self.0.join(format!("{behaviour}.toml"));
            std::fs::write(&file, subject(behaviour)).expect("writable");
            args.extend(["--subject".into(), file.display().to_string()]);
        }
        args
    }

    fn out(&self) -> PathBuf {
        self.0.join("out")
    }

    fn summary(&self) -> Value {
        let text = std::fs::read(self.out().join("summary.json")).expect("a summary");
        serde_json::from_slice(&text).expect("JSON")
    }
}

fn subject(behaviour: &str) -> String {
    let crd = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/base/crd.yaml");
    // "twin" is a second subject that works.
    let acts = if behaviour == "twin" {
        "works"
    } else {
        behaviour
    };
    format!(
        "name = \"mock\"\nvariant = \"{behaviour}\"\n\
         [run]\ncommand = \"{LOADGEN}\"\nargs = [\"mock-subject\", \"--admin\", \"{{admin}}\", \"--behaviour\", \"{acts}\"]\n\
         env = {{ KUBECONFIG = \"{{kubeconfig}}\" }}\ncrd = \"{}\"\n\
         [ready]\nhttp = \"/readyz\"\n\
         [metrics]\nreconcile_histogram = \"mock_seconds\"\nreconcile_errors = \"mock_errors_total\"\n",
        crd.display()
    )
}

fn loadgen(args: &[String]) -> Output {
    Command::new(LOADGEN)
        .args(args)
        .output()
        .expect("loadgen starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn dir_command(command: &str, bed: &Bed) -> Output {
    loadgen(&[command.to_owned(), bed.out().display().to_string()])
}

#[test]
fn a_tiny_bench_ends_with_a_report_that_can_be_rebuilt() {
    let bed = Bed::new("tiny");
    let output = loadgen(&bed.bench(&["works", "twin"], "20"));
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

    let summary = bed.summary();
    for subject in summary["subjects"].as_array().expect("subjects") {
        let runs = subject["runs"].as_array().expect("runs");
        assert_eq!(runs.len(), 2, "burst and steady: {runs:?}");
        let burst = runs
            .iter()
            .find(|run| run["objects"] == 20 && run["cell"] == "burst")
            .expect("a burst");
        assert_eq!(burst["valid"], true, "{burst}");
        assert_eq!(burst["requests"]["writes_per_object"], 1.0);
        assert_eq!(burst["requests"]["by_verb"]["patch edgeapps/status"], 20);
        assert_eq!(burst["convergence"]["censored"], 0);
        assert_eq!(burst["reconcile"]["count"], 20);
        assert_eq!(burst["reconcile"]["errors"], 0);
        assert!(
            burst["memory"]["settled"]["rss_bytes"]
                .as_u64()
                .is_some_and(|bytes| bytes > 500_000)
        );
        assert!(burst["memory"]["restart"]["peak_bytes"].is_u64(), "{burst}");
        assert!(burst["memory"]["deleted"]["anon_bytes"].is_u64(), "{burst}");
    }
    let notes = summary["notes"].to_string();
    let skipped = "conformance of mock/works not checked: --skip-conformance";
    assert!(notes.contains(skipped), "{notes}");
    assert_eq!(dir_command("validate", &bed).status.code(), Some(0));

    let path = bed.out().join("summary.json");
    let written = std::fs::read(&path).expect("a summary");
    std::fs::remove_file(&path).expect("ours");
    let rebuilt = dir_command("report", &bed);
    assert_eq!(rebuilt.status.code(), Some(0), "{}", text(&rebuilt.stderr));
    assert_eq!(
        std::fs::read(&path).expect("rebuilt"),
        written,
        "the same raw data, the same summary"
    );
    assert_eq!(text(&rebuilt.stdout), report, "and the same words");

    let mut broken = summary;
    broken["subjects"][0]["runs"][0]
        .as_object_mut()
        .expect("a run")
        .remove("cpu");
    broken["scenario"]["seed"] = "one".into();
    std::fs::write(&path, broken.to_string()).expect("ours");
    let validated = dir_command("validate", &bed);
    let problems = text(&validated.stdout);
    assert_eq!(validated.status.code(), Some(1), "{problems}");
    assert_eq!(problems.lines().count(), 2, "{problems}");
    assert!(
        problems.contains("subjects[0].runs[0].cpu: missing"),
        "{problems}"
    );
    assert!(
        problems.contains("scenario.seed: \"one\" is not a whole number"),
        "{problems}"
    );
}

#[test]
fn subjects_that_die_or_hang_are_failed_runs_with_their_last_words() {
    let bed = Bed::new("failing");
    let mut args = bed.bench(&["dies-at-once", "dies", "hangs"], "20");
    args.extend(["--deadline-s".into(), "3".into()]);
    let output = loadgen(&args);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let report = text(&output.stdout);
    for want in [
        "FAILED mock/dies-at-once burst 20: mock/dies-at-once ended by itself (exit status: 1)",
        "    | error: the mock subject dies at once, as asked for",
        "    | error: the mock subject dies at ea-",
        "FAILED mock/hangs burst 20: no object converged within 3 s; 20 censored",
    ] {
        assert!(report.contains(want), "{want} not in {report}");
    }
    let summary = bed.summary();
    for subject in summary["subjects"].as_array().expect("subjects") {
        assert_eq!(subject["runs"][0]["valid"], false, "{subject}");
        assert!(
            subject["runs"][0]["invalid_reason"].is_string(),
            "{subject}"
        );
    }
    let hangs = &summary["subjects"][2]["runs"][0];
    assert_eq!(hangs["convergence"]["censored"], 20, "{hangs}");
    assert_eq!(dir_command("validate", &bed).status.code(), Some(0));
}

#[test]
fn a_subject_that_fails_the_conformance_scenario_is_not_measured() {
    let bed = Bed::new("gate");
    let mut args = bed.bench(&["works"], "0");
    args.retain(|arg| arg != "--skip-conformance");
    args.extend(["--deadline-s".into(), "1".into()]);
    let output = loadgen(&args);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let report = text(&output.stdout);
    let why = "mock/works is not measured, since it failed the conformance scenario: create: \
               EdgeApp edge/create: expected /status/readyReplicas 2 within 1 s, seen null";
    assert!(report.contains(why), "{report}");
    let kept = std::fs::read(bed.out().join("conformance/mock-works.json")).expect("kept");
    let kept: Value = serde_json::from_slice(&kept).expect("JSON");
    assert_eq!(kept["verdict"], "failed", "{kept}");
    assert_eq!(kept["steps"][2]["outcome"], "not_run", "{kept}");
    assert_eq!(bed.summary()["subjects"], serde_json::json!([]));
    assert_eq!(dir_command("validate", &bed).status.code(), Some(0));
}

#[test]
fn a_full_disk_is_one_line_and_leaves_nothing_that_looks_whole() {
    let bed = Bed::new("full-disk");
    let mut args = bed.bench(&["works"], "3000");
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
    assert!(!bed.out().join("summary.json").exists());
    let samples = std::fs::read_dir(bed.out().join("samples")).expect("the folder was made");
    assert_eq!(samples.count(), 0, "no sample file, whole or partial");
}

/// Processes of the bench `pid`, found by its private folder in their arguments and environment.
fn children_of(pid: u32) -> Vec<String> {
    let mark = format!("loadgen-{pid}/");
    let processes = std::fs::read_dir("/proc").expect("Linux").flatten();
    let told = |path: &Path, file: &str| text(&std::fs::read(path.join(file)).unwrap_or_default());
    let ours = processes.filter_map(|process| {
        let path = process.path();
        let command = told(&path, "cmdline");
        let found = command.contains(&mark) || told(&path, "environ").contains(&mark);
        found.then(|| command.replace('\0', " "))
    });
    ours.collect()
}

fn wait_for(what: &str, holds: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(40);
    while !holds() {
        assert!(Instant::now() < deadline, "never: {what}");
        std::thread::yield_now();
        std::thread::park_timeout(Duration::from_millis(20));
    }
}

fn signal(child: &Child, signal: &str) {
    let sent = Command::new("kill")
        .args([signal, &child.id().to_string()])
        .status()
        .expect("kill starts");
    assert!(sent.success());
}

fn start(bed: &Bed, objects: &str) -> Child {
    let mut command = Command::new(LOADGEN);
    command
        .args(bed.bench(&["works"], objects))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command.spawn().expect("loadgen starts")
}

#[cfg(target_os = "linux")]
#[test]
fn ctrl_c_keeps_what_was_measured_and_leaves_nothing_running() {
    let bed = Bed::new("ctrl-c");
    let bench = start(&bed, "0,2");
    let pid = bench.id();
    wait_for("a finished run", || bed.out().join("runs").is_dir());
    wait_for("the next run's subject and server", || {
        children_of(pid).len() == 2
    });
    signal(&bench, "-INT");
    let output = bench.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
    assert_eq!(children_of(pid), Vec::<String>::new());
    let notes = bed.summary()["notes"].to_string();
    assert!(notes.contains("not run: mock/works burst"), "{notes}");
    assert_eq!(dir_command("validate", &bed).status.code(), Some(0));
}

#[cfg(target_os = "linux")]
#[test]
fn a_killed_bench_takes_its_processes_with_it() {
    let bed = Bed::new("killed");
    let mut bench = start(&bed, "1");
    let pid = bench.id();
    wait_for("subject and server", || children_of(pid).len() == 2);
    signal(&bench, "-KILL");
    bench.wait().expect("it ends");
    wait_for("their end", || children_of(pid).is_empty());
}
