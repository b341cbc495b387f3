//! `loadgen run` and `loadgen lint` on other workloads than the default one.

use crate::assert_figures;
use crate::simulated_cluster::{SimulatedCluster, code, stderr, stdout};

pub fn configmaps() {
    let simulated_cluster = SimulatedCluster::without_crd("configmaps");
    let output = simulated_cluster.loadgen(&["run", "configmaps", "--count", "50"]);
    assert_eq!(
        code(&output),
        Some(0),
        "{}{}",
        stdout(&output),
        stderr(&output)
    );
    assert!(
        stderr(&output).contains(": 50 ConfigMaps all at once in namespace loadgen-"),
        "{}",
        stderr(&output)
    );
    assert_figures(
        &output,
        &[
            ("created", 50),
            ("ready  ", 50),
            ("deleted", 50),
            ("left behind", 0),
        ],
    );
    assert_eq!(simulated_cluster.names("configmaps"), Vec::<String>::new());
    let clean = simulated_cluster.loadgen(&["clean", "--workload", "configmaps"]);
    assert!(
        stdout(&clean).contains("nothing to remove"),
        "{}",
        stdout(&clean)
    );
}

pub fn lint() {
    let simulated_cluster = SimulatedCluster::new("lint");
    let lint = |workload: &str| simulated_cluster.loadgen(&["lint", workload]);
    let good = lint("edgeapp");
    let said = stdout(&good);
    assert_eq!(code(&good), Some(0), "{said}{}", stderr(&good));
    for want in [
        "edgeapp: EdgeApps of edgeapps.tare.dev, 2,048 bytes each; 5,000 have 10.2 MB",
        "ok   object.template: the server accepts an object",
        "ok   object.rejected: the server accepts an object",
    ] {
        assert!(said.contains(want), "{want} not in {said}");
    }
    let bad = lint("webapp");
    let said = stdout(&bad);
    assert_eq!(code(&bad), Some(1), "{said}{}", stderr(&bad));
    let want = "FAIL object.template: the server does not serve webapps.example.com";
    assert!(said.contains(want), "{said}");
    assert_eq!(simulated_cluster.names("edgeapps"), Vec::<String>::new());
}
