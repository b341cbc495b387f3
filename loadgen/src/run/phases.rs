//! The phases of a run: canary, empty, burst or steady, settled, churn, ageing, restart,
//! deleted.
//!
//! Guarantees: each phase is weighed at its end; what fails leaves the figures of the phases
//! before it. Leaves to others: what a figure means next to another (`report`).

use std::time::{Duration, Instant};

use tare_procstat::weigh;
use tare_procstat::weigh::Memory;

use crate::load::generator::Act;
use crate::load::timetable::Pace;
use crate::measure::{admin, gc_pause, metrics_text};
use crate::model::order::Kind;
use crate::model::profile::{Mode, quiet};
use crate::model::record::{Datastore, Peaked, Reconcile};
use crate::run::age;
use crate::run::convergence::convergence;
use crate::run::quiet::{Snapshot, linger, settle};
use crate::run::run::{Reason, Stage};
use crate::run::{storm, unhealthy};

/// A steady run is void when more than 1 % of its sends were later than this.
const LATE_MS: f64 = 100.0;

/// Idling is watched for at least this long where requests are counted: a rate needs a minute.
const COUNTED_IDLE: Duration = Duration::from_secs(60);

/// Goes through all phases of the cell.
pub async fn all(stage: &mut Stage<'_>) -> Result<(), Reason> {
    let mode = stage.setting.mode();
    canary(stage).await?;
    settle(stage, "empty", quiet(mode.empty_s, None)).await?;
    stage.run.memory.empty = weigh(stage);
    // Before anything is counted: while others work, time passes and even idle servers take CPU.
    stage.work().await;
    if stage.kind().is_unhealthy() {
        return unhealthy::all(stage, Duration::from_secs(mode.unhealthy_s)).await;
    }
    if stage.kind() == Kind::UpdateStorm {
        return storm::all(stage).await;
    }

    let before = Snapshot::take(stage).await;
    let page_before = metrics(stage).await;
    if stage.cell.objects > 0 {
        offer_and_wait(stage).await?;
    }
    if stage.kind() == Kind::Steady && !mode.steady_settles {
        // What belongs to the last objects is let through first.
        settle(stage, "winding down", quiet(1, None)).await?;
        let end = Snapshot::take(stage).await;
        book(stage, &before, &end);
    } else {
        settled(stage, &before, &mode).await?;
    }
    // After the weighing, because a page costs the subject memory.
    tell_tale(stage, page_before.as_deref()).await;

    let Extents {
        churned,
        aged,
        restarted,
        deletes,
    } = extents(stage, &mode);
    if churned {
        churn(stage).await?;
    }
    if let Some(events) = aged {
        grow_old(stage, events, &mode).await?;
    }
    if restarted {
        restart(stage, mode.restart_s, mode.steady_s).await?;
    }
    if deletes {
        deleted(stage, mode.deleted_s).await?;
    }
    Ok(())
}

/// Which of the later phases a cell has: only bursts at the largest size have any.
struct Extents {
    churned: bool,
    aged: Option<u64>,
    restarted: bool,
    deletes: bool,
}

fn extents(stage: &Stage<'_>, mode: &Mode) -> Extents {
    let (objects, repeat) = (stage.cell.objects, stage.cell.repeat);
    let largest = objects > 0 && objects == stage.setting.largest;
    let burst = largest && stage.kind() == Kind::Burst;
    Extents {
        churned: burst && mode.churn.includes(objects, repeat),
        aged: stage.setting.soak_events.filter(|_| burst && repeat == 1),
        restarted: burst || (largest && stage.kind() == Kind::AA),
        deletes: burst && mode.deletion.includes(objects, repeat),
    }
}

/// Spawn until the canary, created beforehand, is observed; then until the subject is ready.
async fn canary(stage: &mut Stage<'_>) -> Result<(), Reason> {
    stage.setting.say_step(stage.cell, "waiting for the canary");
    let deadline = Instant::now() + stage.setting.start_deadline();
    if !stage
        .wait_until(deadline, |t| t.canary.observed_ns().is_some())
        .await?
    {
        let waited = stage.setting.start_deadline().as_secs();
        return Err(format!(
            "{} did not observe the canary within {waited} s",
            stage.subject.id()
        ));
    }
    let observed_ns = stage.journal.timeline().canary.observed_ns();
    let spawned_ns = stage.journal.ns(stage.process.spawned_at());
    stage.run.spawn_to_canary_ms = observed_ns.map(|at| at.saturating_sub(spawned_ns) as f64 / 1e6);
    stage.wait_ready(deadline).await
}

async fn offer_and_wait(stage: &mut Stage<'_>) -> Result<(), Reason> {
    let objects = stage.cell.objects;
    let own_before = weigh::cpu_seconds(std::process::id()).ok();
    let started = Instant::now();
    reset_peak(stage);
    let converged = offer(stage, Act::Create, stage.pace, "converged", |t| {
        t.all(|p| p.ready)
    });
    let converged = converged.await?;
    if stage.kind() != Kind::Steady {
        stage.run.memory.burst = weigh_peak(stage);
    }
    let wall_s = started.elapsed().as_secs_f64();
    if let (Some(before), Ok(after)) = (own_before, weigh::cpu_seconds(std::process::id())) {
        stage.run.generator_cpu_s = Some(after - before);
        judge_generator(stage, (after - before) / wall_s);
    }
    let convergence = convergence(&stage.journal.timeline(), stage.pace);
    let p99_late_ms = convergence.late.quantiles().map_or(0.0, |q| q.p99_ms);
    if p99_late_ms > LATE_MS {
        stage.run.invalid_because.push(format!(
            "the generator was late: 1 % of the sends by more than {p99_late_ms:.0} ms (bound {LATE_MS} ms)"
        ));
    }
    let (none, censored) = (
        convergence.ready_from_sent.count() == 0,
        convergence.censored,
    );
    stage.run.convergence = Some(convergence);
    let timeline = stage.journal.timeline();
    if let Some((message, times)) = timeline.failed() {
        stage.run.invalid_because.push(format!(
            "{times} of {objects} creates were refused, the first with: {message}"
        ));
    }
    if timeline.watch_restarts > 0 {
        let restarts = timeline.watch_restarts;
        stage.run.warnings.push(format!(
            "the harness's watch was opened again {restarts} times"
        ));
    }
    drop(timeline);
    if !converged {
        let what = if none {
            "no object".to_owned()
        } else {
            format!("{} of {objects}", objects as u64 - censored)
        };
        return Err(format!(
            "{what} converged within {wall_s:.0} s; {censored} censored"
        ));
    }
    Ok(())
}

/// Sends an offer and waits for what should come of it; false at the deadline. It also gives up
/// when nothing at all moves any more.
pub(crate) async fn offer(
    stage: &mut Stage<'_>,
    act: Act,
    pace: Pace,
    what: &str,
    done: impl Fn(&crate::load::timeline::Timeline) -> bool,
) -> Result<bool, Reason> {
    let objects = stage.cell.objects;
    stage.work().await;
    let patience = stage.setting.patience(objects, pace);
    let deadline = Instant::now() + patience.deadline;
    let mut sending = tokio::task::JoinSet::new();
    sending.spawn(stage.offer(act, pace).send());
    let (mut last, mut moved_at) = (Default::default(), Instant::now());
    loop {
        let next_look = Instant::now() + Duration::from_millis(100);
        if stage.wait_until(next_look, &done).await? {
            return Ok(true);
        }
        let progress = stage.journal.timeline().progress();
        let count = if act == Act::Delete {
            progress.gone
        } else {
            progress.ready
        };
        stage.setting.say_count(stage.cell, what, count, objects);
        if progress != last {
            (last, moved_at) = (progress, Instant::now());
        }
        let stalled = moved_at.elapsed() > patience.stall;
        if Instant::now() > deadline || stalled {
            return Ok(false);
        }
    }
}

/// The generator must not be what is measured.
fn judge_generator(stage: &mut Stage<'_>, cores_used: f64) {
    let cores = std::thread::available_parallelism().map_or(1, usize::from) as f64;
    if cores_used > cores / 2.0 {
        stage.run.invalid_because.push(format!(
            "the generator was the bottleneck: it used {cores_used:.2} of {cores:.0} cores (bound: half)"
        ));
    }
}

/// Leaves the subject alone; what it cost to converge, to idle, and what it weighs.
async fn settled(stage: &mut Stage<'_>, before: &Snapshot, mode: &Mode) -> Result<(), Reason> {
    let rule = quiet(mode.settled_s, mode.steady_s);
    let begin = settle(stage, "settling", rule).await?;
    stage.run.memory.settled = weigh(stage);
    let end = Snapshot::take(stage).await;
    book(stage, before, begin.as_ref().unwrap_or(&end));
    let Some(begin) = begin else {
        return Ok(());
    };
    let (objects, repeat) = (stage.cell.objects, stage.cell.repeat);
    let largest = objects == stage.setting.largest;
    let window = match stage.kind() {
        Kind::Burst if largest && mode.idle.includes(objects, repeat) => {
            Duration::from_secs(mode.idle_s)
        }
        Kind::RequestCount => COUNTED_IDLE,
        _ => Duration::ZERO,
    };
    linger(stage, "idling", &begin, window).await?;
    stage.run.idle = Snapshot::take(stage).await.idle_since(&begin);
    Ok(())
}

/// Books what the objects cost.
fn book(stage: &mut Stage<'_>, before: &Snapshot, end: &Snapshot) {
    if stage.cell.objects == 0 {
        return;
    }
    stage.run.converge_cpu_s = end.cpu_s_since(before);
    stage.run.api_server_cpu_s = end.server_cpu_s_since(before);
    stage.run.requests = end.requests_since(before);
    stage.run.write_spans = stage.server.write_spans();
    let datastore = Datastore {
        written_bytes: end.datastore_written_bytes_since(before),
        size_bytes: stage.server.datastore_size_bytes(),
    };
    let known = datastore.written_bytes.is_some() || datastore.size_bytes.is_some();
    stage.run.datastore = known.then_some(datastore);
}

/// Every object changes once.
async fn churn(stage: &mut Stage<'_>) -> Result<(), Reason> {
    stage.journal.timeline().begin_wave();
    reset_peak(stage);
    let done = offer(stage, Act::Update(1), Pace::Burst, "churned", |t| {
        t.all(|p| p.ready)
    });
    if !done.await? {
        return Err("churn: not every object converged again".into());
    }
    stage.run.memory.churn = weigh_peak(stage);
    Ok(())
}

/// Many more changes; what it weighs once it has settled again.
async fn grow_old(stage: &mut Stage<'_>, events: u64, mode: &Mode) -> Result<(), Reason> {
    stage.work().await;
    reset_peak(stage);
    stage.run.soak = Some(age::age(stage, events).await?);
    settle(stage, "settling", quiet(mode.settled_s, mode.steady_s)).await?;
    stage.run.memory.soak = weigh_peak(stage);
    Ok(())
}

/// Ended with SIGTERM and started again with every object there.
async fn restart(stage: &mut Stage<'_>, quiet_s: u64, steady_s: Option<u64>) -> Result<(), Reason> {
    stage.work().await;
    stage.setting.say_step(stage.cell, "restarting");
    stage.restart().await?;
    let patience = stage.setting.patience(stage.cell.objects, Pace::Burst);
    let deadline = Instant::now() + patience.deadline;
    stage.wait_ready(deadline).await?;
    stage.run.restart_s = Some(stage.process.spawned_at().elapsed().as_secs_f64());
    settle(
        stage,
        "settling after the restart",
        quiet(quiet_s, steady_s),
    )
    .await?;
    stage.run.memory.restart = weigh_peak(stage);
    stage.run.restart_cpu_s = weigh::cpu_seconds(stage.process.pid()).ok();
    Ok(())
}

/// Every object is deleted, finalizers and all.
async fn deleted(stage: &mut Stage<'_>, quiet_s: u64) -> Result<(), Reason> {
    let done = offer(stage, Act::Delete, Pace::Burst, "deleted", |t| {
        t.all(|p| p.gone)
    });
    if !done.await? {
        return Err("not every object was gone after its deletion".into());
    }
    settle(stage, "settling after the deletion", quiet(quiet_s, None)).await?;
    stage.run.memory.deleted = weigh(stage);
    Ok(())
}

/// `None` where this machine does not say; a subject that is gone is noticed elsewhere.
fn weigh(stage: &Stage<'_>) -> Option<Memory> {
    weigh::memory(stage.process.pid()).ok()
}

pub(crate) fn weigh_peak(stage: &Stage<'_>) -> Option<Peaked> {
    Some(Peaked {
        memory: weigh(stage)?,
        peak_bytes: weigh::peak_bytes(stage.process.pid()).ok(),
    })
}

pub(crate) fn reset_peak(stage: &mut Stage<'_>) {
    if let Err(error) = weigh::reset_peak(stage.process.pid()) {
        stage.run.warnings.push(format!(
            "peaks count from the start of the process: {error}"
        ));
    }
}

async fn metrics(stage: &Stage<'_>) -> Option<String> {
    let metrics = stage.subject.metrics.as_ref()?;
    match admin::get(stage.admin, &metrics.path).await {
        Ok(page) if page.status == 200 => Some(page.body),
        _ => None,
    }
}

/// What the subject's own metrics page tells, since the page before the first object.
async fn tell_tale(stage: &mut Stage<'_>, page_before: Option<&str>) {
    let Some(wanted) = stage
        .subject
        .metrics
        .as_ref()
        .filter(|_| stage.cell.objects > 0)
    else {
        return;
    };
    let Some(page) = metrics(stage).await else {
        stage.run.warnings.push(format!(
            "its metrics page {} could not be read",
            wanted.path
        ));
        return;
    };
    if let Some(name) = gc_pause::histogram_of(stage.subject.language) {
        stage.run.gc_pauses = gc_pause::between(page_before, &page, name);
        if stage.run.gc_pauses.is_none() {
            let warning = format!("no histogram {name} on its metrics page");
            stage.run.warnings.push(warning);
        }
    }
    let Some(after) = metrics_text::histogram(&page, &wanted.reconcile_histogram) else {
        stage.run.warnings.push(format!(
            "no histogram {} on its metrics page",
            wanted.reconcile_histogram
        ));
        return;
    };
    let before =
        page_before.and_then(|page| metrics_text::histogram(page, &wanted.reconcile_histogram));
    let counted = |page: &str| metrics_text::counter(page, wanted.reconcile_errors.as_deref()?);
    let errors_before = page_before.and_then(counted);
    let errors = counted(&page).map(|after| (after - errors_before.unwrap_or(0.0)).max(0.0) as u64);
    stage.run.reconcile = Some(Reconcile {
        buckets: after.since(&before.unwrap_or_default()),
        errors,
    });
}
