//! Many at once, and what each of them costs.

use serde_json::json;

use crate::audit;
use crate::world::{World, container, web};

const COUNT: usize = 300;

/// Four writes until an EdgeApp is observed (finalizer, Deployment, Service, status), a fifth when
/// it becomes ready, and nothing is read while it is held.
pub async fn three_hundred_at_once_cost_five_writes_each_and_no_read(world: World) {
    let operator = world.operate().await;
    let before = world.asked("tare");
    let reads = |asked: Vec<audit::Asked>| -> Vec<audit::Asked> {
        asked.into_iter().filter(|one| one.verb == "get").collect()
    };
    let names: Vec<String> = (0..COUNT).map(|n| format!("web-{n}")).collect();
    futures::future::join_all(names.iter().map(|name| world.create(name, web()))).await;
    world.until_all_running(COUNT).await;

    // Also: the last write's line comes a moment after its answer.
    world.until_quiet(&["tare"]).await;
    let asked = world.asked("tare");
    for (verb, resource, each) in [
        ("patch", "edgeapps", 1),
        ("create", "deployments", 1),
        ("create", "services", 1),
        ("patch", "edgeapps/status", 2),
    ] {
        let count = audit::count(&asked, verb, resource);
        assert_eq!(count, each * COUNT, "{verb} {resource}");
    }
    let writes = asked.iter().filter(|one| one.is_write()).count();
    assert_eq!(writes, 5 * COUNT, "nothing else was written");
    let refused: Vec<_> = asked.iter().filter(|one| one.code >= 300).collect();
    assert_eq!(refused, Vec::<&audit::Asked>::new(), "nothing was refused");
    assert_eq!(reads(asked), reads(before), "nothing was read meanwhile");
    operator.terminate().await;

    // A restart finds nothing to do.
    let operator = world.operate().await;
    operator
        .until_figure("tare_relists_completed_total", |joins| joins >= 1.0)
        .await;
    let after = world.asked("tare");
    let written = after.iter().filter(|one| one.is_write()).count();
    assert_eq!(written, writes, "the restart wrote nothing");
    operator.terminate().await;
    world.end().await;
}

/// The datastore takes 1.5 MiB in one request (etcd's `--max-request-bytes`); this object and its
/// Deployment come to 1.4 MB each.
pub async fn an_edgeapp_near_the_largest_size_works_as_those_beside_it(world: World) {
    const VARIABLES: usize = 44;
    let operator = world.operate().await;
    let env: Vec<_> = (0..VARIABLES)
        .map(|n| json!({ "name": format!("PART_{n}"), "value": "x".repeat(32_000) }))
        .collect();
    let mut large = web();
    large["env"] = json!(env);
    assert!(large.to_string().len() > 1_400_000);
    let names: Vec<String> = (0..5).map(|n| format!("web-{n}")).collect();
    world.create("large", large).await;
    futures::future::join_all(names.iter().map(|name| world.create(name, web()))).await;
    world.until_all_running(1 + names.len()).await;
    let parts = |deployment: &serde_json::Value| {
        let env = container(deployment)["env"].as_array();
        env.map_or(0, Vec::len)
    };
    let deployment = world.get("deployments", "large").await;
    assert_eq!(parts(&deployment), VARIABLES);

    // A restart reads it on a page of its own and finds nothing to do; then it is followed and healed.
    operator.kill();
    let operator = world.operate().await;
    operator.until_ready().await;
    world.change("large", json!({ "image": "web:2" })).await;
    let followed = world.until(
        "its image is followed",
        "deployments",
        "large",
        |deployment| container(deployment)["image"] == "web:2",
    );
    assert_eq!(parts(&followed.await), VARIABLES);
    world.delete("deployments", "large").await;
    world
        .until("it comes back", "deployments", "large", |deployment| {
            parts(deployment) == VARIABLES
        })
        .await;
    world.until_all_running(1 + names.len()).await;
    world.delete("edgeapps", "large").await;
    world.until_gone("edgeapps", "large").await;
    operator.terminate().await;
    world.end().await;
}

pub async fn two_operators_by_accident_do_no_harm(world: World) {
    let first = world.operate().await;
    let second = world.operate_as("twin").await;
    second.until_ready().await;
    let names: Vec<String> = (0..40).map(|n| format!("web-{n}")).collect();
    futures::future::join_all(names.iter().map(|name| world.create(name, web()))).await;
    world.until_all_running(names.len()).await;
    for resource in ["deployments", "services"] {
        assert_eq!(world.all(resource).await.len(), names.len(), "{resource}");
    }
    world.until_quiet(&["tare", "twin"]).await;
    for name in &names {
        world.change(name, json!({ "replicas": 2 })).await;
    }
    world.until_all_running(names.len()).await;
    world.until_quiet(&["tare", "twin"]).await;
    for name in &names {
        world.delete("edgeapps", name).await;
    }
    for resource in ["edgeapps", "deployments", "services"] {
        world
            .until("all are gone", resource, "", |list| {
                list["items"] == json!([])
            })
            .await;
    }
    first.terminate().await;
    second.terminate().await;
    world.end().await;
}
