//! Which steps the cells of a bench have.
//!
//! Guarantees: pure; the same for every subject. Leaves to others: what a step is (`spec::step`), and how long it waits
//! (`plan::profile`).

use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::plan::cell::{Cell, Kind};
use crate::plan::profile::{Profile, Timing};
use crate::spec::step;
use crate::spec::step::TWO_COLLECTIONS_S;
use crate::spec::step::{Quiet, Step};

/// Requests are counted for at least this long while the subject is idle: a rate per minute needs
/// a minute.
const COUNTED_IDLE_S: u64 = 60;
/// A subject that wrote nothing for this long has made its requests for the objects.
const COUNTED_SETTLED_S: u64 = 30;
/// Idle time in all. Go's collector runs at least every two minutes: in this time twice, and what it frees is
/// overwritten or returned before it is searched for.
const SEARCH_AFTER_S: u64 = 300;

/// Updates at a rate, offered for so long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Updates {
    pub per_s: u32,
    pub seconds: u32,
}

/// What decides about the steps of all cells.
#[derive(Debug, Clone)]
pub struct Course {
    pub timing: Timing,
    /// The largest number of objects: most steps after [`Step::Settle`] run at this size only.
    pub largest: usize,
    pub asked: Asked,
}

impl Course {
    pub fn of(profile: Profile, bursts_only: bool, largest: usize, asked: Asked) -> Self {
        let timing = Timing::of(profile);
        let timing = match bursts_only {
            true => timing.bursts_only(),
            false => timing,
        };
        Course {
            timing,
            largest,
            asked,
        }
    }
}

/// Steps beyond those that every bench has.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
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
    /// How long subjects are watched while nothing happens, in memory runs at the largest size; that of the profile without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_s: Option<u64>,
    /// Those of the workload, in drains at the largest size once the objects have converged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<Step>,
}

impl Course {
    /// The steps of a cell, in order.
    pub fn steps(&self, cell: &Cell) -> Vec<Step> {
        let timing = &self.timing;
        let empty_s = match cell.kind.is_timed() {
            true => timing.timed_empty_s,
            false => timing.empty_s,
        };
        let mut steps = vec![Step::Start, Step::Empty(Quiet::of(empty_s))];
        let create = (cell.objects > 0).then_some(Step::Create {
            per_s: cell.per_s.map(f64::from),
        });
        match cell.kind {
            Kind::Rejected | Kind::NeverReady => {
                let hold_s = timing.unhealthy_s;
                steps.push(Step::Unhealthy { hold_s });
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
                let asked = self.of_workload(cell);
                steps.extend(asked.iter().cloned());
                let deleted = self.asked.deletions && cell.objects > 0 && cell.kind == Kind::Drain;
                let there = step::leave_objects(asked);
                steps.extend((deleted && there).then_some(Step::Delete { per_s: None }));
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

    /// Those of the workload that this cell has.
    fn of_workload(&self, cell: &Cell) -> &[Step] {
        let largest = cell.objects > 0 && cell.objects == self.largest;
        match largest && cell.kind == Kind::Drain {
            true => &self.asked.steps,
            false => &[],
        }
    }

    /// Where they are among the [`Course::steps`] of the cell.
    pub fn place_of_workload(&self, cell: &Cell, steps: &[Step]) -> Range<usize> {
        let wound_down = steps.iter().position(|step| *step == Step::WindDown);
        let restarted = usize::from(self.restart(cell).is_some());
        let from = wound_down.map_or(0, |place| place + 1 + restarted);
        from..from + self.of_workload(cell).len()
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
            Kind::Memory if cell.objects == self.largest && self.asked.idle_s.is_some() => {
                self.asked.idle_s.unwrap_or_default()
            }
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
        if first && timing.update.includes(objects, repeat) {
            steps.push(Step::Update {
                per_s: None,
                times: 1,
                share: 1.0,
            });
        }
        let soak_events = self.asked.soak_events.filter(|_| first && repeat == 1);
        steps.extend(soak_events.map(|events| Step::Soak {
            events,
            quiet: timing.settled(),
        }));
        let restart = self.restart(cell);
        let restarted = restart.is_some();
        steps.extend(restart);
        let server_restart = first && self.asked.server_restart;
        steps.extend(server_restart.then(|| Step::RestartServer {
            times: 1,
            quiet: Some(timing.restarted()),
        }));
        steps.extend(self.foreign(cell, restarted));
        if first && timing.deletion.includes(objects, repeat) {
            steps.push(Step::Delete { per_s: None });
            steps.push(Step::SettleDeleted(Quiet::of(timing.deleted_s)));
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
        times.map(|times| Step::Restart {
            times: u64::from(times),
            quiet: Some(quiet),
        })
    }
}

#[cfg(test)]
mod tests;
