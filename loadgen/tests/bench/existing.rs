//! Benches on a cluster that is there already; the simulated server stands in for it.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::bed::{Bed, LOADGEN, dir_command, loadgen, text, wait_for};

/// A cluster of somebody's.
struct Cluster {
    server: Child,
    kubeconfig: PathBuf,
}

impl Cluster {
    fn start(bed: &Bed) -> Self {
        let dir = bed.out().with_file_name("cluster");
        std::fs::create_dir_all(&dir).expect("temporary folder");
        let crd = concat!(env!("CARGO_MANIFEST_DIR"), "/../deploy/base/crd.yaml");
        let mut command = Command::new(LOADGEN);
        command
            .args(["kubesim", "--users", "owner", "--crd", crd, "--dir"])
            .arg(&dir)
            .stdout(Stdio::null());
        let server = command.spawn().expect("loadgen starts");
        let kubeconfig = dir.join("owner.kubeconfig");
        wait_for("the cluster's kubeconfig", || kubeconfig.exists());
        Self { server, kubeconfig }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

pub fn a_namespace_of_a_cluster_is_used_and_cleaned_up() {
    let bed = Bed::new("existing");
    let cluster = Cluster::start(&bed);
    let mut args = bed.bench(&["works"], "3");
    let file = bed.out().with_file_name("works.toml");
    let subject = std::fs::read_to_string(&file).expect("written before");
    let borrowed = "args = [\"mock-subject\", \"--namespace\", \"loadgen-bench\", ";
    let subject = subject.replace("args = [\"mock-subject\", ", borrowed);
    std::fs::write(&file, subject).expect("writable");
    let kubeconfig = cluster.kubeconfig.display().to_string();
    args.extend(["--control-plane", "existing", "--kubeconfig", &kubeconfig].map(str::to_owned));
    args.extend(["--profile", "quick", "--repeats", "1"].map(str::to_owned));
    // Twice: what the first one left would be in the way of the second.
    for out in ["out", "again"] {
        let place = bed.out().with_file_name(out).display().to_string();
        let at = args.iter().position(|arg| arg == "--out").expect("given") + 1;
        args[at] = place;
        let output = loadgen(&args);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    }
    let summary = bed.summary();
    let runs = summary["subjects"][0]["runs"].as_array().expect("runs");
    let burst = runs
        .iter()
        .find(|run| run["cell"] == "burst")
        .expect("a burst");
    assert_eq!(burst["convergence"]["censored"], 0, "{burst}");
    for unknown in ["requests", "api_server_cpu_s", "datastore", "write_span"] {
        assert_eq!(burst[unknown], Value::Null, "{unknown}");
    }
    let notes = summary["notes"].to_string();
    assert!(notes.contains("measured on an existing cluster"), "{notes}");
    assert_eq!(dir_command("validate", &bed).status.code(), Some(0));
}

pub fn a_cluster_that_is_not_on_this_machine_needs_a_yes() {
    let bed = Bed::new("far");
    let mut args = bed.bench(&["works"], "3");
    let kubeconfig = bed.out().with_file_name("far.kubeconfig");
    // TEST-NET-1: nothing answers there, and nothing is sent.
    let far = serde_json::json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "far",
        "clusters": [{"name": "far", "cluster": {"server": "https://192.0.2.7:6443"}}],
        "users": [{"name": "me", "user": {"token": "t"}}],
        "contexts": [{"name": "far", "context": {"cluster": "far", "user": "me"}}],
    });
    std::fs::write(&kubeconfig, far.to_string()).expect("temporary file");
    args.extend(["--control-plane", "existing", "--kubeconfig"].map(str::to_owned));
    args.push(kubeconfig.display().to_string());
    let output = loadgen(&args);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        said.contains("context \"far\"") && said.contains("--yes"),
        "{said}"
    );
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(!bed.out().exists(), "nothing was begun");
}

pub fn its_options_go_with_no_other_control_plane() {
    let bed = Bed::new("elsewhere");
    let mut args = bed.bench(&["works"], "3");
    args.push("--yes".into());
    let output = loadgen(&args);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("go with --control-plane existing"), "{said}");
}
