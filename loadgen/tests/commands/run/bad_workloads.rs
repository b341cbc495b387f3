//! Workloads that cannot be used: `lint` and `run` say what is wrong in one line with file, line and the way
//! out, and nothing is left on the cluster.

mod cases;

use std::path::{Path, PathBuf};

use crate::run::bad_workloads::cases::{CASES, Case, of_file};
use crate::run::simulated_cluster::{SimulatedCluster, code, stderr, stdout, without_cluster};

pub const WORKLOAD: &str = "description = \"Widgets\"
object_bytes = 1024
crds = [\"crd.yaml\"]
fixtures = [\"fixture.yaml\"]

[object]
api_version = \"example.com/v1\"
kind = \"Widget\"
plural = \"widgets\"
name = \"w\"
template = \"widget.yaml\"

[convergence]
ready = \"self.status.phase == 'Ready'\"
";

const TEMPLATE: &str = "metadata:
  annotations:
    example.com/changes: \"{{ words }}\"
spec:
  image: \"shop/{{ name }}\"
  shelf: 3
";

const UPDATE: &str = "spec:
  shelf: 2
";

const FIXTURE: &str = "apiVersion: v1
kind: ConfigMap
metadata:
  name: class
";

/// A kind that nobody reconciles.
const CRD: &str = include_str!("../widgets.yaml");

pub fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("loadgen-run-bad-{name}"))
}

/// A folder with the files, of which none is wrong.
pub fn write_good(folder: &Path) {
    write(folder, &of_file("good", &[], "", "", ""));
}

/// A folder with the files, edited.
fn write(folder: &Path, case: &Case) {
    std::fs::create_dir_all(folder).expect("temporary folder");
    for (file, text) in [
        ("workload.toml", WORKLOAD),
        ("widget.yaml", TEMPLATE),
        ("fixture.yaml", FIXTURE),
        ("update.yaml", UPDATE),
        ("crd.yaml", CRD),
    ] {
        let mut text = text.to_owned();
        for (of, from, to) in case.edits.iter().filter(|(of, ..)| *of == file) {
            assert!(text.contains(from), "{}: {of} has no {from}", case.name);
            text = text.replacen(from, to, 1);
        }
        std::fs::write(folder.join(file), text).expect("writable");
    }
}

pub fn cluster(name: &str) -> SimulatedCluster {
    let simulated_cluster = SimulatedCluster::without_crd(name);
    simulated_cluster.server.install(CRD).expect("a valid CRD");
    simulated_cluster
}

/// Everything of a workload that a cluster may hold.
pub fn left(simulated_cluster: &SimulatedCluster) -> Vec<String> {
    let mut left = simulated_cluster.left();
    left.extend(simulated_cluster.names("widgets"));
    left.extend(simulated_cluster.names("configmaps"));
    left
}

pub fn every_kind_is_one_line_and_leaves_nothing() {
    assert!(CASES.len() >= 20);
    let simulated_cluster = cluster("bad-workloads");
    let folder = folder("workload");
    let workload = folder.display().to_string();
    for case in CASES {
        write(&folder, case);
        let lint = simulated_cluster.loadgen(&["lint", &workload]);
        let said = stdout(&lint) + &stderr(&lint);
        let begins = match case.on_server {
            true => "FAIL ",
            false => "error: ",
        };
        let wrong: Vec<&str> = said
            .lines()
            .filter(|line| line.starts_with(begins))
            .collect();
        assert_eq!(wrong.len(), 1, "{}: {said}", case.name);
        let line = wrong[0].replace(&format!("{workload}/"), "");
        let want = format!("{begins}{}", case.place);
        assert!(
            line.starts_with(&want),
            "{}: {want} not in {line}",
            case.name
        );
        for want in [case.what, case.way_out] {
            assert!(line.contains(want), "{}: {want} not in {line}", case.name);
        }
        let want = if case.on_server { 1 } else { 2 };
        assert_eq!(code(&lint), Some(want), "{}: {said}", case.name);
        // The definitions are in the folder: no cluster is needed to see it.
        let alone = without_cluster(&["lint", &workload]);
        let said = stdout(&alone) + &stderr(&alone);
        if case.name.ends_with("kind that is not served") {
            // A cluster and the folder may have different definitions.
            assert!(!said.contains("FAIL"), "{said}");
            assert_eq!(code(&alone), Some(0), "{}: {said}", case.name);
        } else {
            let same = said.lines().any(|line| line == wrong[0]);
            assert!(same, "{}: {} not in {said}", case.name, wrong[0]);
            assert_eq!(code(&alone), Some(want), "{}: {said}", case.name);
        }

        run(&simulated_cluster, case, &workload);
        assert_eq!(
            left(&simulated_cluster),
            Vec::<String>::new(),
            "{}",
            case.name
        );
    }
}

/// What is wrong with a workload is one line of `run`, too.
fn run(simulated_cluster: &SimulatedCluster, case: &Case, workload: &str) {
    let run = simulated_cluster.loadgen(&["run", workload, "--count", "2", "--deadline-s", "2"]);
    let want = if case.on_server { 1 } else { 2 };
    let (name, said) = (case.name, stdout(&run) + &stderr(&run));
    assert_eq!(code(&run), Some(want), "{name}: {said}");
    // Of objects there is an account, because some of them may have been accepted.
    let in_account = case.what.starts_with("the server rejects an");
    let (begins, wants) = match in_account {
        true => ("failed 2 times: ", ["is invalid: spec.shelf", ""]),
        false => ("error: ", [case.what, case.way_out]),
    };
    let wrong: Vec<&str> = said.lines().filter(|it| it.starts_with(begins)).collect();
    assert_eq!(wrong.len(), 1, "{name}: {said}");
    let line = wrong[0].replace(&format!("{workload}/"), "");
    for want in wants {
        assert!(line.contains(want), "{name}: {want} not in {line}");
    }
    match in_account {
        true => assert!(
            said.contains("loadgen lint tries an object"),
            "{name}: {said}"
        ),
        false => assert!(
            line[begins.len()..].starts_with(case.place),
            "{name}: {line}"
        ),
    }
}
