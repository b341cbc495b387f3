//! loadgen in an empty folder: the program holds all that is shipped, and needs a checkout only to build
//! the operators of this project.

use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use controlplane::Binaries;
use tare_procstat::temp_dir::TempDir;

use crate::program::{LOADGEN, mock_subject, text, wait_for};

/// An empty folder that no checkout is above. It is the home of whoever works in it, too.
pub struct EmptyFolder(TempDir);

impl EmptyFolder {
    pub fn new(name: &str) -> Self {
        let name = format!("loadgen-outside-{name}");
        Self(TempDir::create(&std::env::temp_dir(), &name).expect("temporary folder"))
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    pub fn command(&self, words: &str) -> Command {
        let mut command = Command::new(LOADGEN);
        command.args(words.split(' ')).current_dir(self.path());
        for variable in [
            "CARGO_TARGET_DIR",
            "TARE_SUBJECT_DIR",
            "XDG_CACHE_HOME",
            "KUBECONFIG",
        ] {
            command.env_remove(variable);
        }
        command.env("HOME", self.path()).stdin(Stdio::null());
        command
    }

    fn loadgen(&self, words: &str) -> Output {
        self.command(words).output().expect("loadgen starts")
    }

    /// What a command that succeeds prints.
    pub fn said(&self, words: &str) -> String {
        let output = self.loadgen(words);
        let errors = text(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{words}: {errors}");
        text(&output.stdout)
    }
}

const BENCH: &str = "bench --workload configmaps --subjects nobody/idle --objects 5 --bursts-only \
    --attempts 1 --repeats 1 --profile quick --out out";

pub fn a_shipped_workload_is_measured_in_an_empty_folder() {
    let folder = EmptyFolder::new("bench");
    folder.said(BENCH);
    folder.said("verify out");
    folder.said("report out");
    let workloads = folder.said("workloads --json");
    let workloads: serde_json::Value = serde_json::from_str(&workloads).expect("JSON");
    for workload in workloads.as_array().expect("a list") {
        let name = workload["name"].as_str().expect("a name");
        folder.said(&format!("lint {name}"));
    }
    let crds = folder.said("workloads edgeapp --crds");
    assert!(crds.contains("edgeapps.tare.dev"), "{crds}");
}

/// A cluster of somebody's, started in the folder.
struct Cluster(Child);

impl Drop for Cluster {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub fn a_cluster_is_given_load_from_an_empty_folder() {
    let folder = EmptyFolder::new("run");
    std::fs::write(
        folder.path().join("crds"),
        folder.said("workloads webapp --crds"),
    )
    .expect("writable");
    let mut kubesim = folder.command("kubesim --users owner --crd crds --dir .");
    let _cluster = Cluster(
        kubesim
            .stdout(Stdio::null())
            .spawn()
            .expect("loadgen starts"),
    );
    let kubeconfig = folder.path().join("owner.kubeconfig");
    wait_for("the cluster's kubeconfig", || kubeconfig.exists());
    let lint = folder.said("lint webapp --kubeconfig owner.kubeconfig");
    assert!(lint.contains("ok   object.template"), "{lint}");
    folder.said("run configmaps --count 5 --kubeconfig owner.kubeconfig");
    let existing = "--control-plane existing --kubeconfig owner.kubeconfig";
    folder.said(&format!("{BENCH} {existing}"));
}

/// Its files as they stand in the document, with the mock in place of the operator in Python.
pub fn the_worked_example_of_the_documentation_is_measured() {
    let folder = EmptyFolder::new("example");
    let document = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/first-measurement.md");
    let document = std::fs::read_to_string(document).expect("in the repository");
    let (_, example) = document
        .split_once("## In ten minutes\n")
        .expect("the example");
    let (example, _) = example.split_once("\n## ").expect("another section");
    let mut files = Vec::new();
    for fence in example.split("```").skip(1).step_by(2) {
        // The language, then the name of the file as a comment.
        let content = fence.split_once('\n').map_or("", |(_, content)| content);
        let Some(name) = content
            .lines()
            .next()
            .and_then(|line| line.strip_prefix("# "))
        else {
            continue;
        };
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().expect("in the folder")).expect("writable");
        std::fs::write(&path, content).expect("writable");
        files.push(name);
    }
    let want = [
        "gadgets.py",
        "gadget/crd.yaml",
        "gadget/workload.toml",
        "gadget/gadget.yaml",
        "gadgets.toml",
    ];
    assert_eq!(files, want);
    let lint = folder.said("lint ./gadget");
    assert!(
        lint.contains("Gadgets of gadgets.example.com, 1,024 bytes each"),
        "{lint}"
    );
    let subject = std::fs::read_to_string(folder.path().join("gadgets.toml")).expect("written");
    let lines = subject.lines().map(|line| match line.split_once(" = ") {
        Some(("command", _)) => format!("command = {:?}", mock_subject()),
        Some(("args", _)) => {
            let args = [
                "mock-subject",
                "--admin",
                "{admin}",
                "--workload",
                "./gadget",
            ];
            format!("args = {args:?}")
        }
        Some(("http", _)) => "http = \"/readyz\"".to_owned(),
        _ => line.to_owned(),
    });
    let lines: Vec<String> = lines.collect();
    std::fs::write(folder.path().join("gadgets.toml"), lines.join("\n")).expect("writable");
    folder.said(
        "bench --subject gadgets.toml --subjects gadgets/kopf --objects 0,10 --bursts-only \
         --attempts 1 --out first",
    );
    let sizing = folder.said("sizing first");
    assert!(
        sizing.contains("# gadgets/kopf with 10 gadget objects"),
        "{sizing}"
    );
}

pub fn what_needs_sources_is_refused_with_the_ways_out() {
    let folder = EmptyFolder::new("refused");
    for words in ["bench", "conform"] {
        let output = folder.loadgen(words);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{words}: {said}");
        assert_eq!(said.trim().lines().count(), 1, "{words}: {said}");
        for want in [
            "tare/none, kube-rs/stock: built from the sources of Tare",
            "TARE_SUBJECT_DIR",
            "--no-build",
            "--subject FILE",
        ] {
            assert!(said.contains(want), "{words}: {want} not in {said}");
        }
    }
    let left = std::fs::read_dir(folder.path()).expect("there").count();
    assert_eq!(left, 0, "nothing was begun");
}

/// As somebody has it who works with envtest: nothing is in the cache.
pub fn a_control_plane_is_found_by_its_variable() {
    let folder = EmptyFolder::new("assets");
    let words = format!("{BENCH} --control-plane kube");
    let missing = folder
        .command(&words)
        .env_remove("KUBEBUILDER_ASSETS")
        .output();
    let missing = text(&missing.expect("loadgen starts").stderr);
    assert!(missing.contains("loadgen control-plane build"), "{missing}");
    let binaries = Binaries::find().expect("trials without it are ignored");
    let assets = binaries.etcd.parent().expect("in a folder");
    let output = folder
        .command(&words)
        .env("KUBEBUILDER_ASSETS", assets)
        .output();
    let output = output.expect("loadgen starts");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    folder.said("verify out");
}

/// The third command is a bench of a program that somebody has: here of loadgen's mock.
pub fn an_operator_of_ones_own_is_measured_with_three_commands() {
    let folder = EmptyFolder::new("new");
    let crds = folder.said("workloads edgeapp --crds");
    std::fs::write(folder.path().join("crd.yaml"), crds).expect("writable");
    let said = folder.said("subjects new web --crd crd.yaml");
    let written = [
        "web.toml",
        "web/workload.toml",
        "web/object.yaml",
        "web/crd.yaml",
    ];
    for file in written {
        assert!(
            said.contains(file) && folder.path().join(file).is_file(),
            "{said}"
        );
    }
    let linted = folder.said("lint ./web");
    assert!(!linted.contains("FAIL"), "{linted}");
    // The program is the one thing that a definition does not tell.
    let file = folder.path().join("web.toml");
    let subject = std::fs::read_to_string(&file).expect("written");
    let mock = mock_subject();
    let own = format!(
        "command = \"{mock}\"\nargs = [\"mock-subject\", \"--admin\", \"{{admin}}\", \"--workload\", \"{{folder}}/web\"]"
    );
    let described = subject.lines().map(|line| match line {
        line if line.starts_with("command = \"./web\"") => own.as_str(),
        line if line.starts_with("args = ") => "",
        line => line,
    });
    let described = described.collect::<Vec<_>>().join("\n");
    std::fs::write(file, described).expect("writable");
    folder.said("lint web.toml");
    folder.said(
        "bench --subject web.toml --subjects web/mine --objects 5 --bursts-only --skip-conformance --attempts 1 \
         --profile quick --out out",
    );
    let summary = folder.path().join("out/summary.json");
    let summary = std::fs::read_to_string(summary).expect("a summary");
    assert!(summary.contains("\"convergence.drain_s\""), "{summary}");

    let again = folder.loadgen("subjects new web --crd crd.yaml");
    assert_eq!(again.status.code(), Some(2));
    let why = "error: web.toml is there already; choose another name, or remove it\n";
    assert_eq!(text(&again.stderr), why);
    let none = folder.loadgen("subjects new other --crd web.toml");
    assert_eq!(none.status.code(), Some(2), "{}", text(&none.stderr));
    assert!(!folder.path().join("other.toml").exists());
}
