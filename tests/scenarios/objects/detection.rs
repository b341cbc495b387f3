//! That the checks see what is wrong: a user changes what an operator has left as planned.

use libtest_mimic::{Failed, Trial};
use proptest::test_runner::TestCaseError;
use serde_json::json;
use tare::edgeapp::EdgeApps;
use tare_runtime::cache::Mode;

use crate::cluster::Cluster;
use crate::cluster::objects::web;
use crate::cluster::simulated::Simulated;
use crate::objects::oracle;
use crate::objects::simulated::on_paused_time;

pub fn trial() -> Trial {
    Trial::test("objects::simulated::what_is_not_as_planned_is_seen", || {
        on_paused_time(is_seen()).map_err(|error| Failed::from(error.to_string()))
    })
}

async fn is_seen() -> Result<(), TestCaseError> {
    let simulated = Simulated::new(Mode::None);
    let cluster = Cluster::simulated(simulated.clone());
    let running = simulated.operate();
    cluster.create("web", web()).await;
    cluster.until_running("web").await;
    running.stop().await;
    expect(&cluster, "").await?;

    let replicas = |count: i64| json!({ "spec": { "replicas": count } });
    cluster.patch("deployments", "web", replicas(3)).await;
    expect(&cluster, "differs from its plan").await?;
    cluster.patch("deployments", "web", replicas(1)).await;
    let image = json!({ "spec": { "image": "registry.local/web:2" } });
    cluster.patch("edgeapps", "web", image).await;
    expect(&cluster, "differs from its plan").await?;
    let image = json!({ "spec": { "image": web()["image"] } });
    cluster.patch("edgeapps", "web", image).await;
    expect(&cluster, "its status differs").await?;
    cluster.delete("services", "web").await;
    expect(&cluster, "Service web is missing").await
}

/// The check says this; nothing where all is as planned.
async fn expect(cluster: &Cluster, what: &str) -> Result<(), TestCaseError> {
    let seen = oracle::check::<EdgeApps>(cluster).await;
    match seen {
        Ok(_) if what.is_empty() => Ok(()),
        Err(why) if !what.is_empty() && why.contains(what) => Ok(()),
        seen => Err(TestCaseError::fail(format!("expected {what:?}: {seen:?}"))),
    }
}
