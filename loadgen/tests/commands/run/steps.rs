//! `loadgen run` on workloads with steps.

use std::path::Path;

use serde_json::{Value, json};

use crate::program::wait_for;
use crate::run::assert_figures;
use crate::run::operator;
use crate::run::simulated_cluster::{SimulatedCluster, code, stderr, stdout};
use crate::run::workloads::{FIXTURES, with_fixtures};

const STEPS: &str = "
[[steps]]
do = \"update\"
per_s = 50
times = 2

[[steps]]
do = \"idle\"
seconds = 1

[[steps]]
do = \"scale\"
field = \"/data/size\"
value = \"9\"
";

pub fn one_after_the_other() {
    let simulated_cluster = SimulatedCluster::without_crd("steps");
    let workload = with_fixtures("steps", FIXTURES);
    let file = Path::new(&workload).join("workload.toml");
    let before = std::fs::read_to_string(&file).expect("written");
    std::fs::write(&file, before.clone() + STEPS).expect("writable");
    let output = simulated_cluster.loadgen(&["run", &workload, "--count", "5", "--keep"]);
    let said = stdout(&output);
    assert_eq!(code(&output), Some(0), "{said}{}", stderr(&output));
    for want in [
        "\nupdate, 2 times ",
        "\nidle for 1 s ",
        "\nscale /data/size to \"9\" ",
    ] {
        assert!(said.contains(want), "{want} not in {said}");
    }
    let objects = simulated_cluster.server.objects("configmaps");
    let sizes: Vec<&str> = objects
        .iter()
        .filter_map(|object| object["data"]["size"].as_str())
        .collect();
    assert_eq!(sizes, ["9"; 5]);
    let bad = before + &STEPS.replace("times = 2", "times = 0");
    std::fs::write(&file, bad).expect("writable");
    let output = simulated_cluster.loadgen(&["run", &workload, "--count", "5"]);
    let said = stderr(&output);
    assert_eq!(code(&output), Some(2), "{said}");
    assert!(said.contains(": steps.times: 0: use 1 to 1000"), "{said}");
}

/// A workload of ConfigMaps with what stands before the first table, and with steps.
fn with_steps(name: &str, object: &str, steps: &str) -> String {
    let workload = with_fixtures(name, FIXTURES);
    let file = Path::new(&workload).join("workload.toml");
    let text = std::fs::read_to_string(&file).expect("written");
    let text = text.replace("[object]\n", &format!("[object]\n{object}"));
    std::fs::write(&file, text + steps).expect("writable");
    workload
}

fn step(what: &str, fields: &str) -> String {
    format!("[[steps]]\ndo = \"{what}\"\n{fields}\n")
}

fn uids(cluster: &SimulatedCluster) -> Vec<Value> {
    let objects = cluster.server.objects("configmaps");
    let ours = objects.iter().filter(|object| {
        let name = object["metadata"]["name"].as_str();
        name.is_some_and(|name| name.starts_with("cm-"))
    });
    ours.map(|object| object["metadata"]["uid"].clone())
        .collect()
}

pub fn recreate_and_delete() {
    let cluster = SimulatedCluster::without_crd("steps-recreate");
    let steps = [
        step("recreate", "times = 2\nper_s = 100"),
        step("delete", ""),
        // Long enough to be seen on a machine that does something else.
        step("idle", "seconds = 10"),
        step("create", ""),
    ];
    let workload = with_steps("steps-recreate", "", &steps.concat());
    let running = cluster.start(&["run", &workload, "--count", "5", "--keep"]);
    wait_for("the objects", || uids(&cluster).len() == 5);
    let first = uids(&cluster);
    wait_for("their deletion for good", || {
        let requests = cluster.server.requests();
        requests.count("tester", "delete", "configmaps") >= 15 && uids(&cluster).is_empty()
    });
    let output = running.wait_with_output().expect("it ends");
    let said = stdout(&output);
    assert_eq!(code(&output), Some(0), "{said}{}", stderr(&output));
    for want in ["\nrecreate, 2 times ", "\ndelete ", "\ncreate "] {
        assert!(said.contains(want), "{want} not in {said}");
    }
    let last = uids(&cluster);
    assert_eq!(last.len(), 5, "{said}");
    assert!(last.iter().all(|uid| !first.contains(uid)), "{last:?}");
}

pub fn delete_at_the_end() {
    let cluster = SimulatedCluster::without_crd("steps-delete");
    let workload = with_steps("steps-delete", "", &step("delete", "per_s = 100"));
    let output = cluster.loadgen(&["run", &workload, "--count", "5"]);
    assert_eq!(
        code(&output),
        Some(0),
        "{}{}",
        stdout(&output),
        stderr(&output)
    );
    let figures = [("created", 5), ("deleted by steps", 5), ("left behind", 0)];
    assert_figures(&output, &figures);
    let said = stdout(&output);
    assert!(!said.contains("deleted by others"), "{said}");
}

pub fn fault() {
    let cluster = SimulatedCluster::without_crd("steps-fault");
    let object = "rejected = \"rejected.yaml\"\n";
    let workload = with_steps("steps-fault", object, &step("fault", "seconds = 3"));
    let rejected = Path::new(&workload).join("rejected.yaml");
    std::fs::write(rejected, "data: {a: wrong, extra: wrong}\n").expect("writable");
    let running = cluster.start(&["run", &workload, "--count", "5", "--keep"]);
    let data = || {
        let objects = cluster.server.objects("configmaps");
        let ours = objects.iter().filter(|it| !it["data"].is_null());
        ours.map(|it| it["data"].clone()).collect::<Vec<Value>>()
    };
    let wrong = json!({"a": "wrong", "extra": "wrong"});
    wait_for("the fault", || data() == vec![wrong.clone(); 5]);
    let output = running.wait_with_output().expect("it ends");
    let said = stdout(&output);
    assert_eq!(code(&output), Some(0), "{said}{}", stderr(&output));
    assert!(said.contains("\nfault for 3 s "), "{said}");
    assert_eq!(
        data(),
        vec![json!({"a": "b"}); 5],
        "also what was not there before"
    );
}

pub fn restart() {
    let cluster = operator::cluster("steps-restart");
    let workload = with_steps("steps-restart", "", &step("restart", ""));
    let words = ["run", &workload, "--count", "5", "--idle-s", "1"];
    let words = [&words[..], &["--operator", "deployment/shop/web"]].concat();
    let running = cluster.start(&words);
    wait_for("the end of its pod", || cluster.names("pods") == ["other"]);
    let pods = "/api/v1/namespaces/shop/pods";
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "web-2", "labels": {"app.kubernetes.io/name": "web"}},
        "spec": {"containers": [{"name": "manager", "image": "web:1"}]},
    });
    cluster.create(pods, &pod);
    let ready = json!({"status": {"conditions": [{"type": "Ready", "status": "True"}]}});
    cluster.patch(&format!("{pods}/web-2/status"), &ready);
    let output = running.wait_with_output().expect("it ends");
    let said = stdout(&output);
    assert_eq!(code(&output), Some(0), "{said}{}", stderr(&output));
    assert!(said.contains("\nrestart "), "{said}");
    assert!(said.contains("web-2 came during the run"), "{said}");
}

pub fn not_permitted() {
    let cluster = SimulatedCluster::without_crd("steps-not-permitted");
    let workload = with_steps("steps-not-permitted", "", &step("restart", ""));
    let output = cluster.loadgen(&["run", &workload, "--count", "5"]);
    let said = stderr(&output);
    assert_eq!(code(&output), Some(2), "{said}");
    let want = ": steps.do: restart: say which with --operator deployment/NAMESPACE/NAME";
    assert!(said.contains(want), "{said}");
    assert_eq!(cluster.left(), Vec::<String>::new());
    assert_eq!(uids(&cluster), Vec::<Value>::new());
}

pub fn delete_children() {
    let cluster = SimulatedCluster::with_operator("steps-children");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let shipped = root.join("workloads/edgeapp");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("loadgen-run-steps-children-workload");
    std::fs::create_dir_all(&folder).expect("temporary folder");
    for file in ["edgeapp.yaml", "rejected.yaml", "update.yaml"] {
        std::fs::copy(shipped.join(file), folder.join(file)).expect("shipped");
    }
    let text = std::fs::read_to_string(shipped.join("workload.toml")).expect("shipped");
    let crd = root.join("deploy/base/crd.yaml").display().to_string();
    let text = text.replace("../../deploy/base/crd.yaml", &crd);
    let text = text.replace("conformance = \"conformance.toml\"\n", "");
    let text = text + &step("delete-children", "");
    std::fs::write(folder.join("workload.toml"), text).expect("writable");
    let workload = folder.display().to_string();
    let output = cluster.loadgen(&["run", &workload, "--count", "5"]);
    let said = stdout(&output);
    assert_eq!(code(&output), Some(0), "{said}{}", stderr(&output));
    assert!(said.contains("\ndelete children "), "{said}");
    assert!(!said.contains("backlog"), "all came at once: {said}");
    let requests = cluster.server.requests();
    for plural in ["deployments", "services"] {
        assert_eq!(requests.count("tester", "delete", plural), 5, "{plural}");
    }
    assert_eq!(cluster.left(), Vec::<String>::new());
}
