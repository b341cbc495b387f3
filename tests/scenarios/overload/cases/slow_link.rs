//! A link like that of a satellite modem.

use std::time::Duration;

use libtest_mimic::Failed;
use tokio::time::Instant;

use crate::cluster::objects::web;
use crate::overload::link::{Link, Speed};
use crate::overload::record::Figures;
use crate::overload::setting::{Kubeconfig, Setting};
use crate::overload::wait;

const SPEED: Speed = Speed {
    bits_per_s: 64_000,
    round_trip: Duration::from_millis(600),
};
const LIMIT: Duration = Duration::from_secs(600);

pub async fn fifty_owners_on_64_kbit_per_s(
    setting: &Setting,
    figures: &mut Figures,
) -> Result<(), Failed> {
    on_slow_link(setting, figures, 50, LIMIT).await
}

pub async fn five_hundred_owners_on_64_kbit_per_s(
    setting: &Setting,
    figures: &mut Figures,
) -> Result<(), Failed> {
    on_slow_link(setting, figures, 500, 10 * LIMIT).await
}

pub async fn five_owners_on_64_kbit_per_s(
    setting: &Setting,
    figures: &mut Figures,
) -> Result<(), Failed> {
    on_slow_link(setting, figures, 5, LIMIT / 10).await
}

async fn on_slow_link(
    setting: &Setting,
    figures: &mut Figures,
    count: usize,
    limit: Duration,
) -> Result<(), Failed> {
    let direct = setting.direct();
    let server = direct.server.strip_prefix("https://").ok_or("not https")?;
    let link = Link::to(server.parse()?, SPEED).await?;
    let slow = Kubeconfig {
        server: format!("https://{}", link.address),
        ..direct.clone()
    };
    let began = Instant::now();
    let mut operator = setting.operate(&slow).await?;
    figures.took("operator ready", began.elapsed());
    let cluster = &setting.cluster;
    wait::create(cluster, "web", count, &web()).await;
    let took = wait::until_running(cluster, "web", count, 2 * limit, figures).await?;
    figures.tell("owners", count as f64, "");
    figures.within("all Running", took, limit);
    figures.tell("peak of the operator", operator.peak_mb()?, "MB");
    operator.check_alive()
}
