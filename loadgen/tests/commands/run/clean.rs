//! `loadgen clean`: what a run left, and nothing of others.

use std::process::Command;

use crate::program::{signal, wait_for};
use crate::run::run_of;
use crate::run::simulated_cluster::{SimulatedCluster, code, stderr, stdout};
use crate::run::workloads::{FIXTURES, with_fixtures};

pub fn killed_run() {
    let simulated_cluster = SimulatedCluster::with_operator("killed");
    let mut run = simulated_cluster.start(&["run", "--count", "5000", "--rate", "100"]);
    wait_for("objects", || {
        simulated_cluster.server.objects("deployments").len() > 20
    });
    signal(&run, "-KILL");
    run.wait().expect("it ends");
    assert!(!simulated_cluster.left().is_empty());
    let output = simulated_cluster.loadgen(&["clean"]);
    assert_eq!(
        code(&output),
        Some(0),
        "{}{}",
        stdout(&output),
        stderr(&output)
    );
    let text = stdout(&output);
    assert!(
        text.contains("EdgeApps and 1 namespaces; 0 EdgeApps left"),
        "{text}"
    );
    assert!(
        stderr(&output).contains(" EdgeApps in namespace loadgen-"),
        "{}",
        stderr(&output)
    );
    assert_eq!(simulated_cluster.left(), Vec::<String>::new());
}

pub fn clean_one_run() {
    let simulated_cluster = SimulatedCluster::new("one-run");
    simulated_cluster.create_edgeapp("default", "somebody-elses", &[]);
    let keep = [
        "run",
        "--count",
        "3",
        "--deadline-s",
        "1",
        "--keep",
        "--namespace",
        "default",
    ];
    let first = run_of(&simulated_cluster.loadgen(&keep));
    let second = run_of(&simulated_cluster.loadgen(&keep));
    assert_eq!(simulated_cluster.server.objects("edgeapps").len(), 7);

    let elsewhere = simulated_cluster.loadgen(&["clean", "--namespace", "kube-system"]);
    assert!(
        stdout(&elsewhere).contains("nothing to remove"),
        "{}",
        stdout(&elsewhere)
    );
    let output = simulated_cluster.loadgen(&["clean", "--run", &first]);
    assert_eq!(code(&output), Some(0), "{}", stderr(&output));
    assert_eq!(
        stdout(&output),
        "removed 3 EdgeApps and 0 namespaces; 0 EdgeApps left\n"
    );
    let names = simulated_cluster.names("edgeapps");
    assert_eq!(
        names.iter().filter(|name| name.contains(&second)).count(),
        3,
        "{names:?}"
    );
    assert_eq!(names.len(), 4, "{names:?}");

    let output = simulated_cluster.loadgen(&["clean"]);
    assert_eq!(code(&output), Some(0), "{}", stderr(&output));
    assert_eq!(simulated_cluster.names("edgeapps"), ["somebody-elses"]);
    assert!(
        simulated_cluster
            .server
            .object("namespaces", "", "default")
            .is_some()
    );
}

/// The command that a run prints is typed as it stands.
pub fn as_printed() {
    let simulated_cluster = SimulatedCluster::new("as-printed");
    let workload = with_fixtures("as printed", FIXTURES);
    let keep = ["run", &workload, "--count", "3", "--keep", "--namespace"];
    let output = simulated_cluster.loadgen(&[&keep[..], &["default"]].concat());
    assert_eq!(code(&output), Some(0), "{}", stderr(&output));
    let text = stdout(&output);
    let printed = text.split("remove them with: ").nth(1);
    let printed = printed.and_then(|rest| rest.lines().next());
    let printed = printed.unwrap_or_else(|| panic!("no command in {text}"));
    assert_eq!(
        simulated_cluster.names("configmaps").len(),
        4,
        "a fixture, too"
    );
    let typed = Command::new("sh")
        .args(["-c", printed])
        .env("KUBECONFIG", &simulated_cluster.kubeconfig)
        .output();
    let typed = typed.expect("a shell");
    assert_eq!(code(&typed), Some(0), "{printed}: {}", stderr(&typed));
    assert!(
        stdout(&typed).contains("removed 3 ConfigMaps"),
        "{printed}: {}",
        stdout(&typed)
    );
    assert_eq!(simulated_cluster.names("configmaps"), Vec::<String>::new());
}

/// A namespace goes with all that is in it, also where that is of another workload.
pub fn of_another_workload() {
    let simulated_cluster = SimulatedCluster::new("another-workload");
    let workload = with_fixtures("another", FIXTURES);
    let output = simulated_cluster.loadgen(&["run", &workload, "--count", "3", "--keep"]);
    assert_eq!(code(&output), Some(0), "{}", stderr(&output));
    let output = simulated_cluster.loadgen(&["clean", "--run", &run_of(&output)]);
    assert_eq!(code(&output), Some(0), "{}", stderr(&output));
    let text = stdout(&output);
    assert!(
        text.contains("removed 1 namespaces, with all that was in them; no EdgeApps were found"),
        "{text}"
    );
    assert!(!text.contains("removed 0"), "{text}");
}

pub fn held_up() {
    let simulated_cluster = SimulatedCluster::new("held-up");
    let finalizers = ["example.com/nobody"];
    simulated_cluster.create_edgeapp("default", "stuck", &finalizers);
    simulated_cluster.label("default", "stuck", "loadgen.tare.dev/run", "0a1b2c");
    let output = simulated_cluster.loadgen(&["clean", "--wait-s", "1"]);
    assert_eq!(code(&output), Some(1), "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.contains("0 namespaces; 1 EdgeApps left"), "{text}");
    assert!(
        text.contains("1 wait for their finalizer example.com/nobody"),
        "{text}"
    );
}
