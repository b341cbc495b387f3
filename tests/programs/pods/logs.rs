//! Logs on the simulated server, which writes what the test says.

use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kubesim::{Options, Server};
use serde_json::{Value, json};

use super::terminal::Terminal;

/// A Pod on a node, with these containers.
async fn world(containers: &[&str]) -> (Server, Terminal, Api<Pod>) {
    let server = Server::new(Options::default());
    let client = server.client("person");
    let pods: Api<Pod> = Api::default_namespaced(client.clone());
    let containers: Vec<Value> = containers
        .iter()
        .map(|name| json!({ "name": name, "image": "registry.local/app:1" }))
        .collect();
    let web = json!({
        "metadata": { "name": "web" },
        "spec": { "nodeName": "node1", "containers": containers },
    });
    let web = serde_json::from_value(web).unwrap();
    pods.create(&PostParams::default(), &web).await.unwrap();
    (server, Terminal { client }, pods)
}

fn write(server: &Server, container: &str, lines: &[&str]) {
    for line in lines {
        server.log_line("default", "web", container, line).unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_log_is_printed_whole_or_from_near_its_end() {
    let (server, terminal, _pods) = world(&["app"]).await;
    assert_eq!(terminal.types("logs web").await, "");
    write(&server, "app", &["one", "", "three"]);
    assert_eq!(terminal.types("logs web").await, "one\n\nthree\n");
    assert_eq!(terminal.types("logs web --tail 1").await, "three\n");
    assert_eq!(terminal.types("logs web --tail 9").await, "one\n\nthree\n");
    assert_eq!(terminal.types("logs web --tail 0").await, "");
}

#[tokio::test(start_paused = true)]
async fn a_log_is_followed_line_by_line_until_its_container_ends() {
    let (server, terminal, pods) = world(&["app"]).await;
    write(&server, "app", &["one", "two"]);
    let following = terminal.starts("logs web -f --tail 1");
    following.until_out("two\n").await;
    write(&server, "app", &["three"]);
    following.until_out("two\nthree\n").await;
    // A change of the Pod is no line.
    terminal.types("label web tier=front").await;
    write(&server, "app", &["four"]);
    following.until_out("two\nthree\nfour\n").await;
    write(&server, "app", &["last words"]);
    let ended = json!({ "status": { "phase": "Succeeded", "containerStatuses": [{
        "name": "app", "ready": false, "restartCount": 0, "image": "", "imageID": "",
        "state": { "terminated": { "exitCode": 0, "reason": "Completed" } },
    }] } });
    let patched = pods
        .patch_status("web", &PatchParams::default(), &Patch::Merge(ended))
        .await;
    patched.unwrap();
    following.until_out("two\nthree\nfour\nlast words\n").await;
    assert_eq!(following.end().await, Ok(0));
    assert!(
        terminal
            .types("get web")
            .await
            .contains("0/1     Completed")
    );
}

#[tokio::test(start_paused = true)]
async fn a_log_ends_with_its_pod_and_the_next_pod_of_the_name_has_its_own() {
    let (server, terminal, pods) = world(&["app"]).await;
    write(&server, "app", &["one"]);
    let following = terminal.starts("logs web -f");
    following.until_out("one\n").await;
    let mut web = pods.get("web").await.unwrap();
    pods.delete("web", &DeleteParams::default()).await.unwrap();
    assert_eq!(following.end().await, Ok(0));
    web.metadata = kube::api::ObjectMeta {
        name: Some("web".to_owned()),
        ..Default::default()
    };
    pods.create(&PostParams::default(), &web).await.unwrap();
    assert_eq!(terminal.types("logs web").await, "");
}

#[tokio::test(start_paused = true)]
async fn of_several_containers_one_has_to_be_named() {
    let (server, terminal, _pods) = world(&["app", "proxy"]).await;
    write(&server, "proxy", &["ready"]);
    let error = terminal.fails("logs web").await;
    let want = "a container name must be specified for pod web, choose one of: [app proxy]";
    assert_eq!(error, want);
    assert_eq!(terminal.types("logs web -c proxy").await, "ready\n");
    assert_eq!(terminal.types("logs web -c app").await, "");
    let error = terminal.fails("logs web -c db").await;
    assert_eq!(error, "container db is not valid for pod web");
    assert_eq!(
        terminal.fails("logs nobody").await,
        "pods \"nobody\" not found"
    );
}

#[tokio::test(start_paused = true)]
async fn a_command_in_a_container_is_refused_where_there_is_no_node() {
    let (_server, terminal, _pods) = world(&["app"]).await;
    let error = terminal.fails("exec web -- ls").await;
    assert!(error.contains("does not implement pods/exec"), "{error}");
}
