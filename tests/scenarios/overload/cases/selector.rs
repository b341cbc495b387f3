//! A Service's selector that somebody edits repeatedly, and a spec whose zero values the server drops.

use std::time::Duration;

use libtest_mimic::Failed;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, sleep_until};

use crate::cluster::objects::{container, web};
use crate::overload::record::Figures;
use crate::overload::setting::Setting;

/// A Service has no generation: edits that follow each other meet an owner that is at work. The fourth within a minute is
/// a field conflict, which backs off.
const SET_BACK_WITHIN_S: [u64; 4] = [2, 2, 2, 10];
const EDITS_APART: Duration = Duration::from_secs(4);
const REMOVED_WITHIN: Duration = Duration::from_secs(2);
/// The fifth change within a minute: the back-off has doubled.
const FIFTH_WITHIN: Duration = Duration::from_secs(20);

pub async fn four_edits_and_an_added_key_are_set_back(
    setting: &Setting,
    figures: &mut Figures,
) -> Result<(), Failed> {
    let mut operator = setting.operate(setting.direct()).await?;
    let cluster = &setting.cluster;
    for name in ["web", "calm"] {
        cluster.create(name, web()).await;
        cluster.until_running(name).await;
    }
    let planned = cluster.get("services", "web").await["spec"]["selector"].clone();
    let mut keys = planned.as_object().into_iter().flatten();
    let (label, _) = keys.next().ok_or("the plan has no selector")?;
    for (n, within_s) in SET_BACK_WITHIN_S.into_iter().enumerate() {
        let edited = Instant::now();
        edit(setting, "web", json!({ label: format!("other-{n}") })).await;
        figures.within(
            &format!("edit {} is set back", n + 1),
            until_selector(setting, "web", &planned).await,
            Duration::from_secs(within_s),
        );
        sleep_until(edited + EDITS_APART).await;
    }
    edit(setting, "web", json!({ "track": "canary" })).await;
    let took = until_selector(setting, "web", &planned).await;
    figures.within("a key added after that is removed", took, FIFTH_WITHIN);

    let planned = cluster.get("services", "calm").await["spec"]["selector"].clone();
    edit(setting, "calm", json!({ "track": "canary" })).await;
    let took = until_selector(setting, "calm", &planned).await;
    figures.within("a key added to another is removed", took, REMOVED_WITHIN);
    operator.check_alive()
}

async fn edit(setting: &Setting, name: &str, selector: Value) {
    let edit = json!({ "spec": { "selector": selector } });
    setting.cluster.patch("services", name, edit).await;
}

async fn until_selector(setting: &Setting, name: &str, planned: &Value) -> Duration {
    let began = Instant::now();
    let is_planned = |service: &Value| service["spec"]["selector"] == *planned;
    let what = "its selector is as planned";
    setting
        .cluster
        .until(what, "services", name, is_planned)
        .await;
    began.elapsed()
}

/// The server drops an empty value, so that the Deployment never has what is planned.
pub async fn a_variable_without_a_value_makes_no_event(
    setting: &Setting,
    figures: &mut Figures,
) -> Result<(), Failed> {
    const IMAGES: usize = 5;
    let cluster = &setting.cluster;
    let mut operator = setting.operate(setting.direct()).await?;
    let mut spec = web();
    spec["env"] = json!([{ "name": "A" }, { "name": "B", "value": "" }]);
    cluster.create("web", spec).await;
    cluster.until_running("web").await;
    for n in 0..IMAGES {
        let image = format!("registry.local/web:new-{n}");
        cluster.change("web", json!({ "image": image })).await;
        let has_image = |deployment: &Value| container(deployment)["image"] == image;
        cluster
            .until("it has the image", "deployments", "web", has_image)
            .await;
        sleep(EDITS_APART).await;
    }
    cluster.until_running("web").await;
    let events = cluster.all("events").await;
    figures.tell("new images", IMAGES as f64, "");
    figures.at_most("Events", events.len() as f64, "", 0.0);
    let patches = cluster.successes("patch", "deployments");
    figures.at_most(
        "patches of the Deployment",
        patches as f64,
        "",
        IMAGES as f64,
    );
    operator.check_alive()
}
