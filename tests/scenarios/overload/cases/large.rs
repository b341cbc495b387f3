//! Objects as large as the server stores.

use std::time::Duration;

use libtest_mimic::Failed;
use serde_json::{Value, json};

use crate::cluster::objects::{foreign_deployment, web};
use crate::overload::record::Figures;
use crate::overload::setting::Setting;
use crate::overload::{container, wait};

/// 16 MiB in MB. A container's limit also counts memory of the kernel, which is not in this figure.
const TARGET_MB: f64 = 16.8;
/// What holds with margin, also for the program that cargo builds for tests, MB.
const LIMIT_MB: f64 = 28.0;
const WITHIN: Duration = Duration::from_secs(90);
/// EdgeApps of 1.4 MB.
const COUNT: usize = 32;
/// As shipped.
const CONTAINER_BYTES: u64 = 16 << 20;

/// kube-apiserver answers with six bytes for each `<`: with 5 MB for an object that it stores with 850 KB.
pub async fn a_deployment_that_the_server_sends_with_5_mb(
    setting: &Setting,
    figures: &mut Figures,
) -> Result<(), Failed> {
    let mut large = foreign_deployment("large", Value::Null);
    large["metadata"]["labels"]["app.kubernetes.io/managed-by"] = "tare".into();
    large["spec"]["template"]["spec"]["containers"][0]["env"] =
        json!([{ "name": "LARGE", "value": "<".repeat(850_000) }]);
    let cluster = &setting.cluster;
    let operator = setting.operate(setting.direct()).await?;
    cluster.make("deployments", large).await;
    cluster.create("beside", web()).await;
    cluster.until_running("beside").await;
    figures.tell("peak of the operator", operator.peak_mb()?, "MB");
    operator.kill();

    cluster.create("while-down", web()).await;
    let operator = setting.operate(setting.direct()).await?;
    cluster.until_running("while-down").await;
    cluster.create("after", web()).await;
    cluster.until_running("after").await;
    figures.tell("peak after a restart", operator.peak_mb()?, "MB");
    Ok(())
}

pub async fn thirty_two_edgeapps_of_1_4_mb(
    setting: &Setting,
    figures: &mut Figures,
) -> Result<(), Failed> {
    let large = spec_of_1_4_mb();
    let cluster = &setting.cluster;
    let mut operator = setting.operate(setting.direct()).await?;
    figures.tell("peak before the first of them", operator.peak_mb()?, "MB");
    wait::create(cluster, "large", COUNT, &large).await;
    let took = wait::until_running(cluster, "large", COUNT, WITHIN, figures).await?;
    figures.took("all Running after the last was created", took);
    operator.check_alive()?;
    let peak_mb = operator.peak_mb()?;
    operator.kill();

    // A restart reads all of them.
    let mut operator = setting.operate(setting.direct()).await?;
    cluster.create("after", web()).await;
    cluster.until_running("after").await;
    operator.check_alive()?;
    figures.peak(peak_mb.max(operator.peak_mb()?), TARGET_MB, LIMIT_MB);
    Ok(())
}

/// The kernel ends the program where it needs more than the container may have: file pages, sockets and page tables included.
pub async fn thirty_two_edgeapps_of_1_4_mb_within_16_mib_in_runc(
    setting: &Setting,
    figures: &mut Figures,
) -> Result<(), Failed> {
    let large = spec_of_1_4_mb();
    let cluster = &setting.cluster;
    let mut contained = container::operate(setting, setting.direct(), CONTAINER_BYTES).await?;
    wait::create(cluster, "large", COUNT, &large).await;
    let took = wait::until_running(cluster, "large", COUNT, WITHIN, figures).await;
    contained.tell("first life", figures)?;
    figures.took("all Running after the last was created", took?);
    contained.check_alive()?;
    contained.end().await?;

    // A restart reads all of them.
    let mut contained = container::operate(setting, setting.direct(), CONTAINER_BYTES).await?;
    cluster.create("after", web()).await;
    let took = wait::until_running(cluster, "after", 1, WITHIN, figures).await;
    contained.tell("after a restart", figures)?;
    figures.took("another Running after the restart", took?);
    contained.check_alive()?;
    contained.end().await
}

fn spec_of_1_4_mb() -> Value {
    let mut large = web();
    let variable = |n: usize| json!({ "name": format!("PART_{n}"), "value": "x".repeat(32_000) });
    large["env"] = (0..44).map(variable).collect();
    large
}
