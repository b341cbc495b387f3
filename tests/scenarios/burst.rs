//! Many EdgeApps at once: what each of them costs, and operators that end in the middle.

use std::time::Duration;

use serde_json::{Value, json};
use tare_runtime::cache::Mode;
use tokio::time::Instant;

use crate::cluster::Cluster;
use crate::cluster::objects::{container, names, owner_uid, web};
use crate::cluster::simulated::{Simulated, pass};

/// Three writes until an EdgeApp is observed (Deployment, Service, status), a fourth when
/// it becomes ready, and no read meanwhile. The first status yields while others wait, so that most have
/// one status in place of two. In mode `metadata` a watch event does not have the spec,
/// so the EdgeApp is read once.
pub async fn three_hundred_at_once_cost_four_writes_each_at_most_and_no_read(cluster: Cluster) {
    const COUNT: usize = 300;
    let operator = cluster.operate().await;
    let resources = ["edgeapps", "deployments", "services"];
    let gets = || resources.map(|resource| cluster.requests("get", resource));
    let before = gets();
    let started = cluster.writes(&["tare"]);
    cluster.create_all(&names(COUNT), web()).await;
    cluster.until_all_running(COUNT).await;

    // Also: the audit log has the line of a write a moment after its answer.
    cluster.until_quiet(&["tare"]).await;
    for (verb, resource, each) in [
        ("patch", "edgeapps", 0),
        ("create", "deployments", 1),
        ("create", "services", 1),
    ] {
        let count = cluster.requests(verb, resource);
        assert_eq!(count, each * COUNT, "{verb} {resource}");
    }
    let statuses = cluster.requests("patch", "edgeapps/status");
    assert!(
        (COUNT..=2 * COUNT).contains(&statuses),
        "{statuses} statuses"
    );
    let written = cluster.writes(&["tare"]);
    assert_eq!(
        written - started,
        2 * COUNT + statuses,
        "there are other writes"
    );
    assert_eq!(cluster.refused_writes(), 0, "writes were refused");
    let owner_reads = if cluster.mode == Mode::Metadata {
        COUNT
    } else {
        0
    };
    let after = gets();
    let reads = [0, 1, 2].map(|i| after[i] - before[i]);
    assert_eq!(reads, [owner_reads, 0, 0], "reads of {resources:?}");
    cluster.assert_stays_idle(&["tare"]).await;
    operator.terminate().await;

    // A restart finds nothing to do.
    let operator = cluster.operate().await;
    operator
        .until_figure("tare_relists_completed_total", |relists| relists >= 1.0)
        .await;
    cluster.until_quiet(&["tare"]).await;
    assert_eq!(cluster.writes(&["tare"]), written, "the restart wrote");
    operator.terminate().await;
    cluster.end().await;
}

pub async fn converged_owners_need_no_entry_and_no_write_for_an_hour(mode: Mode) {
    let cluster = Simulated::new(mode);
    let running = cluster.operate();
    for name in names(10) {
        cluster.create(&name, web()).await;
    }
    cluster.until_all_running(10).await;
    pass(5).await;
    let writes = cluster.writes();
    let entries = &running.metrics.entries;
    let entries = entries.load(std::sync::atomic::Ordering::Relaxed);
    assert_eq!(entries, 0, "a converged owner needs no entry");
    pass(3_600).await;
    assert_eq!(cluster.writes(), writes, "writes within an hour");
    running.stop().await;
    let again = cluster.operate();
    again.until_ready().await;
    pass(5).await;
    assert_eq!(cluster.writes(), writes, "the restart wrote");
    again.stop().await;
}

/// The datastore accepts 1.5 MiB in one request (etcd's `--max-request-bytes`); this object and its
/// Deployment have 1.4 MB each.
pub async fn an_edgeapp_near_the_largest_size_works_beside_small_ones(cluster: Cluster) {
    const VARIABLES: usize = 44;
    let operator = cluster.operate().await;
    let env: Vec<_> = (0..VARIABLES)
        .map(|n| json!({ "name": format!("PART_{n}"), "value": "x".repeat(32_000) }))
        .collect();
    let mut large = web();
    large["env"] = json!(env);
    assert!(large.to_string().len() > 1_400_000);
    let small = names(5);
    cluster.create("large", large).await;
    cluster.create_all(&small, web()).await;
    cluster.until_all_running(1 + small.len()).await;
    let parts = |deployment: &Value| {
        let env = container(deployment)["env"].as_array();
        env.map_or(0, Vec::len)
    };
    let deployment = cluster.get("deployments", "large").await;
    assert_eq!(parts(&deployment), VARIABLES);

    // A restart reads it on a page of its own and finds nothing to do; then it is changed and loses
    // its child.
    operator.kill().await;
    let operator = cluster.operate().await;
    cluster.change("large", json!({ "image": "web:2" })).await;
    let has_image = |deployment: &Value| container(deployment)["image"] == "web:2";
    let followed = cluster.until("it has the new image", "deployments", "large", has_image);
    assert_eq!(parts(&followed.await), VARIABLES);
    cluster.delete("deployments", "large").await;
    let is_whole = |deployment: &Value| parts(deployment) == VARIABLES;
    cluster
        .until("it is back", "deployments", "large", is_whole)
        .await;
    cluster.until_all_running(1 + small.len()).await;
    cluster.delete("edgeapps", "large").await;
    cluster.until_gone("edgeapps", "large").await;
    operator.terminate().await;
    cluster.end().await;
}

pub async fn killed_repeatedly_in_a_burst(cluster: Cluster) {
    const COUNT: usize = 150;
    cluster.create_all(&names(COUNT), web()).await;
    for wave in 1..=4 {
        let operator = cluster.start_operator().await;
        let some = wave * COUNT / 8;
        cluster
            .until("a part is done", "deployments", "", |list| {
                let items = list["items"].as_array();
                items.is_some_and(|all| all.len() >= some)
            })
            .await;
        operator.kill().await;
    }
    let operator = cluster.operate().await;
    cluster.until_all_running(COUNT).await;
    for resource in ["deployments", "services"] {
        let mut owners: Vec<String> = cluster.all(resource).await.iter().map(owner_uid).collect();
        owners.sort();
        owners.dedup();
        assert_eq!(owners.len(), COUNT, "each EdgeApp has one of {resource}");
    }
    operator.terminate().await;
    cluster.end().await;
}

/// It ends within its grace period, and the next one finishes the work.
pub async fn terminated_in_a_burst_it_ends_in_time(cluster: Cluster) {
    const COUNT: usize = 150;
    let operator = cluster.operate().await;
    cluster.create_all(&names(COUNT), web()).await;
    let asked = Instant::now();
    operator.terminate().await;
    assert!(
        asked.elapsed() < Duration::from_secs(6),
        "{:?}",
        asked.elapsed()
    );
    let operator = cluster.operate().await;
    cluster.until_all_running(COUNT).await;
    operator.terminate().await;
    cluster.end().await;
}

pub async fn two_operators_at_once_do_no_harm(cluster: Cluster) {
    let first = cluster.operate().await;
    let second = cluster.operate_as("second").await;
    second.until_ready().await;
    let names = names(40);
    cluster.create_all(&names, web()).await;
    cluster.until_all_running(names.len()).await;
    for resource in ["deployments", "services"] {
        assert_eq!(cluster.all(resource).await.len(), names.len(), "{resource}");
    }
    cluster.assert_stays_idle(&["tare", "second"]).await;
    for name in &names {
        cluster.change(name, json!({ "replicas": 2 })).await;
    }
    cluster.until_all_running(names.len()).await;
    cluster.assert_stays_idle(&["tare", "second"]).await;
    for name in &names {
        cluster.delete("edgeapps", name).await;
    }
    for resource in ["edgeapps", "deployments", "services"] {
        let is_empty = |list: &Value| list["items"] == json!([]);
        let what = format!("all {resource} are gone");
        cluster.until(&what, resource, "", is_empty).await;
    }
    first.terminate().await;
    second.terminate().await;
    cluster.end().await;
}
