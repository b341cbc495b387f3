//! Benches on a cluster that is there already; the simulated server stands in for it.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::bench::bench_folder::{BenchFolder, dir_command};
use crate::program::{LOADGEN, loadgen, text, wait_for};

/// A cluster of somebody's.
struct Cluster {
    server: Child,
    kubeconfig: PathBuf,
}

impl Cluster {
    fn start(bench_folder: &BenchFolder) -> Self {
        let dir = bench_folder.out().with_file_name("cluster");
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
    let bench_folder = BenchFolder::new("existing");
    let cluster = Cluster::start(&bench_folder);
    let mut args = bench_folder.bench(&["works"], "3");
    let kubeconfig = cluster.kubeconfig.display().to_string();
    args.extend(["--control-plane", "existing", "--kubeconfig", &kubeconfig].map(str::to_owned));
    args.extend(["--profile", "quick", "--repeats", "1"].map(str::to_owned));
    // Twice: what the first one left would be in the way of the second.
    for out in ["out", "again"] {
        let place = bench_folder.out().with_file_name(out).display().to_string();
        let at = args.iter().position(|arg| arg == "--out").expect("given") + 1;
        args[at] = place;
        let output = loadgen(&args);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    }
    let summary = bench_folder.summary();
    let runs = summary["subjects"][0]["runs"].as_array().expect("runs");
    let drain = runs
        .iter()
        .find(|run| run["cell"] == "drain")
        .expect("a drain");
    assert_eq!(drain["values"]["convergence.censored"], 0, "{drain}");
    for unknown in [
        "requests.writes_per_object",
        "api_server_cpu_s",
        "datastore.size_bytes",
        "write_span.p50_ms",
    ] {
        assert_eq!(drain["values"][unknown], Value::Null, "{unknown}");
    }
    let notes = summary["notes"].to_string();
    assert!(notes.contains("measured on an existing cluster"), "{notes}");
    assert_eq!(dir_command("verify", &bench_folder).status.code(), Some(0));
}

pub fn what_a_killed_bench_left_is_found_by_its_label() {
    let bench_folder = BenchFolder::new("existing-killed");
    let cluster = Cluster::start(&bench_folder);
    let kubeconfig = cluster.kubeconfig.display().to_string();
    let mut args = bench_folder.bench(&["hangs"], "3");
    args.extend(["--control-plane", "existing", "--kubeconfig", &kubeconfig].map(str::to_owned));
    args.extend(["--profile", "quick", "--repeats", "1"].map(str::to_owned));
    let mut command = Command::new(LOADGEN);
    command
        .args(&args)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut bench = command.spawn().expect("loadgen starts");
    let clean = |options: &[&str]| {
        let mut args = vec![
            "clean".to_owned(),
            "--kubeconfig".into(),
            kubeconfig.clone(),
        ];
        args.extend(options.iter().map(|option| (*option).to_owned()));
        let output = loadgen(&args);
        (
            output.status.code(),
            text(&output.stdout) + &text(&output.stderr),
        )
    };
    // Its subject is started when the namespace and an object are there.
    wait_for("the subject's log", || {
        let logs = std::fs::read_dir(bench_folder.out().join("logs"))
            .into_iter()
            .flatten();
        logs.flatten()
            .any(|log| log.file_name().to_string_lossy().contains("hangs"))
    });
    bench.kill().expect("ours");
    bench.wait().expect("ours");
    let (code, said) = clean(&["--run", "another"]);
    assert!(
        said.contains("nothing to remove") && code == Some(0),
        "{said}"
    );
    let (code, said) = clean(&[]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("and 1 namespaces; 0 EdgeApps left"), "{said}");
    assert!(said.contains("EdgeApps in namespace loadgen-"), "{said}");
    let (_, said) = clean(&[]);
    assert!(said.contains("nothing to remove"), "{said}");
}

pub fn a_cluster_that_is_not_on_this_machine_needs_a_yes() {
    // TEST-NET-1: nothing answers there, and nothing is sent.
    needs_a_yes("far", "https://192.0.2.7:6443");
}

pub fn a_tunnel_on_loopback_needs_a_yes() {
    // The discard port; nothing is sent either.
    needs_a_yes("tunnel", "https://127.0.0.1:9");
}

fn needs_a_yes(name: &str, server: &str) {
    let bench_folder = BenchFolder::new(name);
    let mut args = bench_folder.bench(&["works"], "3");
    let kubeconfig = bench_folder.out().with_file_name("far.kubeconfig");
    let far = serde_json::json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "far",
        "clusters": [{"name": "far", "cluster": {"server": server}}],
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
    assert!(!bench_folder.out().exists(), "nothing was begun");
}

pub fn its_options_go_with_no_other_control_plane() {
    let bench_folder = BenchFolder::new("elsewhere");
    let mut args = bench_folder.bench(&["works"], "3");
    args.push("--yes".into());
    let output = loadgen(&args);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("go with --control-plane existing"), "{said}");
}
