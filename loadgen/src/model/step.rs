//! The steps of a session: everything that is known about a step before it runs.
//!
//! Guarantees: pure. A step's name, the cells that have it and its cost stand here and nowhere else
//! (how long it waits: `model::profile`). Leaves to others: running it (`run::step` has one `match` over it).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::cell::{Cell, Kind};
use crate::model::profile::{TWO_COLLECTIONS_S, Timing, UPDATE_EVERY, UPDATE_ROUNDS};
use crate::model::subject::Language;

/// Requests are counted for at least this long while the subject is idle: a rate per minute needs
/// a minute.
const COUNTED_IDLE_S: u64 = 60;
/// A subject that wrote nothing for this long has made its requests for the objects.
const COUNTED_SETTLED_S: u64 = 30;

/// How long a subject must be idle before its memory is sampled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quiet {
    /// Seconds without events and with next to no CPU.
    pub quiet_s: u64,
    /// Seconds over which anonymous memory must also change by less than 1 %.
    pub steady_s: Option<u64>,
}

/// One step of a session.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Step {
    /// From the subject's start until it has observed the canary and is ready.
    Start,
    /// Idle without objects; samples memory.
    Empty(Quiet),
    /// All objects are created, at once or at a rate, until they converge.
    Create { per_s: Option<u32> },
    /// Idle after the objects have converged; samples memory, then idles for `idle_s` in all.
    Settle { quiet: Quiet, idle_s: u64 },
    /// A second without events after the objects of a timed run; samples no memory.
    WindDown,
    /// Every object is updated once.
    Churn,
    /// Objects are updated, fail, recover and are created anew until `events` have passed.
    Soak { events: u64, quiet: Quiet },
    /// The subject is ended with SIGTERM and started on the objects that exist, `times` times.
    Restart { times: u32, quiet: Quiet },
    /// The API server is ended and started again while the objects exist; samples memory.
    RestartServer(Quiet),
    /// The memory of the subject is searched for foreign objects; of one in Go after `wait_s` more of idle time.
    Search { wait_s: u64 },
    /// The foreign objects are changed, while CPU and requests of the subject are counted.
    ChangeBystanders,
    /// The foreign objects are deleted and the subject is started on what is left; samples memory, to set it
    /// beside that of [`Step::Restart`].
    WithoutBystanders(Quiet),
    /// Every object is deleted.
    Delete(Quiet),
    /// Every object is deleted, until its children are gone too; samples no memory.
    Deletion,
    /// Objects that cannot become healthy exist for this long.
    Fault { hold_s: u64 },
    /// Every object is updated again and again, faster than a subject may be able to follow.
    UpdateStorm,
    /// Objects are updated at a rate, each at most once, until all are ready again.
    UpdateAt { per_s: u32, seconds: u32 },
}

/// Updates at a rate, offered for so long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Updates {
    pub per_s: u32,
    pub seconds: u32,
}

/// What decides about the steps of all cells.
#[derive(Debug, Clone, Copy)]
pub struct Course {
    pub timing: Timing,
    /// The largest number of objects: most steps after [`Step::Settle`] run at this size only.
    pub largest: usize,
    pub asked: Asked,
}

/// Steps beyond those that every bench has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Asked {
    /// Restarts in every drain with objects, and one in every memory run; without, one in those at
    /// the largest size.
    pub restarts: Option<u32>,
    /// Events of the soak in the first memory run at the largest size.
    pub soak_events: Option<u64>,
    /// Whether drains end with a deletion of all objects.
    pub deletions: bool,
    /// Whether there are foreign objects.
    pub bystanders: bool,
    /// Updates after the objects of a drain.
    pub updates: Option<Updates>,
    /// Whether the API server is restarted in memory runs at the largest size.
    pub server_restart: bool,
}

/// Idle time in all. Go's collector runs at least every two minutes: in this time twice, and what it frees is
/// overwritten or returned before it is searched for.
const SEARCH_AFTER_S: u64 = 300;

/// About what foreign objects are changed for, and as long before.
const CHANGED_S: f64 = 50.0;

/// About what an API server takes to end, to start and to be found again.
const RESTART_SERVER_S: f64 = 15.0;

/// What one run takes.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Cost {
    /// Seconds in which it needs the machine for itself.
    pub work_s: f64,
    /// Seconds in which its subject is idle.
    pub quiet_s: f64,
}

/// What a control plane takes for one object, in seconds.
#[derive(Debug, Clone, Copy)]
pub struct Rates {
    pub start_s: f64,
    pub create_s: f64,
    pub delete_s: f64,
}

/// Watch events of one object with two children from its creation until it is ready.
const EVENTS_PER_OBJECT: f64 = 5.0;

impl Course {
    /// The steps of a cell, in order.
    pub fn steps(&self, cell: &Cell) -> Vec<Step> {
        let timing = &self.timing;
        let empty_s = match cell.kind.is_timed() {
            true => timing.timed_empty_s,
            false => timing.empty_s,
        };
        let mut steps = vec![Step::Start, Step::Empty(Quiet::of(empty_s))];
        let create = (cell.objects > 0).then_some(Step::Create { per_s: cell.per_s });
        match cell.kind {
            Kind::Rejected | Kind::NeverReady => {
                let hold_s = timing.unhealthy_s;
                steps.push(Step::Fault { hold_s });
            }
            Kind::UpdateStorm => steps.push(Step::UpdateStorm),
            Kind::Drain | Kind::DrainAa | Kind::Rate | Kind::DefaultFlags => {
                steps.extend(create);
                let updates = self.asked.updates.filter(|_| cell.kind == Kind::Drain);
                let updates = updates.map(|it| (it.per_s, it.seconds));
                let updates = updates.map(|(per_s, seconds)| Step::UpdateAt { per_s, seconds });
                steps.extend(updates);
                steps.push(Step::WindDown);
                steps.extend(self.restart(cell));
                let deleted = self.asked.deletions && cell.objects > 0 && cell.kind == Kind::Drain;
                steps.extend(deleted.then_some(Step::Deletion));
            }
            Kind::Memory | Kind::MemoryAa | Kind::RequestCount => {
                steps.extend(create);
                steps.push(Step::Settle {
                    quiet: self.settled(cell),
                    idle_s: self.idle_s(cell),
                });
                steps.extend(self.later_steps(cell));
            }
        }
        steps
    }

    /// Requests are counted whatever memory does.
    fn settled(&self, cell: &Cell) -> Quiet {
        match cell.kind {
            Kind::RequestCount => Quiet::of(COUNTED_SETTLED_S.min(self.timing.settled_s)),
            _ => self.timing.settled(),
        }
    }

    fn idle_s(&self, cell: &Cell) -> u64 {
        match cell.kind {
            Kind::Memory if cell.objects == self.largest => {
                match self.timing.idle.includes(cell.objects, cell.repeat) {
                    true => self.timing.idle_s,
                    false => 0,
                }
            }
            Kind::RequestCount => COUNTED_IDLE_S,
            _ => 0,
        }
    }

    /// What follows once the objects have settled.
    fn later_steps(&self, cell: &Cell) -> Vec<Step> {
        let (timing, objects, repeat) = (&self.timing, cell.objects, cell.repeat);
        let first = cell.kind == Kind::Memory && objects > 0 && objects == self.largest;
        let mut steps = Vec::new();
        if first && timing.churn.includes(objects, repeat) {
            steps.push(Step::Churn);
        }
        let soak_events = self.asked.soak_events.filter(|_| first && repeat == 1);
        steps.extend(soak_events.map(|events| Step::Soak {
            events,
            quiet: timing.settled(),
        }));
        let restart = self.restart(cell);
        steps.extend(restart);
        let server_restart = first && self.asked.server_restart;
        steps.extend(server_restart.then(|| Step::RestartServer(timing.restarted())));
        steps.extend(self.foreign(cell, restart.is_some()));
        if first && timing.deletion.includes(objects, repeat) {
            steps.push(Step::Delete(Quiet::of(timing.deleted_s)));
        }
        steps
    }

    /// What foreign objects are asked about once all samples with them are taken.
    fn foreign(&self, cell: &Cell, restarted: bool) -> Vec<Step> {
        let is_memory = matches!(cell.kind, Kind::Memory | Kind::MemoryAa);
        if !self.asked.bystanders || !is_memory {
            return Vec::new();
        }
        let waits = self.timing.settled_s >= TWO_COLLECTIONS_S;
        // It was idle in the step before.
        let idle_s = match restarted {
            true => self.timing.restarted().quiet_s,
            false => self.settled(cell).quiet_s,
        };
        let wait_s = match waits {
            true => SEARCH_AFTER_S.saturating_sub(idle_s),
            false => 0,
        };
        let mut steps = vec![Step::Search { wait_s }];
        if restarted {
            steps.push(Step::ChangeBystanders);
            // Set beside the restart on the same objects.
            steps.push(Step::WithoutBystanders(self.timing.restarted()));
        }
        steps
    }

    /// Drains tell what a restart takes, memory runs what it holds afterwards.
    fn restart(&self, cell: &Cell) -> Option<Step> {
        let timing = &self.timing;
        let asked = self.asked.restarts.filter(|_| cell.objects > 0);
        let once = (cell.objects > 0 && cell.objects == self.largest).then_some(1);
        let (times, quiet) = match cell.kind {
            Kind::Drain => (asked.or(once), Quiet::of(timing.timed_restart_s)),
            Kind::Memory => (asked.map(|_| 1).or(once), timing.restarted()),
            Kind::MemoryAa => (once, timing.restarted()),
            _ => (None, timing.restarted()),
        };
        times.map(|times| Step::Restart { times, quiet })
    }
}

impl Step {
    /// What progress and errors call it.
    pub fn name(self) -> &'static str {
        match self {
            Step::Start => "waiting for the canary",
            Step::Empty(_) => "idle without objects",
            Step::Create { .. } => "converged",
            Step::Settle { .. } => "settling",
            Step::WindDown => "winding down",
            Step::Churn => "converged again",
            Step::Soak { .. } => "soak",
            Step::Restart { .. } => "restarting",
            Step::RestartServer(_) => "restarting the API server",
            Step::Search { .. } => "searching memory for bystanders",
            Step::ChangeBystanders => "changing bystanders",
            Step::WithoutBystanders(_) => "restarting without bystanders",
            Step::Delete(_) => "deleted",
            Step::Deletion => "deleted with all children",
            Step::Fault { .. } => "objects that cannot become healthy",
            Step::UpdateStorm => "update storm",
            Step::UpdateAt { .. } => "updated",
        }
    }

    /// What it takes with this number of objects, roughly.
    pub fn cost(self, objects: usize, rates: &Rates) -> Cost {
        let objects = objects as f64;
        let create_s = objects * rates.create_s;
        let (work_s, quiet_s) = match self {
            Step::Start => (rates.start_s, 0),
            Step::Empty(quiet) => (0.0, quiet.quiet_s),
            Step::Create { per_s: None } | Step::Churn => (create_s, 0),
            Step::Create { per_s: Some(per_s) } => (objects / f64::from(per_s.max(1)), 0),
            // Idle time counts from the begin of the quiet, a few seconds after the last event.
            Step::Settle { quiet, idle_s } if idle_s > 0 => (0.0, quiet.quiet_s.max(idle_s + 2)),
            Step::Settle { quiet, .. } => (0.0, quiet.quiet_s),
            Step::WindDown => (3.0, 0),
            Step::Soak { events, quiet } => {
                let work_s = events as f64 / EVENTS_PER_OBJECT * rates.create_s;
                (work_s, quiet.quiet_s)
            }
            Step::Restart { times, quiet } => {
                let work_s = f64::from(times) * (2.0 + objects * 0.001);
                (work_s, u64::from(times) * quiet.quiet_s)
            }
            Step::RestartServer(quiet) => (RESTART_SERVER_S, quiet.quiet_s),
            Step::Search { wait_s } => (0.0, wait_s),
            Step::ChangeBystanders => (CHANGED_S, 0),
            Step::WithoutBystanders(quiet) => (2.0 + objects * 0.001, quiet.quiet_s),
            Step::Delete(quiet) => (objects * rates.delete_s, quiet.quiet_s),
            Step::Deletion => (objects * rates.delete_s, 0),
            // Retries are work: no other run may disturb them.
            Step::Fault { hold_s } => (create_s + hold_s as f64, 0),
            Step::UpdateStorm => {
                let updates_s = UPDATE_ROUNDS as f64 * UPDATE_EVERY.as_secs_f64();
                (create_s + updates_s, 0)
            }
            Step::UpdateAt { seconds, .. } => (f64::from(seconds), 0),
        };
        Cost {
            work_s,
            quiet_s: quiet_s as f64,
        }
    }
}

impl Quiet {
    /// Whether a subject in this language has settled after it: Go gives memory back only after its
    /// collector ran.
    pub fn is_enough_for(self, language: Language) -> bool {
        language != Language::Go || self.quiet_s >= TWO_COLLECTIONS_S
    }

    /// Without a condition on memory.
    pub const fn of(quiet_s: u64) -> Self {
        Self {
            quiet_s,
            steady_s: None,
        }
    }
}

#[cfg(test)]
mod tests;
