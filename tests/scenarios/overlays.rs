//! The overlays of `deploy/` for two replicas and for one namespace, applied with kubectl; the operators run as
//! processes with the arguments of their pods.
//!
//! Leaves to others: the base (`shipped`), every way in which a Lease can be lost (`leader`).

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use crate::cluster::Cluster;
use crate::cluster::account::{self, NAMESPACE, SHIPPED};
use crate::cluster::objects::container;
use crate::cluster::plane::SECOND;
use crate::kubectl::Person;
use crate::shipped::{clean, create_three};

/// What `kubectl kustomize` makes of a folder in `deploy/`.
fn rendered(person: &Person, overlay: &str) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/deploy");
    person.types(&format!("kustomize {folder}/{overlay}")).said
}

/// The arguments of the operator in these manifests after those that a scenario sets itself.
fn own_arguments(manifests: &str) -> Vec<String> {
    let all: Vec<Value> = serde_saphyr::from_multiple(manifests).expect("manifests are YAML");
    let deployment = all.iter().find(|one| one["kind"] == "Deployment");
    let pod = &deployment.expect("a Deployment")["spec"]["template"];
    let args = container(&deployment.expect("a Deployment").clone())["args"].clone();
    let args: Vec<String> =
        serde_json::from_value(args).unwrap_or_else(|error| panic!("{pod}: {error}"));
    assert_eq!(&args[..2], ["run", "--admin"]);
    args[3..].to_vec()
}

/// A replica that is killed, and one that is suspended, are followed by the other. The audit log shows one writer
/// after the other.
pub async fn two_replicas_work_one_after_the_other(cluster: Cluster) {
    let person = clean(&cluster).await;
    let manifests = rendered(&person, "two-replicas");
    person.writes("two.yaml", &manifests);
    person.types("apply -f two.yaml");
    person.types("wait crd edgeapps.tare.dev --for=condition=Established --timeout=30s");
    // The audit log tells users apart and not pods: the second replica has an account of its own.
    let plane = &cluster.as_real().plane;
    account::bind_another(&plane.client, SECOND).await;
    person.types(&format!(
        "-n {NAMESPACE} create rolebinding {SECOND}-lease --role=tare-lease --serviceaccount={NAMESPACE}:{SECOND}"
    ));
    for account in [SHIPPED, SECOND] {
        plane.log_in(account).await;
        plane.until_known(account).await.expect("our account");
    }
    let args = own_arguments(&manifests);
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    assert_eq!(args[0], "--leader-elect");

    let first = cluster.start_process(SHIPPED, &args).await;
    first.until_ready().await;
    create_three(&cluster).await;
    let mut second = cluster.start_process(SECOND, &args).await;
    let stands_by =
        |answer: &str| answer.starts_with("HTTP/1.1 200") && answer.ends_with("standby\n");
    second
        .until_answer("/readyz", "it stands by", stands_by)
        .await;
    let users = [SHIPPED, SECOND];
    cluster.until_quiet(&users).await;

    first.kill();
    follows(&cluster, "2").await;
    let third = cluster.start_process(SHIPPED, &args).await;
    third
        .until_answer("/readyz", "it stands by", stands_by)
        .await;
    cluster.until_quiet(&users).await;

    second.pause();
    follows(&cluster, "3").await;
    cluster.until_quiet(&users).await;
    // What it finds when it wakes up is an EdgeApp to work on, and that its Lease is lost.
    cluster
        .change("web-0", json!({ "image": "registry.local/web:4" }))
        .await;
    second.resume();
    assert_eq!(second.ended().await, Some(1), "it ends with an error");
    cluster.until_all_running(3).await;
    cluster.until_quiet(&users).await;
    let turns = cluster.turns(&users);
    let [one, other] = users.map(account::username);
    assert_eq!(
        turns,
        [one.clone(), other, one],
        "one writer after the other"
    );
    let lost = std::fs::read_to_string(
        cluster
            .as_real()
            .plane
            .logs
            .join(format!("{}-{SECOND}.log", cluster.namespace)),
    );
    assert!(
        lost.expect("a log")
            .contains("lost the Lease tare-system/tare")
    );
    third.terminate().await;
}

/// A change is made within 20 s, though the replica that worked is gone.
async fn follows(cluster: &Cluster, tag: &str) {
    let image = format!("registry.local/web:{tag}");
    let gone = Instant::now();
    cluster.change("web-0", json!({ "image": image })).await;
    let is_made = |object: &Value| container(object)["image"] == image;
    cluster
        .until("the other replica works", "deployments", "web-0", is_made)
        .await;
    let took = gone.elapsed();
    assert!(took <= Duration::from_secs(20), "{took:?}");
}

/// With the Role of `deploy/namespaced`, and no ClusterRole, the operator does all of its work in its namespace.
pub async fn an_operator_of_one_namespace_needs_no_clusterrole(cluster: Cluster) {
    let person = clean(&cluster).await;
    person.writes("crd.yaml", tare::edgeapp::CRD_YAML);
    person.types("apply -f crd.yaml");
    person.types("wait crd edgeapps.tare.dev --for=condition=Established --timeout=30s");
    let namespace = cluster.namespace.clone();
    let manifests = rendered(&person, "namespaced");
    let own = format!("namespace: {namespace}");
    let manifests = manifests.replace("namespace: edge", &own);
    person.writes("namespaced.yaml", &manifests);
    person.types("apply -f namespaced.yaml");
    let cluster_wide =
        "get clusterroles,clusterrolebindings -l app.kubernetes.io/part-of=tare -o name";
    assert_eq!(person.types(cluster_wide).said, "");
    assert_eq!(own_arguments(&manifests), ["--namespace=$(POD_NAMESPACE)"]);
    let plane = &cluster.as_real().plane;
    plane.log_in_at(&namespace, SHIPPED).await;
    let known = plane.until_known_at(&namespace, SHIPPED).await;
    known.expect("our account");

    let mut operator = cluster.operate_as(SHIPPED).await;
    operator.until_ready().await;
    create_three(&cluster).await;
    cluster
        .change("web-0", json!({ "image": "registry.local/web:2" }))
        .await;
    cluster.delete("services", "web-1").await;
    cluster
        .until("the Service is made again", "services", "web-1", |one| {
            !one.is_null()
        })
        .await;
    cluster.until_all_running(3).await;
    cluster.delete("edgeapps", "web-2").await;
    operator.assert_alive();
    let metrics = operator.metrics().await;
    assert!(
        !metrics.contains("tare_reconcile_errors_total{"),
        "{metrics}"
    );
    operator.terminate().await;
    let log = std::fs::read_to_string(
        cluster
            .as_real()
            .plane
            .logs
            .join(format!("{namespace}-{SHIPPED}.log")),
    );
    let log = log.expect("a log");
    let missing: Vec<&str> = log
        .lines()
        .filter(|line| line.contains("may not"))
        .collect();
    let is_known = |line: &&&str| line.contains("customresourcedefinitions");
    assert_eq!(
        missing.iter().filter(is_known).count(),
        missing.len(),
        "{missing:?}"
    );
    cluster.delete("edgeapps", "").await;
    person.types("delete -f namespaced.yaml --ignore-not-found --timeout=90s");
}
