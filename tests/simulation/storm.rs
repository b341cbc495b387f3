//! Storms: a burst of owners fills the queue while other clients work on children of owners that were idle.
//!
//! Guarantees: one schedule in [`ONE_IN`] is a storm, which follows from its seed alone; all others are as if there were
//! none. Leaves to others: how many owners and workers there are (`capacity`), schedules of a few owners (`schedule`).

use tare_runtime::cache::Mode;

use crate::capacity::Capacity;
use crate::rng::Rng;
use crate::schedule::{Draw, Schedule};
use crate::step::{Edit, Step};
use crate::subject::Subject;

/// A storm takes as long as some thirty schedules of a few owners: all of them together less than half of the time.
const ONE_IN: u64 = 70;
/// Two acts on the children of an owner are so far apart at most.
const APART_MS: u64 = 3_000;
/// Requests that a worker sends for a new owner, about: so long the queue is full.
const REQUESTS: u64 = 2;
/// After so long the owners that come before a burst have no work.
const IDLE_MS: u64 = 90_000;

/// The storm of a seed, if it is one.
pub fn of(seed: u64) -> Option<Schedule> {
    let mut rng = Rng::new(seed ^ 0x0570_4300_0000);
    if !rng.one_in(ONE_IN) {
        return None;
    }
    let subject = rng.pick(&Subject::ALL);
    let mode = rng.pick(&Mode::ALL);
    let idle = rng.pick(&[10, 20, 30]);
    let burst = rng.pick(&[30, 60, 150]);
    let workers = rng.pick(&[1, 1, 2, 4]);
    let latency_ms = rng.pick(&[60, 200, 500]);
    let capacity = Capacity::Long {
        owners: idle + burst,
        workers,
        entries: rng.pick(&[100, 640, 640]),
        latency_ms,
    };
    let ready_delay_ms = rng.pick(&[0, 50, 2_000]);
    let mut draw = Draw {
        owners: idle,
        subject,
        rng,
    };
    let window_ms = REQUESTS * capacity.latency_ms() * u64::from(burst) / u64::from(workers);
    let mut timetable = vec![(IDLE_MS, draw.many(idle, burst))];
    let is_still = draw.rng.one_in(3);
    if is_still {
        timetable.push((IDLE_MS - APART_MS, Step::StopReadiness));
    }
    for owner in 0..idle {
        match is_still {
            true => draw.new_spec_before_a_harmless_edit(owner, &mut timetable),
            false => {
                let at_ms = IDLE_MS + draw.rng.below(window_ms);
                draw.clients(owner, at_ms, &mut timetable);
            }
        }
    }
    if draw.rng.one_in(3) {
        let at_ms = IDLE_MS + draw.rng.below(window_ms);
        let fault = draw.fault();
        timetable.push((at_ms, fault));
    }
    // Steps of the same time stay in their order.
    timetable.sort_by_key(|(at_ms, _)| *at_ms);
    let (mut steps, mut now_ms) = (vec![draw.many(0, idle)], 0);
    for (at_ms, step) in timetable {
        if at_ms > now_ms {
            let ms = at_ms - now_ms;
            steps.push(Step::Pass { ms });
        }
        steps.push(step);
        now_ms = at_ms;
    }
    Some(Schedule {
        seed,
        subject,
        mode,
        capacity,
        ready_delay_ms,
        never_ready: false,
        first_unshown: false,
        steps: steps.into_iter().enumerate().collect(),
    })
}

impl Draw {
    fn many(&mut self, first: u16, count: u16) -> Step {
        let spec = self.subject.spec_with(&mut self.rng, true);
        Step::CreateMany { first, count, spec }
    }

    /// What other clients do to one owner and its children from a time on: something harmless, and within seconds something
    /// that the operator has to see.
    fn clients(&mut self, owner: u16, mut at_ms: u64, timetable: &mut Vec<(u64, Step)>) {
        let first = match self.rng.below(5) {
            4 => return self.replaced_child_leaves(owner, at_ms, timetable),
            0 => Step::Edit {
                owner,
                edit: Edit::Annotation,
            },
            1 => Step::DeleteChild {
                owner,
                resource: self.child(),
            },
            _ => self.fail_pods(owner),
        };
        timetable.push((at_ms, first));
        for _ in 0..1 + self.rng.below(2) {
            at_ms += self.rng.below(APART_MS);
            let resource = self.child();
            let next = match self.rng.below(8) {
                0..2 => self.fail_pods(owner),
                2..5 => Step::Edit {
                    owner,
                    edit: self.edit(),
                },
                5..7 => Step::DeleteChild { owner, resource },
                _ => Step::Change {
                    owner,
                    spec: self.spec(),
                },
            };
            timetable.push((at_ms, next));
            if self.rng.one_in(8) {
                timetable.push((at_ms, Step::MakeAgain { owner, resource }));
            }
        }
    }

    /// A status that says that the new spec is not ready yet waits while the burst does, and nothing that it counts changes
    /// after it.
    fn new_spec_before_a_harmless_edit(&mut self, owner: u16, timetable: &mut Vec<(u64, Step)>) {
        let spec = self.subject.spec_with(&mut self.rng, true);
        let at_ms = IDLE_MS - self.rng.below(APART_MS);
        timetable.push((at_ms, Step::Change { owner, spec }));
        let after = Step::EditAfterWrite {
            owner,
            edit: Edit::AnnotationBeside,
            after_ms: self.rng.below(APART_MS),
        };
        timetable.push((at_ms, after));
    }

    /// A child is deleted and created again, and within seconds the plan no longer names it.
    fn replaced_child_leaves(&mut self, owner: u16, at_ms: u64, timetable: &mut Vec<(u64, Step)>) {
        let resource = self.subject.optional_child();
        timetable.push((at_ms, Step::DeleteChild { owner, resource }));
        timetable.push((at_ms, Step::MakeAgain { owner, resource }));
        let spec = self.subject.spec_with(&mut self.rng, false);
        let later_ms = at_ms + self.rng.below(APART_MS);
        timetable.push((later_ms, Step::Change { owner, spec }));
    }

    fn fail_pods(&mut self, owner: u16) -> Step {
        let ms = self.rng.below(APART_MS);
        Step::FailPods { owner, ms }
    }

    /// A fault that ends by itself.
    fn fault(&mut self) -> Step {
        match self.rng.below(5) {
            0 => Step::CloseWatches,
            1 => Step::Compact,
            2 => self.request(),
            3 => Step::Event {
                resource: self.resource(),
                fault: self.event(),
            },
            _ => Step::Kill { down_ms: 100 },
        }
    }
}
