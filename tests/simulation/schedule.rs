//! A schedule follows from its seed alone: the operator, the cache mode, how the cluster behaves, and the steps.
//!
//! Guarantees: pure. Every step is possible whatever steps are left out before it.

use serde_json::Value;
use tare_runtime::cache::Mode;

use crate::capacity::Capacity;
use crate::replicas::with_second_replica;
use crate::rng::Rng;
use crate::step::{Edit, EventFault, Outage, RequestFault, Step, When};
use crate::storm;
use crate::subject::Subject;

/// Three days.
const DAYS_S: u64 = 72 * 3_600;

/// Everything that a run follows from.
#[derive(Clone, Debug)]
pub struct Schedule {
    pub seed: u64,
    pub subject: Subject,
    pub mode: Mode,
    pub capacity: Capacity,
    /// From a change of a Deployment to its status.
    pub ready_delay_ms: u64,
    /// No Deployment becomes ready.
    pub never_ready: bool,
    /// The datastore does not show the first object of a new CRD to a watch, as kine does.
    pub first_unshown: bool,
    /// The steps, each with its number in the whole schedule.
    pub steps: Vec<(usize, Step)>,
}

impl Schedule {
    pub fn of(seed: u64) -> Schedule {
        storm::of(seed).unwrap_or_else(|| Schedule::of_few(seed))
    }

    /// Of a few owners.
    fn of_few(seed: u64) -> Schedule {
        let mut rng = Rng::new(seed ^ 0x5111_0000);
        let subject = rng.pick(&Subject::ALL);
        let mode = rng.pick(&Mode::ALL);
        let capacity = match rng.one_in(4) {
            true => Capacity::Tight,
            false => Capacity::Wide,
        };
        let ready_delay_ms = rng.pick(&[0, 0, 50, 2_000, 20_000]);
        let never_ready = rng.one_in(12);
        let first_unshown = rng.one_in(6);
        let mut draw = Draw {
            owners: capacity.owners(),
            subject,
            rng,
        };
        let count = 4 + draw.rng.below(16);
        let mut steps = Vec::new();
        if draw.rng.one_in(3) {
            // The operator has listed before there is anything.
            let ms = draw.rng.below(3_000);
            steps.push(Step::Pass { ms });
        }
        for _ in 0..=draw.rng.below(draw.owners.into()) {
            steps.push(draw.create());
        }
        for _ in 0..count {
            match draw.rng.one_in(5) {
                true => draw.burst(&mut steps),
                false => steps.push(draw.step()),
            }
            if let Some(pause) = draw.pause() {
                steps.push(pause);
            }
        }
        Schedule {
            seed,
            subject,
            mode,
            capacity,
            ready_delay_ms,
            never_ready,
            first_unshown,
            steps: with_second_replica(seed, draw.with_scenes(seed, steps)),
        }
    }

    /// The same run with these steps alone.
    pub fn only(&self, numbers: &[usize]) -> Schedule {
        let mut less = self.clone();
        less.steps.retain(|(number, _)| numbers.contains(number));
        less
    }

    /// The line that repeats this run.
    pub fn line(&self) -> String {
        let numbers: Vec<String> = self.numbers().iter().map(ToString::to_string).collect();
        format!(
            "SEED={} STEPS={} cargo test -p tare --test simulation",
            self.seed,
            numbers.join(",")
        )
    }

    pub fn numbers(&self) -> Vec<usize> {
        self.steps.iter().map(|(number, _)| *number).collect()
    }
}

/// Draws steps.
pub struct Draw {
    pub rng: Rng,
    pub subject: Subject,
    pub owners: u16,
}

impl Draw {
    /// Numbers the steps, and puts scenes before or among them. Scenes have random numbers of their own, and their
    /// steps are numbered after all others. One schedule in three is of scenes alone: what a scene leads to is hidden
    /// where its owner is deleted later, or the operator is started again.
    fn with_scenes(mut self, seed: u64, mut steps: Vec<Step>) -> Vec<(usize, Step)> {
        let is_alone = Rng::new(seed ^ 0xa10e_0000).one_in(3);
        if is_alone {
            steps.clear();
        }
        self.rng = Rng::new(seed ^ 0x5ce9_e500_0000);
        let (mut steps, mut scene): (Vec<_>, _) =
            (steps.into_iter().enumerate().collect(), Vec::new());
        for _ in 0..u64::from(is_alone) + self.rng.below(3) {
            // At the start no other fault is in force.
            let at = match self.rng.one_in(2) {
                true => 0,
                false => self.rng.below(1 + steps.len() as u64) as usize,
            };
            self.scene(&mut scene);
            let first = steps.len();
            let numbered = scene.drain(..).enumerate();
            steps.splice(at..at, numbered.map(|(n, step)| (first + n, step)));
        }
        self.with_disowned_child(seed, steps)
    }

    /// One schedule in eight ends with a child that loses its controller, by random numbers of its own.
    fn with_disowned_child(
        mut self,
        seed: u64,
        mut steps: Vec<(usize, Step)>,
    ) -> Vec<(usize, Step)> {
        self.rng = Rng::new(seed ^ 0xd150_0000_0000);
        if self.rng.one_in(8) {
            let (first, mut scene) = (steps.len(), Vec::new());
            self.disowned_child(&mut scene);
            let numbered = scene.into_iter().enumerate();
            steps.extend(numbered.map(|(n, step)| (first + n, step)));
        }
        steps
    }

    pub fn owner(&mut self) -> u16 {
        self.rng.below(self.owners.into()) as u16
    }

    pub fn spec(&mut self) -> Value {
        self.subject.spec(&mut self.rng)
    }

    fn create(&mut self) -> Step {
        let (owner, spec) = (self.owner(), self.spec());
        Step::Create { owner, spec }
    }

    fn pause(&mut self) -> Option<Step> {
        let ms = match self.rng.below(10) {
            0..4 => return None,
            4..6 => self.rng.below(100),
            6..9 => self.rng.below(3_000),
            _ => self.rng.below(90_000),
        };
        Some(Step::Pass { ms })
    }

    pub fn resource(&mut self) -> &'static str {
        let all = self.subject.resources();
        self.rng.pick(&all)
    }

    pub fn child(&mut self) -> &'static str {
        let all: Vec<_> = self
            .subject
            .kinds()
            .iter()
            .map(|kind| kind.plural)
            .collect();
        self.rng.pick(&all)
    }

    fn step(&mut self) -> Step {
        match self.rng.below(100) {
            0..8 => self.create(),
            8..24 => {
                let (owner, spec) = (self.owner(), self.spec());
                Step::Change { owner, spec }
            }
            24..32 => Step::Delete {
                owner: self.owner(),
                propagation: self.rng.pick(&[
                    "Background",
                    "Background",
                    "Background",
                    "Foreground",
                    "Orphan",
                ]),
            },
            32..36 => {
                let (owner, spec) = (self.owner(), self.spec());
                Step::Recreate { owner, spec }
            }
            36..46 => Step::Edit {
                owner: self.owner(),
                edit: self.edit(),
            },
            46..51 => Step::DeleteChild {
                owner: self.owner(),
                resource: self.child(),
            },
            51..53 => Step::TakeOver {
                owner: self.owner(),
                resource: self.child(),
            },
            53..55 => Step::Occupy {
                owner: self.owner(),
                resource: self.child(),
            },
            55..56 => Step::Vacate,
            56..70 => self.request(),
            70..80 => Step::Event {
                resource: self.resource(),
                fault: self.event(),
            },
            80 => Step::FailCleanups {
                times: self.rng.below(3) as u32,
            },
            81 => match self.rng.one_in(3) {
                true => Step::RemoveCrd {
                    seconds: self.rng.pick(&[0, 1, 100]),
                },
                false => Step::CloseWatches,
            },
            82 => Step::CloseWatches,
            83..85 => Step::Compact,
            85..87 => Step::Backup,
            87..89 => Step::Restore,
            89..91 => Step::Outage {
                outage: self
                    .rng
                    .pick(&[Outage::Unavailable, Outage::Unreachable, Outage::Silent]),
                seconds: self.rng.pick(&[5, 60, 300]),
            },
            91..93 => Step::Suspend {
                seconds: self.rng.pick(&[1, 20, 400, 7_200, DAYS_S]),
            },
            93..96 => Step::Kill {
                down_ms: self.rng.pick(&[0, 100, 5_000, 400_000, DAYS_S * 1_000]),
            },
            _ => Step::Crash {
                writes: self.rng.below(6) as u8,
                when: self
                    .rng
                    .pick(&[When::Before, When::Committed, When::Answered]),
                down_ms: self.rng.pick(&[0, 0, 1_000, 30_000]),
            },
        }
    }

    /// Changes of one owner and its children at nearly the same time, some of them while one watch is behind the
    /// others.
    fn burst(&mut self, steps: &mut Vec<Step>) {
        if !self.rng.one_in(3) {
            steps.push(Step::Event {
                resource: self.resource(),
                fault: EventFault::Delay {
                    ms: self.rng.pick(&[200, 1_500, 6_000]),
                },
            });
        }
        let owner = self.owner();
        for _ in 0..2 + self.rng.below(4) {
            steps.push(match self.rng.below(12) {
                0..4 => Step::Change {
                    owner,
                    spec: self.spec(),
                },
                4..7 => Step::Edit {
                    owner,
                    edit: self.edit(),
                },
                7..10 => Step::DeleteChild {
                    owner,
                    resource: self.child(),
                },
                10 => Step::Recreate {
                    owner,
                    spec: self.spec(),
                },
                _ => Step::Create {
                    owner,
                    spec: self.spec(),
                },
            });
            if self.rng.one_in(2) {
                let ms = self.rng.pick(&[1, 10, 40, 150]);
                steps.push(Step::Pass { ms });
            }
        }
    }

    pub fn edit(&mut self) -> Edit {
        match self.subject {
            Subject::EdgeApp => self.rng.pick(&[
                Edit::Replicas,
                Edit::Image,
                Edit::Unplanned,
                Edit::Label,
                Edit::Selector,
                Edit::SelectorKey,
                Edit::Ports,
            ]),
            Subject::WebApp => self.rng.pick(&[
                Edit::Replicas,
                Edit::Image,
                Edit::Unplanned,
                Edit::Label,
                Edit::Data,
            ]),
        }
    }

    pub fn request(&mut self) -> Step {
        let verb = self
            .rng
            .pick(&["get", "list", "watch", "create", "patch", "patch", "delete"]);
        let fault = match self.rng.below(20) {
            0..9 => {
                let code = self
                    .rng
                    .pick(&[400, 403, 409, 409, 410, 422, 429, 500, 503, 504]);
                RequestFault::Refuse(code)
            }
            9 => RequestFault::Unsent,
            10..12 => RequestFault::Late504,
            12..14 => RequestFault::Unanswered,
            14 => RequestFault::Silence,
            15 => RequestFault::LateSilence,
            16..18 => RequestFault::Slow {
                ms: self.rng.pick(&[100, 1_500, 8_000]),
            },
            18 if matches!(verb, "get" | "list") => RequestFault::Garbage,
            _ => RequestFault::Cut {
                bytes: self.rng.below(3_000) as u16,
                error: self.rng.one_in(2),
            },
        };
        Step::Request {
            verb,
            resource: self.resource(),
            fault,
            times: self.rng.pick(&[1, 1, 2, 5]),
        }
    }

    pub fn event(&mut self) -> EventFault {
        match self.rng.below(10) {
            0..3 => EventFault::Delay {
                ms: self.rng.pick(&[200, 1_500, 20_000]),
            },
            3 => EventFault::Duplicate,
            4 => EventFault::Close,
            5 => EventFault::Truncate,
            6 => EventFault::Garbage,
            7 => match self.rng.one_in(3) {
                true => EventFault::Stall,
                false => EventFault::Close,
            },
            8 => EventFault::Error410,
            _ => EventFault::Coalesce,
        }
    }
}
