//! Scenes: steps that have to come together, in this order and at nearly the same time, to lead where no single step
//! does.
//!
//! Guarantees: a scene follows from random numbers alone, and each of its steps is possible without the others.
//! Leaves to others: where it stands among the other steps (`schedule`).

use crate::schedule::Draw;
use crate::step::{EventFault, RequestFault, Step, When};

impl Draw {
    /// One scene. Its owner is there, or was.
    pub fn scene(&mut self, steps: &mut Vec<Step>) {
        let owner = self.owner();
        if self.rng.one_in(2) {
            let spec = self.spec();
            steps.push(Step::Create { owner, spec });
            self.wait(steps, &[1_000, 5_000, 30_000]);
        }
        match self.rng.below(6) {
            0 => self.relist_beside_work(owner, steps),
            1 => self.deletion_beside_work(owner, steps),
            2 => self.failure_while_watches_are_lost(owner, steps),
            3 => self.answers_that_break_off(owner, steps),
            4 => self.take_over_and_back(owner, steps),
            _ => self.crash_between_specs(owner, steps),
        }
        self.wait(steps, &[1, 1_000, 20_000]);
    }

    /// A slow server says 410 or the operator is started, and an owner gets work between the first pages of the relist.
    fn relist_beside_work(&mut self, owner: u8, steps: &mut Vec<Step>) {
        let ms = self.rng.pick(&[100, 400, 1_500]);
        let fault = RequestFault::Slow { ms };
        let resource = self.resource();
        steps.push(request("list", resource, fault, 1));
        match self.rng.below(3) {
            0 => steps.push(Step::Kill { down_ms: 0 }),
            1 => steps.extend([Step::Compact, Step::CloseWatches]),
            _ => {
                let of = self.owner();
                let resource = self.child();
                let fault = EventFault::Error410;
                steps.push(Step::Event { resource, fault });
                steps.push(Step::DeleteChild {
                    owner: of,
                    resource,
                });
            }
        }
        self.slow_write(ms, steps);
        self.wait(steps, &[10, 50, 100]);
        self.work(owner, steps);
        if self.rng.one_in(2) {
            self.wait(steps, &[20, 60, 150]);
            self.disturb(owner, steps);
        }
    }

    /// A child goes while the watch of another is behind and a worker has their owner, whose spec changes later.
    fn deletion_beside_work(&mut self, owner: u8, steps: &mut Vec<Step>) {
        let ms = self.rng.pick(&[100, 400, 1_500]);
        let resource = self.child();
        let fault = EventFault::Delay { ms };
        steps.push(Step::Event { resource, fault });
        self.slow_write(ms, steps);
        self.work(owner, steps);
        self.wait(steps, &[20, 60, 150]);
        self.disturb(owner, steps);
        self.wait(steps, &[1_000, 5_000, 30_000]);
        let spec = self.spec();
        steps.push(Step::Change { owner, spec });
    }

    /// The status of an owner is refused while what happens to its children is on the pages of a relist alone.
    fn failure_while_watches_are_lost(&mut self, owner: u8, steps: &mut Vec<Step>) {
        let code = self.rng.pick(&[429, 500, 503, 504]);
        let (fault, times) = (RequestFault::Refuse(code), self.rng.pick(&[3, 5, 8]));
        let refused = match self.rng.one_in(4) {
            true => self.resource(),
            false => self.subject.plural(),
        };
        steps.push(request("patch", refused, fault, times));
        for _ in 0..1 + self.rng.below(2) {
            let fault = EventFault::Error410;
            let resource = self.child();
            steps.push(Step::Event { resource, fault });
        }
        self.work(owner, steps);
        self.wait(steps, &[100, 1_000, 5_000]);
        if self.rng.one_in(2) {
            self.disturb(owner, steps);
        }
    }

    /// Something is read or written about an owner, and the answer ends early or cannot be decoded.
    fn answers_that_break_off(&mut self, owner: u8, steps: &mut Vec<Step>) {
        let verb = self.rng.pick(&["get", "get", "get", "create", "patch"]);
        let resource = match self.rng.one_in(3) {
            true => self.child(),
            false => self.subject.plural(),
        };
        let fault = match self.rng.below(4) {
            0 if verb == "get" => RequestFault::Garbage,
            1 => RequestFault::Unanswered,
            _ => RequestFault::Cut {
                bytes: self.rng.below(600) as u16,
                error: false,
            },
        };
        let times = self.rng.pick(&[1, 1, 2]);
        steps.push(request(verb, resource, fault, times));
        if self.rng.one_in(3) {
            self.work(owner, steps);
            self.wait(steps, &[20, 60, 150]);
        }
        self.disturb(owner, steps);
    }

    /// Another controller takes a child over, somebody deletes it, and the spec changes after it was made again.
    fn take_over_and_back(&mut self, owner: u8, steps: &mut Vec<Step>) {
        let resource = self.child();
        steps.push(Step::TakeOver { owner, resource });
        self.wait(steps, &[20, 500, 5_000]);
        steps.push(Step::DeleteChild { owner, resource });
        self.wait(steps, &[100, 5_000, 90_000]);
        let spec = self.spec();
        steps.push(Step::Change { owner, spec });
    }

    /// A process ends within the work for one spec, and the next one finds another spec.
    fn crash_between_specs(&mut self, owner: u8, steps: &mut Vec<Step>) {
        steps.push(Step::Crash {
            writes: self.rng.below(4) as u8,
            when: self
                .rng
                .pick(&[When::Before, When::Committed, When::Answered]),
            down_ms: self.rng.pick(&[100, 2_000, 30_000]),
        });
        self.work(owner, steps);
        self.wait(steps, &[100, 1_000]);
        let spec = self.spec();
        steps.push(Step::Change { owner, spec });
    }

    /// An owner gets work.
    fn work(&mut self, owner: u8, steps: &mut Vec<Step>) {
        let spec = self.spec();
        steps.push(match self.rng.below(4) {
            0 => Step::Create { owner, spec },
            1 => Step::Recreate { owner, spec },
            _ => Step::Change { owner, spec },
        });
    }

    /// Something happens to a child.
    fn disturb(&mut self, owner: u8, steps: &mut Vec<Step>) {
        let resource = self.child();
        let edit = self.edit();
        steps.push(match self.rng.one_in(3) {
            true => Step::Edit { owner, edit },
            false => Step::DeleteChild { owner, resource },
        });
    }

    /// The next write of a kind takes so long.
    fn slow_write(&mut self, ms: u64, steps: &mut Vec<Step>) {
        let (verb, resource) = match self.rng.below(4) {
            0 => return,
            1 => ("create", self.child()),
            _ => ("patch", self.subject.plural()),
        };
        steps.push(request(verb, resource, RequestFault::Slow { ms }, 1));
    }

    fn wait(&mut self, steps: &mut Vec<Step>, most_ms: &[u64]) {
        let most_ms = self.rng.pick(most_ms);
        let ms = self.rng.below(most_ms);
        steps.push(Step::Pass { ms });
    }
}

fn request(verb: &'static str, resource: &'static str, fault: RequestFault, times: u8) -> Step {
    Step::Request {
        verb,
        resource,
        fault,
        times,
    }
}
