//! An operator that is killed at named points of its writes.

use std::time::Duration;

use libtest_mimic::Failed;
use tokio::time::{Instant, timeout};

use crate::cluster::objects::web;
use crate::overload::history::History;
use crate::overload::proxy::fault::{Fault, Point};
use crate::overload::record::Figures;
use crate::overload::setting::Setting;
use crate::overload::wait;

/// New ones for each life: each is created with two children, so no life lacks writes, however many the last one did.
const OWNERS: usize = 6;
/// The n-th write of each life, and where it is interrupted.
const KILLS: [(usize, Point); 10] = [
    (1, Point::Before),
    (1, Point::Committed),
    (1, Point::Answered),
    (2, Point::Before),
    (2, Point::Committed),
    (2, Point::Answered),
    (3, Point::Committed),
    (4, Point::Answered),
    (5, Point::Committed),
    (6, Point::Before),
];
const REACHED_WITHIN: Duration = Duration::from_secs(30);
const LIMIT: Duration = Duration::from_secs(30);
/// Until an answer that the proxy has sent has arrived.
const ARRIVES: Duration = Duration::from_millis(50);

pub async fn ten_times_at_named_points(
    setting: &Setting,
    figures: &mut Figures,
) -> Result<(), Failed> {
    let (proxy, through) = setting.proxy().await?;
    let cluster = &setting.cluster;
    let mut histories = Vec::new();
    for resource in ["deployments", "services"] {
        histories.push((resource, History::begin(cluster, resource).await));
    }
    for (life, (nth, point)) in KILLS.into_iter().enumerate() {
        wait::create(cluster, &format!("web-{life}"), OWNERS, &web()).await;
        proxy.count_anew();
        proxy.rule(move |facts| match facts.nth_write == nth {
            true => Fault::HoldAt(point),
            false => Fault::Pass,
        });
        let operator = setting.start(&through).await?;
        if timeout(REACHED_WITHIN, proxy.until_reached())
            .await
            .is_err()
        {
            return Err(format!("write {nth} did not come ({point:?})").into());
        }
        tokio::time::sleep(ARRIVES).await;
        operator.kill();
        // What was under way is over.
        proxy.end_connections();
    }
    proxy.count_anew();
    proxy.heal();
    let began = Instant::now();
    let operator = setting.operate(&through).await?;
    let owners = OWNERS * KILLS.len();
    wait::until_running(cluster, "web", owners, 4 * LIMIT, figures).await?;
    figures.within("all Running after the last start", began.elapsed(), LIMIT);
    wait::check_children(cluster, owners).await?;
    for (resource, history) in &histories {
        let again = history.created_again(cluster).await?;
        let name = format!("{resource} created again under a name that had one");
        figures.at_most(&name, again as f64, "", 0.0);
    }
    // That of the start.
    let relists = operator.figure("tare_relists_completed_total").await?;
    figures.at_most("relists of the last life", relists, "", 1.0);
    Ok(())
}
