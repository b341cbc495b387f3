//! The four layers, each watching Pods come, change and go.

use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::{Patch, PatchParams, PostParams};
use kubesim::{Options, Server};
use serde_json::json;

use super::terminal::Terminal;

async fn world() -> (Server, Terminal) {
    let server = Server::new(Options::default());
    let client = server.client("person");
    let terminal = Terminal { client };
    create(&terminal, "one").await;
    (server, terminal)
}

fn pods(terminal: &Terminal) -> Api<Pod> {
    Api::default_namespaced(terminal.client.clone())
}

async fn create(terminal: &Terminal, name: &str) {
    let pod = json!({
        "metadata": { "name": name },
        "spec": { "containers": [{ "name": "a", "image": "a:1" }] },
    });
    let pod = serde_json::from_value(pod).unwrap();
    pods(terminal)
        .create(&PostParams::default(), &pod)
        .await
        .unwrap();
}

async fn runs(terminal: &Terminal, name: &str) {
    let runs = Patch::Merge(json!({ "status": { "phase": "Running" } }));
    let patched = pods(terminal)
        .patch_status(name, &PatchParams::default(), &runs)
        .await;
    patched.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_client_lists_and_watches_until_the_server_hangs_up() {
    let (server, terminal) = world().await;
    let client = terminal.starts("client");
    client.until_out("LISTED default/one Pending\n").await;
    create(&terminal, "two").await;
    runs(&terminal, "one").await;
    terminal.types("delete two").await;
    let all = "\
LISTED default/one Pending
ADDED default/two Pending
MODIFIED default/one Running
DELETED default/two Pending
";
    client.until_out(all).await;
    server.close_watches();
    assert_eq!(client.end().await, Ok(0), "it is over");
}

#[tokio::test(start_paused = true)]
async fn a_watcher_goes_on_when_the_server_hangs_up_or_forgets() {
    let (server, terminal) = world().await;
    let watcher = terminal.starts("watcher -A");
    let mut all = "INIT\nINIT APPLY default/one Pending\nINIT DONE\n".to_owned();
    watcher.until_out(&all).await;
    server.close_watches();
    runs(&terminal, "one").await;
    all += "APPLY default/one Running\n";
    watcher.until_out(&all).await;
    create(&terminal, "two").await;
    terminal.types("delete one").await;
    all += "APPLY default/two Pending\nDELETE default/one Running\n";
    watcher.until_out(&all).await;
    // Selection goes while nobody watches and is then forgotten shows in what is listed anew.
    server.close_watches();
    terminal.types("delete two").await;
    create(&terminal, "three").await;
    server.compact();
    let now = "INIT\nINIT APPLY default/three Pending\nINIT DONE\n";
    watcher.until(now, |out| out.ends_with(now)).await;
    watcher.stop();
}

#[tokio::test(start_paused = true)]
async fn a_reflector_knows_all_pods_without_asking() {
    let (server, terminal) = world().await;
    let reflector = terminal.starts("reflector");
    reflector.until_out("1 Pods: 0 Running, 1 Pending\n").await;
    let asked = server.requests().reads("person");
    create(&terminal, "two").await;
    runs(&terminal, "one").await;
    let all = "\
1 Pods: 0 Running, 1 Pending
2 Pods: 0 Running, 2 Pending
2 Pods: 1 Running, 1 Pending
";
    reflector.until_out(all).await;
    assert_eq!(server.requests().reads("person"), asked, "no request");
    reflector.stop();
}

#[tokio::test(start_paused = true)]
async fn a_controller_is_called_for_what_has_changed_and_again_later() {
    let (_server, terminal) = world().await;
    let controller = terminal.starts("controller");
    controller
        .until_out("RECONCILE default/one Pending\n")
        .await;
    let since = tokio::time::Instant::now();
    create(&terminal, "two").await;
    runs(&terminal, "one").await;
    let both = |out: &str| {
        out.contains("RECONCILE default/two Pending")
            && out.contains("RECONCILE default/one Running")
    };
    controller.until("both Pods as they are", both).await;
    let again = |out: &str| out.matches("RECONCILE default/two Pending").count() == 2;
    controller.wait("a second reconcile", again).await;
    assert!(since.elapsed().as_secs() >= 300, "five minutes later");
    assert_eq!(controller.errors(), "");
    controller.stop();
}
