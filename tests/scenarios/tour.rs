//! The example `pods` on a real server: it prints the same as kubectl for the same objects.
//!
//! There are no nodes, so the test writes the statuses that a kubelet would write. `logs` and `exec` need
//! a real node (`tests/programs/pods/node.rs`).

use std::process::Command;
use std::time::Duration;

use http::Method;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::cluster::Cluster;
use crate::cluster::objects::text;
use crate::cluster::plane::PERSON;
use crate::cluster::user::{JSON, MERGE};
use terminal::Terminal;

#[path = "../../examples/pods/main.rs"]
#[allow(dead_code)] // what `main` does with a terminal and a kubeconfig
mod example;
#[path = "../programs/pods/terminal.rs"]
#[allow(dead_code)] // `tests/programs/pods` uses all of it
mod terminal;

const MANIFEST: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/pods/pods.yaml");
const NOTE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/pods/note.yaml");

pub async fn the_tour_of_the_client(cluster: Cluster) {
    let there = format!("-n {}", cluster.namespace);
    let namespace = &cluster.namespace;
    let terminal = terminal(&cluster);
    let watcher = terminal.starts(&format!("watcher {there}"));
    watcher.until_out("INIT\nINIT DONE\n").await;
    let created = terminal.types(&format!("create {MANIFEST} {there}")).await;
    assert_eq!(created, "pod/hello created\npod/later created\n");
    let again = terminal.fails(&format!("create {MANIFEST} {there}")).await;
    assert_eq!(again, "pods \"hello\" already exists");
    let [client, reflector, controller] = ["client", "reflector", "controller"]
        .map(|layer| terminal.starts(&format!("{layer} {there}")));
    let listed = format!("LISTED {namespace}/hello Pending\nLISTED {namespace}/later Pending\n");
    client.until_out(&listed).await;
    reflector.until_out("2 Pods: 0 Running, 2 Pending\n").await;
    let both = |out: &str| {
        ["hello", "later"]
            .iter()
            .all(|name| out.contains(&format!("RECONCILE {namespace}/{name} Pending\n")))
    };
    controller.until("both Pods", both).await;

    let labeled = terminal
        .types(&format!("label hello tier=front {there}"))
        .await;
    assert_eq!(labeled, "pod/hello labeled\n");
    let hello = cluster.get("pods", "hello").await;
    assert_eq!(
        hello["metadata"]["labels"],
        json!({ "app": "hello", "tier": "front" })
    );
    let ours: Value = yaml(&terminal.types(&format!("get hello -o yaml {there}")).await);
    let theirs: Value = yaml(&kubectl(&cluster, "get pod hello -o yaml").await);
    assert_eq!(ours, theirs, "as kubectl prints it");
    // Without a node the log is empty, and no command can be run in the container.
    assert_eq!(terminal.types(&format!("logs hello -f {there}")).await, "");
    let error = terminal
        .fails(&format!("logs hello -c nobody {there}"))
        .await;
    assert_eq!(error, "container nobody is not valid for pod hello");
    let error = terminal.fails(&format!("exec hello {there} -- ls")).await;
    assert!(error.contains("does not have a host assigned"), "{error}");

    let deleted = terminal.types(&format!("delete hello {there}")).await;
    assert_eq!(deleted, "pod \"hello\" deleted\n");
    assert_eq!(cluster.get("pods", "hello").await, Value::Null);
    let error = terminal.fails(&format!("get hello {there}")).await;
    assert_eq!(error, "pods \"hello\" not found");
    let gone = format!("DELETE {namespace}/hello Terminating\n");
    watcher.until(&gone, |out| out.ends_with(&gone)).await;
    let gone = format!("DELETED {namespace}/hello Terminating\n");
    client.until(&gone, |out| out.ends_with(&gone)).await;
    let left = "1 Pods: 0 Running, 1 Pending\n";
    reflector.until(left, |out| out.ends_with(left)).await;
    for layer in [watcher, client, reflector, controller] {
        assert_eq!(layer.errors(), "");
        layer.stop();
    }
    owners_of_every_kind(&cluster, &terminal, &there).await;
    cluster.end().await;
}

/// Installs a CRD from a Rust type, creates an object of it, and prints the owners from a Pod up to it.
async fn owners_of_every_kind(cluster: &Cluster, terminal: &Terminal, there: &str) {
    let namespace = &cluster.namespace;
    let installed = terminal.types("install").await;
    assert_eq!(installed, "notes.example.com is Established\n");
    let applied = kubectl(cluster, &format!("apply -f {NOTE}")).await;
    assert_eq!(applied, "note.example.com/hello created\n");
    let shown = kubectl(cluster, "get notes").await;
    assert!(
        shown.starts_with("NAME    TEXT                 AGE\nhello   the tour ends here"),
        "{shown}"
    );
    let path = format!("/apis/example.com/v1/namespaces/{namespace}/notes/hello");
    let root = cluster
        .request(
            Method::GET,
            &format!("/api/v1/namespaces/{namespace}"),
            MERGE,
            &Value::Null,
        )
        .await
        .expect("read the namespace");
    let owned = json!({ "metadata": { "ownerReferences": [owner("v1", "Namespace", &root)] } });
    let note = cluster.request(Method::PATCH, &path, MERGE, &owned).await;
    let note = note.expect("give the note an owner");
    let mut set = json!({
        "metadata": { "name": "web-1", "ownerReferences": [owner("example.com/v1", "Note", &note)] },
        "spec": { "replicas": 0, "selector": { "matchLabels": { "app": "web" } } },
    });
    set["spec"]["template"] = pod("web-1", json!({}));
    set["spec"]["template"]["metadata"] = json!({ "labels": { "app": "web" } });
    let path = format!("/apis/apps/v1/namespaces/{namespace}/replicasets");
    let set = cluster.request(Method::POST, &path, JSON, &set).await;
    let set = set.expect("create a ReplicaSet");
    let mut web = pod("web-1-x", json!({}));
    web["metadata"]["ownerReferences"] = json!([owner("apps/v1", "ReplicaSet", &set)]);
    cluster.make("pods", web).await;
    let want = format!(
        "\
Namespace {namespace}
└─ Note {namespace}/hello
   └─ ReplicaSet {namespace}/web-1
      └─ Pod {namespace}/web-1-x
"
    );
    assert_eq!(terminal.types(&format!("tree web-1-x {there}")).await, want);
}

pub async fn pods_are_shown_as_kubectl_shows_them(cluster: Cluster) {
    for (name, spec, status) in states() {
        let mut made = pod(name, spec);
        made["metadata"]["finalizers"] = json!(["example.com/hold"]);
        cluster.make("pods", made).await;
        let path = cluster.path("pods", &format!("{name}/status"));
        let status = json!({ "status": status });
        let patched = cluster.request(Method::PATCH, &path, MERGE, &status).await;
        patched.unwrap_or_else(|error| panic!("the status of {name}: {error}"));
        if name.starts_with("deleted") {
            cluster.delete("pods", name).await;
        }
    }
    let terminal = terminal(&cluster);
    let here = format!("get -n {}", cluster.namespace);
    same_table(&cluster, &terminal, &here, "get pods -o wide").await;
    same_table(&cluster, &terminal, "get -A", "get pods -A -o wide").await;
    let rows = terminal.types(&here).await;
    assert_eq!(rows.lines().count(), 1 + states().len(), "{rows}");
    for (name, ..) in states() {
        let release = json!({ "metadata": { "finalizers": null } });
        cluster.patch("pods", name, release).await;
    }
    cluster.end().await;
}

/// Compares a table of both programs. Ages change each second, so both are asked until they have printed
/// in the same second.
async fn same_table(cluster: &Cluster, terminal: &Terminal, ours: &str, theirs: &str) {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        let before = terminal.types(ours).await;
        let theirs = kubectl(cluster, theirs).await;
        let after = terminal.types(ours).await;
        if theirs == before || theirs == after {
            return;
        }
        assert!(
            Instant::now() < deadline,
            "kubectl prints\n{theirs}\nand pods\n{after}"
        );
    }
}

/// Pods by name: the fields of the spec beside a container `a`, and the status as a kubelet writes it.
fn states() -> Vec<(&'static str, Value, Value)> {
    let ago = |seconds: i64| {
        let now = k8s_openapi::jiff::Timestamp::now();
        let then = now - k8s_openapi::jiff::SignedDuration::from_secs(seconds);
        json!({ "terminated": { "exitCode": 1, "finishedAt": then.to_string() } })
    };
    let one = |name: &str, ready: bool, restarts: i32, state: Value| {
        json!({
            "name": name, "image": "", "imageID": "", "ready": ready, "restartCount": restarts,
            "state": state,
        })
    };
    let with = |mut status: Value, field: &str, value: Value| {
        status[field] = value;
        status
    };
    let running = || json!({ "running": {} });
    let waits = |reason: &str| json!({ "waiting": { "reason": reason } });
    let ended =
        |code: i32, reason: &str| json!({ "terminated": { "exitCode": code, "reason": reason } });
    let phase = |phase: &str, all: Vec<Value>| json!({ "phase": phase, "containerStatuses": all });
    let starts = |inits: Vec<Value>| {
        let main = one("a", false, 0, waits("PodInitializing"));
        with(
            phase("Pending", vec![main]),
            "initContainerStatuses",
            json!(inits),
        )
    };
    let inits = || {
        let image = "registry.local/app:1";
        json!({ "initContainers": [
            { "name": "i", "image": image },
            { "name": "s", "image": image, "restartPolicy": "Always" },
        ] })
    };
    let on_node = || json!({ "nodeName": "node-that-is-not-there" });
    let crashes = one("a", false, 4, waits("CrashLoopBackOff"));
    let crashes = with(crashes, "lastState", ago(400));
    let up = phase("Running", vec![one("a", true, 0, running())]);
    let sidecar = with(one("s", true, 2, running()), "started", json!(true));
    let sidecar = with(sidecar, "lastState", ago(40_000));
    let beside = json!([one("i", true, 1, ended(0, "Completed")), sidecar]);
    let addressed = with(up.clone(), "podIP", json!("10.1.2.3"));
    let addressed = with(
        addressed,
        "podIPs",
        json!([{ "ip": "10.1.2.3" }, { "ip": "fd00::3" }]),
    );
    let gates =
        json!({ "readinessGates": [{ "conditionType": "x.io/a" }, { "conditionType": "x.io/b" }] });
    let open = json!([{ "type": "x.io/a", "status": "True" }]);
    let evicted = json!({ "phase": "Failed", "reason": "Evicted" });
    let failed = |state: Value| phase("Failed", vec![one("a", false, 0, state)]);
    let signal = json!({ "terminated": { "exitCode": 137, "signal": 9 } });
    let none = || json!({});
    vec![
        ("pending", none(), none()),
        ("running", on_node(), addressed),
        (
            "creating",
            on_node(),
            phase(
                "Pending",
                vec![one("a", false, 0, waits("ContainerCreating"))],
            ),
        ),
        ("crashing", on_node(), phase("Running", vec![crashes])),
        (
            "completed",
            on_node(),
            phase("Succeeded", vec![one("a", false, 0, ended(0, "Completed"))]),
        ),
        ("failed", on_node(), failed(ended(1, "Error"))),
        ("exit-code", on_node(), failed(ended(3, ""))),
        ("signal", on_node(), failed(signal)),
        ("evicted", on_node(), evicted),
        (
            "starting",
            inits(),
            starts(vec![one("i", false, 0, running())]),
        ),
        (
            "start-fails",
            inits(),
            starts(vec![one("i", false, 3, waits("CrashLoopBackOff"))]),
        ),
        (
            "start-half",
            inits(),
            starts(vec![
                one("i", true, 0, ended(0, "Completed")),
                one("s", false, 0, running()),
            ]),
        ),
        (
            "sidecar",
            inits(),
            with(up.clone(), "initContainerStatuses", beside),
        ),
        (
            "gated",
            json!({ "schedulingGates": [{ "name": "x.io/wait" }] }),
            none(),
        ),
        ("readiness", gates, with(up.clone(), "conditions", open)),
        (
            "nominated",
            none(),
            json!({ "nominatedNodeName": "node-two" }),
        ),
        ("deleted", on_node(), up),
        (
            "deleted-done",
            on_node(),
            phase("Succeeded", vec![one("a", false, 0, ended(0, "Completed"))]),
        ),
    ]
}

fn pod(name: &str, spec: Value) -> Value {
    let mut pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": { "name": name },
        "spec": { "containers": [{ "name": "a", "image": "registry.local/app:1" }] },
    });
    for (field, value) in spec.as_object().into_iter().flatten() {
        pod["spec"][field] = value.clone();
    }
    pod
}

fn owner(version: &str, kind: &str, object: &Value) -> Value {
    json!({
        "apiVersion": version, "kind": kind,
        "name": text(object, "/metadata/name"), "uid": text(object, "/metadata/uid"),
    })
}

fn terminal(cluster: &Cluster) -> Terminal {
    Terminal {
        client: cluster.as_real().plane.client.clone(),
    }
}

fn yaml(text: &str) -> Value {
    serde_saphyr::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Runs a kubectl command, which has to succeed; returns its output.
async fn kubectl(cluster: &Cluster, line: &str) -> String {
    let output = Command::new(cluster.as_real().plane.kubectl.as_ref().expect("kubectl"))
        .args(["--namespace", &cluster.namespace])
        .args(line.split(' '))
        .env_clear()
        .envs(cluster.as_real().plane.environment(PERSON).await)
        .output()
        .expect("start kubectl");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "kubectl {line}: {errors}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}
