//! The parts of the example `pods` that need a real node: a container's log, and commands in it.
//!
//! `PODS_KUBECONFIG=FILE cargo test --test programs -- --ignored` runs it on that cluster, in its namespace
//! `default`, with the image `PODS_IMAGE` (busybox:1.37; any with `sh` will do).

use std::path::Path;

use k8s_openapi::api::core::v1::Pod;
use kube::api::{DeleteParams, PostParams};
use kube::config::{Config, KubeConfigOptions, Kubeconfig};
use kube::runtime::wait::{await_condition, conditions};
use kube::{Api, Client};
use serde_json::json;

use super::terminal::{Said, Terminal};

const NAME: &str = "pods-tour";

#[tokio::test]
#[ignore = "it needs a node: PODS_KUBECONFIG=FILE cargo test --test programs -- --ignored"]
async fn a_real_container_is_followed_and_entered() {
    let kubeconfig = std::env::var("PODS_KUBECONFIG");
    let kubeconfig = kubeconfig.expect("PODS_KUBECONFIG names no kubeconfig");
    let image = std::env::var("PODS_IMAGE");
    let image = image.unwrap_or_else(|_| "busybox:1.37".to_owned());
    follow_and_enter(Path::new(&kubeconfig), &image).await;
}

/// Starts a Pod of this image on that cluster, follows its log, runs commands in it, and deletes it.
pub async fn follow_and_enter(kubeconfig: &Path, image: &str) {
    let file = Kubeconfig::read_from(kubeconfig).unwrap();
    let config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await;
    let client = Client::try_from(config.unwrap()).unwrap();
    let terminal = Terminal { client };
    let pods: Api<Pod> = Api::namespaced(terminal.client.clone(), "default");
    let count =
        "trap exit TERM; i=0; while true; do i=$((i+1)); echo line $i; sleep 1 & wait; done";
    let pod = json!({
        "metadata": { "name": NAME },
        "spec": {
            "terminationGracePeriodSeconds": 5,
            "containers": [{
                "name": "counter", "image": image, "imagePullPolicy": "IfNotPresent",
                "command": ["sh", "-c", count],
            }],
        },
    });
    let pod = serde_json::from_value(pod).unwrap();
    pods.create(&PostParams::default(), &pod).await.unwrap();
    // The Pod is deleted also when an assertion fails.
    let seen = tokio::spawn(check(terminal)).await;
    let _ = pods.delete(NAME, &DeleteParams::default()).await;
    seen.unwrap();
}

async fn check(terminal: Terminal) {
    let pods: Api<Pod> = Api::namespaced(terminal.client.clone(), "default");
    let runs = await_condition(pods, NAME, conditions::is_pod_running());
    let runs = tokio::time::timeout(std::time::Duration::from_secs(90), runs).await;
    runs.expect("the Pod does not run").unwrap();
    let row = terminal.types(&format!("get {NAME} -n default")).await;
    assert!(row.contains("1/1     Running   0 "), "{row}");
    let following = terminal.starts(&format!("logs {NAME} -n default -f"));
    let more = |out: &str| out.starts_with("line 1\nline 2\nline 3\n");
    following
        .until("three lines, one after the other", more)
        .await;
    let first = terminal
        .types(&format!("logs {NAME} -n default --tail 1"))
        .await;
    assert!(
        first.starts_with("line ") && first.lines().count() == 1,
        "{first}"
    );

    let said = terminal
        .tries(&format!("exec {NAME} -n default -- sh -c echo${{IFS}}hi"))
        .await;
    let hi = Said {
        out: "hi\n".to_owned(),
        errors: String::new(),
        end: Ok(0),
    };
    assert_eq!(said, hi);
    let said = terminal
        .tries(&format!("exec {NAME} -n default -- ls /nowhere"))
        .await;
    assert!(
        said.errors.contains("/nowhere") && said.out.is_empty(),
        "{said:?}"
    );
    assert!(matches!(said.end, Ok(1..)), "{said:?}");
    let error = terminal
        .fails(&format!("exec {NAME} -n default -- no-such-command"))
        .await;
    assert!(error.contains("no-such-command"), "{error}");
    let deleted = terminal.types(&format!("delete {NAME} -n default")).await;
    assert_eq!(deleted, format!("pod \"{NAME}\" deleted\n"));
    assert_eq!(
        following.end().await,
        Ok(0),
        "a log ends with its container"
    );
}
