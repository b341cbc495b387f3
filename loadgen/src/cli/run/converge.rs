//! One wave of objects: sent on its timetable, watched until each is Ready or the timeout ends.
//!
//! Guarantees: after a stop nothing more is sent, and requests in flight are answered or given up within
//! `LAST_ANSWERS`; while objects are still being sent, the wait is not taken for a stall. Leaves to
//! others: the account of the times (`account`).

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::load::generator::Generator;
use crate::load::journal::Journal;
use crate::load::timeline;
use crate::load::timeout::{Ended, Timeout};
use crate::terminal::interrupt::Interrupt;
use crate::terminal::progress::Progress;

/// Time between two polls of the timeline. Measured times come from events, not from these polls.
const POLL: Duration = Duration::from_millis(100);
/// How long a stop waits for answers. The server may still execute a request that has none; the
/// clean-up then deletes its object.
const LAST_ANSWERS: Duration = Duration::from_secs(5);
/// After this time without a status on an acknowledged object, a hint is printed that no operator runs.
const NOBODY_ANSWERS: Duration = Duration::from_secs(10);
const WATCH_OPENS: Duration = Duration::from_secs(15);

pub struct Wave {
    pub offer: Generator,
    pub timeout: Timeout,
    pub goal: Goal,
}

/// What a wave waits for, of every object that was acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Goal {
    Ready,
    /// The watch shows its deletion.
    Gone,
    /// The API server has taken the request.
    Answered,
}

impl Goal {
    fn reached(self, now: timeline::Progress) -> u64 {
        match self {
            Goal::Ready => now.ready,
            Goal::Gone => now.gone,
            Goal::Answered => now.acked,
        }
    }
}

/// Waits until all watches have their initial lists, so that no event of the run is missed.
///
/// # Errors
/// The watch cannot be opened; the error has the last message of the server.
pub async fn watches_are_open(journal: &Journal, watches: usize) -> anyhow::Result<()> {
    let deadline = Instant::now() + WATCH_OPENS;
    loop {
        {
            let timeline = journal.timeline();
            if timeline.listed >= watches {
                return Ok(());
            }
            if Instant::now() > deadline {
                let why = timeline.last_watch_error.as_deref();
                anyhow::bail!(
                    "the objects cannot be watched: {}",
                    why.unwrap_or("no answer")
                );
            }
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

impl Wave {
    /// Sends all objects and waits until they converge or the wait ends.
    pub async fn run(self, progress: &Progress, stop: &Interrupt) -> Ended {
        let journal = self.offer.journal.clone();
        let stopping = stop.clone();
        let offer = self.offer;
        let mut sending = tokio::spawn(async move { offer.send_until(stopping.requested()).await });
        let waiting = wait(&journal, self.timeout, self.goal, progress);
        let ended = tokio::select! {
            biased;
            () = stop.requested() => Ended::Stopped,
            ended = waiting => ended,
        };
        if ended == Ended::Stopped {
            let _ = tokio::time::timeout(LAST_ANSWERS, &mut sending).await;
        }
        // After a stop some requests may still be in flight; they are given up here.
        sending.abort();
        ended
    }
}

async fn wait(journal: &Arc<Journal>, timeout: Timeout, goal: Goal, progress: &Progress) -> Ended {
    let started = Instant::now();
    let (mut last, mut moved_at) = (timeline::Progress::default(), started);
    let mut hinted = false;
    loop {
        let (now, objects) = {
            let timeline = journal.timeline();
            (timeline.progress(), timeline.in_wave().len() as u64)
        };
        let all_answered = now.answered == objects;
        if now != last || !all_answered {
            (last, moved_at) = (now, Instant::now());
        }
        let what = match goal {
            Goal::Ready => format!("created {}, observed {}, ready", now.acked, now.observed),
            Goal::Gone => format!("deleted {}, gone", now.acked),
            Goal::Answered => "changed".to_owned(),
        };
        progress.count(&what, goal.reached(now), objects);
        if all_answered && goal.reached(now) >= now.acked {
            return Ended::Converged;
        }
        if let Some(ended) = timeout.is_over(started.elapsed(), moved_at.elapsed()) {
            return ended;
        }
        let hint_after = NOBODY_ANSWERS.min(timeout.stall / 2);
        if !hinted
            && goal == Goal::Ready
            && now.observed == 0
            && first_ack_is_older_than(journal, hint_after)
        {
            hinted = true;
            progress.say(&format!(
                "no object was observed for {} s; no operator seems to be running for them on this cluster: start it, or look at its log",
                hint_after.as_secs()
            ));
        }
        tokio::time::sleep(POLL).await;
    }
}

/// Whether the first acknowledgement is older than `age`.
fn first_ack_is_older_than(journal: &Journal, age: Duration) -> bool {
    let first_ns = journal.timeline().first_acked_ns();
    first_ns.is_some_and(|at| journal.now_ns().saturating_sub(at) > age.as_nanos() as u64)
}
