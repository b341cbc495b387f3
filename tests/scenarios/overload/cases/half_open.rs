//! A peer that is gone without a word: no packet is acknowledged, and no connection is closed.

use std::time::Duration;

use libtest_mimic::Failed;
use tokio::time::{Instant, sleep};

use crate::cluster::objects::web;
use crate::overload::record::{Figures, seconds};
use crate::overload::setting::Setting;
use crate::overload::wait;

const NOTICED_WITHIN: Duration = Duration::from_secs(30);
/// A request that nobody answers ends after 10 s; the watches show what became of it.
const DONE_WITHIN: Duration = Duration::from_secs(60);
/// Created just before.
const BUSY: usize = 40;
/// Longer, so that the figure is known where the limit is missed.
const AT_MOST: Duration = Duration::from_secs(400);
/// Watches of the operator for EdgeApps: owners, Deployments, Services.
const WATCHES: usize = 3;

pub async fn watches_and_writes_notice_a_peer_that_is_gone(
    setting: &Setting,
    figures: &mut Figures,
) -> Result<(), Failed> {
    let (proxy, through) = setting.proxy().await?;
    let mut operator = setting.operate(&through).await?;
    let cluster = &setting.cluster;
    cluster.create("before", web()).await;
    cluster.until_running("before").await;

    wait::create(cluster, "busy", BUSY, &web()).await;
    let gone_at = Instant::now();
    proxy.half_open_connections().await;
    cluster.create("meanwhile", web()).await;
    let opened = loop {
        let seen = proxy.seen();
        let watches = seen.iter().filter(|one| one.is_watch && one.at > gone_at);
        let opened: Vec<Instant> = watches.map(|one| one.at).collect();
        if opened.len() >= WATCHES {
            break opened;
        }
        if gone_at.elapsed() > AT_MOST {
            let count = opened.len();
            return Err(format!("{count} of {WATCHES} watches opened after {AT_MOST:?}").into());
        }
        sleep(Duration::from_millis(100)).await;
    };
    let last = opened
        .iter()
        .map(|at| *at - gone_at)
        .max()
        .unwrap_or_default();
    let rows = opened.iter().map(|at| vec![seconds(*at - gone_at)]);
    figures.samples("watches opened again", &["s"], rows.collect());
    figures.within("all watches opened again", last, NOTICED_WITHIN);
    cluster.until_running("meanwhile").await;
    figures.took("change made meanwhile is Running", gone_at.elapsed());
    wait::until_running(cluster, "busy", BUSY, AT_MOST, figures).await?;
    figures.tell("EdgeApps at work when it went", BUSY as f64, "");
    figures.within("all of them Running", gone_at.elapsed(), DONE_WITHIN);
    operator.check_alive()
}
