//! `loadgen run` on workloads whose steps are about a part of the objects, or about objects of others.

use std::path::Path;

use crate::run::operator;
use crate::run::simulated_cluster::{SimulatedCluster, code, stderr, stdout};
use crate::run::workloads::{FIXTURES, with_fixtures};

fn with_steps(name: &str, steps: &str) -> String {
    let workload = with_fixtures(name, FIXTURES);
    let file = Path::new(&workload).join("workload.toml");
    let text = std::fs::read_to_string(&file).expect("written");
    std::fs::write(&file, text + steps).expect("writable");
    workload
}

const BYSTANDERS: &str = "
[[steps]]
do = \"bystanders\"
objects = \"secrets=7,configmaps=3,pods=4\"
changes = 2
per_s = 200

[[steps]]
do = \"bystanders\"
objects = \"secrets=9\"
";

pub fn objects_of_others_are_made_changed_and_removed() {
    let cluster = operator::cluster("bystanders");
    let workload = with_steps("bystanders", BYSTANDERS);
    let words = ["run", &workload, "--count", "5", "--idle-s", "1"];
    let words = [&words[..], &["--operator", "deployment/shop/web"]].concat();
    let output = cluster.loadgen(&words);
    let said = stdout(&output) + &stderr(&output);
    assert_eq!(code(&output), Some(0), "{said}");
    for want in [
        "; later secrets=7,configmaps=3,pods=4,secrets=9 that do not concern the operator",
        "\nSteps of the workload\n",
        "\nbystanders secrets=7,configmaps=3,pods=4, 2 changes of each ",
    ] {
        assert!(said.contains(want), "{want} not in {said}");
    }
    let requests = cluster.server.requests();
    // The seven of the first step are there already; one more is the fixture.
    assert_eq!(requests.count("tester", "create", "secrets"), 7 + 9 + 1);
    assert_eq!(requests.count("tester", "patch", "secrets"), 14);
    assert_eq!(requests.count("tester", "patch", "configmaps"), 6);
    assert_eq!(requests.count("tester", "create", "pods"), 4);
    assert_eq!(requests.count("tester", "patch", "pods"), 8);
    assert_eq!(cluster.left(), ["web"], "the Deployment of the operator");
    for kind in ["secrets", "pods"] {
        let names = cluster.names(kind);
        let foreign = names.iter().find(|name| name.contains("bystander"));
        assert_eq!(foreign, None, "{kind}: {names:?}");
    }
}

pub fn a_part_of_the_objects_is_recreated_and_the_others_stay() {
    let cluster = SimulatedCluster::without_crd("share");
    let recreate = "[[steps]]\ndo = \"recreate\"\nshare = 0.4\ntimes = 2\n";
    let update = "[[steps]]\ndo = \"update\"\nshare = 0.2\n";
    let workload = with_steps("share", &format!("{recreate}{update}"));
    let output = cluster.loadgen(&["run", &workload, "--count", "10", "--keep"]);
    let said = stdout(&output) + &stderr(&output);
    assert_eq!(code(&output), Some(0), "{said}");
    for want in ["\nrecreate of 40 %, 2 times ", "\nupdate of 20 % "] {
        assert!(said.contains(want), "{want} not in {said}");
    }
    let requests = cluster.server.requests();
    // Ten objects and a fixture, then four objects twice.
    assert_eq!(requests.count("tester", "create", "configmaps"), 11 + 8);
    assert_eq!(requests.count("tester", "delete", "configmaps"), 8);
    assert_eq!(requests.count("tester", "patch", "configmaps"), 2);
    let objects = cluster.server.objects("configmaps");
    let ours = objects
        .iter()
        .filter_map(|it| it["metadata"]["name"].as_str());
    assert_eq!(ours.filter(|name| name.starts_with("cm-")).count(), 10);
    let (_, steps) = said.split_once("Steps of the workload").expect("a table");
    let objects_of = |step: &str| {
        let line = steps.lines().find_map(|line| line.strip_prefix(step));
        line.and_then(|line| line.split_whitespace().nth(1))
    };
    assert_eq!(
        objects_of("recreate of 40 %, 2 times "),
        Some("4"),
        "{said}"
    );
    assert_eq!(objects_of("update of 20 % "), Some("2"), "{said}");
    let bad = with_steps("share-bad", "[[steps]]\ndo = \"recreate\"\nshare = 2\n");
    let output = cluster.loadgen(&["run", &bad, "--count", "1"]);
    let said = stderr(&output);
    assert_eq!(code(&output), Some(2), "{said}");
    assert!(
        said.contains(": steps.share: 2: use a part above 0"),
        "{said}"
    );
}
