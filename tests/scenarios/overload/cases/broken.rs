//! One object that cannot be decoded and one whose plan panics, among a thousand.
//!
//! The operator is one of the scenarios, in this process: the program that ships has no plan that panics.

use futures::StreamExt;
use libtest_mimic::Failed;
use serde_json::json;
use tokio::time::Instant;

use crate::broken::{
    OBJECTS, PANICKING, UNDECODABLE, create, install, is_broken, name, operate, spec,
    until_all_have,
};
use crate::overload::record::{Figures, seconds};
use crate::overload::setting::Setting;

const CREATED_AT_ONCE: usize = 16;

pub async fn one_undecodable_and_one_panicking_among_a_thousand(
    setting: &Setting,
    figures: &mut Figures,
) -> Result<(), Failed> {
    let cluster = &setting.cluster;
    install(cluster).await;
    let operator = operate(cluster).await;
    // The server has to discover the kind of an owner before it lets children have it.
    create(cluster, &name(0), json!("web:1")).await;
    cluster.until_there("configmaps", &name(0)).await;
    let creations = (1..OBJECTS).map(|n| async move {
        let image = match n {
            UNDECODABLE => json!({ "not": "a text" }),
            PANICKING => json!("panic"),
            _ => json!("web:1"),
        };
        create(cluster, &name(n), image).await;
    });
    let creations = futures::stream::iter(creations).buffer_unordered(CREATED_AT_ONCE);
    creations.collect::<Vec<()>>().await;
    let created = Instant::now();
    until_all_have(cluster, |n| (!is_broken(n)).then_some("web:1")).await;
    figures.tell("objects", OBJECTS as f64, "");
    figures.took("all others have their child", created.elapsed());

    let mut rows = Vec::new();
    for n in (UNDECODABLE - 5..PANICKING + 6).filter(|n| !is_broken(*n)) {
        let edited = Instant::now();
        cluster
            .patch("fragiles", &name(n), spec(json!("web:2")))
            .await;
        let has_image = |child: &serde_json::Value| child["data"]["image"] == "web:2";
        cluster
            .until("it has the image", "configmaps", &name(n), has_image)
            .await;
        rows.push(vec![n as f64, seconds(edited.elapsed())]);
    }
    let longest = rows.iter().map(|row| row[1]).fold(0.0, f64::max);
    figures.samples("edits of their neighbours", &["object", "s"], rows);
    figures.tell("longest edit of a neighbour", longest, "s");

    for (what, n) in [("undecodable", UNDECODABLE), ("panicking", PANICKING)] {
        let deleted = Instant::now();
        cluster.delete("fragiles", &name(n)).await;
        cluster.until_gone("fragiles", &name(n)).await;
        figures.took(&format!("the {what} one is deleted"), deleted.elapsed());
    }
    let left = cluster.all("fragiles").await.len();
    figures.at_most("others that are gone", (OBJECTS - 2 - left) as f64, "", 0.0);
    if !operator.is_alive() {
        return Err("the operator ended".into());
    }
    operator.stop().await;
    Ok(())
}
