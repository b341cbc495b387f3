//! Two operators and a controller in one program (`examples/several.rs`).

use std::process::{Command, Stdio};
use std::time::Instant;

use k8s_openapi::api::coordination::v1::Lease;
use serde_json::json;

use super::{Cluster, Running, TIMEOUT, ask, example, folder, free_port, terminate, until};

#[test]
fn they_share_the_command_line_the_lease_and_the_admin_port() {
    let dir = folder("several");
    let cluster = Cluster::start(&dir);
    let admin = free_port();
    let mut command = Command::new(example::program("several"));
    command
        .env_clear()
        .env("HOME", &dir)
        .env("KUBECONFIG", &cluster.kubeconfig)
        .args(["run", "--install-crd", "--leader-elect"])
        .args(["--admin", &admin.to_string()]);
    command.stdin(Stdio::null()).stdout(Stdio::null());
    let mut running = Running(command.stderr(Stdio::null()).spawn().unwrap());
    until("all are ready", || {
        ask(admin, "/readyz").filter(|answer| answer.ends_with("ok\n"))
    });

    let objects = [("Note", "notes"), ("Memo", "memos")];
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let client = cluster.server.client("user");
        for (kind, plural) in objects {
            let body = json!({"apiVersion": "example.com/v1", "kind": kind,
                "metadata": {"name": "hello"}, "spec": {"text": "x"}});
            let path = format!("/apis/example.com/v1/namespaces/default/{plural}");
            let request = http::Request::post(path).header("content-type", "application/json");
            let request = request.body(serde_json::to_vec(&body).unwrap()).unwrap();
            client.request::<serde_json::Value>(request).await.unwrap();
        }
        let leases = kube::Api::<Lease>::default_namespaced(client);
        leases.get("several").await.expect("one Lease for all");
    });
    let object = |resource: &str, name: &str| cluster.server.object(resource, "default", name);
    until("each has done its work", || {
        let map = object("configmaps", "hello")?;
        object("secrets", "hello")?;
        let counted = object("configmaps", "notes")?;
        (map["data"]["text"] == "x" && counted["data"]["count"] == "1").then_some(())
    });

    let metrics = ask(admin, "/metrics").unwrap();
    for line in [
        "notes_ready 1",
        "memos_ready 1",
        "note_counter_ready 1",
        "note_counter_leader 1",
        "memos_reconcile_duration_seconds_count 1",
    ] {
        assert!(metrics.lines().any(|one| one == line), "{line}: {metrics}");
    }
    let of_process = metrics.matches("# TYPE process_resident_memory_bytes ");
    assert_eq!(of_process.count(), 1);

    let asked = Instant::now();
    assert_eq!(terminate(&mut running), Some(0));
    assert!(asked.elapsed() < TIMEOUT);
}

#[test]
fn the_crds_of_all_are_printed() {
    let mut command = Command::new(example::program("several"));
    let output = command.arg("crd").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let names: Vec<serde_json::Value> = text
        .split("\n---\n")
        .map(|crd| {
            serde_json::from_str::<serde_json::Value>(crd).unwrap()["metadata"]["name"].clone()
        })
        .collect();
    assert_eq!(names, ["notes.example.com", "memos.example.com"]);
}
