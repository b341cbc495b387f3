//! The server no longer has the revision that is asked for: 410 in each of its forms.
//!
//! What happened before that revision is shown by no watch any more. The operator has to list.

use http::StatusCode;
use libtest_mimic::Failed;
use tokio::time::Instant;

use crate::cluster::objects::{text, web};
use crate::overload::proxy::fault::Fault;
use crate::overload::record::Figures;
use crate::overload::setting::{Operator, Setting};
use crate::overload::wait;

pub async fn a_watch_is_answered_with_410(
    setting: &Setting,
    figures: &mut Figures,
) -> Result<(), Failed> {
    history_is_gone(setting, figures, || Fault::gone(StatusCode::GONE)).await
}

pub async fn a_watch_shows_410_in_an_event(
    setting: &Setting,
    figures: &mut Figures,
) -> Result<(), Failed> {
    history_is_gone(setting, figures, Fault::gone_event).await
}

/// As a proxy passes it on that has lost the status line.
pub async fn a_watch_shows_a_status_with_code_410(
    setting: &Setting,
    figures: &mut Figures,
) -> Result<(), Failed> {
    history_is_gone(setting, figures, || Fault::gone(StatusCode::OK)).await
}

/// The watches break, the history up to the newest change is lost, and the watches are opened again.
async fn history_is_gone(
    setting: &Setting,
    figures: &mut Figures,
    form: fn() -> Fault,
) -> Result<(), Failed> {
    let (proxy, through) = setting.proxy().await?;
    let operator = setting.operate(&through).await?;
    let cluster = &setting.cluster;
    cluster.create("before", web()).await;
    cluster.until_running("before").await;
    let relists = relists(&operator).await?;

    proxy.rule(|facts| match facts.is_watch() {
        true => Fault::unavailable(),
        false => Fault::Pass,
    });
    proxy.end_connections();
    let missed = cluster.create("missed", web()).await;
    cluster.delete("services", "before").await;
    let kept_from: u64 = text(&missed, "/metadata/resourceVersion").parse()?;
    proxy.rule(
        move |facts| match facts.is_watch() && facts.resource_version() < kept_from {
            true => form(),
            false => Fault::Pass,
        },
    );
    let began = Instant::now();
    cluster.until_running("missed").await;
    cluster.until_there("services", "before").await;
    figures.took("what was missed is done", began.elapsed());
    let more = self::relists(&operator).await? - relists;
    figures.at_most("relists", more, "", 3.0);
    Ok(())
}

/// The owners are on more than one page.
pub async fn the_second_page_of_a_list_is_answered_with_410(
    setting: &Setting,
    figures: &mut Figures,
) -> Result<(), Failed> {
    const COUNT: usize = 130;
    const REFUSED: usize = 2;
    let (proxy, through) = setting.proxy().await?;
    let cluster = &setting.cluster;
    wait::create(cluster, "web", COUNT, &web()).await;
    let refused = std::sync::atomic::AtomicUsize::new(0);
    proxy.rule(move |facts| match facts.continues() {
        true if refused.fetch_add(1, std::sync::atomic::Ordering::Relaxed) < REFUSED => {
            Fault::gone(StatusCode::GONE)
        }
        _ => Fault::Pass,
    });
    let began = Instant::now();
    let operator = setting.operate(&through).await?;
    wait::until_running(cluster, "web", COUNT, cluster.timeout, figures).await?;
    figures.took("all Running after the start", began.elapsed());
    wait::check_children(cluster, COUNT).await?;
    let gone = proxy.seen().iter().filter(|one| one.code == 410).count();
    figures.tell("pages that were refused", gone as f64, "");
    if gone != REFUSED {
        return Err(format!("{gone} pages were refused, not {REFUSED}").into());
    }
    figures.tell("relists completed", relists(&operator).await?, "");
    Ok(())
}

async fn relists(operator: &Operator) -> Result<f64, Failed> {
    operator.figure("tare_relists_completed_total").await
}
