//! `loadgen run` and `loadgen clean` that are killed in the middle of whatever they do: `clean` finishes, and
//! nothing is left.
//!
//! The server kills them, when a request arrives: a point is the same in every run of the test. That request is
//! carried out, and nobody hears its answer.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Child;
use std::sync::{Arc, Mutex};

use kubesim::RequestFault;

use crate::program::{signal, wait_for};
use crate::run::simulated_cluster::{SimulatedCluster, code, stderr, stdout};
use crate::run::workloads::{FIXTURES, with_fixtures};

const STEPS: &str = "
[[steps]]
do = \"update\"

[[steps]]
do = \"bystanders\"
objects = \"secrets=4\"
changes = 1

[[steps]]
do = \"recreate\"
share = 0.5
";

/// What it does, and the request that it is killed at: the verb, the resource, and how many came before.
const POINTS: [(&str, &str, &str, u64); 11] = [
    ("makes its namespace", "create", "namespaces", 0),
    (
        "makes a fixture of the whole cluster",
        "create",
        "namespaces",
        1,
    ),
    ("makes another fixture", "create", "secrets", 0),
    // The first ConfigMap is a fixture.
    ("creates the first object", "create", "configmaps", 1),
    ("creates the last object", "create", "configmaps", 6),
    ("updates", "patch", "configmaps", 3),
    (
        "makes the namespace of bystanders",
        "create",
        "namespaces",
        2,
    ),
    ("makes bystanders", "create", "secrets", 3),
    ("changes bystanders", "patch", "secrets", 1),
    ("recreates", "delete", "configmaps", 1),
    ("cleans up", "delete", "configmaps", 6),
];

pub fn nothing_is_left_wherever_a_run_is_killed() {
    let cluster = SimulatedCluster::without_crd("killed-anywhere");
    let workload = with_fixtures("killed-anywhere", FIXTURES);
    let file = Path::new(&workload).join("workload.toml");
    let text = std::fs::read_to_string(&file).expect("written");
    std::fs::write(&file, text + STEPS).expect("writable");
    let before = inventory(&cluster);
    for (what, verb, resource, nth) in POINTS {
        let run = ["run", &workload, "--count", "6"];
        killed_at(&cluster, &run, (verb, resource, nth));
        assert_ne!(inventory(&cluster), before, "{what}: nothing was begun");
        clean(&cluster, &workload);
        assert_eq!(inventory(&cluster), before, "killed when it {what}");
    }
}

pub fn a_clean_up_that_is_killed_is_done_by_the_next_one() {
    let cluster = SimulatedCluster::without_crd("killed-clean");
    let workload = with_fixtures("killed-clean", FIXTURES);
    let before = inventory(&cluster);
    for (resource, nth) in [("configmaps", 2), ("secrets", 0), ("namespaces", 0)] {
        let kept = cluster.loadgen(&["run", &workload, "--count", "6", "--keep"]);
        assert_eq!(code(&kept), Some(0), "{}", stderr(&kept));
        let words = ["clean", "--workload", &workload];
        killed_at(&cluster, &words, ("delete", resource, nth));
        clean(&cluster, &workload);
        assert_eq!(inventory(&cluster), before, "killed at {resource}");
    }
}

fn clean(cluster: &SimulatedCluster, workload: &str) {
    let cleaned = cluster.loadgen(&["clean", "--workload", workload]);
    let said = stdout(&cleaned) + &stderr(&cleaned);
    assert_eq!(code(&cleaned), Some(0), "{said}");
}

/// Everything that a run makes, by kind.
fn inventory(cluster: &SimulatedCluster) -> BTreeMap<&'static str, Vec<String>> {
    let kinds = ["namespaces", "secrets", "configmaps"];
    let named = kinds.map(|kind| (kind, cluster.names(kind)));
    named.into_iter().collect()
}

/// Runs loadgen until the server has this request of it, and kills it there.
fn killed_at(cluster: &SimulatedCluster, words: &[&str], point: (&str, &str, u64)) {
    let (verb, resource, nth) = (point.0.to_owned(), point.1.to_owned(), point.2);
    let child: Arc<Mutex<Option<Child>>> = Arc::default();
    let killed = Arc::new(Mutex::new(false));
    let (victim, done, seen) = (child.clone(), killed.clone(), Mutex::new(0));
    cluster.server.faults().on_request(move |facts| {
        let is_it = (facts.user, facts.verb, facts.resource) == ("tester", &verb, &resource);
        if is_it && facts.subresource.is_none() {
            let mut seen = seen.lock().expect("not poisoned");
            if *seen == nth {
                // Held while it is started: no request is answered before.
                let victim = victim.lock().expect("not poisoned");
                signal(victim.as_ref().expect("started"), "-KILL");
                *done.lock().expect("not poisoned") = true;
            }
            *seen += 1;
        }
        RequestFault::Pass
    });
    {
        let mut child = child.lock().expect("not poisoned");
        *child = Some(cluster.start(words));
    }
    wait_for(&format!("{point:?}"), || {
        let mut child = child.lock().expect("not poisoned");
        let ended = child.as_mut().expect("started").try_wait();
        ended.expect("a child of ours").is_some()
    });
    cluster.server.faults().clear();
    let killed = *killed.lock().expect("not poisoned");
    assert!(killed, "{point:?}: it ended before");
}
