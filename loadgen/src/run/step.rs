//! The phases of a run: canary, empty, burst or steady, settled, churn, ageing, restart,
//! deleted.
//!
//! Guarantees: each phase is weighed at its end; what fails leaves the figures of the phases
//! before it. Leaves to others: what a figure means next to another (`report`).

pub mod fault;
pub mod settle;
pub mod soak;
pub mod update_storm;

use std::time::{Duration, Instant};

use tare_procstat::Memory;

use crate::load::generator::Act;
use crate::load::timetable::Pace;
use crate::measure::settle::Rule;
use crate::measure::{admin, gc_pause, metrics_text};
use crate::model::cell::Kind;
use crate::model::profile::Timing;
use crate::model::record::{Datastore, Peaked, Reconcile};
use crate::run::convergence::convergence;
use crate::run::session::{Reason, Session};
use crate::run::step::settle::{Snapshot, linger, settle};

/// A steady run is void when more than 1 % of its sends were later than this.
const LATE_MS: f64 = 100.0;

/// Idling is watched for at least this long where requests are counted: a rate needs a minute.
const COUNTED_IDLE: Duration = Duration::from_secs(60);

/// Goes through all phases of the cell.
pub async fn all(session: &mut Session<'_>) -> Result<(), Reason> {
    let mode = session.setting.mode();
    canary(session).await?;
    settle(session, "empty", Rule::of(mode.empty_s, None)).await?;
    session.run.memory.empty = sample_memory(session);
    // Before anything is counted: while others work, time passes and even idle servers take CPU.
    session.work().await;
    if session.kind().is_unhealthy() {
        return fault::all(session, Duration::from_secs(mode.unhealthy_s)).await;
    }
    if session.kind() == Kind::UpdateStorm {
        return update_storm::all(session).await;
    }

    let before = Snapshot::take(session).await;
    let page_before = metrics(session).await;
    if session.cell.objects > 0 {
        offer_and_wait(session).await?;
    }
    if session.kind() == Kind::Steady && !mode.steady_settles {
        // What belongs to the last objects is let through first.
        settle(session, "winding down", Rule::of(1, None)).await?;
        let end = Snapshot::take(session).await;
        record(session, &before, &end);
    } else {
        settled(session, &before, &mode).await?;
    }
    // After the weighing, because a page costs the subject memory.
    scrape(session, page_before.as_deref()).await;

    let Extents {
        churned,
        aged,
        restarted,
        deletes,
    } = extents(session, &mode);
    if churned {
        churn(session).await?;
    }
    if let Some(events) = aged {
        soak(session, events, &mode).await?;
    }
    if restarted {
        restart(session, mode.restart_s, mode.steady_s).await?;
    }
    if deletes {
        deleted(session, mode.deleted_s).await?;
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

fn extents(session: &Session<'_>, mode: &Timing) -> Extents {
    let (objects, repeat) = (session.cell.objects, session.cell.repeat);
    let largest = objects > 0 && objects == session.setting.largest;
    let burst = largest && session.kind() == Kind::Burst;
    Extents {
        churned: burst && mode.churn.includes(objects, repeat),
        aged: session.setting.soak_events.filter(|_| burst && repeat == 1),
        restarted: burst || (largest && session.kind() == Kind::AA),
        deletes: burst && mode.deletion.includes(objects, repeat),
    }
}

/// Spawn until the canary, created beforehand, is observed; then until the subject is ready.
async fn canary(session: &mut Session<'_>) -> Result<(), Reason> {
    session
        .setting
        .say_step(session.cell, "waiting for the canary");
    let deadline = Instant::now() + session.setting.start_deadline();
    if !session
        .wait_until(deadline, |t| t.canary.observed_ns().is_some())
        .await?
    {
        let waited = session.setting.start_deadline().as_secs();
        return Err(format!(
            "{} did not observe the canary within {waited} s",
            session.subject.id()
        ));
    }
    let observed_ns = session.journal.timeline().canary.observed_ns();
    let spawned_ns = session.journal.ns(session.process.spawned_at());
    session.run.spawn_to_canary_ms =
        observed_ns.map(|at| at.saturating_sub(spawned_ns) as f64 / 1e6);
    session.wait_ready(deadline).await
}

async fn offer_and_wait(session: &mut Session<'_>) -> Result<(), Reason> {
    let objects = session.cell.objects;
    let own_before = tare_procstat::cpu_seconds(std::process::id()).ok();
    let started = Instant::now();
    reset_peak(session);
    let converged = offer(session, Act::Create, session.pace, "converged", |t| {
        t.all(|p| p.ready)
    });
    let converged = converged.await?;
    if session.kind() != Kind::Steady {
        session.run.memory.burst = sample_peak(session);
    }
    let wall_s = started.elapsed().as_secs_f64();
    if let (Some(before), Ok(after)) = (own_before, tare_procstat::cpu_seconds(std::process::id())) {
        session.run.generator_cpu_s = Some(after - before);
        judge_generator(session, (after - before) / wall_s);
    }
    let convergence = convergence(&session.journal.timeline(), session.pace);
    let p99_late_ms = convergence.late.quantiles().map_or(0.0, |q| q.p99_ms);
    if p99_late_ms > LATE_MS {
        session.run.invalid_because.push(format!(
            "the generator was late: 1 % of the sends by more than {p99_late_ms:.0} ms (bound {LATE_MS} ms)"
        ));
    }
    let (none, censored) = (
        convergence.ready_from_sent.count() == 0,
        convergence.censored,
    );
    session.run.convergence = Some(convergence);
    let timeline = session.journal.timeline();
    if let Some((message, times)) = timeline.failed() {
        session.run.invalid_because.push(format!(
            "{times} of {objects} creates were refused, the first with: {message}"
        ));
    }
    if timeline.watch_restarts > 0 {
        let restarts = timeline.watch_restarts;
        session.run.warnings.push(format!(
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
    session: &mut Session<'_>,
    act: Act,
    pace: Pace,
    what: &str,
    done: impl Fn(&crate::load::timeline::Timeline) -> bool,
) -> Result<bool, Reason> {
    let objects = session.cell.objects;
    session.work().await;
    let timeout = session.setting.timeout(objects, pace);
    let deadline = Instant::now() + timeout.deadline;
    let mut sending = tokio::task::JoinSet::new();
    sending.spawn(session.offer(act, pace).send());
    let (mut last, mut moved_at) = (Default::default(), Instant::now());
    loop {
        let next_look = Instant::now() + Duration::from_millis(100);
        if session.wait_until(next_look, &done).await? {
            return Ok(true);
        }
        let progress = session.journal.timeline().progress();
        let count = if act == Act::Delete {
            progress.gone
        } else {
            progress.ready
        };
        session
            .setting
            .say_count(session.cell, what, count, objects);
        if progress != last {
            (last, moved_at) = (progress, Instant::now());
        }
        let stalled = moved_at.elapsed() > timeout.stall;
        if Instant::now() > deadline || stalled {
            return Ok(false);
        }
    }
}

/// The generator must not be what is measured.
fn judge_generator(session: &mut Session<'_>, cores_used: f64) {
    let cores = std::thread::available_parallelism().map_or(1, usize::from) as f64;
    if cores_used > cores / 2.0 {
        session.run.invalid_because.push(format!(
            "the generator was the bottleneck: it used {cores_used:.2} of {cores:.0} cores (bound: half)"
        ));
    }
}

/// Leaves the subject alone; what it cost to converge, to idle, and what it weighs.
async fn settled(
    session: &mut Session<'_>,
    before: &Snapshot,
    mode: &Timing,
) -> Result<(), Reason> {
    let rule = Rule::of(mode.settled_s, mode.steady_s);
    let begin = settle(session, "settling", rule).await?;
    session.run.memory.settled = sample_memory(session);
    let end = Snapshot::take(session).await;
    record(session, before, begin.as_ref().unwrap_or(&end));
    let Some(begin) = begin else {
        return Ok(());
    };
    let (objects, repeat) = (session.cell.objects, session.cell.repeat);
    let largest = objects == session.setting.largest;
    let window = match session.kind() {
        Kind::Burst if largest && mode.idle.includes(objects, repeat) => {
            Duration::from_secs(mode.idle_s)
        }
        Kind::RequestCount => COUNTED_IDLE,
        _ => Duration::ZERO,
    };
    linger(session, "idling", &begin, window).await?;
    session.run.idle = Snapshot::take(session).await.idle_since(&begin);
    Ok(())
}

/// Books what the objects cost.
fn record(session: &mut Session<'_>, before: &Snapshot, end: &Snapshot) {
    if session.cell.objects == 0 {
        return;
    }
    session.run.converge_cpu_s = end.cpu_s_since(before);
    session.run.api_server_cpu_s = end.server_cpu_s_since(before);
    session.run.requests = end.requests_since(before);
    session.run.write_spans = session.server.write_spans();
    let datastore = Datastore {
        written_bytes: end.datastore_written_bytes_since(before),
        size_bytes: session.server.datastore_size_bytes(),
    };
    let known = datastore.written_bytes.is_some() || datastore.size_bytes.is_some();
    session.run.datastore = known.then_some(datastore);
}

/// Every object changes once.
async fn churn(session: &mut Session<'_>) -> Result<(), Reason> {
    session.journal.timeline().begin_wave();
    reset_peak(session);
    let done = offer(session, Act::Update(1), Pace::Burst, "churned", |t| {
        t.all(|p| p.ready)
    });
    if !done.await? {
        return Err("churn: not every object converged again".into());
    }
    session.run.memory.churn = sample_peak(session);
    Ok(())
}

/// Many more changes; what it weighs once it has settled again.
async fn soak(session: &mut Session<'_>, events: u64, mode: &Timing) -> Result<(), Reason> {
    session.work().await;
    reset_peak(session);
    session.run.soak = Some(soak::soak(session, events).await?);
    settle(session, "settling", Rule::of(mode.settled_s, mode.steady_s)).await?;
    session.run.memory.after_soak = sample_peak(session);
    Ok(())
}

/// Ended with SIGTERM and started again with every object there.
async fn restart(
    session: &mut Session<'_>,
    quiet_s: u64,
    steady_s: Option<u64>,
) -> Result<(), Reason> {
    session.work().await;
    session.setting.say_step(session.cell, "restarting");
    session.restart().await?;
    let timeout = session.setting.timeout(session.cell.objects, Pace::Burst);
    let deadline = Instant::now() + timeout.deadline;
    session.wait_ready(deadline).await?;
    session.run.restart_s = Some(session.process.spawned_at().elapsed().as_secs_f64());
    settle(
        session,
        "settling after the restart",
        Rule::of(quiet_s, steady_s),
    )
    .await?;
    session.run.memory.restart = sample_peak(session);
    session.run.restart_cpu_s = tare_procstat::cpu_seconds(session.process.pid()).ok();
    Ok(())
}

/// Every object is deleted, finalizers and all.
async fn deleted(session: &mut Session<'_>, quiet_s: u64) -> Result<(), Reason> {
    let done = offer(session, Act::Delete, Pace::Burst, "deleted", |t| {
        t.all(|p| p.gone)
    });
    if !done.await? {
        return Err("not every object was gone after its deletion".into());
    }
    settle(
        session,
        "settling after the deletion",
        Rule::of(quiet_s, None),
    )
    .await?;
    session.run.memory.deleted = sample_memory(session);
    Ok(())
}

/// `None` where this machine does not say; a subject that is gone is noticed elsewhere.
fn sample_memory(session: &Session<'_>) -> Option<Memory> {
    tare_procstat::memory(session.process.pid()).ok()
}

pub(crate) fn sample_peak(session: &Session<'_>) -> Option<Peaked> {
    Some(Peaked {
        memory: sample_memory(session)?,
        peak_bytes: tare_procstat::peak_bytes(session.process.pid()).ok(),
    })
}

pub(crate) fn reset_peak(session: &mut Session<'_>) {
    if let Err(error) = tare_procstat::reset_peak(session.process.pid()) {
        session.run.warnings.push(format!(
            "peaks count from the start of the process: {error}"
        ));
    }
}

async fn metrics(session: &Session<'_>) -> Option<String> {
    let metrics = session.subject.metrics.as_ref()?;
    match admin::get(session.admin, &metrics.path).await {
        Ok(page) if page.status == 200 => Some(page.body),
        _ => None,
    }
}

/// What the subject's own metrics page tells, since the page before the first object.
async fn scrape(session: &mut Session<'_>, page_before: Option<&str>) {
    let Some(wanted) = session
        .subject
        .metrics
        .as_ref()
        .filter(|_| session.cell.objects > 0)
    else {
        return;
    };
    let Some(page) = metrics(session).await else {
        session.run.warnings.push(format!(
            "its metrics page {} could not be read",
            wanted.path
        ));
        return;
    };
    if let Some(name) = gc_pause::histogram_of(session.subject.language) {
        session.run.gc_pauses = gc_pause::between(page_before, &page, name);
        if session.run.gc_pauses.is_none() {
            let remark = format!("no histogram {name} on its metrics page");
            session.run.warnings.push(remark);
        }
    }
    let Some(after) = metrics_text::histogram(&page, &wanted.reconcile_histogram) else {
        session.run.warnings.push(format!(
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
    session.run.reconcile = Some(Reconcile {
        buckets: after.since(&before.unwrap_or_default()),
        errors,
    });
}
