//! The objects of a workload on a cluster, and one wave of requests for them at a time.
//!
//! Guarantees: a wait ends when its goal is reached, at its deadline, when nothing moves, or when the user asks to stop;
//! while objects are still being sent it is not taken for one in which nothing moves. After a stop nothing more is sent,
//! and what is in flight is answered or given up within `LAST_ANSWERS`. Leaves to others: what is done in which order
//! (`engine::step`), and the operator that does the work ([`Host`]).

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use crate::engine::convergence::convergence;
use crate::engine::session::Reason;
use crate::load::generator::{Act, Generator};
use crate::load::journal::Journal;
use crate::load::timeline;
use crate::load::timeout::{Ended, Timeout};
use crate::load::timetable::Pace;
use crate::record::{Spent, StepSpan};
use crate::spec::step::Step;
use crate::spec::workload::{Readiness, Scenario};
use crate::target::cluster::Cluster;
use crate::terminal::interrupt::Interrupt;
use crate::terminal::progress::Progress;

/// Between two looks at the timeline. Measured times come from events, not from these looks.
const POLL: Duration = Duration::from_millis(20);
/// Between two looks of the host, and two counts on the terminal.
const LOOK: Duration = Duration::from_millis(100);
/// How long a stop waits for answers. The server may still execute a request that has none; the
/// clean-up then deletes its object.
const LAST_ANSWERS: Duration = Duration::from_secs(5);
const WATCH_OPENS: Duration = Duration::from_secs(15);

/// What is offered to an operator.
#[derive(Clone)]
pub struct Load {
    pub cluster: Cluster,
    pub scenario: Arc<Scenario>,
    /// The same objects as they are not accepted or not made.
    pub rejected: Option<Arc<Scenario>>,
    /// The child whose readiness a soak changes.
    pub readiness: Option<Arc<Readiness>>,
    pub seed: u64,
    pub journal: Arc<Journal>,
    /// Longest wait, where the user chose one.
    pub deadline: Option<Duration>,
    /// The label of what is made, where others may be around.
    pub run: Option<String>,
    pub progress: Arc<Progress>,
    /// This loadgen sends one of so many equal parts of every rate.
    pub shards: usize,
    /// What every line of progress begins with.
    pub who: String,
    pub stop: Interrupt,
    /// How many updates there were.
    pub updates: Arc<AtomicU64>,
}

/// Who takes a load through its steps: it knows the operator.
pub trait Host {
    fn load(&self) -> &Load;

    fn load_mut(&mut self) -> &mut Load;

    /// Ends the operator and has it start again on the objects that exist, so often.
    ///
    /// # Errors
    /// It does not end, or does not work again in time.
    fn restart(&mut self, times: u64) -> impl Future<Output = Result<Ended, Reason>>;

    /// While a wave is waited for.
    ///
    /// # Errors
    /// Why waiting is in vain.
    fn look(&mut self, goal: Goal) -> Result<(), Reason>;
}

/// What a wave waits for, of every object that the server has accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Goal {
    Ready,
    NotReady,
    /// The watch shows its deletion.
    Gone,
    /// The API server has accepted the request.
    Answered,
}

/// Requests for some objects, and what is waited for.
#[derive(Debug, Clone)]
pub struct Wave {
    pub act: Act,
    pub objects: Range<usize>,
    /// How many there are: beyond the last object the first one has its turn again.
    pub requests: usize,
    pub pace: Pace,
    pub goal: Goal,
}

impl Wave {
    /// A request for each of them.
    pub fn once(act: Act, objects: Range<usize>, pace: Pace, goal: Goal) -> Self {
        Self {
            act,
            requests: objects.len(),
            objects,
            pace,
            goal,
        }
    }
}

impl Goal {
    fn reached(self, now: timeline::Progress) -> u64 {
        match self {
            Goal::Ready => now.ready,
            Goal::NotReady => now.not_ready,
            Goal::Gone => now.gone,
            Goal::Answered => now.acked,
        }
    }

    fn is_reached(self, now: timeline::Progress, objects: u64) -> bool {
        now.answered == objects && self.reached(now) >= now.acked
    }

    fn words(self, now: timeline::Progress) -> String {
        match self {
            Goal::Ready => format!("accepted {}, observed {}, ready", now.acked, now.observed),
            Goal::NotReady => "not ready".to_owned(),
            Goal::Gone => format!("deleted {}, gone", now.acked),
            Goal::Answered => "accepted".to_owned(),
        }
    }
}

impl Load {
    /// ms since the run began: the clock of its time series.
    pub fn now_ms(&self) -> u64 {
        self.journal.now_ns() / 1_000_000
    }

    /// A step of the workload that ends now, with what the operator held and had used before and after it.
    pub fn span_of_workload(
        &self,
        step: &Step,
        from_ms: u64,
        operator: Option<(Spent, Spent)>,
    ) -> StepSpan {
        let times = || convergence(&self.journal.timeline(), &self.pace(step.per_s()));
        StepSpan {
            step: step.name(),
            from_ms,
            to_ms: self.now_ms(),
            of_workload: true,
            times: step.has_times().then(times),
            operator: operator.map(|(before, after)| Spent::between(before, after)),
        }
    }

    /// A load on a cluster that has nothing of it yet.
    pub fn new(cluster: Cluster, scenario: Arc<Scenario>, journal: Arc<Journal>) -> Self {
        Self {
            cluster,
            scenario,
            rejected: None,
            readiness: None,
            seed: 1,
            journal,
            deadline: None,
            run: None,
            shards: 1,
            progress: Arc::default(),
            who: String::new(),
            stop: Interrupt::never(),
            updates: Arc::default(),
        }
    }

    pub fn objects(&self) -> usize {
        self.journal.timeline().objects().len()
    }

    /// This loadgen's part of a rate; all at once without one.
    pub fn pace(&self, per_s: Option<f64>) -> Pace {
        per_s.map_or(Pace::Burst, |per_s| Pace::Steady {
            per_s: per_s / self.shards as f64,
        })
    }

    pub fn timeout(&self, objects: usize, pace: &Pace) -> Timeout {
        Timeout::of(objects, pace, self.deadline)
    }

    /// How long is waited at most for what is done to all objects at once.
    pub fn patience(&self) -> Duration {
        self.timeout(self.objects(), &Pace::Burst).deadline
    }

    /// An update with content that no update before it had.
    pub fn next_update(&self) -> Act {
        Act::Update(1 + self.updates.fetch_add(1, Ordering::Relaxed))
    }

    /// Shows what is done now.
    pub fn say(&self, what: &str) {
        self.progress.step(&format!("{}{what}", self.who));
    }

    pub fn generator(&self, act: Act, objects: Range<usize>, pace: Pace) -> Generator {
        Generator {
            cluster: self.cluster.clone(),
            scenario: Arc::clone(&self.scenario),
            readiness: self.readiness.clone(),
            seed: self.seed,
            journal: Arc::clone(&self.journal),
            act,
            pace,
            requests: objects.len(),
            objects,
        }
    }

    /// Waits until all watches have their initial lists, so that no event is missed.
    ///
    /// # Errors
    /// A watch cannot be opened; the error has the last message of the server.
    pub async fn watches_are_open(&self, watches: usize) -> Result<(), Reason> {
        let deadline = Instant::now() + WATCH_OPENS;
        loop {
            {
                let timeline = self.journal.timeline();
                if timeline.listed >= watches {
                    return Ok(());
                }
                if Instant::now() > deadline {
                    let why = timeline.last_watch_error.as_deref();
                    let why = why.unwrap_or("no answer");
                    return Err(format!("the objects cannot be watched: {why}"));
                }
            }
            tokio::time::sleep(POLL).await;
        }
    }

    /// Waits without touching anything.
    pub async fn rest(&self, idle: Duration) -> Ended {
        self.say(&format!("idle for {} s", idle.as_secs()));
        let rested = self.stop.or(tokio::time::sleep(idle)).await;
        rested.map_or(Ended::Stopped, |()| Ended::Converged)
    }
}

/// Sends a wave, and waits until its goal is reached or the wait ends.
///
/// # Errors
/// The host sees that waiting is in vain.
pub async fn wave<H: Host>(host: &mut H, wave: Wave) -> Result<Ended, Reason> {
    let Load { journal, stop, .. } = host.load().clone();
    let Wave {
        act,
        objects,
        requests,
        pace,
        goal,
    } = wave;
    journal.timeline().begin(act, objects.clone());
    let waiting = Waiting {
        objects: objects.len() as u64,
        timeout: host.load().timeout(requests, &pace),
        goal,
        sent: Arc::default(),
    };
    let generator = Generator {
        requests,
        ..host.load().generator(act, objects, pace)
    };
    let (stopping, sent, mut sending) = (stop.clone(), waiting.sent.clone(), JoinSet::new());
    sending.spawn(async move {
        generator.send_until(stopping.requested()).await;
        sent.store(true, Ordering::Release);
    });
    let ended = stop.or(wait(host, waiting)).await;
    let ended = ended.unwrap_or(Ok(Ended::Stopped))?;
    if ended == Ended::Stopped {
        let _ = tokio::time::timeout(LAST_ANSWERS, sending.join_next()).await;
    }
    Ok(ended)
}

struct Waiting {
    objects: u64,
    timeout: Timeout,
    goal: Goal,
    /// Whether every request has its answer.
    sent: Arc<AtomicBool>,
}

async fn wait<H: Host>(host: &mut H, waiting: Waiting) -> Result<Ended, Reason> {
    let Waiting {
        objects,
        timeout,
        goal,
        sent,
    } = waiting;
    let started = Instant::now();
    let (mut last, mut moved_at, mut looked_at) = (timeline::Progress::default(), started, started);
    loop {
        let sent = sent.load(Ordering::Acquire);
        let now = host.load().journal.timeline().progress();
        if sent && goal.is_reached(now, objects) {
            return Ok(Ended::Converged);
        }
        if now != last || !sent {
            (last, moved_at) = (now, Instant::now());
        }
        if looked_at.elapsed() >= LOOK {
            looked_at = Instant::now();
            host.look(goal)?;
            let load = host.load();
            let what = format!("{}{}", load.who, goal.words(now));
            load.progress.count(&what, goal.reached(now), objects);
        }
        if let Some(ended) = timeout.is_over(started.elapsed(), moved_at.elapsed()) {
            return Ok(ended);
        }
        tokio::time::sleep(POLL).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn progress(answered: u64, acked: u64, ready: u64) -> timeline::Progress {
        timeline::Progress {
            answered,
            acked,
            ready,
            ..timeline::Progress::default()
        }
    }

    #[test]
    fn what_was_not_accepted_is_not_waited_for_and_what_was_not_answered_is() {
        for (name, now, want) in [
            ("all ready", progress(3, 3, 3), true),
            ("one rejected", progress(3, 2, 2), true),
            ("one not ready", progress(3, 3, 2), false),
            ("one not answered", progress(2, 2, 2), false),
            ("none accepted", progress(3, 0, 0), true),
        ] {
            assert_eq!(Goal::Ready.is_reached(now, 3), want, "{name}");
        }
    }
}
