//! `loadgen clean`: what a run left, and nothing of others.

use crate::run::run_of;
use crate::run::simulated_cluster::{SimulatedCluster, code, signal, stderr, stdout, wait_for};

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
