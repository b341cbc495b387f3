//! What loadgen itself needs for many objects.

use serde_json::Value;

use crate::run::simulated_cluster::{SimulatedCluster, assert_success, stdout};

const OBJECTS: &str = "100000";
const MOST_BYTES: u64 = 200_000_000;

/// loadgen is a process of its own; the server is in this one.
pub fn of_many_objects() {
    let cluster = SimulatedCluster::without_crd("memory");
    let output = cluster.loadgen(&["run", "configmaps", "--count", OBJECTS, "--json"]);
    assert_success(&output);
    let record: Value = serde_json::from_str(&stdout(&output)).expect("one line of JSON");
    let peak_bytes = record["own_peak_bytes"].as_u64().expect("this is Linux");
    assert!(peak_bytes < MOST_BYTES, "{peak_bytes} bytes");
    eprintln!("{OBJECTS} objects: {peak_bytes} bytes at the peak");
}
