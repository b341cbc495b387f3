//! `loadgen conform` end to end: what is no operator fails with a line that says why, the operators
//! of this workspace pass.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use libtest_mimic::Trial;

use crate::program::{LOADGEN, folder, mock_subject, text};
use crate::{tests, trial};

pub fn trials() -> Vec<Trial> {
    let missing = OPERATORS
        .into_iter()
        .map(beside)
        .find(|program| !program.is_file());
    if let Some(missing) = &missing {
        eprintln!(
            "ignored: the operators of this workspace, because {} was not built; cargo test --workspace builds it",
            missing.display()
        );
    }
    let mocks = tests![conform:
        a_failure_says_step_object_expected_and_seen,
        what_does_not_start_or_ends_says_what_was_missing_and_the_end_of_its_log,
        an_operator_for_another_resource_is_not_checked,
    ];
    let real = tests![conform:
        the_operators_of_this_workspace_pass,
        an_operator_is_measured_after_a_soak_and_with_unhealthy_objects,
    ];
    let real = real.map(|(name, test)| trial(name, test, missing.is_some()));
    let mocks = mocks.map(|(name, test)| trial(name, test, false));
    real.into_iter().chain(mocks).collect()
}

/// The programs of the operators that are tried.
const OPERATORS: [&str; 4] = [
    "tare",
    "baseline-kube-rs",
    "baseline-kube-rs-predicate",
    "baseline-kube-rs-tuned",
];

/// A program of the same build.
fn beside(program: &str) -> PathBuf {
    Path::new(LOADGEN).with_file_name(program)
}

fn conform(folder: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(LOADGEN);
    command
        .args(["conform", "--no-build", "--out"])
        .arg(folder.join("out"))
        .args(args);
    command.output().expect("loadgen starts")
}

/// Conformance of a mock subject, with the CRD in `crd`.
fn conform_mock(name: &str, behaviour: &str, crd: &Path) -> Output {
    let mock = mock_subject();
    let script = format!("exec {mock} mock-subject --admin {{admin}} --behaviour {behaviour}");
    conform_script(name, &script, "", crd)
}

/// Conformance of the subject `mock/NAME`, which is a script of a shell, with more in its file.
fn conform_script(name: &str, script: &str, more: &str, crd: &Path) -> Output {
    let folder = folder(&format!("conform-{name}"));
    let file = folder.join("subject.toml");
    let subject = format!(
        "name = \"mock\"\nvariant = \"{name}\"\n\
         [run]\ncommand = \"sh\"\nargs = [\"-c\", \"{script}\"]\n\
         env = {{ KUBECONFIG = \"{{kubeconfig}}\" }}\ncrd = \"{}\"\n\
         [ready]\nhttp = \"/readyz\"\n{more}",
        crd.display()
    );
    std::fs::write(&file, subject).expect("writable");
    let (file, id) = (file.display().to_string(), format!("mock/{name}"));
    let args = ["--subject", &file, "--subjects", &id, "--deadline-s", "1"];
    conform(&folder, &args)
}

fn repository(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(file)
}

fn a_failure_says_step_object_expected_and_seen() {
    let crd = repository("deploy/base/crd.yaml");
    for (behaviour, want) in [
        (
            "hangs",
            "FAIL mock/hangs: create: EdgeApp edge/create: \
             expected /status/observedGeneration 1 within 1 s, seen null",
        ),
        (
            "works",
            "FAIL mock/works: create: EdgeApp edge/create: \
             expected /status/readyReplicas 2 within 1 s, seen 0",
        ),
        (
            "dies-at-once",
            "FAIL mock/dies-at-once: start: mock/dies-at-once: expected to start, \
             seen mock/dies-at-once ended by itself (exit status: 1); the end of its log: error: the mock subject dies at once",
        ),
    ] {
        let output = conform_mock(behaviour, behaviour, &crd);
        let said = text(&output.stdout);
        assert_eq!(output.status.code(), Some(1), "{behaviour}: {said}");
        assert!(said.contains(want), "{behaviour}: {want} not in {said}");
        // One step that fails stops no other, where the subject runs.
        let not_run = |line: &&str| line.ends_with("not run");
        let not_run = said.lines().filter(not_run).count();
        match behaviour {
            "dies-at-once" => assert!(not_run >= 9, "{said}"),
            _ => assert_eq!(not_run, 0, "{behaviour}: {said}"),
        }
    }
}

fn what_does_not_start_or_ends_says_what_was_missing_and_the_end_of_its_log() {
    let crd = repository("deploy/base/crd.yaml");
    let mock = format!(
        "{} mock-subject --admin {{admin}} --behaviour",
        mock_subject()
    );
    let (works, dies) = (
        format!("exec {mock} works"),
        format!("echo first; {mock} dies"),
    );
    let elsewhere = "[convergence]\nobserved_generation = \"/status/seen\"\n";
    let unobserved = "did not observe the canary within 1 s: ";
    for (name, script, more, wants) in [
        (
            "answers-nothing",
            "exec sleep 60",
            "",
            [
                &format!("{unobserved}http://127.0.0.1:")[..],
                "/readyz: Connection refused (os error 111); ",
                ": it has no /status/observedGeneration; it has no condition Ready; ",
            ],
        ),
        (
            "observes-elsewhere",
            &works,
            elsewhere,
            [
                unobserved,
                ": it has no /status/seen; its status: {",
                "\"status\":\"True\",\"type\":\"Ready\"",
            ],
        ),
        (
            "starts-with-three-lines",
            "echo first; echo second; echo third; exit 1",
            "",
            [
                "ended by itself (exit status: 1)",
                "; the end of its log: ",
                "first | second | third",
            ],
        ),
        (
            "dies-with-two-lines",
            &dies,
            "",
            [
                "to run, seen ",
                "ended by itself (exit status: 1): ",
                "first | error: the mock subject dies at",
            ],
        ),
    ] {
        let output = conform_script(name, script, more, &crd);
        let said = text(&output.stdout);
        assert_eq!(output.status.code(), Some(1), "{name}: {said}");
        for want in wants {
            assert!(said.contains(want), "{name}: {want} not in {said}");
        }
    }
}

fn an_operator_for_another_resource_is_not_checked() {
    let crd = repository("kubesim/tests/data/widget-crd.yaml");
    let output = conform_mock("widget", "works", &crd);
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{said}");
    let want = "mock/widget: not checked: it has objects of its own";
    assert!(said.contains(want), "{said}");
}

fn the_operators_of_this_workspace_pass() {
    let beside = Path::new(LOADGEN).parent().expect("a folder");
    let subjects = "tare/none,kube-rs/stock,kube-rs/predicate,kube-rs/tuned";
    let folder = folder("conform-pass");
    let mut command = Command::new(LOADGEN);
    command
        .args(["conform", "--no-build", "--subjects", subjects, "--out"])
        .arg(folder.join("out"))
        .env("TARE_SUBJECT_DIR", beside);
    let output = command.output().expect("loadgen starts");
    let said = text(&output.stdout) + &text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    let passed = said.matches("pass ").count();
    assert_eq!(passed, 11 * subjects.split(',').count(), "{said}");
}

fn an_operator_is_measured_after_a_soak_and_with_unhealthy_objects() {
    let beside = Path::new(LOADGEN).parent().expect("a folder");
    let out = folder("conform-soak").join("out");
    let mut command = Command::new(LOADGEN);
    command
        .args(["bench", "--no-build", "--skip-conformance", "--bursts-only"])
        .args(["--subjects", "tare/none", "--objects", "20"])
        // A turn of each kind: two updates, a flip, an update, a flip, all anew.
        .args(["--soak-events", "600", "--unhealthy", "--out"])
        .arg(&out)
        .env("TARE_SUBJECT_DIR", beside);
    let output = command.output().expect("loadgen starts");
    let said = text(&output.stdout) + &text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("RSS after the soak, MB"), "{said}");
    let run = std::fs::read(out.join("runs/tare-none-memory-20-r1.json")).expect("a run");
    let run: serde_json::Value = serde_json::from_slice(&run).expect("JSON");
    assert!(
        run["soak"]["events"].as_u64() >= Some(600),
        "{}",
        run["soak"]
    );
    assert!(run["soak"]["rounds"].as_u64() >= Some(6), "{}", run["soak"]);
    assert!(run["memory"]["after_soak"]["rss_bytes"].is_u64());
    let packed = std::fs::File::open(out.join("samples/tare-none-memory-20-r1.tsv.gz"));
    let mut samples = String::new();
    flate2::read::GzDecoder::new(packed.expect("samples"))
        .read_to_string(&mut samples)
        .expect("text");
    let waves = samples.lines().skip(1).map(|line| line.split('\t').next());
    let waves: std::collections::BTreeSet<_> = waves.collect();
    assert!(waves.len() > 6, "the creation and every round: {waves:?}");
    for (kind, which) in [
        ("rejected", "whose children the API server rejects"),
        ("never-ready", "whose children never become ready"),
    ] {
        assert!(said.contains(which), "{which} not in {said}");
        let file = out.join(format!("runs/tare-none-{kind}-20-r1.json"));
        let run = std::fs::read(file).expect("a run");
        let run: serde_json::Value = serde_json::from_slice(&run).expect("JSON");
        assert_eq!(run["failure"], serde_json::Value::Null);
        assert_eq!(run["fault_response"]["ready"], 0, "{run}");
        // Each is tried, and not over and over: 20 objects at 8 times in half a minute at most.
        let last = run["fault_response"]["last_requests_per_s"].as_f64();
        assert!(last.is_some_and(|per_s| per_s < 20.0), "{run}");
    }
}
