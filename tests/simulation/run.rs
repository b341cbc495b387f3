//! A whole run: the steps, then calm; everything converges in time, and nothing is written after that.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use tokio::runtime::Builder;
use tokio::time::{Instant, sleep};

use crate::converged;
use crate::records::Counts;
use crate::schedule::Schedule;
use crate::step::{EventFault, RequestFault, Step};
use crate::world::World;

/// How long nothing is written after convergence.
const QUIET: Duration = Duration::from_secs(7_200);
/// What convergence may take beside back-off.
const PROMPT_S: u64 = 60;
/// The longest back-off, with its jitter, and the longest pause of a field conflict.
const BACKOFF_S: u64 = 470;
/// After so long a silent watch is opened again.
const SILENCE_S: u64 = 310;
/// After so long the first object of a CRD is found that no watch has shown.
const FIRST_S: u64 = 60;
/// After so long owners that were evicted are found again.
const EVICTED_S: u64 = 660;

/// What a run has shown.
#[derive(Debug)]
pub struct Report {
    /// What is wrong; empty where nothing is.
    pub violations: Vec<String>,
    /// Digest of everything that happened.
    pub digest: u64,
    /// Everything that happened, where it was asked for.
    pub trace: Vec<String>,
    /// Writes of the operator.
    pub writes: u64,
    /// Faults that met something, by kind.
    pub faults: Counts,
    /// Children that it made, and those that it deleted.
    pub made_and_deleted: (u64, u64),
}

/// Runs a schedule on paused time in this thread.
pub fn run(schedule: &Schedule, traced: bool) -> Report {
    let runtime = Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let mut world = World::new(schedule, traced).await;
        for (number, step) in &schedule.steps {
            world.take(*number, step).await;
        }
        world.calm().await;
        let settle = match is_silent(schedule) {
            true => Duration::from_secs(SILENCE_S),
            false => Duration::from_secs(PROMPT_S),
        };
        converge(&world, within(schedule), settle).await;
        let mut state = world.faults.lock();
        Report {
            violations: std::mem::take(&mut state.violations),
            digest: state.digest(),
            trace: state.trace.take().unwrap_or_default(),
            writes: state.writes,
            faults: std::mem::take(&mut state.met),
            made_and_deleted: state.made_and_deleted,
        }
    })
}

/// How long convergence may take after the last fault.
fn within(schedule: &Schedule) -> Duration {
    let mut seconds = PROMPT_S + schedule.capacity.drain_s();
    let any = |of: fn(&Step) -> bool| schedule.steps.iter().any(|(_, step)| of(step));
    // Edits and strangers make a field conflict or a collision, which back off as failures do.
    if any(|step| {
        matches!(
            step,
            Step::Request { .. }
                | Step::Edit { .. }
                | Step::TakeOver { .. }
                | Step::Occupy { .. }
                | Step::MakeAgain { .. }
                | Step::Delete { .. }
                | Step::Recreate { .. }
                | Step::Event {
                    fault: EventFault::Garbage,
                    ..
                }
        )
    }) {
        seconds += BACKOFF_S;
        if schedule.capacity.is_tight() {
            seconds += EVICTED_S;
        }
    }
    // What could not be decoded is found again by a relist that waits as long.
    if !schedule.capacity.is_tight() && any(is_garbage) {
        seconds += EVICTED_S;
    }
    if schedule.first_unshown {
        seconds += FIRST_S;
    }
    if is_silent(schedule) {
        seconds += SILENCE_S;
    }
    Duration::from_secs(seconds)
}

/// Whether something cannot be decoded.
fn is_garbage(step: &Step) -> bool {
    matches!(
        step,
        Step::Request {
            fault: RequestFault::Garbage,
            ..
        } | Step::Event {
            fault: EventFault::Garbage,
            ..
        }
    )
}

/// Whether a watch may be silent although there are events.
fn is_silent(schedule: &Schedule) -> bool {
    let is_stall = |(_, step): &(usize, Step)| {
        matches!(
            step,
            Step::Event {
                fault: EventFault::Stall,
                ..
            } | Step::Request { verb: "watch", .. }
        )
    };
    schedule.steps.iter().any(is_stall)
}

async fn converge(world: &World, within: Duration, settle: Duration) {
    let (began, mut revision) = (Instant::now(), 0);
    let mut wrong = Ok(());
    loop {
        // Nothing has changed since it was checked.
        if revision != world.server.revision() {
            revision = world.server.revision();
            wrong = converged::check(&world.server, world.subject);
        }
        if wrong.is_ok() {
            // What is in flight ends, and what a watch has not shown yet is shown.
            sleep(settle).await;
            if world.server.revision() == revision {
                break;
            }
            continue;
        }
        if began.elapsed() > within + settle {
            let error = wrong.err().unwrap_or_default();
            return world
                .faults
                .violation(format!("not within {} s: {error}", within.as_secs()));
        }
        sleep(match began.elapsed().as_secs() {
            0..10 => Duration::from_millis(250),
            _ => Duration::from_secs(3),
        })
        .await;
    }
    world.faults.note(format_args!("converged"));
    let writes = world.faults.lock().writes;
    sleep(QUIET).await;
    let later = world.faults.lock().writes - writes;
    if later > 0 {
        world
            .faults
            .violation(format!("{later} writes after convergence"));
    }
    if let Err(error) = converged::check(&world.server, world.subject) {
        world
            .faults
            .violation(format!("no longer as planned: {error}"));
    }
    world.check_bounds();
    for replica in world.replicas() {
        let metrics = replica.metrics();
        let entries = metrics.map(|metrics| metrics.entries.load(Relaxed));
        if entries != Some(0) {
            world
                .faults
                .violation(format!("{entries:?} entries two hours later"));
        }
        if replica.has_ended() {
            world.faults.violation("the operator ended".to_owned());
        }
    }
}
