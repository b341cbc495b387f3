//! Clusters that cannot be used: one line each, and nothing is sent.

use std::time::Instant;

use crate::simulated_cluster;
use crate::simulated_cluster::{SimulatedCluster, code, loadgen, stderr, stdout};

pub fn missing_crd() {
    let simulated_cluster = SimulatedCluster::without_crd("no-crd");
    let output = simulated_cluster.loadgen(&["run", "--count", "3"]);
    let said = stderr(&output);
    assert_eq!(code(&output), Some(1), "{said}");
    assert_eq!(said.trim().lines().count(), 1, "{said}");
    for want in [
        "does not serve edgeapps.tare.dev",
        "loadgen workloads edgeapp --crds | kubectl apply",
    ] {
        assert!(said.contains(want), "{want} not in {said}");
    }
    let clean = simulated_cluster.loadgen(&["clean"]);
    assert_eq!(code(&clean), Some(0), "{}", stderr(&clean));
    assert!(
        stdout(&clean).contains("nothing to remove"),
        "{}",
        stdout(&clean)
    );
}

pub fn not_local() {
    // TEST-NET-3: whoever sent something there would wait for an answer that never comes.
    let file = simulated_cluster::kubeconfig_file("not-local", "https://203.0.113.7:6443");
    let started = Instant::now();
    for args in [vec!["run", "--count", "3"], vec!["clean"]] {
        let output = loadgen(&args, &file);
        let said = stderr(&output);
        assert_eq!(code(&output), Some(2), "{said}");
        assert_eq!(said.trim().lines().count(), 1, "{said}");
        for want in ["https://203.0.113.7:6443", "not local", "--yes"] {
            assert!(said.contains(want), "{want} not in {said}");
        }
    }
    assert!(started.elapsed().as_secs() < 10, "{:?}", started.elapsed());
}

pub fn unusable_kubeconfigs() {
    let file = simulated_cluster::kubeconfig_file("unusable", "https://127.0.0.1:1");
    let absent = file.with_file_name("absent");
    let broken = file.with_file_name("broken");
    std::fs::write(&broken, "clusters: 7").expect("writable");
    let cases = [
        (
            vec!["run", "--count", "1", "--context", "prod"],
            &file,
            "no context \"prod\"; known: ",
        ),
        (vec!["clean"], &absent, "--kubeconfig FILE"),
        (vec!["clean"], &broken, "--kubeconfig FILE"),
        (
            vec!["run", "--count", "1", "--namespace", "A/b"],
            &file,
            "--namespace",
        ),
        (vec!["run", "--count", "1", "--rate", "0"], &file, "--rate"),
        (vec!["run"], &file, "--count"),
    ];
    for (args, file, want) in cases {
        let output = loadgen(&args, file);
        let said = stderr(&output);
        assert_eq!(code(&output), Some(2), "{args:?}: {said}");
        assert_eq!(said.trim().lines().count(), 1, "{args:?}: {said}");
        assert!(
            said.starts_with("error: ") && said.contains(want),
            "{args:?}: {said}"
        );
    }
}

pub fn server_gone() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = free.local_addr().expect("bound");
    drop(free);
    let file = simulated_cluster::kubeconfig_file("gone", &format!("https://{address}"));
    for args in [vec!["run", "--count", "1"], vec!["clean"]] {
        let output = loadgen(&args, &file);
        let said = stderr(&output);
        assert_eq!(code(&output), Some(1), "{said}");
        assert_eq!(said.trim().lines().count(), 1, "{said}");
        assert!(said.contains(&address.to_string()), "{said}");
    }
}
