//! Owners whose writes are never answered.

use std::time::Duration;

use libtest_mimic::Failed;
use tokio::time::Instant;

use crate::cluster::objects::web;
use crate::overload::proxy::fault::Fault;
use crate::overload::record::Figures;
use crate::overload::setting::Setting;
use crate::overload::wait;

const COUNT: usize = 500;
const HEALTHY_WITHIN: Duration = Duration::from_secs(30);
const TARGET_MB: f64 = 8.0;
/// What holds with margin, also for the program that cargo builds for tests, MB.
const LIMIT_MB: f64 = 16.0;

pub async fn five_hundred_owners_whose_writes_hang(
    setting: &Setting,
    figures: &mut Figures,
) -> Result<(), Failed> {
    let (proxy, through) = setting.proxy().await?;
    proxy.rule(|facts| match facts.is_write() && facts.names("stuck-") {
        true => Fault::Hang,
        false => Fault::Pass,
    });
    let mut operator = setting.operate(&through).await?;
    let before_mb = operator.peak_mb()?;
    figures.tell("peak before the first of them", before_mb, "MB");
    let cluster = &setting.cluster;
    wait::create(cluster, "stuck", COUNT, &web()).await;
    // At once, and while those that hang are tried again.
    for name in ["early", "later"] {
        let began = Instant::now();
        cluster.create(name, web()).await;
        wait::until_running(cluster, name, 1, 4 * HEALTHY_WITHIN, figures).await?;
        figures.within(
            &format!("{name} healthy one Running"),
            began.elapsed(),
            HEALTHY_WITHIN,
        );
        tokio::time::sleep(Duration::from_secs(10)).await;
    }
    operator.check_alive()?;
    let peak_mb = operator.peak_mb()?;
    let each_kb = 1e3 * (peak_mb - before_mb) / COUNT as f64;
    figures.tell("what each of them costs", each_kb.round(), "KB");
    figures.peak(peak_mb, TARGET_MB, LIMIT_MB);
    Ok(())
}
