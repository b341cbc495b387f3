//! A server that answers everything with 503, while owners wait.

use std::time::Duration;

use libtest_mimic::Failed;
use tokio::time::{Instant, sleep_until};

use crate::cluster::objects::web;
use crate::overload::proxy::fault::Fault;
use crate::overload::record::Figures;
use crate::overload::setting::Setting;
use crate::overload::wait;

const ALL_WITHIN: Duration = Duration::from_secs(120);

pub async fn five_thousand_wait_through_five_minutes_of_503(
    setting: &Setting,
    figures: &mut Figures,
) -> Result<(), Failed> {
    wait_through(setting, figures, 5_000, Duration::from_secs(300)).await
}

pub async fn two_hundred_wait_through_20_s_of_503(
    setting: &Setting,
    figures: &mut Figures,
) -> Result<(), Failed> {
    wait_through(setting, figures, 200, Duration::from_secs(20)).await
}

/// The watches that are open stay open, so that the operator knows of every owner and fails at each.
async fn wait_through(
    setting: &Setting,
    figures: &mut Figures,
    count: usize,
    outage: Duration,
) -> Result<(), Failed> {
    let (proxy, through) = setting.proxy().await?;
    let mut operator = setting.operate(&through).await?;
    proxy.rule(|_| Fault::unavailable());
    let until = Instant::now() + outage;
    let cluster = &setting.cluster;
    wait::create(cluster, "web", count, &web()).await;
    if Instant::now() > until {
        return Err(format!("{count} are not created within {outage:?}").into());
    }
    sleep_until(until).await;
    let refused = proxy.seen().iter().filter(|one| one.code == 503).count();
    proxy.heal();
    // Longer than the limit, so that the figure is known where it is missed.
    let took = wait::until_running(cluster, "web", count, 4 * ALL_WITHIN, figures).await?;
    operator.check_alive()?;
    wait::check_children(cluster, count).await?;
    figures.tell("owners", count as f64, "");
    figures.tell("requests that were refused", refused as f64, "");
    figures.within("all Running after the server is back", took, ALL_WITHIN);
    figures.tell("peak of the operator", operator.peak_mb()?, "MB");
    // What the machine takes for as many without an outage: on a slow one most of the time above is not waiting.
    let began = Instant::now();
    wait::create(cluster, "calm", count, &web()).await;
    let calm = wait::until_running(cluster, "calm", count, 2 * ALL_WITHIN, figures).await;
    operator.check_alive()?;
    if let Err(late) = calm {
        let metrics = operator.metrics().await?;
        return Err(format!("{}\n{metrics}", late.message().unwrap_or_default()).into());
    }
    figures.took(
        "as many created and Running without an outage",
        began.elapsed(),
    );
    Ok(())
}
