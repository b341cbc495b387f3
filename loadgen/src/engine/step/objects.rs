//! What is done to the objects of a load, wave by wave; the same in every command.
//!
//! Guarantees: a wave begins when the one before it has reached its goal; after one that has not, no other begins.
//! Requests that fail in a step are told. Leaves to others: the operator (`session`, `cli::run`).

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use crate::engine::bystanders;
use crate::engine::load::{Goal, Host, Load, Wave, wave};
use crate::engine::session::Reason;
use crate::engine::step::children;
use crate::load::generator::Act;
use crate::load::timeout::Ended;
use crate::load::timetable::Pace;
use crate::spec::step::{Step, part};
use crate::spec::workload::Scenario;

/// A part of the objects, in turn, so often.
#[derive(Debug, Clone, Copy)]
pub struct Turns {
    pub times: u64,
    pub share: f64,
}

pub type Stepped = Result<Ended, Reason>;

/// All of them.
pub fn all(load: &Load) -> Range<usize> {
    0..load.objects()
}

pub async fn create<H: Host>(host: &mut H, objects: Range<usize>, pace: Pace) -> Stepped {
    let create = Wave::once(Act::Create, objects, pace, Goal::Ready);
    wave(host, create).await
}

pub async fn delete<H: Host>(host: &mut H, objects: Range<usize>, pace: Pace) -> Stepped {
    let delete = Wave::once(Act::Delete, objects, pace, Goal::Gone);
    wave(host, delete).await
}

pub async fn update<H: Host>(host: &mut H, turns: Turns, pace: Pace) -> Stepped {
    for nth in 0..turns.times {
        let objects = part(host.load().objects(), turns.share, nth);
        let update = Wave::once(
            host.load().next_update(),
            objects,
            pace.clone(),
            Goal::Ready,
        );
        let ended = wave(host, update).await?;
        if ended != Ended::Converged {
            return Ok(ended);
        }
    }
    Ok(Ended::Converged)
}

/// Deleted, and made again.
pub async fn recreate<H: Host>(host: &mut H, turns: Turns, pace: Pace) -> Stepped {
    for nth in 0..turns.times {
        let objects = part(host.load().objects(), turns.share, nth);
        let gone = delete(host, objects.clone(), pace.clone()).await?;
        if gone != Ended::Converged {
            return Ok(gone);
        }
        let made = create(host, objects, pace.clone()).await?;
        if made != Ended::Converged {
            return Ok(made);
        }
    }
    Ok(Ended::Converged)
}

/// Updates all objects with what another scenario says; the load is as before afterwards.
pub async fn change<H: Host>(host: &mut H, to: Scenario, pace: Pace, goal: Goal) -> Stepped {
    let before = std::mem::replace(&mut host.load_mut().scenario, Arc::new(to));
    let change = Wave::once(host.load().next_update(), all(host.load()), pace, goal);
    let ended = wave(host, change).await;
    host.load_mut().scenario = before;
    ended
}

/// The times are those of the way back.
pub async fn fault<H: Host>(host: &mut H, idle: Duration, pace: Pace) -> Stepped {
    let good = host.load().scenario.as_ref().clone();
    let Some(bad) = host.load().rejected.as_ref().map(|it| it.as_ref().clone()) else {
        return Err("the workload has no object.rejected".into());
    };
    let faulty = good.clone().with_update_between(&good, &bad);
    let ended = change(host, faulty, pace.clone(), Goal::Answered).await?;
    if ended != Ended::Converged {
        return Ok(ended);
    }
    let rested = host.load().rest(idle).await;
    if rested != Ended::Converged {
        return Ok(rested);
    }
    let back = good.clone().with_update_between(&bad, &good);
    change(host, back, pace, Goal::Ready).await
}

/// Whether the child of each object is ready changes, and the object's own word follows.
pub async fn flip<H: Host>(host: &mut H) -> Stepped {
    for (ready, goal) in [(false, Goal::NotReady), (true, Goal::Ready)] {
        let flip = Wave::once(Act::Child(ready), all(host.load()), Pace::Burst, goal);
        let ended = wave(host, flip).await?;
        if ended != Ended::Converged {
            return Ok(ended);
        }
    }
    Ok(Ended::Converged)
}

/// Does a step on the objects.
///
/// # Errors
/// Why it could not be done, or could not be waited for.
pub async fn run<H: Host>(host: &mut H, step: &Step) -> Stepped {
    let failed = |host: &H| host.load().journal.timeline().failed().map_or(0, |it| it.1);
    let failed_before = failed(host);
    let pace = host.load().pace(step.per_s());
    let ended = match *step {
        Step::Create { .. } => create(host, all(host.load()), pace).await?,
        Step::Delete { .. } => delete(host, all(host.load()), pace).await?,
        Step::Update { times, share, .. } => update(host, Turns { times, share }, pace).await?,
        Step::Recreate { times, share, .. } => recreate(host, Turns { times, share }, pace).await?,
        Step::Scale {
            ref field,
            ref value,
            ..
        } => {
            let scenario = host.load().scenario.as_ref().clone();
            let to = scenario.with_update_of(field, value);
            change(host, to, pace, Goal::Ready).await?
        }
        Step::Fault { seconds, .. } => fault(host, Duration::from_secs(seconds), pace).await?,
        Step::DeleteChildren {} => {
            let load = host.load();
            stoppable(load, children::replace(load)).await?
        }
        Step::Bystanders { changes, .. } => {
            let load = host.load();
            stoppable(
                load,
                bystanders::offer(load, &step.bystanders(), changes, step.per_s()),
            )
            .await?
        }
        Step::Idle { seconds } => host.load().rest(Duration::from_secs(seconds)).await,
        Step::Restart { times, .. } => host.restart(times).await?,
        _ => return Err("a step of `loadgen bench` alone".into()),
    };
    match failed(host) - failed_before {
        // What was not accepted did not have to converge.
        failed if failed > 0 && ended == Ended::Converged => {
            Err(format!("{failed} requests failed"))
        }
        _ => Ok(ended),
    }
}

async fn stoppable(load: &Load, work: impl Future<Output = Result<(), Reason>>) -> Stepped {
    match load.stop.or(work).await {
        None => Ok(Ended::Stopped),
        Some(done) => done.map(|()| Ended::Converged),
    }
}
