//! The operators of `examples/`, each with its own subject file and the workload of its name, through `bench`,
//! `report`, `check`, `verify`, `run` and `clean`.
//!
//! Guarantees: the subject files are the shipped ones, but for the path of the program. Leaves to others: building the
//! programs.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::bench::files_alone::{Running, started};
use crate::bench::outside::EmptyFolder;
use crate::program::{LOADGEN, wait_for};

/// Names of their programs.
const EXAMPLES: [&str; 4] = ["webapp", "echo", "myservice", "inference_service"];

fn program(example: &str) -> PathBuf {
    Path::new(LOADGEN).with_file_name("examples").join(example)
}

/// What was not built.
pub fn missing() -> Option<PathBuf> {
    let mut programs = EXAMPLES.into_iter().map(program);
    programs.find(|program| !program.is_file())
}

/// The shipped subject file, whose program is the one that was built with this test.
fn subject(example: &str) -> String {
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples");
    let shipped = shipped.join(example).join("subject.toml");
    let shipped = std::fs::read_to_string(shipped).expect("in the repository");
    let built = program(example).display().to_string();
    let named = shipped.replace(&format!("{{bin}}/examples/{example}"), &built);
    assert_ne!(named, shipped, "its program");
    let is_build = |line: &&str| *line == "[build]" || line.starts_with("command = [");
    let lines = named.lines().filter(|line| !is_build(line));
    lines.collect::<Vec<_>>().join("\n")
}

pub fn webapp_is_benched_reported_checked_and_run() {
    measured("webapp", &[]);
}

pub fn echo_is_benched_reported_checked_and_run() {
    measured("echo", &[]);
}

pub fn myservice_is_benched_reported_checked_and_run() {
    measured("myservice", &[]);
}

pub fn inference_service_is_benched_reported_checked_and_run() {
    measured(
        "inference_service",
        &["--image", "registry.example/server:1"],
    );
}

fn measured(example: &str, args: &[&str]) {
    let folder = EmptyFolder::new(&format!("example-{example}"));
    let workload = example.replace('_', "-");
    let limits = format!(
        "[[limit]]\nsubject = \"{workload}/example\"\nmetric = \"requests.writes_per_object\"\ncell = \"memory\"\n\
         objects = 10\nmax = 10\nmean = 5\nspread = 0\nruns = 1\nmargin = 5\n"
    );
    for (file, text) in [("subject.toml", subject(example)), ("limits.toml", limits)] {
        std::fs::write(folder.path().join(file), text).expect("writable");
    }
    folder.said(&format!(
        "bench --subject subject.toml --subjects {workload}/example --objects 0,10 --profile quick --bursts-only \
         --attempts 1 --out first"
    ));
    std::fs::remove_file(folder.path().join("first/report.html")).expect("written");
    folder.said("report first");
    assert!(folder.path().join("first/report.html").exists());
    let checked = folder.said("check first --limits limits.toml");
    assert!(checked.contains("1 of 1 limits hold"), "{checked}");
    folder.said("verify first");

    let crd = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples");
    let crd = crd.join(example).join("crd.yaml");
    let crd = std::fs::read_to_string(crd).expect("in the repository");
    std::fs::write(folder.path().join("crd.yaml"), crd).expect("writable");
    let _cluster = started(&folder, "kubesim --users owner --crd crd.yaml --dir .");
    let kubeconfig = folder.path().join("owner.kubeconfig");
    wait_for("the cluster's kubeconfig", || kubeconfig.exists());
    let mut operator = Command::new(program(example));
    operator.args(["run", "--admin", "127.0.0.1:0"]).args(args);
    let _operator = Running::of(&folder, operator);
    folder.said(&format!("lint {workload} --kubeconfig owner.kubeconfig"));
    let said = folder.said(&format!(
        "run {workload} --count 10 --kubeconfig owner.kubeconfig"
    ));
    let left = said
        .lines()
        .find_map(|line| line.strip_prefix("left behind"));
    assert_eq!(left.map(str::trim), Some("0"), "{said}");
    let clean = folder.said(&format!(
        "clean --workload {workload} --kubeconfig owner.kubeconfig"
    ));
    assert!(clean.starts_with("nothing to remove"), "{clean}");
}
